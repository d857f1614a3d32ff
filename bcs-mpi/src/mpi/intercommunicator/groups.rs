//! The two groups of an intercommunicator (MPI 5.0, 7.6.1), and the members of both together.

use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::group::as_rank;
use crate::mpi::objects::members::{LocalAndRemoteGroup, Members, RemoteGroup};
use crate::mpi::{Comm, Group};

impl Comm {
    /// `MPI_Comm_test_inter`: returns whether this is an intercommunicator.
    #[must_use]
    pub fn is_inter(&self) -> bool {
        self.0.remote.is_some()
    }

    /// `MPI_Comm_remote_size`: returns the size of the remote group.
    ///
    /// # Errors
    /// When this is not an intercommunicator.
    pub fn remote_size(&self) -> Result<i32> {
        let remote = self.remote(Operation::plain("MPI_Comm_remote_size"))?;
        Ok(as_rank(remote.peers.members.len()))
    }

    /// `MPI_Comm_remote_group`: returns the remote group.
    ///
    /// # Errors
    /// When this is not an intercommunicator.
    pub fn remote_group(&self) -> Result<Group> {
        let remote = self.remote(Operation::plain("MPI_Comm_remote_group"))?;
        Ok(self.group_of(remote.peers.members.clone()))
    }

    /// Returns the world ranks of the remote group, in order; no ranks if this is not an
    /// intercommunicator.
    #[must_use]
    pub fn remote_members(&self) -> &[u32] {
        let remote = self.0.remote.as_ref();
        remote.map_or(&[], |remote| &remote.peers.members)
    }

    pub(super) fn remote(&self, operation: Operation) -> Result<&RemoteGroup> {
        self.usable(&operation)?;
        self.0.remote.as_ref().ok_or_else(|| {
            let reason = "the communicator has one group only: it is no intercommunicator";
            operation.error(ErrorClass::Comm, reason)
        })
    }

    /// Checks that the communicator is usable, and an intracommunicator.
    pub(in crate::mpi) fn usable_within(&self, operation: &Operation) -> Result<()> {
        self.usable(operation)?;
        if self.is_inter() {
            let reason = "the call is for intracommunicators, and this is an intercommunicator";
            return Err(operation.error(ErrorClass::Comm, reason));
        }
        Ok(())
    }

    /// Returns the world ranks of all members of the context: of both groups, if there are two.
    pub(in crate::mpi) fn all_members(&self) -> &[u32] {
        let remote = self.0.remote.as_ref();
        remote.map_or_else(|| self.members(), |remote| &remote.all)
    }

    /// Returns this rank's place among all of them.
    pub(in crate::mpi) fn place_among_all(&self) -> usize {
        let before = match &self.0.remote {
            Some(remote) if !remote.local_is_first => remote.first_len(),
            _ => 0,
        };
        before + self.0.group.me
    }

    /// Returns whether members in these places can have a communicator like this one. Both groups
    /// of an intercommunicator must have members.
    pub(in crate::mpi) fn has_both_sides(&self, places: &[usize]) -> bool {
        self.0.remote.as_ref().is_none_or(|remote| {
            let is_first = |&place: &usize| place < remote.first_len();
            places.iter().any(is_first) && !places.iter().all(is_first)
        })
    }

    /// Returns the sides of a child of members in these places, as this rank, which is one of them,
    /// sees them.
    pub(in crate::mpi) fn sides(&self, places: &[usize]) -> LocalAndRemoteGroup {
        let all = self.all_members();
        let world = |places: &[usize]| places.iter().map(|&place| all[place]).collect();
        let group = |places: &[usize]| {
            let own = self.place_among_all();
            let me = places.iter().position(|&place| place == own);
            let me = me.expect("this rank is one of them");
            Members::new(world(places), me)
        };
        let Some(remote) = &self.0.remote else {
            return (group(places), None);
        };
        let (first, second): (Vec<usize>, Vec<usize>) = places
            .iter()
            .partition(|&&place| place < remote.first_len());
        let (own, other) = if remote.local_is_first {
            (first, second)
        } else {
            (second, first)
        };
        let group = group(&own);
        let members = &group.peers.members;
        let remote = RemoteGroup::new(members, world(&other), remote.local_is_first);
        (group, Some(remote))
    }
}
