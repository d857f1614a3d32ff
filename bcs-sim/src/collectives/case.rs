//! The cases of all ranks: drawn from the seed, the same on all of them.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use super::data::random;
use bcs_core::reduction::{Datatype, Op};
use bcs_mpi::mpi::{Buffer, Comm, Result};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// A collective of MPI 5.0, chapter 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collective {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    ReduceScatterBlock,
    ReduceScatter,
    Scan,
    Exscan,
    Scatter,
    Scatterv,
    Gather,
    Gatherv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
}

const COLLECTIVES: [Collective; 17] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::ReduceScatterBlock,
    Collective::ReduceScatter,
    Collective::Scan,
    Collective::Exscan,
    Collective::Scatter,
    Collective::Scatterv,
    Collective::Gather,
    Collective::Gatherv,
    Collective::Allgather,
    Collective::Allgatherv,
    Collective::Alltoall,
    Collective::Alltoallv,
    Collective::Alltoallw,
];

impl Collective {
    pub(super) fn reduces(self) -> bool {
        use Collective::{Allreduce, Exscan, Reduce, ReduceScatter, ReduceScatterBlock, Scan};
        [
            Reduce,
            Allreduce,
            ReduceScatterBlock,
            ReduceScatter,
            Scan,
            Exscan,
        ]
        .contains(&self)
    }
}

/// The counts, with their frequencies in a thousand cases.
const COUNTS: [(usize, usize); 5] = [(0, 100), (1, 200), (7, 400), (1_000, 290), (100_003, 10)];

/// A case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Identifies it in its data.
    pub(super) number: u64,
    pub(super) team: usize,
    pub(super) collective: Collective,
    pub(super) datatype: Datatype,
    /// The operation; `None`: a function of the program.
    pub(super) op: Option<Op>,
    /// Elements of a block; where blocks differ, the largest possible number.
    pub(super) count: usize,
    /// The root, modulo the size of the team.
    pub(super) root: usize,
    pub(super) in_place: bool,
    pub(super) blocking: bool,
    pub(super) mild: bool,
    /// The seed for all other choices.
    pub(super) seed: u64,
}

impl Case {
    pub(super) fn draw(number: u64, teams: usize, random: &mut ChaCha8Rng) -> Self {
        let collective = *COLLECTIVES.choose(random).expect("there are some");
        let op = Op::ALL.choose(random).copied();
        let op = op.filter(|_| random.random_range(0..10) > 0);
        let allowed: Vec<Datatype> = Datatype::ALL
            .into_iter()
            .filter(|&datatype| !collective.reduces() || op.is_none_or(|op| op.allowed(datatype)))
            .collect();
        let mut lot = random.random_range(0..1_000);
        let mut count = 0;
        for (next, share) in COUNTS {
            count = next;
            if lot < share {
                break;
            }
            lot -= share;
        }
        Self {
            number,
            team: random.random_range(0..teams),
            collective,
            datatype: *allowed.choose(random).expect("there are some"),
            op,
            count,
            root: random.random_range(0..1 << 20),
            in_place: random.random_range(0..3) == 0,
            blocking: random.random_range(0..2) == 0,
            mild: random.random_range(0..2) == 0,
            seed: random.random(),
        }
    }

    /// Returns how many elements `from` has for `to`, both ranks of the team.
    pub(super) fn count_between(&self, from: usize, to: usize) -> usize {
        use Collective::{Allgatherv, Alltoallv, Alltoallw, Gatherv, ReduceScatter, Scatterv};
        // In place the counts of a pair must be the same in both directions.
        let (from, to) = match self.collective {
            Alltoallv | Alltoallw if self.in_place => (from.min(to), from.max(to)),
            Alltoallv | Alltoallw => (from, to),
            Gatherv | Allgatherv => (from, 0),
            Scatterv | ReduceScatter => (0, to),
            _ => return self.count,
        };
        let pair = (from as u64) << 32 | to as u64;
        random(self.seed, pair).random_range(0..self.count + 1)
    }
}

/// A communicator with the node of each of its ranks.
#[derive(Debug)]
pub(super) struct PlacedCommunicator {
    pub(super) comm: Comm,
    pub(super) me: usize,
    pub(super) size: usize,
    /// A number for each node.
    pub(super) node: Vec<i32>,
}

impl PlacedCommunicator {
    pub(super) fn new(comm: Comm) -> Result<Self> {
        let size = usize::try_from(comm.size()).expect("positive");
        let me = usize::try_from(comm.rank()).expect("positive");
        let here = comm
            .split_by_node(true, 0)?
            .expect("this rank is on a node");
        // The node's lowest world rank serves as its name.
        let name = here.members().iter().min().expect("somebody");
        let name = i32::try_from(*name).expect("few");
        let mut node = vec![0; size];
        let (input, output) = (
            // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
            unsafe { Buffer::read_only(&raw const name, 1, Datatype::INT) },
            // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
            unsafe { Buffer::new(node.as_mut_ptr(), 1, Datatype::INT) },
        );
        comm.allgather(Some(input), output)?;
        Ok(Self {
            comm,
            me,
            size,
            node,
        })
    }
}
