//! A simulated job: one seed fixes its layout, its program, its faults, and every switch between
//! threads.
//!
//! | file | content |
//! |---|---|
//! | `job` | ranks, NICs, and the loop that advances the time |
//! | `fabric` | the fabric, and the memory of hosts and ranks |
//! | `plan` | the program of the ranks: the same on all of them, drawn from the seed |
//! | `fault` | the kinds of faults, and which have struck |
//! | `injection` | the state of faults that ranks and the simulator share |
//! | `memory` | memory that cannot be read or written, and memory that vanishes |
//! | `bad_memory` | operations on such memory, and which ranks must get an error |
//! | `communicators` | communicators made and freed |
//! | `intercommunicators` | intercommunicators |
//! | `neighbors` | neighbourhood collectives |
//! | `operations` | operations of the program's own that call MPI |
//! | `options`, `report` | the options of a run, and the report about it |

mod bad_memory;
mod communicators;
mod fabric;
mod fault;
mod injection;
mod intercommunicators;
mod job;
mod memory;
mod neighbors;
mod operations;
mod options;
mod plan;
mod report;

pub use fault::{FaultKind, FaultSet, StruckFaults};
pub use options::{SimulatedJobOptions, SimulatedProgram};
pub use report::{JobEnd, SimulatedJobReport};

/// Runs one seed.
#[must_use]
pub fn run(options: &SimulatedJobOptions) -> SimulatedJobReport {
    job::SimulatedJob::new(options).run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_nic::simulator::fabric::FabricKind;

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

    /// Runs jobs that lose datagrams and may have all other faults. `bcs sim --mpi --fabric udp`
    /// runs more seeds.
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

    /// Layouts and settings differ: both transports, one of them, both strobes, all eager limits.
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
