//! Rows as a picture: a panel for each operation, size and time on logarithmic scales.

use apps::bench::{BenchOperation, BenchRow, BufferMode, ByteSize};
use plotters::prelude::*;
use std::fmt::Display;
use std::ops::Range;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[error("failed to draw: {0}")]
pub struct BenchPlotError(String);

/// The size of a panel, in pixels.
const PANEL: (u32, u32) = (420, 300);

/// The place of zero on a logarithmic scale: half a byte.
const NO_BYTES: f64 = 0.5;

const COLORS: [(BufferMode, RGBColor); 4] = [
    (BufferMode::Untouched, RGBColor(31, 90, 160)),
    (BufferMode::Touched, RGBColor(200, 80, 20)),
    (BufferMode::Turns, RGBColor(120, 80, 170)),
    (BufferMode::Fresh, RGBColor(40, 130, 60)),
];

/// Draws `rows` as SVG.
///
/// # Errors
/// When there are no rows.
pub fn picture(rows: &[BenchRow]) -> Result<String, BenchPlotError> {
    let mut operations: Vec<BenchOperation> = Vec::new();
    for row in rows {
        if !operations.contains(&row.op) {
            operations.push(row.op);
        }
    }
    if operations.is_empty() {
        return Err(BenchPlotError("there are no rows".into()));
    }
    let columns = operations.len().min(3);
    let lines = operations.len().div_ceil(columns);
    let pixels = |panels: usize, size: u32| {
        u32::try_from(panels)
            .map(|panels| panels.saturating_mul(size))
            .map_err(undrawn)
    };
    let size = (pixels(columns, PANEL.0)?, pixels(lines, PANEL.1)?);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(undrawn)?;
        for (panel, &op) in area.split_evenly((lines, columns)).iter().zip(&operations) {
            let rows: Vec<&BenchRow> = rows.iter().filter(|row| row.op == op).collect();
            draw(panel, op, &rows)?;
        }
        area.present().map_err(undrawn)?;
    }
    Ok(svg)
}

fn undrawn(error: impl Display) -> BenchPlotError {
    BenchPlotError(error.to_string())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(area: &Area<'_>, op: BenchOperation, rows: &[&BenchRow]) -> Result<(), BenchPlotError> {
    let place = |row: &BenchRow| (row.bytes as f64).max(NO_BYTES);
    let x = range(rows.iter().map(|row| place(row)));
    let y = decades(&range(rows.iter().flat_map(|row| [row.us, row.q1, row.q3])));
    let ranks = rows.first().map_or(0, |row| row.ranks);
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{op}, {ranks} ranks"), ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d(x.log_scale().base(4.0), y.log_scale())
        .map_err(undrawn)?;
    chart
        .configure_mesh()
        .x_desc("bytes")
        .y_desc("us")
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|bytes| size(*bytes))
        .y_label_formatter(&|us| format!("{us}"))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(undrawn)?;
    for (mode, color) in COLORS {
        let of_mode = || rows.iter().filter(move |row| row.mode == mode);
        if of_mode().next().is_none() {
            continue;
        }
        let line = LineSeries::new(of_mode().map(|row| (place(row), row.us)), color);
        let points = of_mode().map(|row| Circle::new((place(row), row.us), 2, color.filled()));
        let spreads = of_mode()
            .map(|row| PathElement::new([(place(row), row.q1), (place(row), row.q3)], color));
        let key = move |(x, y)| PathElement::new([(x, y), (x + 14, y)], color);
        let drawn = chart.draw_series(line).map_err(undrawn)?;
        drawn.label(mode.to_string()).legend(key);
        chart.draw_series(points).map_err(undrawn)?;
        chart.draw_series(spreads).map_err(undrawn)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
        .map_err(undrawn)
}

/// Returns a range from below the least to above the greatest figure, so that a single point has a
/// range, too.
fn range(figures: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = figures
        .filter(|figure| *figure > 0.0)
        .fold((f64::INFINITY, 0.0), |(low, high), figure| {
            (figure.min(low), figure.max(high))
        });
    match high > 0.0 {
        true => low / 1.5..high * 1.5,
        false => 0.1..10.0,
    }
}

/// Returns the powers of ten around a range: its axis has at least two marks.
fn decades(range: &Range<f64>) -> Range<f64> {
    let power = |exponent: f64| 10_f64.powf(exponent);
    power(range.start.log10().floor())..power(range.end.log10().ceil())
}

/// Formats a size on the axis, where logarithmic ticks may be no whole numbers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of bytes that a message had, or near one"
)]
fn size(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 1.0 => "0".into(),
        bytes => ByteSize(bytes.round() as usize).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: BenchOperation, bytes: usize, mode: BufferMode) -> BenchRow {
        BenchRow {
            op,
            bytes,
            mode,
            ranks: 2,
            us: 1.0 + bytes as f64,
            q1: 0.5,
            q3: 2.0 + bytes as f64,
            iterations: 10,
            cpu_percent: None,
        }
    }

    #[test]
    fn every_operation_has_a_panel_with_all_its_modes() {
        let rows = [
            row(BenchOperation::Latency, 0, BufferMode::Untouched),
            row(BenchOperation::Latency, 1024, BufferMode::Untouched),
            row(BenchOperation::Latency, 1024, BufferMode::Touched),
            row(BenchOperation::Barrier, 0, BufferMode::Untouched),
        ];
        let svg = picture(&rows).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        for word in [
            "latency, 2 ranks",
            "barrier, 2 ranks",
            "touched",
            "untouched",
        ] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(svg.matches("<circle").count(), 4, "a point for each row");
        assert!(picture(&[]).is_err());
    }

    #[test]
    fn a_range_holds_its_figures_and_is_never_empty() {
        assert_eq!(range([3.0, 6.0].into_iter()), 2.0..9.0);
        assert!(range([0.0].into_iter()).contains(&1.0));
        assert_eq!(decades(&(0.3..45.0)), 0.1..100.0);
    }
}
