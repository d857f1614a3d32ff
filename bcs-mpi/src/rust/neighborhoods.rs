//! Neighbours: graphs, and the collectives in which each rank exchanges data only with its
//! neighbours.
//!
//! On a grid the neighbours are, for each dimension, the one before and the one behind. Neighbours
//! that do not exist have blocks, which stay unchanged. On a graph they are the ranks at the other
//! ends of its edges, in the order in which the edges were named.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::collectives::{Blocks, CollectiveRequest, block_of, startable};
use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::{as_peer, as_rank};
use super::scope::{BorrowedSlice, Scope};
use crate::mpi::{Buffer, Group, InvalidArguments, Result};

fn as_ranks(ranks: &[usize]) -> Vec<i32> {
    ranks.iter().map(|&rank| as_rank(rank)).collect()
}

/// The ranks that a rank receives from and sends to; `None` is no process.
pub type Neighbors = (Vec<Option<usize>>, Vec<Option<usize>>);

impl Communicator {
    /// Makes a communicator with a graph. Every rank names the edges that lead to it and those that
    /// lead from it. (`MPI_Dist_graph_create_adjacent`, unweighted)
    ///
    /// # Errors
    /// When there is no such rank, an edge is named at one of its ends only, and as
    /// [`split`](Self::split).
    #[track_caller]
    pub fn dist_graph_create_adjacent(
        &self,
        sources: &[usize],
        destinations: &[usize],
    ) -> Result<Self> {
        let (from, to) = (as_ranks(sources), as_ranks(destinations));
        Ok(Self(self.0.dist_graph_create_adjacent(&from, &to, None)?))
    }

    /// Returns the ranks that this rank receives from and sends to in collectives among neighbours,
    /// in the order of their blocks. (`MPI_Dist_graph_neighbors`)
    ///
    /// # Errors
    /// When the communicator has no topology.
    pub fn neighbors(&self) -> Result<Neighbors> {
        let (from, to) = self.0.neighbors()?;
        let peers = |ranks: Vec<i32>| ranks.into_iter().map(as_peer).collect();
        Ok((peers(from), peers(to)))
    }

    /// Makes a communicator of the ranks of a group. Only they call it, all with the same tag.
    /// (`MPI_Comm_create_group`)
    ///
    /// # Errors
    /// When a rank of the group is not in this communicator, and as [`split`](Self::split).
    #[track_caller]
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Self>> {
        Ok(self.0.create_group(group, tag)?.map(Self))
    }

    /// Returns one of the blocks that a buffer consists of, one for each neighbour to receive from.
    #[track_caller]
    fn received_block(&self, buffer: &Buffer, call: &'static str) -> Result<Buffer> {
        let block = block_of(buffer, self.0.neighbors()?.0.len(), "neighbours", call);
        self.notify_if_wrong(block, InvalidArguments::default())
    }

    /// Returns the same for the neighbours to send to.
    #[track_caller]
    fn sent_block(&self, buffer: &Buffer, call: &'static str) -> Result<Buffer> {
        let block = block_of(buffer, self.0.neighbors()?.1.len(), "neighbours", call);
        self.notify_if_wrong(block, InvalidArguments::default())
    }
}

startable! {
    /// Sends `data` to each neighbour, and receives a block of `result` from each.
    neighbor_allgather ineighbor_allgather neighbor_allgather_init "MPI_Neighbor_allgather"
    (comm, call; data => result) {
        let block = comm.received_block(&result, call)?;
        (data, block)
    }

    /// Sends `data` to each neighbour, and receives one of `blocks` in `result` from each.
    neighbor_allgatherv ineighbor_allgatherv neighbor_allgatherv_init "MPI_Neighbor_allgatherv"
    (comm, call; data => result, blocks: Blocks<'_>) {
        let lists = comm.lists(blocks, &result, call)?;
        (data, lists.untyped())
    }

    /// Sends a block of `data` to each neighbour, and receives one of `result` from each.
    neighbor_alltoall ineighbor_alltoall neighbor_alltoall_init "MPI_Neighbor_alltoall"
    (comm, call; data => result) {
        let data = comm.sent_block(&data, call)?;
        let result = comm.received_block(&result, call)?;
        (data, result)
    }

    /// Sends a block of `data` (`out`) to each neighbour, and receives one of `result` (`into`)
    /// from each.
    neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallv_init "MPI_Neighbor_alltoallv"
    (comm, call; data => result, out: Blocks<'_>, into: Blocks<'_>) {
        let out = comm.lists(out, &data, call)?;
        let into = comm.lists(into, &result, call)?;
        (out.untyped(), into.untyped())
    }
}
