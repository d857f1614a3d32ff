//! Curves as SVG: a panel for each pair of axes.
//!
//! A logarithmic axis places a value at its logarithm; the marks show the value itself.

use std::fmt::Display;
use std::ops::Range;

use anyhow::{Result, anyhow, ensure};
use apps::bench::ByteSize;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;

/// The size of a panel in pixels, with its legend.
const PANEL: (u32, u32) = (760, 400);

/// The width of the legend, to the right of the axes, so that it hides no curve.
const LEGEND: u32 = 230;

/// The height of a line of the legend.
const LEGEND_LINE: i32 = 20;

/// The place of 0 on a logarithmic axis of bytes: that of half a byte.
const NO_BYTES: f64 = 0.5;

/// The colours of curves, in their order. They differ in lightness, too.
const COLORS: [RGBColor; 8] = [
    RGBColor(31, 90, 160),
    RGBColor(214, 94, 0),
    RGBColor(0, 140, 100),
    RGBColor(150, 60, 140),
    RGBColor(90, 180, 230),
    RGBColor(200, 160, 0),
    RGBColor(90, 90, 90),
    RGBColor(200, 40, 60),
];

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// Linear, from 0.
    Linear,
    /// Logarithmic, with marks at powers of ten.
    Decades,
    /// Logarithmic, with marks at powers of two, for numbers of nodes or ranks.
    Doublings,
    /// Logarithmic, with marks at powers of two, for sizes of messages.
    Bytes,
}

/// An axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// The quantity, and its unit.
    pub(super) label: &'static str,
    /// The scale.
    pub(super) scale: Scale,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stroke {
    /// A result of this machine: a line with its points.
    Measured,
    /// A result of a paper: a thin line, or a cross for a single point.
    Published,
}

/// A curve.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// The name in the legend.
    pub(super) name: String,
    /// Its points, from left to right.
    pub(super) points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub(super) stroke: Stroke,
}

impl Curve {
    /// Makes a curve of measurements on this machine.
    pub(super) fn measured(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            stroke: Stroke::Measured,
        }
    }

    /// Makes a curve of published results.
    pub(super) fn published(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self {
            stroke: Stroke::Published,
            ..Self::measured(name, points)
        }
    }
}

/// Curves on one pair of axes.
#[derive(Debug)]
pub(super) struct Panel {
    /// The title above it.
    pub(super) title: String,
    /// The horizontal axis.
    pub(super) x: Axis,
    /// The vertical axis.
    pub(super) y: Axis,
    /// The curves, in the order of the legend.
    pub(super) curves: Vec<Curve>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws panels in two columns.
///
/// # Errors
///
/// When a panel has no point.
pub(super) fn picture(panels: &[Panel]) -> Result<String> {
    ensure!(!panels.is_empty(), "there is nothing to draw");
    let columns = panels.len().min(2);
    let lines = panels.len().div_ceil(columns);
    let size = (
        PANEL.0 * u32::try_from(columns)?,
        PANEL.1 * u32::try_from(lines)?,
    );
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(undrawn)?;
        let places = area.split_evenly((lines, columns));
        for (place, panel) in places.iter().zip(panels) {
            draw(place, panel)?;
        }
        area.present().map_err(undrawn)?;
    }
    Ok(svg)
}

fn undrawn(error: impl Display) -> anyhow::Error {
    anyhow!("failed to draw: {error}")
}

fn draw(area: &Area<'_>, panel: &Panel) -> Result<()> {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    ensure!(
        points().next().is_some(),
        "there is no point to draw of {}",
        panel.title
    );
    let x = panel.x.ruled(points().map(|point| point.0));
    let y = panel.y.ruled(points().map(|point| point.1));
    let (axes, legend) = area.split_horizontally(PANEL.0 - LEGEND);
    draw_legend(&legend, &panel.curves)?;
    let mut chart = ChartBuilder::on(&axes)
        .caption(&panel.title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(62)
        .build_cartesian_2d(x, y)
        .map_err(undrawn)?;
    chart
        .configure_mesh()
        .x_desc(panel.x.label)
        .y_desc(panel.y.label)
        .x_label_formatter(&|at| panel.x.scale.words(*at))
        .y_label_formatter(&|at| panel.y.scale.words(*at))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(undrawn)?;
    for (curve, color) in colored(&panel.curves) {
        let place = |&(x, y): &(f64, f64)| (panel.x.scale.place(x), panel.y.scale.place(y));
        let places: Vec<(f64, f64)> = curve.points.iter().map(place).collect();
        let style = curve.style(color);
        if places.len() > 1 {
            let line = LineSeries::new(places.iter().copied(), style);
            chart.draw_series(line).map_err(undrawn)?;
        }
        match curve.stroke {
            Stroke::Measured => {
                let dots = places.iter().map(|at| Circle::new(*at, 3, color.filled()));
                chart.draw_series(dots).map_err(undrawn)?;
            }
            Stroke::Published => {
                let crosses = places.iter().map(|at| Cross::new(*at, 4, style));
                chart.draw_series(crosses).map_err(undrawn)?;
            }
        }
    }
    Ok(())
}

fn draw_legend(area: &Area<'_>, curves: &[Curve]) -> Result<()> {
    for (line, (curve, color)) in (0..).zip(colored(curves)) {
        let y = 50 + line * LEGEND_LINE;
        let key = PathElement::new([(4, y), (26, y)], curve.style(color));
        area.draw(&key).map_err(undrawn)?;
        match curve.stroke {
            Stroke::Measured => area.draw(&Circle::new((15, y), 3, color.filled())),
            Stroke::Published => area.draw(&Cross::new((15, y), 4, curve.style(color))),
        }
        .map_err(undrawn)?;
        let name = Text::new(curve.name.as_str(), (32, y - 7), ("sans-serif", 13));
        area.draw(&name).map_err(undrawn)?;
    }
    Ok(())
}

fn colored(curves: &[Curve]) -> impl Iterator<Item = (&Curve, RGBColor)> {
    curves.iter().zip(COLORS.iter().cycle().copied())
}

impl Curve {
    fn style(&self, color: RGBColor) -> ShapeStyle {
        color.stroke_width(match self.stroke {
            Stroke::Measured => 2,
            Stroke::Published => 1,
        })
    }
}

/// The ends and the marks of an axis, as they are drawn.
#[derive(Debug)]
struct AxisTicks {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Ranged for AxisTicks {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    #[expect(
        clippy::cast_possible_truncation,
        reason = "pixels of a picture of some hundreds"
    )]
    fn map(&self, place: &f64, (first, last): (i32, i32)) -> i32 {
        let Range { start, end } = self.range;
        let share = (place - start) / (end - start);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _all: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl Axis {
    fn ruled(&self, figures: impl Iterator<Item = f64>) -> AxisTicks {
        let places = figures.map(|figure| self.scale.place(figure));
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
            (low.min(place), high.max(place))
        });
        match self.scale {
            Scale::Linear => linear(high),
            Scale::Decades => whole_steps(low, high, 1),
            Scale::Doublings => whole_steps(low, high, 1),
            Scale::Bytes => whole_steps(low, high, 2),
        }
    }
}

/// Makes an axis from 0 to somewhat above `high`, with five to ten marks at round numbers.
fn linear(high: f64) -> AxisTicks {
    let high = if high > 0.0 { high * 1.08 } else { 1.0 };
    let decade = 10_f64.powf((high / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * decade)
        .into_iter()
        .find(|step| high / step <= 10.0)
        .unwrap_or(high);
    let marks = (0..=10).map(|mark| f64::from(mark) * step);
    AxisTicks {
        range: 0.0..high,
        marks: marks.filter(|mark| *mark <= high).collect(),
    }
}

/// Makes marks at every `step`th whole number, with at least two of them on the axis.
fn whole_steps(low: f64, high: f64, step: u16) -> AxisTicks {
    let step = f64::from(step);
    let first = (low / step).floor() * step;
    let last = ((high / step).ceil() * step).max(first + step);
    let marks = std::iter::successors(Some(first), |mark| Some(mark + step));
    AxisTicks {
        range: first - 0.1..last + 0.1,
        marks: marks.take_while(|mark| *mark <= last).collect(),
    }
}

impl Scale {
    /// Returns the place at which a figure is drawn.
    fn place(self, figure: f64) -> f64 {
        match self {
            Scale::Linear => figure,
            Scale::Decades => figure.max(f64::MIN_POSITIVE).log10(),
            Scale::Doublings => figure.max(1.0).log2(),
            Scale::Bytes => figure.max(NO_BYTES).log2(),
        }
    }

    /// Returns the text at a mark.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a power of two, of a message's size"
    )]
    fn words(self, place: f64) -> String {
        match self {
            Scale::Linear => format!("{}", (place * 1e6).round() / 1e6),
            Scale::Decades if place < 0.0 => {
                format!("{:.1$}", 10_f64.powf(place), (-place).ceil() as usize)
            }
            Scale::Decades => format!("{:.0}", 10_f64.powf(place)),
            Scale::Doublings => format!("{:.0}", place.exp2()),
            Scale::Bytes if place < 0.0 => "0".to_owned(),
            Scale::Bytes => ByteSize(place.exp2().round() as usize).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(scale: Scale, curves: Vec<Curve>) -> Panel {
        let axis = |label| Axis { label, scale };
        Panel {
            title: "It".into(),
            x: axis("bytes"),
            y: axis("us"),
            curves,
        }
    }

    #[test]
    fn panels_have_axes_legends_and_all_points() {
        let curves = vec![
            Curve::measured("ours", [(1.0, 2.0), (4.0, 3.0)]),
            Curve::published("theirs", [(2.0, 5.0)]),
        ];
        let svg = picture(&[panel(Scale::Bytes, curves)]).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        for word in ["It", "bytes", "us", "ours", "theirs"] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(svg.matches("<circle").count(), 3, "one in the legend");
        assert!(picture(&[]).is_err());
        let error = picture(&[panel(Scale::Linear, Vec::new())]).unwrap_err();
        assert_eq!(error.to_string(), "there is no point to draw of It");
    }

    #[test]
    fn marks_are_round_and_hold_all_figures() {
        let words = |scale: Scale, figures: &[f64]| {
            let label = "";
            let ruled = Axis { label, scale }.ruled(figures.iter().copied());
            let places = figures.iter().map(|figure| scale.place(*figure));
            places.for_each(|place| assert!(ruled.range.contains(&place), "{place} {ruled:?}"));
            let words = ruled.marks.iter().map(|mark| scale.words(*mark));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            words(Scale::Linear, &[3.0, 41.0]),
            "0 5 10 15 20 25 30 35 40"
        );
        assert_eq!(
            words(Scale::Linear, &[0.0]),
            "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"
        );
        assert_eq!(words(Scale::Decades, &[0.3, 45.0]), "0.1 1 10 100");
        assert_eq!(words(Scale::Decades, &[7.0]), "1 10");
        assert_eq!(words(Scale::Doublings, &[1.0, 16.0]), "1 2 4 8 16");
        assert_eq!(words(Scale::Bytes, &[0.0, 1024.0]), "0 1 4 16 64 256 1K");
    }
}
