//! Tables 5.1 and 5.2: what nodes did.

use crate::dump::{DistributionDump, NodeDump};

/// Picks a distribution out of a dump.
type Pick = fn(&NodeDump) -> &DistributionDump;

/// Two short tables: the slices of each node with its counts, and the times of slices and microphases, all nodes
/// merged. The times of the Strobe Sender follow where its node left them.
#[must_use]
pub fn table_nodes(dumps: &[NodeDump]) -> String {
    format!("{}\n\n{}", slices(dumps), times(dumps))
}

fn slices(dumps: &[NodeDump]) -> String {
    let heads = [
        "Node", "Slices", "Empty", "NP2PDEM", "NP2PMSM", "NCOLLDEM", "NCOLLMSM", "BPTS",
    ];
    let mut table = super::table(heads);
    for dump in dumps {
        let figures = [
            dump.slices_struck,
            dump.empty_slices(),
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
    table.trim_fmt()
}

fn times(dumps: &[NodeDump]) -> String {
    let mut table = super::table([
        "Metric",
        "Min(ms)",
        "Max(ms)",
        "Total(ms)",
        "Count",
        "Average(ms)",
    ]);
    let local: [(&str, Pick); 7] = [
        ("LTDEM", |dump| &dump.ltdem_ns),
        ("LTMSM", |dump| &dump.ltmsm_ns),
        ("LTPM", |dump| &dump.ltpm_ns),
        ("LTBBM", |dump| &dump.ltbbm_ns),
        ("LTRM", |dump| &dump.ltrm_ns),
        ("LTTS", |dump| &dump.ltts_ns),
        ("LETTS", |dump| &dump.letts_ns),
    ];
    for (name, times_ns) in local {
        let merged = DistributionDump::merged(dumps.iter().map(times_ns));
        table.add_row(super::time_row(name, &merged));
    }
    let global = dumps.iter().filter_map(|dump| dump.global.as_ref());
    for strobe in global.clone() {
        let times = [
            ("GTDEM", &strobe.gtdem_ns),
            ("GTMSM", &strobe.gtmsm_ns),
            ("GTTS", &strobe.gtts_ns),
            ("GETTS", &strobe.getts_ns),
        ];
        for (name, times_ns) in times {
            table.add_row(super::time_row(name, times_ns));
        }
    }
    let mut text = table.trim_fmt();
    for strobe in global {
        text.push_str(&format!(
            "\nUnsuccessful retries: USRSTS {}, USRDEM {}, USRMSM {}",
            strobe.usrsts.total, strobe.usrdem.total, strobe.usrmsm.total
        ));
    }
    text
}
