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

mod bad_memory;
mod communicators;
mod fabric;
mod fault;
mod intercommunicators;
mod job;
mod memory;
mod neighbors;
mod operations;
mod plan;

pub use fault::{FaultKind, FaultSet, StruckFaults};

use bcs_core::job::{IntranodeTransport, StrobeMode};
use bcs_nic::simulator::fabric::FabricKind;

/// One run.
#[derive(Clone, Debug)]
pub struct SimulatedJobOptions {
    /// Fixes everything.
    pub seed: u64,
    /// What joins its nodes.
    pub fabric: FabricKind,
    /// Kinds of faults that may strike.
    pub faults: FaultSet,
    /// What its ranks do.
    pub program: SimulatedProgram,
}

/// What the ranks of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedProgram {
    /// What the seed says.
    Drawn,
    /// They look whether the roads that the seed has given them keep the rules of roads.
    Rules,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// All ranks have finalised.
    Finalized,
    /// The job was ended, and its user told why: not all ranks could go on.
    Aborted(String),
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct SimulatedJobReport {
    /// Nodes.
    pub nodes: usize,
    /// Ranks.
    pub ranks: usize,
    /// The strobe.
    pub strobe: StrobeMode,
    /// The road within a node.
    pub intranode: IntranodeTransport,
    /// Slices struck.
    pub slices: u64,
    /// Steps of threads.
    pub steps: u64,
    /// Virtual time in nanoseconds.
    pub virtual_ns: u64,
    /// Parts of the program, by name.
    pub plan: String,
    /// Which faults struck.
    pub struck: StruckFaults,
    /// How it ended.
    pub end: JobEnd,
    /// A hash of all that happened, in order.
    pub trace_hash: u64,
    /// What must not be, if it was.
    pub objection: Option<String>,
}

/// Runs one seed.
#[must_use]
pub fn run(options: &SimulatedJobOptions) -> SimulatedJobReport {
    job::Job::new(options).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_faults_every_job_ends_whole() {
        for seed in 0..6 {
            ends_whole(seed, FabricKind::Sim, SimulatedProgram::Drawn);
        }
    }

    #[test]
    fn jobs_on_datagrams_end_whole() {
        for seed in 0..4 {
            ends_whole(seed, FabricKind::Udp, SimulatedProgram::Drawn);
            ends_whole(seed, FabricKind::Udp, SimulatedProgram::Rules);
        }
    }

    /// More seeds: `bcs sim --mpi --fabric udp`. Of each a job that loses datagrams, and all else that can befall one.
    #[test]
    fn jobs_that_lose_datagrams_end_and_leave_the_same_trace() {
        for seed in 0..6 {
            let options = SimulatedJobOptions {
                seed,
                fabric: FabricKind::Udp,
                faults: FaultSet::ALL,
                program: SimulatedProgram::Drawn,
            };
            let (report, again) = (run(&options), run(&options));
            assert_eq!(report.objection, None, "seed {seed}: {report:?}");
            assert_eq!(report.trace_hash, again.trace_hash, "seed {seed}");
        }
    }

    fn ends_whole(seed: u64, fabric: FabricKind, program: SimulatedProgram) {
        let faults = FaultSet::NONE;
        let report = run(&SimulatedJobOptions {
            seed,
            fabric,
            faults,
            program,
        });
        assert_eq!(report.objection, None, "seed {seed}: {report:?}");
        assert_eq!(report.end, JobEnd::Finalized, "seed {seed}: {report:?}");
    }

    /// Layouts and settings differ: both roads, one of them, both strobes, all eager limits.
    #[test]
    fn roads_of_all_kinds_keep_the_rules() {
        for seed in 0..12 {
            ends_whole(seed, FabricKind::Sim, SimulatedProgram::Rules);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let faults = FaultSet::ALL;
        let program = SimulatedProgram::Drawn;
        let hash = |seed| {
            run(&SimulatedJobOptions {
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
