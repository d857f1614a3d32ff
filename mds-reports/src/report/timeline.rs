//! The time of each rank as a row of letters.

use crate::figures::{self, ActivityShares, CALL_CLASSES};
use mds::dump::{RankDump, RunDumps};

use crate::words::{cut, duration};

/// The longest list of ranks: it fits a screen.
const MOST: usize = 32;

/// The columns before the time: `rank 12345 |`.
const MARGIN: usize = 12;

/// Draws a row for each rank, with a letter for what it does most of the time of a column. Calls
/// before those that are kept leave their columns empty.
#[must_use]
pub fn timeline(dumps: &RunDumps, width: usize) -> String {
    let (began_ns, ended_ns) = figures::span_ns(dumps);
    let kept = dumps.ranks.iter().any(|dump| !dump.calls.is_empty());
    let span_ns = ended_ns.saturating_sub(began_ns);
    if !kept || span_ns == 0 {
        return String::new();
    }
    let columns = width.saturating_sub(MARGIN + 1).max(10);
    let mut shown: Vec<&RankDump> = dumps.ranks.iter().collect();
    let more = cut(&mut shown, MOST, "ranks");
    let about = "Each letter is what a rank does for most of the time of a column.";
    let mut lines = vec![about.to_owned()];
    for dump in shown {
        let row = row(dump, (began_ns, span_ns), columns);
        lines.push(format!("rank {:<5} |{row}|", dump.rank));
    }
    let end = duration(span_ns as f64);
    let room = columns.saturating_sub(end.chars().count() + 1);
    lines.push(format!("{:>MARGIN$}0{:room$}{end}", "", ""));
    lines.extend(more);
    let classes = CALL_CLASSES.map(|(letter, name)| format!("{letter} {name}"));
    let (first, rest) = classes.split_at(4);
    lines.push(format!(". computes, {},", first.join(", ")));
    lines.push(rest.join(", "));
    lines.join("\n")
}

fn row(dump: &RankDump, span: (u64, u64), columns: usize) -> String {
    let letter = |shares: &ActivityShares| {
        let most = shares
            .iter()
            .enumerate()
            .max_by(|one, other| one.1.total_cmp(other.1));
        match most {
            Some((class, share)) if *share > 0.0 => {
                CALL_CLASSES.get(class).map_or('.', |class| class.0)
            }
            _ => ' ',
        }
    };
    figures::activity(dump, span, columns)
        .iter()
        .map(letter)
        .collect()
}
