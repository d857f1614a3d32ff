//! Tables 5.1 and 5.2: the figures of nodes.

use crate::figures::{self, Unit};
use mds::dump::{DistributionDump, NodeDump, RunDumps};

use super::fitted::fitted;
use crate::words::{cut, percent, size};

/// The longest list of nodes: it fits a screen.
const MOST: usize = 32;

/// Returns two short tables: the slices of each node with its counts, and the times of slices and
/// microphases. The latter has the Strobe Sender's times first, then those of all nodes, merged.
#[must_use]
pub fn table_nodes(dumps: &RunDumps, terminal: Option<usize>) -> String {
    [
        slices(&dumps.nodes, terminal),
        times(dumps, terminal),
        moved(&dumps.nodes),
    ]
    .join("\n\n")
}

fn slices(dumps: &[NodeDump], terminal: Option<usize>) -> String {
    let heads = [
        "Node", "Slices", "Empty", "Demanded", "NP2PDEM", "NP2PMSM", "NCOLLDEM", "NCOLLMSM", "BPTS",
    ];
    let mut table = super::tables::table(heads);
    let mut shown: Vec<&NodeDump> = dumps.iter().collect();
    let more = cut(&mut shown, MOST, "nodes");
    for dump in shown {
        let figures = [
            dump.slices_struck,
            dump.empty_slices(),
            dump.demanded,
            dump.np2pdem,
            dump.np2pmsm,
            dump.ncolldem,
            dump.ncollmsm,
            dump.bpts,
        ];
        let node = format!("node {}", dump.node);
        table.add_row(
            [node]
                .into_iter()
                .chain(figures.map(|figure| figure.to_string())),
        );
    }
    let mut text = fitted(table, terminal);
    text.extend(more.map(|more| format!("\n{more}")));
    text
}

/// Lists all metrics of nodes that are times, then the retries, which are counts.
fn times(dumps: &RunDumps, terminal: Option<usize>) -> String {
    let mut table = super::tables::table([
        "Metric",
        "Min(ms)",
        "Max(ms)",
        "Total(ms)",
        "Count",
        "Average(ms)",
    ]);
    let mut retries = Vec::new();
    for metric in figures::known(dumps)
        .iter()
        .filter(|metric| !metric.is_of_ranks())
    {
        let figures = metric.distribution(dumps, None);
        match metric.unit {
            Unit::Nanoseconds if figures.count > 0 => {
                table.add_row(super::tables::time_row(&metric.name, &figures));
            }
            Unit::Count if metric.name.starts_with("USR") => {
                retries.push(format!("{} {}", metric.name, figures.total));
            }
            Unit::Nanoseconds | Unit::Bytes | Unit::Count => {}
        }
    }
    format!(
        "{}\nUnsuccessful retries: {}",
        fitted(table, terminal),
        retries.join(", ")
    )
}

/// Shows the data that moved into nodes, and their budgets.
fn moved(dumps: &[NodeDump]) -> String {
    let sum = |of: fn(&NodeDump) -> u64| dumps.iter().map(|dump| of(dump) as f64).sum::<f64>();
    let (scheduled, budget) = (
        sum(|dump| dump.scheduled_bytes),
        sum(|dump| dump.budget_bytes),
    );
    let mut text = format!(
        "Scheduled into nodes: {} of budgets of {} ({} %), carried over to later slices: {}",
        size(scheduled),
        size(budget),
        percent(scheduled, budget),
        size(sum(|dump| dump.carried_bytes))
    );
    let (placed, copied) = (sum(|dump| dump.placed_bytes), sum(|dump| dump.copied_bytes));
    if placed + copied > 0.0 {
        text.push_str(&format!(
            "\nFrom other machines: {}, of which {} ({} %) were copied once",
            size(placed + copied),
            size(placed),
            percent(placed, placed + copied)
        ));
    }
    let longest = dumps
        .iter()
        .map(|dump| &dump.empty_runs)
        .max_by_key(|runs| runs.max);
    let longest = longest.map_or_else(DistributionDump::default, Clone::clone);
    if longest.max > 1 {
        text.push_str(&format!(
            "\nLongest time without a strobe: {} slices",
            longest.max
        ));
    }
    let dropped = dumps.iter().map(|dump| dump.slices_dropped).max();
    if let Some(dropped @ 1..) = dropped {
        text.push_str(&format!(
            "\nOf {dropped} slices there are sums, and no rows"
        ));
    }
    text
}
