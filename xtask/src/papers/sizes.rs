//! Figures over the size of a message: the panels of a picture, and tables of all sides.

use apps::bench::ByteSize;

use super::content::PaperTable;
use super::picture::{Axis, Curve, Panel, Scale};
use super::published::PublishedResult;
use super::run::OperationTime;

/// A figure of one operation, with the values of each side at each size.
#[derive(Debug)]
pub(super) struct SizeSeries {
    /// The title of its panel and its table.
    pub(super) title: String,
    /// The unit of the values, for the axis.
    pub(super) unit: &'static str,
    /// The values by side.
    pub(super) curves: Vec<(String, Vec<(usize, f64)>)>,
}

impl SizeSeries {
    /// Makes a figure of the rows of an operation from all sides that have it; `figure` computes
    /// the value of a row.
    pub(super) fn of(
        title: impl Into<String>,
        unit: &'static str,
        sides: &[(&str, &[OperationTime])],
        is_wanted: impl Fn(&str) -> bool,
        figure: impl Fn(&OperationTime) -> f64,
    ) -> Self {
        let curve = |&(name, rows): &(&str, &[OperationTime])| {
            let wanted = rows.iter().filter(|row| is_wanted(&row.op));
            let points: Vec<_> = wanted.map(|row| (row.bytes, figure(row))).collect();
            (name.to_owned(), points)
        };
        let mut curves: Vec<_> = sides.iter().map(curve).collect();
        curves.retain(|(_, points)| !points.is_empty());
        Self {
            title: title.into(),
            unit,
            curves,
        }
    }

    /// Returns its panel, with the published curves.
    pub(super) fn panel(&self, published: &[(&PublishedResult, &str)]) -> Panel {
        let ours = self.curves.iter().map(|(name, points)| {
            let points = points.iter().map(|&(bytes, figure)| (bytes as f64, figure));
            Curve::measured(name.as_str(), points)
        });
        let theirs = published.iter().flat_map(|(published, panel)| {
            let curves = published.curves(panel).into_iter();
            curves.map(|(name, points)| Curve::published(name, points))
        });
        Panel {
            title: self.title.clone(),
            x: Axis {
                label: "bytes",
                scale: Scale::Bytes,
            },
            y: Axis {
                label: self.unit,
                scale: Scale::Decades,
            },
            curves: ours.chain(theirs).collect(),
        }
    }

    /// Returns its table, with a line for each size. As in the papers' plots, the last column is
    /// the improvement of the first side over the side `rival`.
    pub(super) fn table(&self, rival: &str, more_is_better: bool) -> PaperTable {
        let mut heads = vec![format!("bytes ({})", self.unit)];
        heads.extend(self.curves.iter().map(|(name, _)| name.clone()));
        heads.push("improvement".to_owned());
        let mut table = PaperTable {
            heads,
            lines: Vec::new(),
        };
        let sizes = self
            .curves
            .first()
            .into_iter()
            .flat_map(|(_, points)| points);
        for &(bytes, first) in sizes {
            let at = |points: &[(usize, f64)]| {
                let found = points.iter().find(|point| point.0 == bytes);
                found.map(|point| point.1)
            };
            let cell = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), rounded);
            let mut cells = vec![ByteSize(bytes).to_string()];
            cells.extend(self.curves.iter().map(|(_, points)| cell(at(points))));
            let against = self.curves.iter().find(|(name, _)| name == rival);
            let against = against.and_then(|(_, points)| at(points));
            let times = against.map(|against| match more_is_better {
                true => first / against,
                false => against / first,
            });
            cells.push(times.map_or_else(|| "-".to_owned(), |times| format!("{times:.2} x")));
            table.line(cells);
        }
        table
    }
}

/// Formats with three digits or more.
fn rounded(figure: f64) -> String {
    match figure {
        figure if figure >= 100.0 => format!("{figure:.0}"),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure => format!("{figure:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: &str, bytes: usize, us: f64) -> OperationTime {
        let op = op.to_owned();
        OperationTime { op, bytes, us }
    }

    #[test]
    fn sides_stand_beside_each_other_by_size() {
        let ours = [row("a", 8, 2.0), row("a", 1024, 20.0), row("b", 8, 1.0)];
        let theirs = [row("a", 8, 6.0)];
        let sides = [
            ("ours", &ours[..]),
            ("theirs", &theirs[..]),
            ("nobody", &[]),
        ];
        let figure = SizeSeries::of("A", "us", &sides, |op| op == "a", |row| row.us);
        assert_eq!(figure.curves.len(), 2, "who has none has no curve");
        let table = figure.table("theirs", false);
        assert_eq!(table.heads, ["bytes (us)", "ours", "theirs", "improvement"]);
        assert_eq!(table.lines[0], ["8", "2.000", "6.000", "3.00 x"]);
        assert_eq!(table.lines[1], ["1K", "20.0", "-", "-"]);
        let rates = figure.table("theirs", true);
        assert_eq!(rates.lines[0][3], "0.33 x");
        assert_eq!(figure.panel(&[]).curves[0].points[1], (1024.0, 20.0));
    }
}
