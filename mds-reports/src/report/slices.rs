//! Figures by slice.

use crate::figures::{Series, SeriesColumn, span_ns};
use mds::dump::RunDumps;

use super::tables::table_of;

/// Makes a row for each slice: its number, when it was struck (in milliseconds since the run
/// began), and these columns. Times are in microseconds.
#[must_use]
pub fn slices(dumps: &RunDumps, series: &Series, columns: &[SeriesColumn]) -> String {
    let (began_ns, _) = span_ns(dumps);
    let heads: Vec<String> = columns
        .iter()
        .map(|column| match column.unit {
            "ns" => format!("{}(us)", column.name),
            _ => column.name.clone(),
        })
        .collect();
    let heads = ["Slice", "At(ms)"]
        .into_iter()
        .chain(heads.iter().map(String::as_str));
    let mut rows = table_of(heads.collect());
    for line in &series.lines {
        let at = line
            .strobe_ns
            .map(|strobe_ns| strobe_ns.saturating_sub(began_ns) as f64);
        let at = at.map_or("-".to_owned(), crate::words::milliseconds);
        let figures = columns
            .iter()
            .map(|column| match (line.figure(column), column.unit) {
                (None, _) => "-".to_owned(),
                (Some(ns), "ns") => format!("{:.1}", ns as f64 / 1e3),
                (Some(figure), _) => figure.to_string(),
            });
        rows.add_row([line.slice.to_string(), at].into_iter().chain(figures));
    }
    let struck = series
        .lines
        .iter()
        .filter(|line| line.strobe_ns.is_some())
        .count();
    format!("{}\n{struck} struck slices", rows.trim_fmt())
}
