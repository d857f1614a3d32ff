//! Run time by slice, drawn: a line for each strobe mode and eager limit, with the spread of the
//! runs.

use super::results::{Results, SettingResult};
use super::setting::name;
use plotters::prelude::*;
use std::fmt::Display;
use std::ops::Range;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[error("failed to draw: {0}")]
pub struct TunePlotError(String);

fn undrawn(why: impl Display) -> TunePlotError {
    TunePlotError(why.to_string())
}

/// The size in pixels.
const SIZE: (u32, u32) = (840, 480);

const COLORS: [RGBColor; 6] = [
    RGBColor(31, 90, 160),
    RGBColor(200, 80, 20),
    RGBColor(120, 80, 170),
    RGBColor(40, 130, 60),
    RGBColor(170, 40, 90),
    RGBColor(110, 110, 30),
];

const GREY: RGBColor = RGBColor(110, 110, 110);

/// Rows of one strobe mode and eager limit.
struct PlotLine<'a> {
    label: String,
    rows: Vec<&'a SettingResult>,
}

/// Draws the results as SVG.
///
/// # Errors
/// When nothing has run.
pub fn picture(results: &Results) -> Result<String, TunePlotError> {
    let lines = lines(results);
    if lines.is_empty() {
        return Err(undrawn("no setting has run"));
    }
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(undrawn)?;
        draw(&area, results, &lines)?;
        area.present().map_err(undrawn)?;
    }
    Ok(svg)
}

fn lines(results: &Results) -> Vec<PlotLine<'_>> {
    let varied = results.varied();
    let mut lines: Vec<PlotLine<'_>> = Vec::new();
    for row in &results.rows {
        let Some(setting) = row.setting.filter(|_| !row.seconds.is_empty()) else {
            continue;
        };
        let mut label = format!("{} strobes", name(setting.strobe));
        if varied.contains(&"eager-limit") {
            label.push_str(&format!(", eager up to {}", setting.eager_limit));
        }
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.rows.push(row),
            None => lines.push(PlotLine {
                label,
                rows: vec![row],
            }),
        }
    }
    lines
}

fn us(row: &SettingResult) -> f64 {
    row.setting
        .map_or(0.0, |setting| setting.time_slice_ns as f64 / 1e3)
}

fn draw(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    results: &Results,
    lines: &[PlotLine<'_>],
) -> Result<(), TunePlotError> {
    let drawn = || results.rows.iter().filter(|row| !row.seconds.is_empty());
    let x = range(
        lines.iter().flat_map(|line| &line.rows).map(|row| us(row)),
        1.2,
    );
    let y = range(drawn().flat_map(|row| row.seconds.iter().copied()), 1.1);
    let mut chart = ChartBuilder::on(area)
        .caption(results.program.join(" "), ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(x.clone().log_scale(), y.log_scale())
        .map_err(undrawn)?;
    chart
        .configure_mesh()
        .x_desc("time slice (us)")
        .y_desc("run time (s)")
        .x_label_formatter(&|us| format!("{us:.0}"))
        .y_label_formatter(&|seconds| format!("{seconds:.3}"))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(undrawn)?;
    for (line, color) in lines.iter().zip(COLORS.iter().cycle()) {
        let place = |row: &&SettingResult| Some((us(row), row.median()?));
        let points: Vec<(f64, f64)> = line.rows.iter().filter_map(place).collect();
        let dots = points
            .iter()
            .map(|point| Circle::new(*point, 3, color.filled()));
        let spreads = line.rows.iter().filter_map(|row| {
            let (least, most) = row.range()?;
            Some(PathElement::new(
                [(us(row), least), (us(row), most)],
                *color,
            ))
        });
        let key = move |(x, y)| PathElement::new([(x, y), (x + 14, y)], *color);
        let series = LineSeries::new(points.iter().copied(), *color);
        let series = chart.draw_series(series).map_err(undrawn)?;
        series.label(&line.label).legend(key);
        chart.draw_series(dots).map_err(undrawn)?;
        chart.draw_series(spreads).map_err(undrawn)?;
    }
    if let Some(seconds) = results.reference().and_then(SettingResult::median) {
        let ends = [(x.start, seconds), (x.end, seconds)];
        let series = chart
            .draw_series(LineSeries::new(ends, GREY))
            .map_err(undrawn)?;
        let key = |(x, y)| PathElement::new([(x, y), (x + 14, y)], GREY);
        let label = results.against.clone().unwrap_or_default();
        series.label(label).legend(key);
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
        .map_err(undrawn)
}

/// Returns a range from below the least to above the greatest figure, by a factor.
fn range(figures: impl Iterator<Item = f64>, room: f64) -> Range<f64> {
    let (low, high) = figures.fold((f64::INFINITY, 0.0_f64), |(low, high), figure| {
        (low.min(figure), high.max(figure))
    });
    low / room..high * room
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::sample;
    use super::*;

    #[test]
    fn each_mode_has_a_line_and_each_setting_a_point_with_its_spread() {
        let svg = picture(&sample()).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        for word in [
            "sweep3d",
            "fixed strobes",
            "elastic strobes",
            "--nodes 1",
            "time slice (us)",
        ] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(svg.matches("<circle").count(), 4);
        let nothing = Results {
            rows: Vec::new(),
            ..sample()
        };
        assert!(picture(&nothing).is_err());
    }
}
