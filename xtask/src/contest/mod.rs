//! A contest: we and the peers measure the same rows in turns.
//!
//! In a round every side runs the whole benchmark once. Another side is first each time, so that a
//! machine that gets slower favours no side. The result is the ratio of our median over the rounds
//! to that of the best peer in the row.

mod comparison;
mod demand;
mod report;
mod side;

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use apps::bench::{BenchOperation, BenchOptions, BufferMode, ByteSize};
use clap::Args;

pub use comparison::{BootstrapRatios, ComparisonRow, Samples, geometric_mean};
pub use demand::{Demand, RatioStatistic};
pub use side::Contestant;

use crate::bare_pingpong::allowed_cores;
use crate::hosts::Hosts;
use crate::peers::{self, MessagePath, PeerMpi};
use crate::rounds::{Rounds, turns};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

/// The sides and the rows of a contest.
#[derive(Debug, Clone)]
pub struct Contest {
    /// The sides: first ours, then the others.
    pub sides: Vec<Contestant>,
    /// Ranks of each job.
    pub ranks: usize,
    /// The rows.
    pub options: BenchOptions,
    /// Two hosts for all jobs; `None` for this machine.
    pub hosts: Option<Rc<Hosts>>,
}

/// The rounds of a contest: at least 20, as promised.
const ROUNDS: Rounds = Rounds {
    warm_ups: 1,
    least: 20,
    most: 60,
    step: 20,
    seed: 0x00BC_500D,
};

impl Contest {
    /// Makes a contest of us and all peers at these rows. Each side has its fastest settings for
    /// this number of ranks on the allowed cores.
    ///
    /// # Errors
    ///
    /// The kernel does not report the number of cores.
    pub fn with_all(ranks: usize, options: BenchOptions) -> Result<Self> {
        let cores = allowed_cores()?.len();
        let mut sides = vec![Contestant::ours(ranks, cores)];
        sides.extend(Contestant::of_peers(
            &peers::ALL,
            MessagePath::Node,
            ranks,
            cores,
        ));
        Ok(Self {
            sides,
            ranks,
            options,
            hosts: None,
        })
    }

    /// Makes a contest of our defaults on this number of nodes, and the peers that can be
    /// restricted to TCP, each with its fastest settings.
    ///
    /// # Errors
    ///
    /// The kernel does not report the number of cores.
    pub fn between_nodes(ranks: usize, nodes: usize, options: BenchOptions) -> Result<Self> {
        let mut sides = vec![Contestant::Ours(vec!["--nodes".into(), nodes.to_string()])];
        let cores = allowed_cores()?.len();
        sides.extend(Contestant::of_peers(
            &peers::ALL,
            MessagePath::Tcp,
            ranks,
            cores,
        ));
        Ok(Self {
            sides,
            ranks,
            options,
            hosts: None,
        })
    }

    /// Makes a contest with a rank on each of two hosts: ours with these additional options, and
    /// each peer that can do it.
    ///
    /// # Errors
    ///
    /// The kernel does not report the number of cores.
    pub fn between_hosts(hosts: &Rc<Hosts>, ours: &[&str], options: BenchOptions) -> Result<Self> {
        const RANKS: usize = 2;
        let words = ours.iter().copied().map(str::to_owned).collect();
        let mut sides = vec![Contestant::Ours(words)];
        let cores = allowed_cores()?.len();
        sides.extend(Contestant::of_peers(
            &peers::ALL,
            MessagePath::Hosts,
            RANKS,
            cores,
        ));
        Ok(Self {
            sides,
            ranks: RANKS,
            options,
            hosts: Some(Rc::clone(hosts)),
        })
    }

    /// Returns the same contest with our benchmark in C.
    #[must_use]
    pub fn in_c(mut self) -> Self {
        for side in &mut self.sides {
            if let Contestant::Ours(words) = side {
                *side = Contestant::InC(std::mem::take(words));
            }
        }
        self
    }

    /// Returns the same contest with one peer as rival; the others are only measured.
    #[must_use]
    pub fn against(mut self, peer: &PeerMpi) -> Self {
        for side in &mut self.sides {
            if let Contestant::Peer(other, settings) = *side
                && other != peer
            {
                *side = Contestant::Onlooker(other, settings);
            }
        }
        self
    }

    /// Measures round after round until it is clear whether the demands are met.
    ///
    /// # Errors
    ///
    /// A side failed.
    pub fn judge(&self, workspace: &Workspace, demands: &[Demand]) -> Result<CheckOutcome> {
        Ok(self.measured(workspace, demands)?.0)
    }

    /// Judges as [`judge`](Self::judge), and also returns a table of all rows, worst first, with
    /// the geometric mean of each operation.
    ///
    /// # Errors
    ///
    /// A side failed.
    pub fn judge_in_full(
        &self,
        workspace: &Workspace,
        demands: &[Demand],
    ) -> Result<(CheckOutcome, String)> {
        let (outcome, samples) = self.measured(workspace, demands)?;
        Ok((outcome, self.table(&samples)))
    }

    fn table(&self, samples: &Samples) -> String {
        let names: Vec<String> = self.sides.iter().map(Contestant::name).collect();
        let resampled = samples.resample(ROUNDS.seed);
        let rows = samples.compare(&resampled);
        let means = report::means(samples, &resampled);
        format!(
            "{}\n\n{}",
            report::table(&names, &rows),
            report::summary(&means)
        )
    }

    fn measured(
        &self,
        workspace: &Workspace,
        demands: &[Demand],
    ) -> Result<(CheckOutcome, Samples)> {
        self.prepare(workspace)?;
        for round in 0..ROUNDS.warm_ups {
            self.round(workspace, round)?;
        }
        let mut samples = self.samples();
        loop {
            let count = samples.rounds.len();
            let wanted = (count + ROUNDS.step).clamp(ROUNDS.least, ROUNDS.most);
            for round in count..wanted {
                samples.rounds.push(self.round(workspace, round)?);
            }
            let last = samples.rounds.len() == ROUNDS.most;
            if let Some(outcome) = demand::judge(demands, &samples, ROUNDS.seed, last) {
                return Ok((outcome, samples));
            }
        }
    }

    fn prepare(&self, workspace: &Workspace) -> Result<()> {
        self.sides
            .iter()
            .try_for_each(|side| side.prepare(workspace))
    }

    fn samples(&self) -> Samples {
        let is_rival = |side: &usize| {
            let side = &self.sides[*side];
            matches!(side, Contestant::Peer(..) | Contestant::Baseline(_))
        };
        Samples {
            cases: self.options.cases(),
            rivals: (0..self.sides.len()).filter(is_rival).collect(),
            rounds: Vec::new(),
        }
    }

    /// Returns the times of all sides, in the order of the sides.
    fn round(&self, workspace: &Workspace, number: usize) -> Result<Vec<Vec<f64>>> {
        let count = self.sides.len();
        let mut times = vec![Vec::new(); count];
        for side in turns(count, number) {
            let hosts = self.hosts.as_deref();
            let rows = self.sides[side].measure(workspace, self.ranks, hosts, &self.options)?;
            times[side] = rows.iter().map(|row| row.us).collect();
        }
        Ok(times)
    }
}

/// Makes rows for a contest, with sample times that suit many rounds.
#[must_use]
pub fn rows(ops: &[BenchOperation], sizes: &[usize], mode: BufferMode) -> BenchOptions {
    BenchOptions {
        ops: ops.to_vec(),
        sizes: sizes.iter().copied().map(ByteSize).collect(),
        mode: vec![mode],
        row_ms: 20,
        samples: 5,
    }
}

/// The options of `cargo xtask bench-peers`.
#[derive(Debug, Args)]
pub struct ContestArgs {
    /// Rounds that count; one before them does not
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Ranks of each job
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(2..=1024))]
    ranks: u32,
    /// Options of `bcs run` for us, in one word; may be repeated, then the first is compared with
    /// the peers [default: --bind core, if there are enough cores]
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    bcs: Vec<String>,
    /// Peers to be compared with
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "mpich,openmpi,impi",
        value_parser = peers::find_peer)]
    peers: Vec<&'static PeerMpi>,
    /// Keep the peers to TCP over the loopback device; those that cannot be are left out
    #[arg(long)]
    tcp: bool,
    /// Two ranks on two hosts of a test network, with packets of at most MTU bytes; the peers talk
    /// TCP
    #[arg(long, value_name = "MTU", conflicts_with_all = ["tcp", "ranks"],
        value_parser = clap::value_parser!(u16).range(1280..=9000))]
    hosts: Option<u16>,
    /// Also write the comparison to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    options: BenchOptions,
}

impl ContestArgs {
    fn contest(&self) -> Result<Contest> {
        let (ranks, cores) = (self.ranks as usize, allowed_cores()?.len());
        let words = |line: &String| line.split_whitespace().map(str::to_owned).collect();
        let hosts = self.hosts.map(Hosts::make).transpose()?.map(Rc::new);
        let mut sides: Vec<Contestant> = self
            .bcs
            .iter()
            .map(|line| Contestant::Ours(words(line)))
            .collect();
        if sides.is_empty() {
            sides.push(match hosts {
                None => Contestant::ours(ranks, cores),
                Some(_) => Contestant::Ours(Vec::new()),
            });
        }
        let way = match (&hosts, self.tcp) {
            (Some(_), _) => MessagePath::Hosts,
            (None, true) => MessagePath::Tcp,
            (None, false) => MessagePath::Node,
        };
        sides.extend(Contestant::of_peers(&self.peers, way, ranks, cores));
        Ok(Contest {
            sides,
            ranks,
            options: self.options.clone(),
            hosts,
        })
    }

    /// Measures and prints.
    ///
    /// # Errors
    ///
    /// A side failed, or the file cannot be written.
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        let contest = self.contest()?;
        ensure!(
            !contest.options.cases().is_empty(),
            "nothing to measure: none of --ops takes one of --sizes"
        );
        contest.prepare(workspace)?;
        let mut samples = contest.samples();
        for round in 0..=self.rounds as usize {
            eprint!("\rround {round} of {} ", self.rounds);
            let times = contest.round(workspace, round)?;
            if round > 0 {
                samples.rounds.push(times);
            }
        }
        eprintln!();
        let names: Vec<String> = contest.sides.iter().map(Contestant::name).collect();
        let resampled = samples.resample(ROUNDS.seed);
        let rows = samples.compare(&resampled);
        let means = report::means(&samples, &resampled);
        println!(
            "{}\n\n{}",
            report::table(&names, &rows),
            report::summary(&means)
        );
        if let Some(path) = &self.json {
            let text = report::json(&names, contest.ranks, samples.rounds.len(), &rows, &means)?;
            fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_variants_are_no_rivals() {
        let contest = Contest {
            sides: vec![
                Contestant::Ours(Vec::new()),
                Contestant::Ours(vec!["-v".into()]),
                Contestant::Peer(&peers::MPICH, &peers::MPICH.node.own_cores[0]),
            ],
            ranks: 2,
            options: rows(&[BenchOperation::Barrier], &[0], BufferMode::Untouched),
            hosts: None,
        };
        assert_eq!(contest.samples().rivals, [2]);
        assert_eq!(contest.samples().cases.len(), 1);
    }
}
