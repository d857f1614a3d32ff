// The timeline: ranks by time, on a canvas. `timeline.rs` packs its data.
// Where many calls share a pixel, a level of less detail is drawn; else each call is a rectangle.
const CLASS_COLORS = ['#c8501e', '#d9a400', '#8e5bc0', '#1f77b4', '#17a08c', '#8a8f98'];
const COMPUTES = '#7fbf7b';
const MOST_ARROWS = 1500, MOST_DRAWN = 6000, EDGE = 64, HEAD = 18, FOOT = 34;

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
function numbersOf(bytes) {
  let at = 0;
  return () => {
    let number = 0, scale = 1, byte;
    do {
      byte = bytes[at++];
      number += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return number;
  };
}
function column(next, count, kind) {
  const all = new kind(count);
  for (let index = 0; index < count; index++) all[index] = next();
  return all;
}
function times(next, count) {
  const all = new Float64Array(count);
  for (let index = 0, at = 0; index < count; index++) all[index] = at += next();
  return all;
}
// The first place whose time is at least `at`.
function firstFrom(sorted, at) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
function read(data, bytes) {
  const next = numbersOf(bytes);
  const rows = data.ranks.map(([rank, node]) => {
    const count = next(), begun = times(next, count), lasts = column(next, count, Float64Array);
    // The end of the calls so far tells which earlier calls reach into a view.
    const ends = new Float64Array(count);
    for (let index = 0, end = 0; index < count; index++) ends[index] = end = Math.max(end, begun[index] + lasts[index]);
    return {rank, node, count, begun, lasts, ends, call: column(next, count, Uint8Array), site: column(next, count, Uint32Array),
      peer: column(next, count, Float64Array), bytes: column(next, count, Float64Array)};
  });
  const levels = data.levels.map((parts) => rows.map(() => {
    const level = {classes: new Uint8Array(parts), shares: new Uint8Array(parts)};
    for (let part = 0; part < parts; part++) {
      level.classes[part] = next();
      level.shares[part] = next();
    }
    return level;
  }));
  const count = next(), sent = times(next, count), lasts = column(next, count, Float64Array);
  const messages = {count, sent, lasts, from: column(next, count, Uint32Array), to: column(next, count, Uint32Array),
    bytes: column(next, count, Float64Array), longest: largest(lasts)};
  return {rows, levels, messages, strobes: times(next, next())};
}

async function timeline() {
  const data = run.timeline, canvas = $('ranks-time');
  if (!data || data.ranks.length === 0 || data.span_ns === 0) {
    $('call').textContent = 'No rank was recorded.';
    canvas.height = 1;
    return;
  }
  const {rows, levels, messages, strobes} = read(data, await unpacked(data.packed));
  const all = data.span_ns, high = rows.length > 128 ? 4 : rows.length > 48 ? 9 : rows.length > 16 ? 14 : 22;
  let from = 0, to = all, row = 0, chosen = -1, wide = 0, planned = false;
  data.classes.forEach((name, index) => {
    const key = document.createElement('span');
    key.className = 'key';
    key.style.background = CLASS_COLORS[index];
    $('classes').append(key, index + 1 < data.classes.length ? `${name} ` : name);
  });
  const x = (at) => EDGE + (at - from) / (to - from) * (wide - EDGE - 4);
  const timeAt = (px) => from + (px - EDGE) / (wide - EDGE - 4) * (to - from);

  // All rows at once as pixels: a rectangle for each pixel and rank would take a browser too long.
  let image = null, pixels = null;
  const inks = [COMPUTES, ...CLASS_COLORS].map((ink) => {
    const [red, green, blue] = [1, 3, 5].map((place) => parseInt(ink.slice(place, place + 2), 16));
    return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
  });
  const overview = (paint, scale) => {
    const columns = Math.max(1, Math.round((wide - EDGE - 4) * scale)), tall = Math.round(rows.length * high * scale);
    if (!image || image.width !== columns || image.height !== tall) {
      image = paint.createImageData(columns, tall);
      pixels = new Uint32Array(image.data.buffer);
    }
    pixels.fill(0);
    const needed = all / (to - from) * columns;
    let depth = data.levels.findIndex((parts) => parts >= needed);
    if (depth < 0) depth = data.levels.length - 1;
    const parts = data.levels[depth], places = new Int32Array(columns);
    for (let column = 0; column < columns; column++)
      places[column] = clamp(Math.floor((from + (to - from) * (column + .5) / columns) / all * parts), 0, parts - 1);
    const heights = new Uint8Array(columns), above = new Uint32Array(columns), below = new Uint32Array(columns);
    rows.forEach((_, index) => {
      const {classes, shares} = levels[depth][index];
      for (let column = 0; column < columns; column++) {
        const part = places[column], kind = classes[part], is = kind < CLASS_COLORS.length;
        heights[column] = shares[part];
        above[column] = is ? inks[0] : 0;
        below[column] = is ? inks[kind + 1] : 0;
      }
      const top = Math.round(index * high * scale), bottom = Math.max(top + 1, Math.round((index + 1) * high * scale) - 1);
      for (let y = top; y < bottom; y++) {
        // MPI stands on the bottom of the row.
        const reached = 255 * (bottom - y - .5) / (bottom - top), line = y * columns;
        for (let column = 0; column < columns; column++)
          pixels[line + column] = heights[column] >= reached ? below[column] : above[column];
      }
    });
    paint.putImageData(image, Math.round(EDGE * scale), Math.round(HEAD * scale));
  };
  const single = (paint, at, first, last, top) => {
    const left = clamp(x(at.begun[0] ?? 0), EDGE, wide);
    paint.fillStyle = COMPUTES;
    if (first < last || at.count) paint.fillRect(left, top, clamp(x(at.ends[at.count - 1] ?? 0), EDGE, wide) - left, high - 1);
    for (let index = first; index < last; index++) {
      const begin = Math.max(EDGE, x(at.begun[index])), end = Math.min(wide, x(at.begun[index] + at.lasts[index]));
      if (end < EDGE) continue;
      paint.fillStyle = CLASS_COLORS[data.calls[at.call[index]][1]];
      paint.fillRect(begin, top, Math.max(1, end - begin), high - 1);
    }
  };
  const axis = (paint, text, soft, bottom) => {
    paint.fillStyle = text;
    const marks = Math.max(2, Math.floor((wide - EDGE) / 120));
    for (let mark = 0; mark <= marks; mark++) {
      const at = from + (to - from) * mark / marks;
      paint.textAlign = mark === 0 ? 'left' : mark === marks ? 'right' : 'center';
      paint.fillText(time(at), clamp(x(at), EDGE, wide - 2), bottom + 14);
    }
    paint.textAlign = 'right';
    paint.fillText('time since the start', wide - 2, bottom + 28);
    // A tick for each strobe, as long as they do not touch.
    const first = firstFrom(strobes, from), last = firstFrom(strobes, to);
    paint.textAlign = 'left';
    if (last - first > (wide - EDGE) / 3) {
      paint.fillText(`${last - first} slices`, EDGE, 12);
      return;
    }
    paint.strokeStyle = soft;
    paint.beginPath();
    for (let index = first; index < last; index++) {
      paint.moveTo(x(strobes[index]), 2);
      paint.lineTo(x(strobes[index]), HEAD - 4);
    }
    paint.stroke();
  };
  const arrows = (paint, text) => {
    const first = firstFrom(messages.sent, from - messages.longest), last = firstFrom(messages.sent, to);
    if (last - first > MOST_ARROWS * 4) return 0;
    const seen = [];
    for (let index = first; index < last && seen.length <= MOST_ARROWS; index++)
      if (messages.sent[index] + messages.lasts[index] >= from) seen.push(index);
    if (seen.length > MOST_ARROWS) return 0;
    paint.strokeStyle = text;
    paint.fillStyle = text;
    for (const index of seen) {
      const left = x(messages.sent[index]), right = x(messages.sent[index] + messages.lasts[index]);
      const up = HEAD + (messages.from[index] + .5) * high, down = HEAD + (messages.to[index] + .5) * high;
      const turn = Math.atan2(down - up, right - left);
      paint.beginPath();
      paint.moveTo(left, up);
      paint.lineTo(right, down);
      paint.stroke();
      paint.beginPath();
      paint.moveTo(right, down);
      paint.lineTo(right - 6 * Math.cos(turn - .4), down - 6 * Math.sin(turn - .4));
      paint.lineTo(right - 6 * Math.cos(turn + .4), down - 6 * Math.sin(turn + .4));
      paint.fill();
    }
    return seen.length;
  };
  const paintNow = () => {
    planned = false;
    const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
    const scale = devicePixelRatio || 1, bottom = HEAD + rows.length * high;
    wide = Math.max(260, canvas.parentElement.clientWidth);
    const size = [Math.round(wide * scale), Math.round((bottom + FOOT) * scale)];
    const paint = canvas.getContext('2d');
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
      [canvas.width, canvas.height] = size;
      canvas.style.height = `${bottom + FOOT}px`;
    }
    paint.setTransform(scale, 0, 0, scale, 0, 0);
    paint.clearRect(0, 0, wide, bottom + FOOT);
    paint.font = '12px system-ui, sans-serif';
    paint.fillStyle = color('--panel');
    paint.fillRect(EDGE, HEAD, wide - EDGE - 4, rows.length * high);
    paint.save();
    paint.beginPath();
    paint.rect(EDGE, 0, wide - EDGE - 4, bottom);
    paint.clip();
    const spans = rows.map((at) => [firstFrom(at.ends, from), firstFrom(at.begun, to)]);
    const few = spans.reduce((sum, [first, last]) => sum + last - first, 0) <= MOST_DRAWN;
    if (few) rows.forEach((at, index) => single(paint, at, spans[index][0], spans[index][1], HEAD + index * high));
    else overview(paint, scale);
    const drawn = few ? arrows(paint, color('--text')) : 0;
    if (chosen >= 0 && chosen < rows[row].count) {
      const at = rows[row], begin = x(at.begun[chosen]);
      paint.strokeStyle = color('--text');
      paint.lineWidth = 2;
      paint.strokeRect(begin, HEAD + row * high, Math.max(2, x(at.begun[chosen] + at.lasts[chosen]) - begin), high - 1);
      paint.lineWidth = 1;
    }
    paint.restore();
    const every = Math.max(1, Math.ceil(14 / high));
    paint.textAlign = 'right';
    rows.forEach((at, index) => {
      paint.fillStyle = color(index === row ? '--text' : '--soft');
      if (index % every === 0 || index === row && rows.length < 17)
        paint.fillText(`rank ${at.rank}`, EDGE - 6, HEAD + index * high + Math.min(high - 1, high / 2 + 4));
    });
    axis(paint, color('--soft'), color('--soft'), bottom);
    $('view').textContent = `Shown: ${time(from)} to ${time(to)} of ${time(all)}, ` +
      (few ? `each call by itself, ${drawn} messages.` : 'calls summed by pixel: a bar is as high as the share of MPI.');
  };
  const paint = () => {
    if (!planned) requestAnimationFrame(paintNow);
    planned = true;
  };
  const show = (begin, end) => {
    const shown = clamp(end - begin, Math.min(200, all), all);
    from = clamp(begin, 0, all - shown);
    to = from + shown;
    paint();
  };
  const zoom = (factor, around) => show(around - (around - from) * factor, around + (to - around) * factor);
  const tell = () => {
    const at = rows[row];
    if (chosen < 0 || chosen >= at.count) {
      $('call').textContent = `Rank ${at.rank} on node ${at.node}: ${at.count} calls are kept.`;
      return;
    }
    const site = at.site[chosen], peer = at.peer[chosen];
    $('call').textContent = `Rank ${at.rank}, call ${chosen + 1} of ${at.count}: ${data.calls[at.call[chosen]][0]} at ` +
      `${site ? data.places[site - 1] : 'an unknown place'}, from ${time(at.begun[chosen])} on, for ${time(at.lasts[chosen])}` +
      (peer ? `, with rank ${peer - 1}` : '') + (at.bytes[chosen] ? `, ${size(at.bytes[chosen])}` : '');
  };
  const choose = (index) => {
    chosen = clamp(index, 0, rows[row].count - 1);
    const at = rows[row].begun[chosen], end = at + rows[row].lasts[chosen];
    if (end < from || at > to) show(at - (to - from) / 2, at + (to - from) / 2);
    tell();
    paint();
  };
  const pick = (event) => {
    const box = canvas.getBoundingClientRect(), at = timeAt(event.clientX - box.left);
    row = clamp(Math.floor((event.clientY - box.top - HEAD) / high), 0, rows.length - 1);
    const last = firstFrom(rows[row].begun, at + (to - from) / (wide - EDGE)) - 1;
    chosen = last;
    tell();
    paint();
  };
  let held = null;
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const around = timeAt(event.clientX - canvas.getBoundingClientRect().left);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = (event.deltaX || event.deltaY) / wide * (to - from);
      show(from + by, to + by);
    } else zoom(Math.exp(clamp(event.deltaY, -200, 200) / 300), clamp(around, from, to));
  }, {passive: false});
  canvas.addEventListener('pointerdown', (event) => {
    held = {at: event.clientX, from, to};
    pick(event);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!held || event.buttons === 0) {
      held = null;
      if (event.pointerType === 'mouse') pick(event);
      return;
    }
    const by = (held.at - event.clientX) / (wide - EDGE) * (held.to - held.from);
    show(held.from + by, held.to + by);
  });
  canvas.addEventListener('keydown', (event) => {
    const middle = () => chosen >= 0 && chosen < rows[row].count ? rows[row].begun[chosen] : (from + to) / 2;
    const step = (to - from) / 5, keys = {
      '+': () => zoom(.5, clamp(middle(), from, to)), '=': () => zoom(.5, clamp(middle(), from, to)),
      '-': () => zoom(2, clamp(middle(), from, to)), '0': () => show(0, all),
      ArrowLeft: () => show(from - step, to - step), ArrowRight: () => show(from + step, to + step),
      ArrowUp: () => { row = Math.max(0, row - 1); chosen = -1; tell(); paint(); },
      ArrowDown: () => { row = Math.min(rows.length - 1, row + 1); chosen = -1; tell(); paint(); },
      n: () => choose(chosen < 0 ? firstFrom(rows[row].begun, from) : chosen + 1),
      p: () => choose(chosen < 0 ? firstFrom(rows[row].begun, to) - 1 : chosen - 1),
      Home: () => choose(0), End: () => choose(rows[row].count - 1),
      Enter: () => {
        if (chosen < 0) return;
        const at = rows[row].begun[chosen], lasts = Math.max(rows[row].lasts[chosen], 200);
        show(at - lasts, at + 2 * lasts);
      },
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  $('time-closer').onclick = () => zoom(.5, (from + to) / 2);
  $('time-wider').onclick = () => zoom(2, (from + to) / 2);
  $('time-left').onclick = () => show(from - (to - from) / 3, to - (to - from) / 3);
  $('time-right').onclick = () => show(from + (to - from) / 3, to + (to - from) / 3);
  $('time-all').onclick = () => show(0, all);
  tell();
  painters.push(paint);
  paint();
}

// The matrix of waits: a square for each pair of ranks.
function waitMatrix() {
  const data = run.wait_matrix, svg = $('wait-cells');
  if (!data || data.cells.length === 0) {
    $('wait-cell').textContent = data ? 'No rank is known to have waited for another.' : 'There are too many nodes to draw.';
    svg.setAttribute('height', 1);
    return;
  }
  const causes = [['posted late', 'var(--two)'], ['scheduled late', 'var(--one)'], ['moved late', 'var(--three)']];
  const sums = data.cells.map((cell) => cell[2] + cell[3] + cell[4]), most = largest(sums) || 1;
  const places = new Map(data.numbers.map((number, place) => [number, place])), sides = data.numbers.length;
  $('wait-about').textContent = `Waiters down, whom they waited for across, by ${data.who}. The darker, the longer, ` +
    `from 0 to ${time(most)}; the colour is the largest cause: `;
  for (const [name, color] of causes) {
    const key = document.createElement('span');
    key.className = 'key';
    key.style.background = color;
    $('wait-about').append(key, `${name} `);
  }
  let side = 0, mark = null;
  painters.push(() => {
    const width = cleared(svg, 100);
    side = clamp(Math.floor((width - 44) / sides), 3, 36);
    cleared(svg, side * sides + 40);
    draw(svg, 'rect', {x: 40, y: 20, width: side * sides, height: side * sides, fill: 'var(--panel)'});
    data.cells.forEach((cell, index) => {
      const parts = cell.slice(2, 5), cause = parts.indexOf(largest(parts));
      draw(svg, 'rect', {x: 40 + places.get(cell[1]) * side, y: 20 + places.get(cell[0]) * side, width: side - .5,
        height: side - .5, fill: causes[cause][1], 'fill-opacity': (.12 + .88 * sums[index] / most).toFixed(2)});
    });
    const every = Math.max(1, Math.ceil(26 / side));
    data.numbers.forEach((number, place) => {
      if (place % every) return;
      draw(svg, 'text', {x: 36, y: 20 + (place + .5) * side + 4, 'text-anchor': 'end'}, String(number));
      draw(svg, 'text', {x: 40 + (place + .5) * side, y: 14, 'text-anchor': 'middle'}, String(number));
    });
    mark = draw(svg, 'rect', {width: side, height: side, fill: 'none', stroke: 'var(--focus)', 'stroke-width': 2,
      visibility: 'hidden'});
  });
  const at = (px, py) => data.cells.findIndex((cell) =>
    cell[1] === data.numbers[Math.floor((px - 40) / side)] && cell[0] === data.numbers[Math.floor((py - 20) / side)]);
  choose(svg, () => data.cells.length, at, (index) => {
    const [waiter, other, posted, scheduled, moved, waits] = data.cells[index];
    mark.setAttribute('x', 40 + places.get(other) * side);
    mark.setAttribute('y', 20 + places.get(waiter) * side);
    mark.setAttribute('visibility', 'visible');
    $('wait-cell').textContent = `${data.who} ${waiter} waited for ${data.who} ${other} ${waits} times: posted late ` +
      `${time(posted)}, scheduled late ${time(scheduled)}, moved late ${time(moved)}`;
  });
}
