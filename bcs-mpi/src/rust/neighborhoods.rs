//! Neighbours: graphs, and the collectives in which each rank exchanges with its neighbours only.
//!
//! On a grid the neighbours are, for each dimension, the one before and the one behind; those that
//! do not exist have blocks, which are left alone. On a graph they are those at the other ends of
//! its edges, in the order in which the edges were named.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::collectives::{Blocks, CollectiveRequest, Lists, collectives};
use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::{as_peer, as_rank};
use super::scope::Scope;
use crate::mpi::error::Operation as Call;
use crate::mpi::{Buffer, ErrorClass, Group, Result};
use std::marker::PhantomData;

fn as_ranks(ranks: &[usize]) -> Vec<i32> {
    ranks.iter().map(|&rank| as_rank(rank)).collect()
}

/// Whom a rank receives from and whom it sends to; nobody is `None`.
pub type Neighbors = (Vec<Option<usize>>, Vec<Option<usize>>);

impl Communicator {
    /// A graph, of which every rank names the edges that lead to it and those that lead from it.
    /// (`MPI_Dist_graph_create_adjacent`, unweighted)
    ///
    /// # Errors
    /// When there is no such rank, an edge is named at one of its ends only, and as
    /// [`split`](Self::split).
    pub fn dist_graph_create_adjacent(
        &self,
        sources: &[usize],
        destinations: &[usize],
    ) -> Result<Self> {
        let (from, to) = (as_ranks(sources), as_ranks(destinations));
        Ok(Self(self.0.dist_graph_create_adjacent(&from, &to, None)?))
    }

    /// Whom this rank receives from and whom it sends to in collectives among neighbours, in the
    /// order of their blocks. (`MPI_Dist_graph_neighbors`)
    ///
    /// # Errors
    /// When the communicator has no topology.
    pub fn neighbors(&self) -> Result<Neighbors> {
        let (from, to) = self.0.neighbors()?;
        let peers = |ranks: Vec<i32>| ranks.into_iter().map(as_peer).collect();
        Ok((peers(from), peers(to)))
    }

    /// The ranks of a group make a communicator; only they call it, all with the same tag.
    /// (`MPI_Comm_create_group`)
    ///
    /// # Errors
    /// When a rank of the group is not in this communicator, and as [`split`](Self::split).
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Self>> {
        Ok(self.0.create_group(group, tag)?.map(Self))
    }

    /// One of as many blocks as there are neighbours, which a buffer consists of.
    pub(super) fn neighbor_block(
        &self,
        buffer: &Buffer,
        neighbors: usize,
        call: &'static str,
    ) -> Result<Buffer> {
        let count = buffer.count();
        if !count.is_multiple_of(neighbors) {
            let reason =
                format!("{count} elements are no whole number for each of {neighbors} neighbours");
            return Err(Call::plain(call).error(ErrorClass::Count, reason));
        }
        let block = count.checked_div(neighbors).unwrap_or(0);
        Ok(buffer.moved(buffer.start(), block))
    }

    pub(super) fn sources(&self) -> Result<usize> {
        Ok(self.0.neighbors()?.0.len())
    }

    pub(super) fn destinations(&self) -> Result<usize> {
        Ok(self.0.neighbors()?.1.len())
    }
}

collectives! {
    /// Sends `data` to each neighbour, and receives a block of `result` from each.
    neighbor_allgather as neighbor_allgather
    ineighbor_allgather as ineighbor_allgather "MPI_Neighbor_allgather"
    (comm, call; data => result) {
        let block = comm.neighbor_block(&result, comm.sources()?, call)?;
        (data, block)
    }

    /// Sends `data` to each neighbour, and receives one of `blocks` in `result` from each.
    neighbor_allgatherv as neighbor_allgatherv
    ineighbor_allgatherv as ineighbor_allgatherv "MPI_Neighbor_allgatherv"
    (comm, call; data => result, blocks: Blocks<'_>) {
        let lists = Lists::new(blocks, &result, call)?;
        (data, lists.untyped())
    }

    /// Sends a block of `data` to each neighbour, and receives one of `result` from each.
    neighbor_alltoall as neighbor_alltoall
    ineighbor_alltoall as ineighbor_alltoall "MPI_Neighbor_alltoall"
    (comm, call; data => result) {
        let data = comm.neighbor_block(&data, comm.destinations()?, call)?;
        let result = comm.neighbor_block(&result, comm.sources()?, call)?;
        (data, result)
    }

    /// Sends a block of `data` (`out`) to each neighbour, and receives one of `result` (`into`)
    /// from each.
    neighbor_alltoallv as neighbor_alltoallv
    ineighbor_alltoallv as ineighbor_alltoallv "MPI_Neighbor_alltoallv"
    (comm, call; data => result, out: Blocks<'_>, into: Blocks<'_>) {
        let out = Lists::new(out, &data, call)?;
        let into = Lists::new(into, &result, call)?;
        (out.untyped(), into.untyped())
    }
}
