//! The changes between two moments: the figures of `bcs mds top`.
//!
//! | file | is |
//! |---|---|
//! | `mod.rs` | the figures of nodes and ranks |
//! | `view.rs` | which of them are in view, on a terminal |
//! | `screen.rs` | the terminal |

pub mod screen;
pub mod view;

use super::snapshot::{Activity, JobSnapshot, RankSnapshot};
use super::text::count;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::collections::BTreeMap;

/// The heads of [`TopLine::cells`].
pub const HEADS: [&str; 8] = [
    "NODE", "RANK", "PID", "MPI%", "CALLS/s", "MSGS/s", "NIC/s", "DOES",
];

/// The number of columns with figures, which are aligned to the right; `DOES` has words.
pub const FIGURES: usize = 7;

const NS_PER_S: f64 = 1e9;

/// All lines at one moment.
#[derive(Debug)]
pub struct TopFigures {
    /// The job, how many ranks do what, and the slices per second.
    pub head: [String; 3],
    /// A line for each node, and after it one for each of its ranks.
    pub lines: Vec<TopLine>,
}

/// A node or a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct TopLine {
    /// The node.
    pub node: u16,
    /// The rank, if it is one, and its process.
    pub rank: Option<(u32, i32)>,
    /// Its rates.
    pub rates: Rates,
    /// Its activity, as text.
    pub does: String,
}

/// Events per second. A node has the sums of its ranks, and the mean of their shares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// The share of time in blocking calls, calls and messages, if they are recorded.
    pub recorded: Option<[f64; 3]>,
    /// Requests that the NIC has completed.
    pub completions: f64,
}

impl TopFigures {
    /// Computes the figures from this moment and the previous one, or the beginning of the job.
    #[must_use]
    pub fn between(before: Option<&JobSnapshot>, now: &JobSnapshot) -> Self {
        let mut nodes: BTreeMap<u16, Vec<(u32, &RankSnapshot)>> = BTreeMap::new();
        for (&number, rank) in &now.ranks {
            nodes.entry(rank.node.0).or_default().push((number, rank));
        }
        let since_s = match before {
            Some(before) => now.at_ns.saturating_sub(before.at_ns) as f64 / NS_PER_S,
            None => now.job.age_ms as f64 / 1e3,
        };
        let slices = now.slice.saturating_sub(before.map_or(0, |it| it.slice));
        let mut lines = Vec::new();
        for (node, ranks) in nodes {
            let of_rank = |(number, rank): &(u32, &RankSnapshot)| {
                let before = before.and_then(|before| before.ranks.get(number));
                TopLine {
                    node,
                    rank: Some((*number, rank.pid)),
                    rates: Rates::between(before, rank, since_s),
                    does: rank.what(),
                }
            };
            let of_ranks: Vec<TopLine> = ranks.iter().map(of_rank).collect();
            lines.push(TopLine {
                node,
                rank: None,
                rates: Rates::sum(of_ranks.iter().map(|line| line.rates)),
                does: activities(&ranks),
            });
            lines.extend(of_ranks);
        }
        let since = match before {
            Some(_) => format!("in {since_s:.1} s"),
            None => "since the job began".to_owned(),
        };
        let slices = format!("{} slices/s, {since}", rate(per(slices, since_s)));
        Self {
            head: [now.head(), now.sum(), slices],
            lines,
        }
    }

    /// Formats them for a person who reads them later.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(HEADS);
        table.add_rows(self.lines.iter().map(TopLine::cells));
        for column in table.column_iter_mut().take(FIGURES) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{}\n{}\n", self.head.join("\n"), table.trim_fmt())
    }
}

fn activities(ranks: &[(u32, &RankSnapshot)]) -> String {
    let mut counts: BTreeMap<Activity, usize> = BTreeMap::new();
    for (_, rank) in ranks {
        *counts.entry(rank.activity).or_default() += 1;
    }
    let counts = counts.iter();
    let counts: Vec<String> = counts
        .map(|(activity, count)| format!("{count} {}", activity.word()))
        .collect();
    format!("{}: {}", count(ranks.len(), "rank"), counts.join(", "))
}

impl TopLine {
    /// Returns the cells under [`HEADS`].
    #[must_use]
    pub fn cells(&self) -> [String; 8] {
        let none = String::new;
        let (rank, pid) = match self.rank {
            Some((rank, pid)) => (rank.to_string(), pid.to_string()),
            None => (none(), none()),
        };
        let [mpi, calls, messages] = match self.rates.recorded {
            Some([share, calls, messages]) => {
                [format!("{:.1}", 100.0 * share), rate(calls), rate(messages)]
            }
            None => ["-"; 3].map(str::to_owned),
        };
        let completions = rate(self.rates.completions);
        let does = self.does.clone();
        let node = self.node.to_string();
        [node, rank, pid, mpi, calls, messages, completions, does]
    }
}

impl Rates {
    fn between(before: Option<&RankSnapshot>, now: &RankSnapshot, since_s: f64) -> Self {
        let completed = before.map_or(0, |before| before.completions);
        let completed = now.completions.saturating_sub(completed);
        let recorded = now.recorded.as_ref().map(|now| {
            let before = before.and_then(|before| before.recorded.as_ref());
            let before = before.cloned().unwrap_or_default();
            let run_ns = now.run_ns.saturating_sub(before.run_ns);
            let in_mpi_ns = now.in_mpi_ns.saturating_sub(before.in_mpi_ns);
            let run_s = run_ns as f64 / NS_PER_S;
            // A call that has just ended may be counted at both moments.
            let share = (in_mpi_ns as f64 / run_ns.max(1) as f64).min(1.0);
            [
                share,
                per(now.calls.saturating_sub(before.calls), run_s),
                per(now.messages.saturating_sub(before.messages), run_s),
            ]
        });
        Self {
            recorded,
            completions: per(completed, since_s),
        }
    }

    fn sum(all: impl Iterator<Item = Self> + Clone) -> Self {
        let recorded = all.clone().filter_map(|rates| rates.recorded);
        let ranks = recorded.clone().count();
        let sums = recorded.fold([0.0; 3], |sums, rates| {
            std::array::from_fn(|at| sums[at] + rates[at])
        });
        let [shares, calls, messages] = sums;
        Self {
            recorded: (ranks > 0).then(|| [shares / ranks as f64, calls, messages]),
            completions: all.map(|rates| rates.completions).sum(),
        }
    }
}

/// Returns a count per second; zero if no time has passed.
fn per(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// Formats three significant digits.
fn rate(rate: f64) -> String {
    match rate {
        rate if rate < 10.0 => format!("{rate:.1}"),
        rate if rate < 1e5 => format!("{rate:.0}"),
        rate if rate < 1e8 => format!("{:.0}k", rate / 1e3),
        rate => format!("{:.0}M", rate / 1e6),
    }
}

#[cfg(test)]
mod tests;
