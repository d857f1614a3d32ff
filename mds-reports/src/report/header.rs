//! The header of a report, which distinguishes a run from others.

use std::time::{Duration, UNIX_EPOCH};

use crate::figures;
use mds::dump::{RunDump, RunDumps};

use crate::words::{duration, size};

/// Returns a line for each thing that distinguishes a run from another.
#[must_use]
pub fn header(dumps: &RunDumps) -> String {
    let (began_ns, ended_ns) = figures::span_ns(dumps);
    let mut lines = match &dumps.run {
        Some(run) => of_run(run),
        None => vec![
            line(
                "command",
                "not known: there is no run.json, so bcs run was ended before its job",
            ),
            line("ran", &duration(ended_ns.saturating_sub(began_ns) as f64)),
            line(
                "dumps",
                &format!("{} ranks, {} nodes", dumps.ranks.len(), dumps.nodes.len()),
            ),
        ],
    };
    let unfinished: Vec<String> = dumps
        .ranks
        .iter()
        .filter(|rank| !rank.finalized)
        .map(|rank| rank.rank.to_string())
        .collect();
    if !unfinished.is_empty() {
        let who = unfinished.join(", ");
        lines.push(line(
            "unfinished",
            &format!("rank {who}: recorded up to its death"),
        ));
    }
    lines.join("\n")
}

fn of_run(run: &RunDump) -> Vec<String> {
    let ran_ns = run.ended_ns.saturating_sub(run.began_ns);
    let machine = format!("{}, BCS-MPI {}", run.machine, run.version);
    let ran = format!("{}, exit code {}", duration(ran_ns as f64), run.exit_code);
    let ranks = format!("{} on {} nodes", run.ranks, run.nodes);
    let slices = format!(
        "{}, {} strobes, NIC threads {}",
        duration(run.time_slice_ns as f64),
        run.strobe,
        run.nic_threads
    );
    let measured = run.bandwidth_measured_unix_s.map(|seconds| {
        let date = began(seconds.saturating_mul(1_000_000_000));
        format!(" (measured {date})")
    });
    let transports = format!(
        "{} within a node, eager up to {}, links of {}/s{}",
        run.intranode,
        size(run.eager_limit as f64),
        size(run.bandwidth as f64),
        measured.unwrap_or_default()
    );
    vec![
        line("command", &run.command.join(" ")),
        line("job", &run.job),
        line("machine", &machine),
        line("began", &began(run.began_unix_ns)),
        line("ran", &ran),
        line("ranks", &ranks),
        line("slices", &slices),
        line("transports", &transports),
        line("recorded", &run.recorded),
    ]
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<11} {text}")
}

/// Formats a time to the second, in UTC. A time beyond the calendar is shown as a number.
pub(super) fn began(unix_ns: u64) -> String {
    // humantime knows the years up to 9999, and 2^64 ns end in 2554.
    let time = UNIX_EPOCH.checked_add(Duration::from_nanos(unix_ns));
    time.map_or_else(
        || format!("{unix_ns} ns after 1970"),
        |time| humantime::format_rfc3339_seconds(time).to_string(),
    )
}
