//! The density of a run as a picture (SVG): over the line, or of a plane with its cells.

use std::io;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::outcome::SageCell;

/// The width in pixels; the height of a plane follows from its box.
const WIDTH: u32 = 900;
const LINE_HEIGHT: u32 = 420;
const MARGIN: u32 = 10;
const LEFT: u32 = 60;
const BOTTOM: u32 = 40;
const CAPTION: u32 = 30;
/// The width of the colour scale beside a plane.
const SCALE: u32 = 110;

/// Cells of at least this edge, in pixels, are drawn with their edges.
const SEEN: f64 = 4.0;

type Picture<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawResult = Result<(), DrawingAreaErrorKind<io::Error>>;

/// Draws the cells of a run. It shows the plane through the middle of the third dimension, if there
/// are three.
///
/// # Errors
/// There are no cells.
pub fn plot(cells: &[SageCell], title: &str) -> io::Result<String> {
    let Some(first) = cells.first() else {
        return Err(io::Error::other("there are no cells"));
    };
    let mut svg = String::new();
    let drawn = match first.middle.len() {
        1 => line(&mut svg, cells, title),
        _ => plane(&mut svg, &cut(cells), title),
    };
    drawn.map_err(io::Error::other)?;
    Ok(svg)
}

fn line(svg: &mut String, cells: &[SageCell], title: &str) -> DrawResult {
    let area = SVGBackend::with_string(svg, (WIDTH, LINE_HEIGHT)).into_drawing_area();
    let below = headed(&area, title)?;
    let densities = span(cells.iter().map(|cell| cell.density()..cell.density()));
    let room = (0.05 * (densities.end - densities.start)).max(1e-3 * densities.end);
    let mut chart = ChartBuilder::on(&below)
        .margin(MARGIN)
        .x_label_area_size(BOTTOM)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(
            sides(cells, 0),
            (densities.start - room).min(0.0)..densities.end + room,
        )?;
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("x").y_desc("density");
    mesh.light_line_style(TRANSPARENT).draw()?;
    let mut points: Vec<(f64, f64)> = cells
        .iter()
        .map(|cell| (cell.middle[0], cell.density()))
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let color = RGBColor(31, 90, 160);
    let dots = points.iter().map(|point| Circle::new(*point, 2, color));
    chart.draw_series(dots)?;
    chart.draw_series(LineSeries::new(points.iter().copied(), color))?;
    area.present()
}

fn plane(svg: &mut String, cells: &[&SageCell], title: &str) -> DrawResult {
    let [across, up] = [0, 1].map(|d| sides(cells.iter().copied(), d));
    let inner = f64::from(WIDTH - 2 * MARGIN - LEFT - SCALE);
    let pixels = inner / (across.end - across.start);
    let height = pixel(((up.end - up.start) * pixels).ceil()) + CAPTION + BOTTOM + 2 * MARGIN;
    let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    let (picture, scale) = headed(&area, title)?.split_horizontally(WIDTH - SCALE);
    let densities = span(cells.iter().map(|cell| cell.density()..cell.density()));
    let color =
        |density: f64| ViridisRGB::get_color_normalized(density, densities.start, densities.end);
    let mut chart = ChartBuilder::on(&picture)
        .margin(MARGIN)
        .x_label_area_size(BOTTOM)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(across, up)?;
    chart.configure_mesh().disable_mesh().draw()?;
    for cell in cells {
        let corner = |side: f64| {
            let half = side * cell.edge / 2.0;
            (cell.middle[0] + half, cell.middle[1] + half)
        };
        let corners = [corner(-1.0), corner(1.0)];
        let filled = Rectangle::new(corners, color(cell.density()).filled());
        chart.draw_series([filled])?;
        if cell.edge * pixels >= SEEN {
            chart.draw_series([Rectangle::new(corners, BLACK.mix(0.25))])?;
        }
    }
    key(&scale, densities.clone(), color)?;
    area.present()
}

/// Draws the title, and returns the area below it.
fn headed<'a>(
    area: &Picture<'a>,
    title: &str,
) -> Result<Picture<'a>, DrawingAreaErrorKind<io::Error>> {
    area.fill(&WHITE)?;
    let (head, below) = area.split_vertically(CAPTION);
    let place = (i32::try_from(LEFT + MARGIN).unwrap_or(0), 8);
    head.draw(&Text::new(title, place, ("sans-serif", 18)))?;
    Ok(below)
}

/// Draws the scale of colours and densities.
fn key(area: &Picture<'_>, densities: Range<f64>, color: impl Fn(f64) -> RGBColor) -> DrawResult {
    const STEPS: i32 = 64;
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .x_label_area_size(BOTTOM)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(0.0..1.0, densities.clone())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_labels(0)
        .label_style(("sans-serif", 12))
        .draw()?;
    let step = (densities.end - densities.start) / f64::from(STEPS);
    chart.draw_series((0..STEPS).map(|n| {
        let low = densities.start + f64::from(n) * step;
        Rectangle::new(
            [(0.0, low), (1.0, low + step)],
            color(low + step / 2.0).filled(),
        )
    }))?;
    Ok(())
}

/// Returns the cells of a plane: all cells, or those that contain the middle of the third
/// direction.
fn cut(cells: &[SageCell]) -> Vec<&SageCell> {
    if cells[0].middle.len() < 3 {
        return cells.iter().collect();
    }
    let sides = sides(cells, 2);
    let middle = f64::midpoint(sides.start, sides.end);
    let is_cut = |cell: &&SageCell| {
        let low = cell.middle[2] - cell.edge / 2.0;
        (low..low + cell.edge).contains(&middle)
    };
    cells.iter().filter(is_cut).collect()
}

/// Returns the range of the box in a direction.
fn sides<'a>(cells: impl IntoIterator<Item = &'a SageCell>, direction: usize) -> Range<f64> {
    span(cells.into_iter().map(|cell| {
        let (middle, half) = (cell.middle[direction], cell.edge / 2.0);
        middle - half..middle + half
    }))
}

fn span(ranges: impl Iterator<Item = Range<f64>>) -> Range<f64> {
    let nothing = f64::INFINITY..f64::NEG_INFINITY;
    let all = ranges.fold(nothing, |all, one| {
        all.start.min(one.start)..all.end.max(one.end)
    });
    // A constant quantity needs a scale, too.
    match all.start < all.end {
        true => all,
        false => all.start - 0.5..all.end + 0.5,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a height in pixels"
)]
fn pixel(pixels: f64) -> u32 {
    pixels as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(middle: &[f64], edge: f64, density: f64) -> SageCell {
        SageCell {
            middle: middle.to_vec(),
            edge,
            masses: vec![density],
            velocity: vec![0.0; middle.len()],
            pressure: 1.0,
            shares: vec![1.0],
        }
    }

    /// Returns all rectangles of a colour: x, y, width, height.
    fn rectangles(svg: &str, color: RGBColor) -> Vec<[f64; 4]> {
        let RGBColor(r, g, b) = color;
        let fill = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
        let lines = svg
            .lines()
            .filter(|line| line.contains("<rect") && line.contains(&fill));
        lines
            .map(|line| ["x", "y", "width", "height"].map(|name| number(line, name)))
            .collect()
    }

    fn number(line: &str, name: &str) -> f64 {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    }

    #[test]
    fn cells_lie_where_they_belong() {
        // A plane of 2 by 1 whose density jumps at a quarter of its width, and a cell that is not
        // in the plane.
        let low = cell(&[0.25, 0.25, 0.5], 0.5, 1.0);
        let mut cells = vec![low.clone(), cell(&[0.25, 0.75, 0.5], 0.5, 1.0)];
        cells.extend([
            cell(&[1.25, 0.5, 0.5], 1.0, 3.0),
            cell(&[0.75, 0.25, 0.5], 0.5, 3.0),
        ]);
        cells.extend([
            cell(&[0.75, 0.75, 0.5], 0.5, 3.0),
            cell(&[1.75, 0.5, 0.5], 0.5, 3.0),
        ]);
        cells.push(cell(&[0.5, 0.5, -1.0], 1.0, 2.0));
        cells.push(cell(&[0.5, 0.5, 2.0], 1.0, 2.0));
        let svg = plot(&cells, "a jump").unwrap();
        let of = |density| rectangles(&svg, ViridisRGB::get_color_normalized(density, 1.0, 3.0));
        let (light, heavy) = (of(1.0), of(3.0));
        assert_eq!((light.len(), heavy.len()), (2, 4), "{svg}");
        let begins = light.iter().map(|it| it[0]).fold(f64::MAX, f64::min);
        let jump = heavy.iter().map(|it| it[0]).fold(f64::MAX, f64::min);
        let ends = heavy.iter().map(|it| it[0] + it[2]).fold(0.0, f64::max);
        assert!(
            (jump - begins - 0.25 * (ends - begins)).abs() <= 1.0,
            "{light:?} {heavy:?}"
        );
        let square = light[0];
        assert!(
            (square[2] - square[3]).abs() <= 1.0,
            "{square:?} is no square"
        );
    }

    #[test]
    fn nothing_is_no_picture() {
        assert!(plot(&[], "nothing").is_err());
    }
}
