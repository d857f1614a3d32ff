//! The results as a table for people, with a chart in it.

use super::results::{Results, SettingResult, word};
use super::setting::name;
use comfy_table::{CellAlignment, Table};

/// One rule above, one under the heads, one below, as in the reports of the MDS. In the order that
/// comfy-table defines.
const RULES: &str = "  ── ──      ──    ";

/// The width of the chart, in characters.
const WIDTH: usize = 32;

/// Returns the table, with a row for each setting, and one for the reference. A row has the median
/// run time, all runs on a logarithmic scale that is the same in all rows, and the time as a
/// multiple of the fastest one's and of the reference's.
#[must_use]
pub fn table(results: &Results) -> Table {
    let varied = results.varied();
    let has = |option: &str| varied.contains(&option);
    let reference = results.reference().and_then(SettingResult::median);
    let mut heads = vec!["slice"];
    heads.extend(has("strobe").then_some("strobe"));
    heads.extend(has("eager-limit").then_some("eager limit"));
    heads.extend(["runs", "seconds", "least - most", "x best"]);
    heads.extend(reference.map(|_| "x reference"));
    heads.extend(["", ""]);
    let mut table = Table::new();
    table.load_preset(RULES);
    table.set_header(heads.clone());
    for (column, head) in table.column_iter_mut().zip(&heads) {
        let alignment = match *head {
            "" | "strobe" => CellAlignment::Left,
            _ => CellAlignment::Right,
        };
        column.set_cell_alignment(alignment);
    }
    let scale = Scale::of(&results.rows);
    let best = results.best().and_then(|(row, _)| row.median());
    for row in &results.rows {
        let median = row.median();
        let times = |of: Option<f64>| match (median, of) {
            (Some(median), Some(of)) => format!("{:.3}", median / of),
            _ => String::new(),
        };
        let mut cells = match &row.setting {
            Some(setting) => {
                let mut cells = vec![setting.slice()];
                cells.extend(has("strobe").then(|| name(setting.strobe).to_owned()));
                cells.extend(has("eager-limit").then(|| setting.eager_limit.to_string()));
                cells
            }
            None => {
                let mut cells = vec![results.against.clone().unwrap_or_default()];
                cells.resize(
                    heads.iter().position(|head| *head == "runs").unwrap_or(1),
                    String::new(),
                );
                cells
            }
        };
        let runs = row.seconds.len() + row.failures.len();
        let range = row.range();
        let range = range.map(|(least, most)| format!("{} - {}", figure(least), figure(most)));
        cells.extend([
            runs.to_string(),
            median.map(figure).unwrap_or_default(),
            range.unwrap_or_default(),
            times(best),
        ]);
        cells.extend(reference.map(|reference| times(Some(reference))));
        cells.extend([scale.draw(row), word(row.standing).to_owned()]);
        table.add_row(cells);
    }
    table
}

/// Formats four significant digits.
fn figure(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 10.0 => format!("{seconds:.3}"),
        seconds => format!("{seconds:.2}"),
    }
}

/// A scale that maps times to places on a line.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Makes the scale from the shortest to the longest of all runs.
    fn of(rows: &[SettingResult]) -> Self {
        let ranges = rows.iter().filter_map(SettingResult::range);
        let (low, high) = ranges.fold((f64::INFINITY, 0.0_f64), |(low, high), (least, most)| {
            (low.min(least), high.max(most))
        });
        Self {
            low: low.ln(),
            high: high.ln(),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the width of the chart"
    )]
    fn place(self, seconds: f64) -> usize {
        let width = self.high - self.low;
        let share = match width > 0.0 {
            true => (seconds.ln() - self.low) / width,
            false => 0.0,
        };
        (share * (WIDTH - 1) as f64).round() as usize
    }

    /// Draws all runs of a row as a line, with a dot at their median.
    fn draw(self, row: &SettingResult) -> String {
        let (Some((least, most)), Some(median)) = (row.range(), row.median()) else {
            return String::new();
        };
        let [least, median, most] = [least, median, most].map(|seconds| self.place(seconds));
        let character = |place: usize| match place {
            place if place == median => '●',
            place if (least..=most).contains(&place) => '─',
            _ => ' ',
        };
        let line: String = (0..WIDTH).map(character).collect();
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::sample;
    use super::*;

    #[test]
    fn a_row_is_a_line_with_its_spread() {
        let text = table(&sample()).to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let words = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words(1),
            "slice strobe runs seconds least - most x best x reference"
        );
        assert_eq!(
            words(3),
            "50us fixed 3 1.010 1.000 - 1.020 1.000 1.110 ●─ best"
        );
        assert_eq!(
            words(4),
            "500us fixed 3 1.250 1.200 - 1.500 1.238 1.374 ─●──── slower"
        );
        assert_eq!(
            words(5),
            "5ms fixed 2 4.000 4.000 - 4.000 3.960 4.396 ● failed"
        );
        assert_eq!(
            words(7),
            "--nodes 1 3 0.910 0.900 - 0.920 0.901 1.000 ● reference"
        );
        let place = |line: usize| lines[line].chars().position(|one| one == '●').unwrap();
        assert!(
            place(7) < place(3) && place(3) < place(4) && place(4) < place(5),
            "{text}"
        );
    }
}
