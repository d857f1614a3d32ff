//! The members of a communicator: their numbers in the world and in it.

use std::collections::HashMap;

/// The ranks that messages of a communicator come from and go to, in its order.
#[derive(Clone, Debug)]
pub(super) struct Peers {
    /// World ranks.
    pub(super) members: Vec<u32>,
    /// The place of a world rank; empty if every rank has its world's number.
    places: HashMap<u32, usize>,
}

impl Peers {
    pub(super) fn new(members: Vec<u32>) -> Self {
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

    /// The rank in the communicator of a world rank that is in it.
    pub(super) fn place(&self, world_rank: u32) -> i32 {
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
pub(super) struct Members {
    pub(super) peers: Peers,
    /// This rank's place among them.
    pub(super) me: usize,
}

impl Members {
    pub(super) fn new(members: Vec<u32>, me: usize) -> Self {
        let peers = Peers::new(members);
        Self { peers, me }
    }
}

/// A number of a rank as MPI writes it.
pub(super) fn as_rank(place: usize) -> i32 {
    i32::try_from(place).expect("MAX_RANKS fits i32")
}
