//! The page of a run opens in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::browser::Browser;
use crate::process;
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "page",
    about: "bcs mds html of 64 ranks with 1,500 calls each is below 5 MB, opens in Chromium within 2 s, wide and narrow, zooms at 60 frames a second, and answers to keys without a word of complaint",
    about_time: true,
    quick: false,
    run,
};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const MOST_BYTES: usize = 5_000_000;

/// From the start of the navigation until the timeline is drawn.
const MOST_OPENING_MS: f64 = 2_000.0;

/// The display shows 60. One of thirty may come late.
const LEAST_FRAMES: f64 = 58.0;

/// A desktop and a phone, in pixels.
const SIZES: [(u32, u32); 2] = [(1_280, 900), (390, 844)];

/// The arguments of the fixture `barriers`: 0.1 ms of computation, and 1,500 barriers.
const BARRIERS: [&str; 2] = ["100", "1500"];

/// Waits until the timeline is drawn, and answers how long the page took so far.
const OPENED: &str = "new Promise((done, fail) => {
  const look = () => {
    const view = document.getElementById('view');
    if (view && view.textContent.startsWith('Shown')) done(performance.now());
    else if (performance.now() > 60000) fail('no timeline after a minute');
    else setTimeout(look, 5);
  };
  look();
})";

/// Brings the timeline into the window, outside of which the browser draws nothing, and waits until
/// it is there.
const SHOWS: &str = "new Promise((done) => {
  document.getElementById('ranks-time').scrollIntoView();
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100)));
})";

/// Zooms in and out at the overview, where most is drawn, for 120 frames.
const ZOOMS: &str = "new Promise((done) => {
  const canvas = document.getElementById('ranks-time');
  const press = (key) => canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  let drawn = 0;
  const frame = () => {
    if (drawn === 120) return done();
    press(drawn % 8 < 4 ? '+' : '-');
    drawn += 1;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})";

/// Goes to each picture and presses keys, like a user without a pointer. Answers the texts below
/// the pictures, and the names of pictures without keyboard or without content.
const KEYS: &str = "(() => {
  const wrong = [];
  const press = (id, keys) => {
    const picture = document.getElementById(id);
    picture.focus();
    if (document.activeElement !== picture) wrong.push(id + ' cannot be reached by keyboard');
    for (const key of keys) picture.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  };
  press('ranks-time', ['ArrowDown', 'n', 'n', 'Enter']);
  press('wait-cells', ['End']);
  for (const id of ['timeline', 'balance', 'histogram']) press(id, ['End']);
  for (const id of ['balance', 'histogram', 'causes', 'wait-cells'])
    if (!document.getElementById(id).querySelector('rect')) wrong.push(id + ' is empty');
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page is wider than the window');
  const said = ['call', 'wait-cell', 'rank', 'answers'].map((id) => document.getElementById(id).textContent);
  return [said.join('; '), wrong];
})()";

/// The parts that the texts must contain then.
const SAID: [&str; 4] = [
    "Rank 1, call 2 of ",
    "rank 63 waited for rank ",
    "Rank 63 on node ",
    "MPI takes ",
];

const LIMIT: Duration = Duration::from_secs(120);

/// The findings of a browser.
struct PageFindings {
    opening_ms: f64,
    frames: f64,
    complaints: Vec<String>,
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let browser = BROWSERS.into_iter().find(|browser| {
        let found = process::run(Command::new(browser).arg("--version"), LIMIT);
        found.is_ok_and(|finished| finished.status.success())
    });
    let browser = browser.ok_or_else(|| {
        UnsuitableMachine(format!(
            "this machine has no browser of these: {}",
            BROWSERS.join(", ")
        ))
    })?;
    let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let (dumps, page) = (dir.path().join("dumps"), dir.path().join("run.html"));
    let program = workspace.fixture_program("barriers")?;
    let mut record = workspace.bcs(["run", "-n", "64", "--nodes", "8", "--mds"])?;
    record.arg(&dumps).arg(program).args(BARRIERS);
    process::run(&mut record, LIMIT)?.succeeded()?;
    let mut html = workspace.bcs(["mds", "html"])?;
    html.arg(&dumps).arg("-o").arg(&page);
    process::run(&mut html, LIMIT)?.succeeded()?;
    let bytes = fs::metadata(&page)
        .context("failed to find the page")?
        .len();
    let found = SIZES.map(|size| looked_at(browser, size, &page));
    let [desktop, phone] = found;
    let (desktop, phone) = (desktop?, phone?);
    let complaints = [&desktop.complaints[..], &phone.complaints].concat();
    let opening_ms = desktop.opening_ms.max(phone.opening_ms);
    let frames = desktop.frames.min(phone.frames);
    let said = match complaints.as_slice() {
        [] => "no complaint".to_owned(),
        complaints => complaints.join("; "),
    };
    let held = bytes < MOST_BYTES as u64
        && opening_ms < MOST_OPENING_MS
        && frames >= LEAST_FRAMES
        && complaints.is_empty();
    Ok(CheckOutcome::exact(
        held,
        format!(
            "{bytes} bytes, open after {opening_ms:.0} ms, {frames:.1} frames a second, {said}"
        ),
        "below 5 MB, within 2 s, 58 of 60 frames a second, no complaint",
    ))
}

/// Opens the page in a window of this size, zooms, and presses keys.
fn looked_at(program: &str, size: (u32, u32), page: &Path) -> Result<PageFindings> {
    let mut browser = Browser::start(program, size)?;
    browser.open(&format!("file://{}", page.display()))?;
    let opening_ms = browser.value(OPENED)?.as_f64().context("a time")?;
    browser.value(SHOWS)?;
    let (_, drawn) = browser.value_and_frames(ZOOMS)?;
    let [first, .., last] = drawn.as_slice() else {
        bail!("the browser has drawn nothing: {drawn:?}");
    };
    let frames = (drawn.len() - 1) as f64 / (last - first);
    let answer = browser.value(KEYS)?;
    let said = answer[0].as_str().context("the texts below the pictures")?;
    for expected in SAID {
        ensure!(
            said.contains(expected),
            "keys choose nothing at {size:?}: \"{expected}\" is not in \"{said}\""
        );
    }
    let wrong = answer[1]
        .as_array()
        .context("a list of what is wrong")?
        .iter();
    let mut complaints: Vec<String> = wrong.map(ToString::to_string).collect();
    complaints.extend_from_slice(browser.complaints());
    Ok(PageFindings {
        opening_ms,
        frames,
        complaints,
    })
}
