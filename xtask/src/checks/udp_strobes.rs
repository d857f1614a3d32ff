//! On sixteen hosts slices begin as regularly as on one machine.

use std::time::Duration;

use anyhow::{Context, Result};
use mds::dump::read_dir;

use crate::bootstrap::median;
use crate::network::{bcs_run, check_no_processes, make};
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::fixed_gaps::quantile_us;

pub(super) const CHECK: Check = Check {
    name: "udp-strobes",
    about: "16 hosts with 2 ranks each start, reduce again and again, and are struck every 2 ms: median gap within 5 %",
    about_time: true,
    quick: false,
    run,
};

const HOSTS: usize = 16;

const SLICE_US: f64 = 2_000.0;

/// The allowed relative deviation of the median.
const TOLERANCE: f64 = 0.05;

const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let network = make(HOSTS)?;
    let (mut medians, mut p99s, mut struck) = (vec![], vec![], vec![]);
    let rounds = Rounds {
        least: 15,
        most: 30,
        ..Rounds::default()
    };
    let measured = rounds.figure(Bar::AtMost(TOLERANCE), || {
        let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
        let mut command = bcs_run(workspace, &network, HOSTS, "-n 32 --node-timeout 10s")?;
        command.args(["--strobe", "fixed", "--time-slice", "2ms", "--mds"]);
        command.arg(dir.path());
        command.args(["bench", "--ops", "allreduce", "--sizes", "8"]);
        process::run(&mut command, LIMIT)?.succeeded()?;
        check_no_processes(&network)?;
        let nodes = read_dir(dir.path())?.require_complete()?.nodes;
        let strobes = nodes.into_iter().find_map(|node| node.global);
        let gaps = strobes
            .context("no node has dumped the global figures")?
            .getts_ns;
        let middle = quantile_us(&gaps, 0.5)?;
        medians.push(middle);
        p99s.push(quantile_us(&gaps, 0.99)?);
        struck.push(gaps.count as f64 + 1.0);
        Ok((middle - SLICE_US).abs() / SLICE_US)
    })?;
    let mut outcome = measured.outcome("how far the median gap is off", "");
    outcome.figure.push_str(&format!(
        "; of the rounds' medians: {:.0} slices, median gap {:.1} us, 99th percentile {:.1} us",
        median(&struck),
        median(&medians),
        median(&p99s)
    ));
    Ok(outcome)
}
