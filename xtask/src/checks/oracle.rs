//! Random collectives agree with a sequential oracle to the bit, in every layout and on both strobes.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::verdict::Outcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "oracle",
    about: "10,000 random collectives in 30 layouts agree with a sequential oracle to the bit (BCS_ORACLE_CASES: more)",
    about_time: false,
    quick: true,
    run,
};

const RANKS: [usize; 6] = [1, 2, 3, 5, 8, 13];
const NODES: [usize; 3] = [1, 2, 3];
const STROBES: [&str; 2] = ["elastic", "fixed"];

/// All layouts together, unless the environment says otherwise.
const CASES: usize = 10_000;

/// Of one layout.
const LIMIT: Duration = Duration::from_secs(600);

fn run(workspace: &Workspace) -> Result<Outcome> {
    let cases = match std::env::var("BCS_ORACLE_CASES") {
        Ok(cases) => cases
            .parse()
            .with_context(|| format!("BCS_ORACLE_CASES is `{cases}`, which is no number"))?,
        Err(_) => CASES,
    };
    let layouts: Vec<(usize, usize, &str)> = RANKS
        .into_iter()
        .flat_map(|ranks| NODES.into_iter().map(move |nodes| (ranks, nodes)))
        .filter(|(ranks, nodes)| nodes <= ranks)
        .flat_map(|(ranks, nodes)| STROBES.map(|strobe| (ranks, nodes, strobe)))
        .collect();
    let per_layout = cases.div_ceil(layouts.len());
    let mut agreed = 0;
    for (number, (ranks, nodes, strobe)) in layouts.iter().enumerate() {
        let layout = format!("-n {ranks} --nodes {nodes} --strobe {strobe} --time-slice 100us");
        // Another seed for each layout, the same in every run of this check.
        let words = [(number + 1).to_string(), per_layout.to_string()];
        let words = words.iter().map(String::as_str);
        let mut command = workspace.example(&layout, "bcs-mpi", "oracle", words)?;
        let said = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        if said.contains("agree with the oracle") {
            agreed += per_layout;
        }
    }
    Ok(Outcome::exact(
        agreed >= cases,
        format!("{agreed} collectives agree, in {} layouts", layouts.len()),
        format!("{cases}"),
    ))
}
