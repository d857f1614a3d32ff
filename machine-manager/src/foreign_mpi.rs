//! Jobs whose processes use another MPI: none of them has joined the job, and each was a world of
//! its own.

use crate::exit_code;
use bcs_core::job::NodeId;

/// The reports of node managers about that.
#[derive(Debug, Default)]
pub struct ForeignMpi {
    /// The first rank that uses another MPI, its node, and its library.
    found: Option<(u32, NodeId, String)>,
    /// The number of node managers none of whose ranks has joined, though all have ended well.
    none_joined: usize,
}

impl ForeignMpi {
    /// Records that a rank uses another MPI.
    pub fn found(&mut self, rank: u32, node: NodeId, library: String) {
        let first = self.found.get_or_insert((rank, node, library.clone()));
        if rank < first.0 {
            *first = (rank, node, library);
        }
    }

    /// Records that no rank of a node manager has joined.
    pub fn none_joined(&mut self) {
        self.none_joined += 1;
    }

    /// Returns the message and the exit code of a job with `ranks` ranks that has ended well, if no
    /// rank has joined. A single rank alone is what its user has requested.
    #[must_use]
    pub fn outcome(&self, managers: usize, ranks: usize) -> Option<(String, u8)> {
        let line = self.line(ranks).filter(|_| self.none_joined == managers)?;
        let code = match ranks {
            1 => exit_code::SUCCESS,
            _ => exit_code::UNFINISHED,
        };
        Some((line, code))
    }

    /// Returns the message about a job that has failed.
    #[must_use]
    pub fn line(&self, ranks: usize) -> Option<String> {
        let (rank, node, library) = self.found.as_ref()?;
        let cure = cure(library, node_manager::mpi_libraries::provides);
        Some(format!(
            "rank {rank} on node {node} is a program of another MPI ({library}): it has not joined the job of {ranks}, \
             and was rank 0 of 1; {cure}"
        ))
    }
}

/// Returns what the user can do. If we provide a library of the same name, the program has found
/// the other one by a path of its own.
fn cure(library: &str, provides: impl FnOnce(&[u8]) -> bool) -> String {
    let name = library.rsplit('/').next().unwrap_or(library);
    match provides(name.as_bytes()) {
        true => format!(
            "BCS-MPI has a {name}, too, but the program names the folder of the other one: `patchelf --remove-rpath` \
             takes it out of a program, and for mpi4py set MPI4PY_LIBMPI={name}"
        ),
        false => "build it with the mpicc of BCS-MPI, or start it with the mpiexec of that MPI"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_could_use_ours_is_told_how() {
        let told = |provided| cure("/opt/mpich/lib/libmpi.so.12", |_| provided);
        assert!(told(true).contains("patchelf --remove-rpath"));
        assert!(told(false).starts_with("build it with the mpicc of BCS-MPI"));
    }

    #[test]
    fn a_job_of_another_mpi_is_told_and_fails() {
        let mut job = ForeignMpi::default();
        job.none_joined();
        assert_eq!(job.outcome(1, 4), None, "plain programs");
        job.found(3, NodeId(1), "libmpi.so.12".to_owned());
        job.found(1, NodeId(0), "libmpi.so.40".to_owned());
        let (line, code) = job.outcome(1, 4).unwrap();
        assert!(line.starts_with("rank 1 on node 0 is a program of another MPI (libmpi.so.40)"));
        assert_eq!(code, exit_code::UNFINISHED);
        assert_eq!(job.outcome(1, 1).unwrap().1, exit_code::SUCCESS);
        assert_eq!(
            job.outcome(2, 4),
            None,
            "ranks of the other node manager have joined"
        );
    }
}
