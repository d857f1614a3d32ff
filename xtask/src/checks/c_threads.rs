//! Compares messages of many threads of a rank at once, through C: `apps/c/threads.c` on our
//! library against the peers.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Check;
use super::abi_race::CORES;
use crate::c_bench::CBench;
use crate::contest::Contestant;
use crate::peers::{ALL, MessagePath};
use crate::process;
use crate::rounds::{Bar, Rounds, turns};
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

pub(super) const CHECK: Check = Check {
    name: "c-threads",
    about: "with MPI_THREAD_MULTIPLE and 4 threads on each of 2 ranks, at least as many messages per second as the best peer",
    about_time: true,
    quick: false,
    run,
};

const SOURCE: &str = include_str!("../../../apps/c/threads.c");

const RANKS: usize = 2;

/// Threads of a rank, and windows of messages of each.
const WORDS: [&str; 2] = ["4", "300"];

/// A peer may take a hundred times our time.
const LIMIT: Duration = Duration::from_secs(300);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let ours = CBench::build_of(workspace, "threads", SOURCE)?;
    // Ranks with more threads than cores are not bound, because every implementation is fastest so.
    let mut peers = Vec::new();
    for peer in ALL {
        let program = peer.built(workspace, "threads", SOURCE)?;
        let settings = peer.settings(MessagePath::Node, RANKS + 1, CORES);
        peers.extend(
            settings
                .iter()
                .map(|settings| (peer, settings, program.clone())),
        );
    }
    let mut rates = vec![Vec::new(); peers.len() + 1];
    let measured = Rounds::default().figure(Bar::AtLeast(1.0), || {
        let round = rates[0].len();
        for side in turns(peers.len() + 1, round) {
            let rate = match side.checked_sub(1) {
                None => rate(ours.command(RANKS, &[]))?,
                Some(at) => {
                    let (peer, settings, program) = &peers[at];
                    let mut command = peer.launch(workspace, settings, RANKS, None)?;
                    command.arg(program);
                    rate(command).map_err(|error| {
                        UnsuitableMachine(format!("{} failed: {error:#}", peer.name))
                    })?
                }
            };
            rates[side].push(rate);
        }
        let last = |rates: &Vec<f64>| rates.last().copied().unwrap_or_default();
        let best = rates[1..].iter().map(last).fold(0.0, f64::max);
        Ok(last(&rates[0]) / best)
    })?;
    let mut outcome = measured.outcome("our rate over that of the best peer", " x");
    let names = peers
        .iter()
        .map(|(peer, settings, _)| Contestant::Peer(peer, settings).name());
    for (name, rates) in std::iter::once("bcs".to_owned()).chain(names).zip(&rates) {
        let median = crate::bootstrap::median(rates);
        outcome.figure.push_str(&format!("; {name} {median:.0}/s"));
    }
    Ok(outcome)
}

fn rate(mut command: Command) -> Result<f64> {
    command.args(WORDS);
    let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
    rate_in(&output).with_context(|| format!("there is no rate in `{}`", output.trim()))
}

fn rate_in(output: &str) -> Option<f64> {
    output
        .lines()
        .find_map(|line| line.strip_suffix(" messages per second")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_what_the_program_prints() {
        assert_eq!(
            rate_in("hello\n123456 messages per second\n"),
            Some(123_456.0)
        );
        assert_eq!(rate_in("messages per second\n"), None);
    }
}
