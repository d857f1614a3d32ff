//! Intercommunicators (MPI 5.0, 7.6): two groups without a common member, of which each rank sends
//! to and receives from those of the other.
//!
//! Both groups share **one context**, of which all their members together are the NICs' members. A
//! message is matched by its context and its sender's rank in the world, so nothing has to tell the
//! two directions apart, and only the numbers by which a program names its peers are those of the
//! remote group ([`Comm::peers`]). And whatever all ranks agree on, they agree on in that context by
//! the collectives of the NIC, as if it were an ordinary communicator: duplicates, parts and merged
//! communicators are made as always ([`super::create`]).
//!
//! Only the first agreement cannot be had like that, because there is no context of both groups yet
//! ([`create`](Comm::intercomm_create)). Collectives of the program are [`collective`].

mod collective;
mod create;
mod merge;

use super::create::Sides;
use super::error::{ErrorClass, Operation};
use super::members::{Members, Peers, as_rank};
use super::{Comm, Group, Result};

/// The other group of an intercommunicator.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    pub(super) peers: Peers,
    /// World ranks of both groups, one group after the other, the same list at all of them.
    pub(super) all: Vec<u32>,
    /// Whether the local group is the first of the two.
    local_is_first: bool,
}

impl Remote {
    fn new(local: &[u32], remote: Vec<u32>, local_is_first: bool) -> Self {
        let all = if local_is_first {
            [local, &remote].concat()
        } else {
            [&remote, local].concat()
        };
        Self {
            peers: Peers::new(remote),
            all,
            local_is_first,
        }
    }

    /// How many ranks the first group has.
    fn first_len(&self) -> usize {
        let remote = self.peers.members.len();
        if self.local_is_first {
            self.all.len() - remote
        } else {
            remote
        }
    }
}

impl Comm {
    /// `MPI_Comm_test_inter`: whether this is an intercommunicator.
    #[must_use]
    pub fn is_inter(&self) -> bool {
        self.0.remote.is_some()
    }

    /// `MPI_Comm_remote_size`.
    ///
    /// # Errors
    /// When this is no intercommunicator.
    pub fn remote_size(&self) -> Result<i32> {
        let remote = self.remote(Operation::plain("MPI_Comm_remote_size"))?;
        Ok(as_rank(remote.peers.members.len()))
    }

    /// `MPI_Comm_remote_group`.
    ///
    /// # Errors
    /// When this is no intercommunicator.
    pub fn remote_group(&self) -> Result<Group> {
        let remote = self.remote(Operation::plain("MPI_Comm_remote_group"))?;
        Ok(self.group_of(remote.peers.members.clone()))
    }

    /// The world ranks of the remote group, in order; none if this is no intercommunicator.
    #[must_use]
    pub fn remote_members(&self) -> &[u32] {
        let remote = self.0.remote.as_ref();
        remote.map_or(&[], |remote| &remote.peers.members)
    }

    fn remote(&self, operation: Operation) -> Result<&Remote> {
        self.usable(operation)?;
        self.0.remote.as_ref().ok_or_else(|| {
            let reason = "the communicator has one group only: it is no intercommunicator";
            operation.error(ErrorClass::Comm, reason)
        })
    }

    /// The call may go on: the communicator is usable, and an intracommunicator.
    pub(super) fn usable_within(&self, operation: Operation) -> Result<()> {
        self.usable(operation)?;
        if self.is_inter() {
            let reason = "the call is for intracommunicators, and this is an intercommunicator";
            return Err(operation.error(ErrorClass::Comm, reason));
        }
        Ok(())
    }

    /// World ranks of all members of the context: of both groups, if there are two.
    pub(super) fn all_members(&self) -> &[u32] {
        let remote = self.0.remote.as_ref();
        remote.map_or_else(|| self.members(), |remote| &remote.all)
    }

    /// This rank's place among all of them.
    pub(super) fn place_among_all(&self) -> usize {
        let before = match &self.0.remote {
            Some(remote) if !remote.local_is_first => remote.first_len(),
            _ => 0,
        };
        before + self.0.group.me
    }

    /// Whether members in these places can have a communicator like this one: in both groups of an
    /// intercommunicator there must be some.
    pub(super) fn has_both_sides(&self, places: &[usize]) -> bool {
        self.0.remote.as_ref().is_none_or(|remote| {
            let is_first = |&place: &usize| place < remote.first_len();
            places.iter().any(is_first) && !places.iter().all(is_first)
        })
    }

    /// What a child of members in these places is for this rank, which is one of them.
    pub(super) fn sides(&self, places: &[usize]) -> Sides {
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
        let remote = Remote::new(members, world(&other), remote.local_is_first);
        (group, Some(remote))
    }
}
