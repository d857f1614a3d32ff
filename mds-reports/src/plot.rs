//! A column of slices as a picture: Figures 5.3 to 5.5 of the paper.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::Range;

use plotters::prelude::*;
use thiserror::Error;

use crate::figures::{Series, SeriesColumn};

/// The reason why there is no picture.
#[derive(Debug, Error)]
#[error("failed to draw {name}: {why}")]
pub struct PlotError {
    /// The column.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// In pixels.
const SIZE: (u32, u32) = (960, 420);

/// Draws a column over the slice number, as SVG: a point for each slice that has a figure, but only
/// one for all slices at the same pixel.
///
/// # Errors
///
/// If no slice has a figure.
pub fn plot(series: &Series, column: &SeriesColumn, title: &str) -> Result<String, PlotError> {
    let undrawn = |why: &dyn Display| PlotError {
        name: column.name.clone(),
        why: why.to_string(),
    };
    let (scale, unit) = match column.unit {
        "ns" => (1e3, "us"),
        unit => (1.0, unit),
    };
    let points = series.lines.iter().filter_map(|line| {
        let figure = line.figure(column)? as f64 / scale;
        Some((line.slice as f64, figure))
    });
    let points: Vec<(f64, f64)> = points.collect();
    if points.is_empty() {
        return Err(undrawn(
            &"no slice of the window has a figure in this column",
        ));
    }
    let mut svg = String::new();
    draw(
        &mut svg,
        &points,
        title,
        &format!("{} ({unit})", column.name),
    )
    .map_err(|error| undrawn(&error))?;
    Ok(svg)
}

fn draw(
    svg: &mut String,
    points: &[(f64, f64)],
    title: &str,
    label: &str,
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(
            range(points.iter().map(|point| point.0)),
            from_zero(range(points.iter().map(|point| point.1))),
        )?;
    chart
        .configure_mesh()
        .x_desc("time slice number")
        .y_desc(label)
        .x_label_formatter(&|slice| format!("{slice:.0}"))
        .light_line_style(TRANSPARENT)
        .draw()?;
    let color = RGBColor(31, 90, 160);
    // Thousands of slices may share a few pixels.
    let mut drawn = HashSet::new();
    let seen = points
        .iter()
        .filter(|point| drawn.insert(chart.backend_coord(point)));
    let dots: Vec<_> = seen
        .map(|point| Circle::new(*point, 1, color.filled()))
        .collect();
    chart.draw_series(dots)?;
    area.present()
}

/// Returns the range from the smallest to the largest figure, with a margin, so that one point has
/// a range, too.
fn range(figures: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = figures.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), figure| {
        (figure.min(low), figure.max(high))
    });
    let room = ((high - low) * 0.03).max(0.5);
    low - room..high + room
}

/// Extends a range to zero, unless it is a small spread of large figures.
fn from_zero(range: Range<f64>) -> Range<f64> {
    match range.start < range.end * 0.5 {
        true => 0.0_f64.min(range.start)..range.end,
        false => range,
    }
}
