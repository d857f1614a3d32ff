//! Figures by slice, of the whole job or of one node: the data of Figures 5.3 to 5.5 of the paper.

use std::collections::BTreeMap;

use thiserror::Error;

use mds::dump::{Column, LocalSliceRow, NONE, Row, RunDumps, SliceRow, StrobeRow};

/// All figures of one slice.
#[derive(Debug, Clone, Default)]
pub struct SliceLine {
    /// Its number.
    pub slice: u64,
    /// When it was struck; `None` if no NIC has a row of it, but only ranks.
    pub strobe_ns: Option<u64>,
    /// The words of a strobe row, of the merged slice rows of the nodes, and of the merged near
    /// rows of the ranks.
    strobe: Option<StrobeRow>,
    nodes: Option<Vec<u64>>,
    near: LocalSliceRow,
}

/// The slices of a run, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The slices. Missing slices were not struck, or are outside of the window.
    pub lines: Vec<SliceLine>,
}

/// There is no column of this name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no column {name:?}; there are {known}")]
pub struct UnknownColumn {
    /// The requested name.
    pub name: String,
    /// All names that exist.
    pub known: String,
}

/// The table that a column is in, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnSource {
    Strobe(usize),
    Slice(usize),
    Near(usize),
}

/// A column of [`Series`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesColumn {
    /// The name on a command line and in table heads: `GETTS`, `BUDGET`, `NEAR_BYTES`.
    pub name: String,
    /// `ns`, `bytes`, `number` or `count`.
    pub unit: &'static str,
    place: ColumnSource,
}

/// Returns all columns.
#[must_use]
pub fn columns() -> Vec<SeriesColumn> {
    let named = |column: &Column, prefix: &str, place| SeriesColumn {
        name: format!("{prefix}{}", without_unit(column)).to_uppercase(),
        unit: column.unit,
        place,
    };
    let of_table = |columns: &[Column], prefix: &str, place: fn(usize) -> ColumnSource| {
        let numbered = columns.iter().enumerate().skip(1);
        let wanted = numbered.filter(|(_, column)| column.name != "strobe_ns");
        wanted
            .map(|(index, column)| named(column, prefix, place(index)))
            .collect::<Vec<_>>()
    };
    let mut all = of_table(StrobeRow::COLUMNS, "", ColumnSource::Strobe);
    all.retain(|column| column.name != "DEMANDED");
    all.extend(of_table(SliceRow::COLUMNS, "", ColumnSource::Slice));
    all.extend(of_table(
        LocalSliceRow::COLUMNS,
        "near_",
        ColumnSource::Near,
    ));
    all
}

fn without_unit(column: &Column) -> &str {
    let name = column.name.strip_suffix("_ns");
    name.or_else(|| column.name.strip_suffix("_bytes"))
        .unwrap_or(column.name)
}

/// Finds the column of this name, regardless of case.
///
/// # Errors
///
/// [`UnknownColumn`], with all names that exist.
pub fn column(name: &str) -> Result<SeriesColumn, UnknownColumn> {
    let all = columns();
    let found = all
        .iter()
        .find(|column| column.name.eq_ignore_ascii_case(name));
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
        UnknownColumn {
            name: name.to_owned(),
            known: known.join(", "),
        }
    })
}

impl Series {
    /// Returns the slices from `from` to `to`, of the whole job or of `node` alone.
    #[must_use]
    pub fn of(dumps: &RunDumps, node: Option<u32>, from: u64, to: u64) -> Self {
        let mut lines: BTreeMap<u64, SliceLine> = BTreeMap::new();
        let mut line = |slice: u64, add: &dyn Fn(&mut SliceLine)| {
            if (from..=to).contains(&slice) {
                let line = lines.entry(slice).or_default();
                line.slice = slice;
                add(line);
            }
        };
        let wanted = |number: u32| node.is_none_or(|node| node == number);
        for dump in &dumps.nodes {
            for row in dump.global.iter().flat_map(|global| &global.strobes) {
                line(row.slice, &|line| {
                    line.strobe_ns = Some(row.strobe_ns);
                    line.strobe = Some(*row);
                });
            }
            for row in dump.slices.iter().filter(|_| wanted(dump.node)) {
                line(row.slice, &|line| {
                    line.strobe_ns.get_or_insert(row.strobe_ns);
                    line.nodes = Some(together(line.nodes.as_deref(), row));
                });
            }
        }
        for dump in dumps.ranks.iter().filter(|dump| wanted(dump.node)) {
            for row in &dump.near {
                line(row.slice, &|line| {
                    line.near.messages = line.near.messages.saturating_add(row.messages);
                    line.near.bytes = line.near.bytes.saturating_add(row.bytes);
                    line.near.collectives = line.near.collectives.saturating_add(row.collectives);
                });
            }
        }
        Self {
            lines: lines.into_values().collect(),
        }
    }
}

/// Merges the figures of nodes: times by their maximum, all others by their sum. But a slice is
/// demanded once.
fn together(sums: Option<&[u64]>, row: &SliceRow) -> Vec<u64> {
    let Some(sums) = sums else {
        return row.words().collect();
    };
    let figures = SliceRow::COLUMNS.iter().zip(sums).zip(row.words());
    let together = figures.map(|((column, sum), word)| match (*sum, word) {
        (NONE, figure) | (figure, NONE) => figure,
        (sum, word) if column.unit == "ns" || column.name == "demanded" => sum.max(word),
        (sum, word) => sum.saturating_add(word),
    });
    together.collect()
}

impl SliceLine {
    /// Returns the figure of a column, if there is one: a microphase may have been skipped.
    #[must_use]
    pub fn figure(&self, column: &SeriesColumn) -> Option<u64> {
        let word = match column.place {
            ColumnSource::Strobe(index) => self.strobe.as_ref()?.words().nth(index)?,
            ColumnSource::Slice(index) => *self.nodes.as_ref()?.get(index)?,
            ColumnSource::Near(index) => self.near.words().nth(index)?,
        };
        (word != NONE).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::dump::{NodeDump, RankDump, StrobeDump};

    #[test]
    fn nodes_are_added_up_and_times_are_those_of_the_slowest() {
        let node = |node: u32, ltdem_ns: u64, global| NodeDump {
            node,
            slices: vec![SliceRow {
                slice: 7,
                strobe_ns: 100,
                ltdem_ns,
                ltmsm_ns: NONE,
                np2pdem: 3,
                demanded: 1,
                ..SliceRow::default()
            }],
            global,
            ..NodeDump::default()
        };
        let strobes = StrobeDump {
            strobes: vec![StrobeRow {
                slice: 7,
                strobe_ns: 99,
                getts_ns: 250,
                ..StrobeRow::default()
            }],
            ..StrobeDump::default()
        };
        let near = |slice, bytes| LocalSliceRow {
            slice,
            messages: 1,
            bytes,
            collectives: 0,
        };
        let rank = RankDump {
            near: vec![near(7, 8), near(9, 16)],
            ..RankDump::default()
        };
        let dumps = RunDumps {
            nodes: vec![node(0, 5, Some(strobes)), node(1, 9, None)],
            ranks: vec![rank],
            ..RunDumps::default()
        };
        let figures = |series: &Series, names: [&str; 6]| {
            let line = &series.lines[0];
            names.map(|name| line.figure(&column(name).unwrap()))
        };
        let names = [
            "getts",
            "LTDEM",
            "LTMSM",
            "np2pdem",
            "demanded",
            "near_bytes",
        ];
        let all = Series::of(&dumps, None, 0, u64::MAX);
        let found = figures(&all, names);
        assert_eq!(found, [Some(250), Some(9), None, Some(6), Some(1), Some(8)]);
        assert_eq!(all.lines[0].strobe_ns, Some(99));
        assert_eq!((all.lines.len(), all.lines[1].strobe_ns), (2, None));
        let one = Series::of(&dumps, Some(1), 0, 8);
        assert_eq!(figures(&one, names)[1..4], [Some(9), None, Some(3)]);
        assert_eq!(one.lines.len(), 1);
    }

    #[test]
    fn columns_have_names_of_their_own() {
        let mut names: Vec<String> = columns().into_iter().map(|column| column.name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        let refusal = column("ndem").unwrap_err().to_string();
        assert!(
            refusal.starts_with("there is no column \"ndem\"; there are GETTS, "),
            "{refusal}"
        );
    }
}
