//! Compares one-sided operations: `apps/c/one_sided.c` and `apps/c/counter.c` on our library
//! against the peers.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Check;
use super::abi_race::CORES;
use crate::bootstrap::median;
use crate::c_bench::CBench;
use crate::contest::Contestant;
use crate::peers::{ALL, MessagePath, OPEN_MPI, PeerMpi};
use crate::process;
use crate::rounds::{Bar, Rounds, turns};
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

pub(super) const NODE: Check = Check {
    name: "one-sided-latency",
    about: "one-sided operations of 8 B with a flush on a node: geometric mean at most 0.5 x the best peer of each row, none above 1.0; 1 MiB at most 1.0",
    about_time: true,
    quick: false,
    run: |workspace| contest(workspace, &OneSidedRace::NODE),
};

pub(super) const NODES: Check = Check {
    name: "one-sided-nodes",
    about: "put and fetch-and-op of 8 B with a flush between two nodes of a machine: at most 1.0 x the best peer by TCP",
    about_time: true,
    quick: false,
    run: |workspace| contest(workspace, &OneSidedRace::NODES),
};

pub(super) const COUNTER: Check = Check {
    name: "one-sided-counter",
    about: "8 ranks on 2 cores add 10^6 times to a counter of rank 0, in an epoch of all locks: exact, at most 0.5 x the best peer",
    about_time: true,
    quick: false,
    run: |workspace| contest(workspace, &OneSidedRace::COUNTER),
};

pub(super) const COMPUTING: Check = Check {
    name: "one-sided-computing",
    about: "a fetch-and-op with a flush at a rank of another node that computes 100 ms without a call takes less than 1 ms",
    about_time: true,
    quick: false,
    run: computing,
};

const SOURCE: &str = include_str!("../../../apps/c/one_sided.c");

const COUNTER_SOURCE: &str = include_str!("../../../apps/c/counter.c");

const RANKS: usize = 2;

/// A peer by TCP may take milliseconds for an operation.
const LIMIT: Duration = Duration::from_secs(120);

/// The parameters of a comparison.
struct OneSidedRace {
    name: &'static str,
    source: &'static str,
    ranks: usize,
    path: MessagePath,
    options: &'static [&'static str],
    times: &'static str,
    /// The rows whose geometric mean has the first bar.
    short: &'static [&'static str],
    bars: [Bar; 2],
    /// Rows of long data, of which none may be above 1.0.
    long: &'static [&'static str],
}

impl OneSidedRace {
    const NODE: Self = Self {
        name: "one_sided",
        source: SOURCE,
        ranks: RANKS,
        path: MessagePath::Node,
        options: &["--bind", "core"],
        times: "100000",
        short: &[
            "put",
            "get",
            "fetch-and-op",
            "compare-and-swap",
            "get-accumulate",
        ],
        bars: [Bar::AtMost(0.5), Bar::AtMost(1.0)],
        long: &["put-1MiB", "get-1MiB"],
    };
    const NODES: Self = Self {
        name: "one_sided",
        source: SOURCE,
        ranks: RANKS,
        path: MessagePath::Tcp,
        options: &["--nodes", "2"],
        times: "2000",
        short: &["put", "fetch-and-op"],
        bars: [Bar::AtMost(1.0), Bar::AtMost(1.0)],
        long: &[],
    };
    const COUNTER: Self = Self {
        name: "counter",
        source: COUNTER_SOURCE,
        ranks: 8,
        path: MessagePath::Node,
        options: &[],
        times: "1000000",
        short: &["counter"],
        bars: [Bar::AtMost(0.5), Bar::AtMost(0.5)],
        long: &[],
    };
}

/// The rows of a run: name and time.
type Rows = Vec<(String, f64)>;

fn contest(workspace: &Workspace, race: &OneSidedRace) -> Result<CheckOutcome> {
    let ours = CBench::build_of(workspace, race.name, race.source)?;
    let options: Vec<String> = race.options.iter().map(|&word| word.to_owned()).collect();
    let mut peers = Vec::new();
    // Windows of Open MPI on one machine lie in shared memory, whatever it uses for messages.
    let is_apart = |peer: &&&PeerMpi| race.path == MessagePath::Node || peer.name != OPEN_MPI.name;
    for peer in ALL.iter().filter(is_apart) {
        let program = peer.built(workspace, race.name, race.source)?;
        let settings = peer.settings(race.path, race.ranks, CORES);
        peers.extend(
            settings
                .iter()
                .map(|settings| (peer, settings, program.clone())),
        );
    }
    let mut all: Vec<Vec<Rows>> = vec![Vec::new(); peers.len() + 1];
    let bars = [race.bars[0], race.bars[1], Bar::AtMost(1.0)];
    let measured = Rounds::default().figures(bars, |round| {
        for side in turns(peers.len() + 1, round) {
            let rows = match side.checked_sub(1) {
                None => rows(ours.command(race.ranks, &options), race.times)?,
                Some(at) => {
                    let (peer, settings, program) = &peers[at];
                    let mut command = peer.launch(workspace, settings, race.ranks, None)?;
                    command.arg(program);
                    rows(command, race.times).map_err(|error| {
                        UnsuitableMachine(format!("{} failed: {error:#}", peer.name))
                    })?
                }
            };
            all[side].push(rows);
        }
        let last: Vec<&Rows> = all.iter().filter_map(|rows| rows.last()).collect();
        let ratios =
            |names: &[&str]| -> Vec<f64> { names.iter().map(|name| ratio(&last, name)).collect() };
        let (short, long) = (ratios(race.short), ratios(race.long));
        let logs = short.iter().map(|ratio| ratio.ln()).sum::<f64>();
        let mean = (logs / race.short.len() as f64).exp();
        let worst = |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max);
        Ok([mean, worst(&short), worst(&long)])
    })?;
    let [mean, worst, long] = measured;
    let mut mean = mean.outcome("mean of short rows", " x");
    for (side, runs) in all.iter().enumerate() {
        let name = match side.checked_sub(1) {
            None => "bcs".to_owned(),
            Some(at) => Contestant::Peer(peers[at].0, peers[at].1).name(),
        };
        mean.figure.push_str(&format!("; {name}"));
        for row in race.short.iter().chain(race.long) {
            let times: Vec<f64> = runs.iter().filter_map(|rows| of(rows, row)).collect();
            mean.figure
                .push_str(&format!(" {row} {:.3}", median(&times)));
        }
    }
    let mut outcomes = vec![mean, worst.outcome("worst short row", " x")];
    if !race.long.is_empty() {
        outcomes.push(long.outcome("worst long row", " x"));
    }
    Ok(CheckOutcome::of_all(&outcomes))
}

fn of(rows: &Rows, name: &str) -> Option<f64> {
    let row = rows.iter().find(|(row, _)| row == name);
    row.map(|(_, us)| *us)
}

/// Returns our time over that of the best peer.
fn ratio(sides: &[&Rows], name: &str) -> f64 {
    let times: Vec<f64> = sides.iter().filter_map(|rows| of(rows, name)).collect();
    let best = times[1..].iter().copied().fold(f64::INFINITY, f64::min);
    times[0] / best
}

fn computing(workspace: &Workspace) -> Result<CheckOutcome> {
    let ours = CBench::build_of(workspace, "one_sided", SOURCE)?;
    let measured = Rounds::default().figure(Bar::AtMost(1000.0), || {
        let mut command = ours.command(RANKS, &["--nodes".to_owned(), "2".to_owned()]);
        command.args(["10", "100000"]);
        let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        let rows = parse(&output)?;
        of(&rows, "from-a-computing-target").context("the last row is missing")
    })?;
    Ok(measured.outcome("the operation and its flush take", " us"))
}

fn rows(mut command: Command, times: &str) -> Result<Rows> {
    command.arg(times);
    parse(&process::run(&mut command, LIMIT)?.succeeded()?.stdout)
}

fn parse(output: &str) -> Result<Rows> {
    let row = |line: &str| {
        let (name, us) = line.split_once(' ')?;
        Some((name.to_owned(), us.parse().ok()?))
    };
    let rows = output.lines().map(|line| {
        let row = row(line);
        row.with_context(|| format!("`{line}` is no row"))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_compared_with_the_best_of_the_others() {
        let of = |us| vec![("put".to_owned(), us)];
        let sides = [of(1.0), of(4.0), of(2.0)];
        assert_eq!(ratio(&sides.each_ref(), "put"), 0.5);
        let rows = parse("put 0.0500\nget 1.5\n").unwrap();
        assert_eq!(super::of(&rows, "get"), Some(1.5));
        assert!(parse("an error\n").is_err());
    }
}
