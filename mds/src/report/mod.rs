//! Reports for people, made from dumps after the run: text for a terminal.
//!
//! | file | is |
//! |---|---|
//! | `header.rs` | the identity of the run |
//! | `ranks.rs` | Table 5.3 |
//! | `balance.rs` | the time in MPI of each rank |
//! | `sites.rs` | the calls of a program by the time they take |
//! | `sizes.rs` | messages and collectives by size |
//! | `peers.rs` | the traffic between ranks: the largest pairs, and the matrix |
//! | `nodes.rs` | Tables 5.1 and 5.2 |
//! | `assumptions.rs` | the assumptions of section 5.3, and what follows for the choice of the slice |
//! | `histogram.rs` | a distribution, drawn |
//! | `slices.rs` | figures by slice |
//! | `compare.rs` | two runs |
//! | `waits.rs` | the waits and their causes |
//! | `words.rs` | the format of times and sizes |

mod assumptions;
mod balance;
mod compare;
mod header;
mod histogram;
mod nodes;
mod peers;
mod ranks;
mod sites;
mod sizes;
mod slices;
mod waits;
mod words;

pub use assumptions::{assumptions, choice_of_slice};
pub use balance::balance;
pub use compare::compare;
pub use header::header;
pub use histogram::histogram;
pub use nodes::table_nodes;
pub use peers::{matrix, peers};
pub use ranks::{ReportError, ReportScope, run_time, table_5_3};
pub use sites::sites;
pub use sizes::{collectives, messages};
pub use slices::slices;
pub use waits::{blame, blame_json};
pub use words::{duration, size};

use comfy_table::{CellAlignment, Table};

use crate::dump::{DistributionDump, RunDumps};
use crate::figures;

/// Rules as in the paper's tables: above, under the heads, below. In the order that comfy-table
/// requires.
const RULES: &str = "  ── ──      ──    ";

/// Returns all sections about all ranks and nodes, or those about one rank.
///
/// # Errors
///
/// [`ReportError::NoSuchRank`].
pub fn full_report(dumps: &RunDumps, whose: ReportScope) -> Result<String, ReportError> {
    let chosen = ranks::chosen(&dumps.ranks, whose)?;
    let mut sections = vec![header(dumps)];
    if !chosen.is_empty() {
        let table = format!(
            "{}\n{}",
            table_5_3(chosen, whose)?,
            run_time(chosen, whose)?
        );
        sections.push(titled("Primitives (Table 5.3)", table));
        sections.push(titled("Time in MPI", balance(chosen)));
        sections.push(titled("Call sites by time", sites(chosen)));
        sections.push(titled("Messages by size", messages(chosen)));
        sections.push(titled("Collectives by size", collectives(chosen)));
    }
    if whose == ReportScope::AllRanks {
        if !dumps.ranks.is_empty() {
            sections.push(titled("Messages by peer", peers(dumps)));
        }
        if !dumps.nodes.is_empty() {
            let tables = table_nodes(dumps);
            sections.push(titled("Nodes and slices (Tables 5.1 and 5.2)", tables));
            sections.push(titled("The beat (section 5.3)", assumptions(dumps)));
            sections.push(titled("The choice of the slice", choice_of_slice(dumps)));
        }
        sections.push(titled("What the names mean", legend()));
    }
    sections.retain(|section| !section.is_empty());
    Ok(sections.join("\n\n"))
}

/// Puts a title above a text; an empty text stays empty.
fn titled(title: &str, text: String) -> String {
    match text.is_empty() {
        true => text,
        false => format!("{title}\n{text}"),
    }
}

fn legend() -> String {
    let lines = figures::legend().map(|(name, about)| format!("  {name:<14} {about}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Makes an empty table in the style of the paper's, with right-aligned figures.
fn table<const COLUMNS: usize>(heads: [&str; COLUMNS]) -> Table {
    table_of(heads.to_vec())
}

/// Makes the same with a variable number of columns.
fn table_of(heads: Vec<&str>) -> Table {
    let mut table = Table::new();
    table.load_preset(RULES);
    table.set_header(heads);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Makes the row of a distribution of times: name, minimum, maximum, total, count, average.
fn time_row(name: &str, times_ns: &DistributionDump) -> [String; 6] {
    [
        name.to_owned(),
        milliseconds(times_ns.min as f64),
        milliseconds(times_ns.max as f64),
        milliseconds(times_ns.total as f64),
        times_ns.count.to_string(),
        milliseconds(times_ns.average),
    ]
}

fn milliseconds(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}
