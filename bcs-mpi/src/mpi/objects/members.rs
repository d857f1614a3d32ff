//! The members of a communicator, and those of the other group if it is an intercommunicator: their
//! ranks in the world and in the communicator.

use crate::mpi::group::as_rank;
use std::collections::HashMap;

/// The ranks that messages of a communicator come from and go to, in its order.
#[derive(Clone, Debug)]
pub(in crate::mpi) struct Peers {
    /// World ranks.
    pub(in crate::mpi) members: Vec<u32>,
    /// The place of each world rank; empty if every rank has its number in the world.
    places: HashMap<u32, usize>,
}

impl Peers {
    pub(in crate::mpi) fn new(members: Vec<u32>) -> Self {
        let identity = (0u32..).zip(&members).all(|(rank, &member)| rank == member);
        let places = if identity {
            HashMap::new()
        } else {
            members
                .iter()
                .enumerate()
                .map(|(place, &member)| (member, place))
                .collect()
        };
        Self { members, places }
    }

    /// Returns the rank in the communicator of one of its members.
    pub(in crate::mpi) fn place(&self, world_rank: u32) -> i32 {
        let place = if self.places.is_empty() {
            world_rank as usize
        } else {
            self.places
                .get(&world_rank)
                .copied()
                .expect("messages of a context come from members")
        };
        as_rank(place)
    }
}

/// The members of a communicator, of which this rank is one.
#[derive(Clone, Debug)]
pub(in crate::mpi) struct Members {
    pub(in crate::mpi) peers: Peers,
    /// This rank's place among them.
    pub(in crate::mpi) me: usize,
}

impl Members {
    pub(in crate::mpi) fn new(members: Vec<u32>, me: usize) -> Self {
        let peers = Peers::new(members);
        Self { peers, me }
    }
}

/// The other group of an intercommunicator.
#[derive(Clone, Debug)]
pub(in crate::mpi) struct RemoteGroup {
    pub(in crate::mpi) peers: Peers,
    /// World ranks of both groups, one group after the other; all members have the same list.
    pub(in crate::mpi) all: Vec<u32>,
    /// Whether the local group is the first of the two.
    pub(in crate::mpi) local_is_first: bool,
}

impl RemoteGroup {
    pub(in crate::mpi) fn new(local: &[u32], remote: Vec<u32>, local_is_first: bool) -> Self {
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

    /// Returns the size of the first group.
    pub(in crate::mpi) fn first_len(&self) -> usize {
        let remote = self.peers.members.len();
        if self.local_is_first {
            self.all.len() - remote
        } else {
            remote
        }
    }
}

/// The local group of a communicator, and the other one of an intercommunicator.
pub(in crate::mpi) type LocalAndRemoteGroup = (Members, Option<RemoteGroup>);
