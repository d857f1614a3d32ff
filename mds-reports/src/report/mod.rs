//! Reports for people, made from dumps after the run: text for a terminal.
//!
//! | file | is |
//! |---|---|
//! | `fitted.rs` | tables and lines that fit a terminal |
//! | `header.rs` | the identity of the run |
//! | `timeline.rs` | what each rank did, and when |
//! | `who_waits.rs` | who waited for whom |
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
//! | `tables.rs` | tables in the style of the paper's |

mod assumptions;
mod balance;
mod compare;
mod fitted;
mod header;
mod histogram;
mod nodes;
mod peers;
mod ranks;
mod sites;
mod sizes;
mod slices;
mod tables;
mod timeline;
mod waits;
mod who_waits;

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
pub use timeline::timeline;
pub use waits::{blame, blame_json};
pub use who_waits::who_waits;

pub use crate::words::{duration, size};

use crate::diagnosis::{Facts, diagnose};
use crate::figures;
use mds::dump::RunDumps;

/// The width of the answers where no terminal shows them.
const USUAL_COLUMNS: usize = 80;

/// Returns all sections about all ranks and nodes, or those about one rank. The report about all
/// ranks begins with the answers. All fits the columns of a terminal, if there is one; otherwise
/// only the answers fit 80 columns.
///
/// # Errors
///
/// [`ReportError::NoSuchRank`].
pub fn full_report(
    dumps: &RunDumps,
    whose: ReportScope,
    terminal: Option<usize>,
) -> Result<String, ReportError> {
    let chosen = ranks::chosen(&dumps.ranks, whose)?;
    let mut sections = match whose {
        ReportScope::AllRanks => answers(dumps, terminal),
        ReportScope::Rank(_) => Vec::new(),
    };
    sections.push(header(dumps));
    if !chosen.is_empty() {
        let table = format!(
            "{}\n{}",
            table_5_3(chosen, whose)?,
            run_time(chosen, whose)?
        );
        sections.push(titled("Primitives (Table 5.3)", table));
        sections.push(titled("Time in MPI", balance(chosen, terminal)));
        sections.push(titled("Call sites by time", sites(chosen, terminal)));
        sections.push(titled("Messages by size", messages(chosen, terminal)));
        sections.push(titled("Collectives by size", collectives(chosen, terminal)));
    }
    if whose == ReportScope::AllRanks {
        if !dumps.ranks.is_empty() {
            sections.push(titled("Messages by peer", peers(dumps, terminal)));
        }
        if !dumps.nodes.is_empty() {
            let tables = table_nodes(dumps, terminal);
            sections.push(titled("Nodes and slices (Tables 5.1 and 5.2)", tables));
            sections.push(titled("The beat (section 5.3)", assumptions(dumps)));
            sections.push(titled("The choice of the slice", choice_of_slice(dumps)));
        }
        sections.push(titled("What the names mean", legend()));
    }
    sections.retain(|section| !section.is_empty());
    Ok(fitted::folded(&sections.join("\n\n"), terminal))
}

/// Returns the three sentences, the timeline, and who waited for whom.
fn answers(dumps: &RunDumps, terminal: Option<usize>) -> Vec<String> {
    let width = terminal.unwrap_or(USUAL_COLUMNS);
    if dumps.ranks.is_empty() {
        return Vec::new();
    }
    let blame = figures::blame(dumps);
    let diagnosis = diagnose(&Facts::of(dumps, &blame));
    vec![
        diagnosis.paragraph(width),
        titled("Timeline", timeline(dumps, width)),
        titled("Who waited for whom", who_waits(&blame, terminal)),
    ]
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
