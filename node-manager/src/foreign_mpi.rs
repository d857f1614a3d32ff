//! Programs of another MPI that do not join the job by PMI ([`pmi`](crate::pmi)): under our
//! launcher each of their processes is a world of one rank.
//!
//! Such a program sees no error. So it ends well, and has not computed what it should have. So we
//! look at processes that have not joined the job: at the libraries that they have mapped while
//! they run, and after their end, when nothing is mapped any more, at those that their file is
//! linked with ([`mpi_libraries`](crate::mpi_libraries)).

use crate::control::{FromManager, JobStart};
use crate::mpi_libraries::linked_with;
use crate::rank_process::RankProcess;
use std::collections::BTreeMap;

/// The findings about the ranks of a node manager.
#[derive(Debug, Default)]
pub(crate) struct ForeignMpi {
    is_said: bool,
    /// The library of another MPI that an application is linked with, if we have looked.
    linked: BTreeMap<usize, Option<String>>,
    /// The number of the launcher's queries so far.
    looks: u64,
}

impl ForeignMpi {
    /// Looks at ranks that have not joined: at each of the launcher's queries at first, and then
    /// less and less often. A program without MPI may run for days.
    pub(crate) fn look(&mut self, ranks: &mut [RankProcess]) {
        self.looks += 1;
        if self.looks.is_power_of_two() {
            ranks.iter_mut().for_each(RankProcess::look_for_foreign_mpi);
        }
    }

    /// Returns the message that a rank which has ended uses another MPI. It does so once, and only
    /// if none of our ranks has joined.
    pub(crate) fn ended(
        &mut self,
        index: usize,
        ranks: &[RankProcess],
        start: &JobStart,
    ) -> Option<FromManager> {
        // A rank that was spawned has been asked for by one that has joined.
        let is_spawned = ranks[index].spawned.is_some();
        if self.is_said || is_spawned || ranks.iter().any(RankProcess::has_joined) {
            return None;
        }
        let rank = &ranks[index];
        let application = start.application_of(rank.rank);
        let program = &start.applications[application].program;
        let linked = self.linked.entry(application);
        let linked = linked.or_insert_with(|| linked_with(program.as_ref()));
        let library = rank.foreign_mpi.clone().or_else(|| linked.clone())?;
        self.is_said = true;
        Some(FromManager::ForeignMpi {
            rank: rank.rank,
            node: rank.node,
            library,
        })
    }
}
