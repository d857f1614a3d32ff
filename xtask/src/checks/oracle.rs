//! Random programs run as real jobs in every layout and with both strobes, and check themselves
//! against an oracle: collectives to the bit, messages by the rules of matching.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const COLLECTIVES: Check = Check {
    name: "oracle",
    about: "10,000 random collectives in 54 layouts agree with a sequential oracle to the bit (BCS_ORACLE_CASES: more)",
    about_time: false,
    quick: true,
    run: |workspace| in_every_layout(workspace, "oracle", "BCS_ORACLE_CASES", 10_000),
};

pub(super) const MESSAGES: Check = Check {
    name: "traffic",
    about: "2,000 random programs of messages, as jobs in 54 layouts and in the simulator, agree with a matching oracle (BCS_TRAFFIC_PROGRAMS: more)",
    about_time: false,
    quick: true,
    run: |workspace| {
        let mut outcome = in_every_layout(workspace, "traffic", "BCS_TRAFFIC_PROGRAMS", 2_000)?;
        let mut command = workspace.bcs(["sim", "--seeds", SIMULATED])?;
        process::run(&mut command, LIMIT)?.succeeded()?;
        outcome
            .figure
            .push_str(&format!("; {SIMULATED} seeds of the simulator, too"));
        Ok(outcome)
    },
};

/// The number of programs in the simulator, with faults and with collectives.
const SIMULATED: &str = "2000";

const RANKS: [usize; 6] = [1, 2, 3, 5, 8, 13];
const NODES: [usize; 3] = [1, 2, 3];
const STROBES: [&str; 2] = ["elastic", "fixed"];

/// Transports within a node.
const ROADS: [&str; 2] = ["nic", "smartmap"];

/// The time limit of one layout.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs a fixture in every layout, with `cases` cases in total unless `variable` gives another
/// number.
fn in_every_layout(
    workspace: &Workspace,
    fixture: &str,
    variable: &str,
    cases: usize,
) -> Result<CheckOutcome> {
    let cases = match std::env::var(variable) {
        Ok(cases) => cases
            .parse()
            .with_context(|| format!("{variable} is `{cases}`, which is no number"))?,
        Err(_) => cases,
    };
    let layouts: Vec<(usize, usize, &str, &str)> = RANKS
        .into_iter()
        .flat_map(|ranks| NODES.into_iter().map(move |nodes| (ranks, nodes)))
        .filter(|(ranks, nodes)| nodes <= ranks)
        .flat_map(|(ranks, nodes)| STROBES.map(|strobe| (ranks, nodes, strobe)))
        .flat_map(|(ranks, nodes, strobe)| ROADS.map(|road| (ranks, nodes, strobe, road)))
        // With a node for each rank there are no local peers.
        .filter(|&(ranks, nodes, _, road)| ranks > nodes || road == ROADS[0])
        .collect();
    let per_layout = cases.div_ceil(layouts.len());
    for (number, (ranks, nodes, strobe, road)) in layouts.iter().enumerate() {
        let layout = format!(
            "-n {ranks} --nodes {nodes} --strobe {strobe} --intranode {road} --time-slice 100us"
        );
        // Each layout has another seed, the same in every run of this check.
        let words = [(number + 1).to_string(), per_layout.to_string()];
        let words = words.iter().map(String::as_str);
        let mut command = workspace.fixture(&layout, fixture, words)?;
        // A rank that finds a difference fails the job, and a hang its time limit.
        let said = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        ensure!(
            said.starts_with(&format!("{per_layout} ")),
            "{fixture} {layout} did not say that it went through {per_layout} cases: {said}"
        );
    }
    Ok(CheckOutcome::exact(
        true,
        format!(
            "{} agree, in {} layouts",
            per_layout * layouts.len(),
            layouts.len()
        ),
        format!("{cases}"),
    ))
}
