//! A simulated job: one seed fixes its layout, its program, its faults, and every switch between threads.
//!
//! | file | is |
//! |---|---|
//! | `job` | ranks, NICs, and the loop that advances the time |
//! | `host` | the fabric, and the memory of machines and ranks |
//! | `plan` | what the ranks do: the same on all of them, drawn from the seed |
//! | `fault` | what goes wrong, and how often it did |
//! | `memory` | memory that cannot be read or written, and memory that vanishes |
//! | `deed` | operations on such memory, and who must be told |
//! | `teams` | communicators made and freed |
//! | `bridges` | intercommunicators |
//! | `neighbors` | neighbourhood collectives |
//! | `operations` | operations of the program's own that call MPI |

mod bridges;
mod deed;
mod fault;
mod host;
mod job;
mod memory;
mod neighbors;
mod operations;
mod plan;
mod teams;

pub use fault::{FaultKind, Faults, Struck};

use bcs_core::job::{Intranode, Strobe};
use bcs_nic::simulator::fabric::FabricKind;

/// One run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Fixes everything.
    pub seed: u64,
    /// What joins its nodes.
    pub fabric: FabricKind,
    /// Kinds of faults that may strike.
    pub faults: Faults,
    /// What its ranks do.
    pub program: Program,
}

/// What the ranks of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// What the seed says.
    Drawn,
    /// They look whether the roads that the seed has given them keep the rules of roads.
    Rules,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All ranks have finalised.
    Whole,
    /// The job was ended, and its user told why: not all ranks could go on.
    Told(String),
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// Nodes.
    pub nodes: usize,
    /// Ranks.
    pub ranks: usize,
    /// The strobe.
    pub strobe: Strobe,
    /// The road within a node.
    pub intranode: Intranode,
    /// Slices struck.
    pub slices: u64,
    /// Steps of threads.
    pub steps: u64,
    /// Virtual time in nanoseconds.
    pub virtual_ns: u64,
    /// Parts of the program, by name.
    pub plan: String,
    /// Which faults struck.
    pub struck: Struck,
    /// How it ended.
    pub end: End,
    /// A hash of all that happened, in order.
    pub trace_hash: u64,
    /// What must not be, if it was.
    pub objection: Option<String>,
}

/// Runs one seed.
#[must_use]
pub fn run(options: &Options) -> Report {
    job::Job::new(options).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_faults_every_job_ends_whole() {
        for seed in 0..6 {
            ends_whole(seed, FabricKind::Sim, Program::Drawn);
        }
    }

    #[test]
    fn jobs_on_datagrams_end_whole() {
        for seed in 0..4 {
            ends_whole(seed, FabricKind::Udp, Program::Drawn);
            ends_whole(seed, FabricKind::Udp, Program::Rules);
        }
    }

    /// More seeds: `bcs sim --mpi --fabric udp`. Of each a job that loses datagrams, and all else that can befall one.
    #[test]
    fn jobs_that_lose_datagrams_end_and_leave_the_same_trace() {
        for seed in 0..6 {
            let options = Options {
                seed,
                fabric: FabricKind::Udp,
                faults: Faults::ALL,
                program: Program::Drawn,
            };
            let (report, again) = (run(&options), run(&options));
            assert_eq!(report.objection, None, "seed {seed}: {report:?}");
            assert_eq!(report.trace_hash, again.trace_hash, "seed {seed}");
        }
    }

    fn ends_whole(seed: u64, fabric: FabricKind, program: Program) {
        let faults = Faults::NONE;
        let report = run(&Options {
            seed,
            fabric,
            faults,
            program,
        });
        assert_eq!(report.objection, None, "seed {seed}: {report:?}");
        assert_eq!(report.end, End::Whole, "seed {seed}: {report:?}");
    }

    /// Layouts and settings differ: both roads, one of them, both strobes, all eager limits.
    #[test]
    fn roads_of_all_kinds_keep_the_rules() {
        for seed in 0..12 {
            ends_whole(seed, FabricKind::Sim, Program::Rules);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let faults = Faults::ALL;
        let program = Program::Drawn;
        let hash = |seed| {
            run(&Options {
                seed,
                fabric: FabricKind::Sim,
                faults,
                program,
            })
            .trace_hash
        };
        for seed in 0..3 {
            assert_eq!(hash(seed), hash(seed), "seed {seed}");
            assert_ne!(hash(seed), hash(seed + 100));
        }
    }
}
