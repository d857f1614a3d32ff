//! Neighbourhood collectives (MPI 5.0, 8.6; 8.7 for those that do not block): each rank exchanges
//! data only with its neighbours in the topology of the communicator.
//!
//! Blocks are in the order of the neighbours, some of which may be the same rank. The standard
//! defines which block is received where as if by messages with one tag: the order tells apart
//! several edges from one rank to another. In a grid the direction tells them apart. Data sent
//! towards higher coordinates come from the neighbour below, even if the same rank is also the
//! neighbour above. [`Neighborhood::matched`] is the order of receives that does both.
//!
//! Where a grid ends the neighbour is `MPI_PROC_NULL`: its blocks are counted, but neither read nor
//! written.

use crate::bcs::{DataView, Parcel};
use crate::checked::UsedMemory;
use crate::mpi::blocks::{BlockLayout, disjoint, same_length};
use crate::mpi::checks::CommonArguments;
use crate::mpi::collective::{CheckedCall, RecordedCall, collectives};
use crate::mpi::error::{Operation, Result};
use crate::mpi::topology::Neighborhood;
use crate::mpi::{Blocks, Buffer, Comm, PROC_NULL, Request};
use crate::recording::Primitive;

/// Rewrites the numbers in errors about blocks: here these numbers are those of neighbours, not of
/// ranks.
fn numbered<T>(result: Result<T>, who: &str) -> Result<T> {
    result.map_err(|mut error| {
        error.reason.push_str("; ranks are numbered as ");
        error.reason.push_str(who);
        error
    })
}

/// Returns the neighbour's place in the communicator, unless it is `MPI_PROC_NULL`.
fn place(neighbor: i32) -> Option<usize> {
    (neighbor != PROC_NULL).then(|| usize::try_from(neighbor).expect("topologies were checked"))
}

/// Returns the places for the blocks of all sources.
fn blocks(
    output: &impl BlockLayout,
    sources: &[i32],
    operation: Operation,
) -> Result<Vec<DataView>> {
    let mut blocks = output.pieces(sources.len(), operation)?;
    for (block, &source) in blocks.iter_mut().zip(sources) {
        if source == PROC_NULL {
            *block = DataView::EMPTY;
        }
    }
    disjoint(&blocks, operation)?;
    Ok(blocks)
}

impl Comm {
    /// Exchanges a block with each neighbour.
    fn post_neighbors(
        &self,
        mut begin: CheckedCall,
        hood: &Neighborhood,
        out: Vec<DataView>,
        into: Vec<DataView>,
    ) -> Result<Request> {
        let operation = begin.operation;
        let me = self.0.group.me;
        let destinations = hood.destinations.iter().zip(out);
        let out: Vec<Parcel> = destinations
            .filter_map(|(&to, piece)| Some((place(to)?, piece)))
            .collect();
        let mut into: Vec<Option<DataView>> = into.into_iter().map(Some).collect();
        let matched = hood.matched.iter();
        let into: Vec<Parcel> = matched
            .filter_map(|&at| Some((place(hood.sources[at])?, into[at].take()?)))
            .collect();
        let own = |parcels: &[Parcel]| -> Vec<usize> {
            let own = parcels.iter().filter(|(place, _)| *place == me);
            own.map(|(_, piece)| piece.len()).collect()
        };
        for (sent, received) in own(&out).into_iter().zip(own(&into)) {
            same_length(sent, received, operation)?;
        }
        self.uses(&mut begin, || {
            let read = out
                .iter()
                .map(|(_, view)| UsedMemory::reads(view.clone(), 0));
            let written = into
                .iter()
                .map(|(_, view)| UsedMemory::writes(view.clone(), 0));
            read.chain(written).collect()
        })?;
        let into = begin.staged_parcels(into);
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_neighbors(self.members_of_context(), out, into);
        self.started(begin, posted)
    }

    fn post_neighbor_allgather(
        &self,
        call: RecordedCall,
        input: Buffer,
        output: impl BlockLayout,
    ) -> Result<Request> {
        let begin = self.begin(call, input.all_bytes(1), None)?;
        let operation = begin.operation;
        let hood = self.neighborhood(operation)?;
        let from = input.piece(&operation)?;
        let into = numbered(blocks(&output, &hood.sources, operation), "sources")?;
        let out = vec![from; hood.destinations.len()];
        self.post_neighbors(begin, &hood, out, into)
    }

    fn post_neighbor_alltoall<L: BlockLayout>(
        &self,
        call: RecordedCall,
        input: L,
        output: L,
    ) -> Result<Request> {
        let bytes = input.all_bytes(self.out_degree());
        let begin = self.begin(call, bytes, None)?;
        let operation = begin.operation;
        let hood = self.neighborhood(operation)?;
        let destinations = hood.destinations.len();
        let out = numbered(input.pieces(destinations, operation), "destinations")?;
        let into = numbered(blocks(&output, &hood.sources, operation), "sources")?;
        self.post_neighbors(begin, &hood, out, into)
    }
}

collectives! {
    /// (8.6.1): sends `input` to each neighbour and receives a block of `output` from each, which
    /// has the count of one block.
    neighbor_allgather "MPI_Neighbor_allgather" NeighborAllgather,
    ineighbor_allgather "MPI_Ineighbor_allgather" IneighborAllgather, neighbor_allgather_init:
    post_neighbor_allgather(input: Buffer, output: Buffer),
    comm => input.all_bytes(1), alike CommonArguments::AMONG_NEIGHBORS
        .with(comm.neighbors_blocks(&input, &output));

    /// (8.6.1): a [`neighbor_allgather`](Self::neighbor_allgather) whose blocks are anywhere and
    /// of any length.
    neighbor_allgatherv "MPI_Neighbor_allgatherv" NeighborAllgatherv,
    ineighbor_allgatherv "MPI_Ineighbor_allgatherv" IneighborAllgatherv, neighbor_allgatherv_init:
    post_neighbor_allgather(input: Buffer, output: Blocks<'_>),
    comm => input.all_bytes(1), alike CommonArguments::AMONG_NEIGHBORS
        .with(comm.neighbors_blocks(&input, &output));

    /// (8.6.2): sends a block of `input` to each neighbour and receives one of `output` from each.
    /// Both have the count of one block.
    neighbor_alltoall "MPI_Neighbor_alltoall" NeighborAlltoall,
    ineighbor_alltoall "MPI_Ineighbor_alltoall" IneighborAlltoall, neighbor_alltoall_init:
    post_neighbor_alltoall(input: Buffer, output: Buffer),
    comm => input.all_bytes(comm.out_degree()), alike CommonArguments::AMONG_NEIGHBORS
        .with(comm.neighbors_blocks(&input, &output));

    /// (8.6.2): a [`neighbor_alltoall`](Self::neighbor_alltoall) whose blocks are anywhere and of
    /// any length.
    neighbor_alltoallv "MPI_Neighbor_alltoallv" NeighborAlltoallv,
    ineighbor_alltoallv "MPI_Ineighbor_alltoallv" IneighborAlltoallv, neighbor_alltoallv_init:
    post_neighbor_alltoall(input: Blocks<'_>, output: Blocks<'_>),
    comm => input.all_bytes(comm.out_degree()), alike CommonArguments::AMONG_NEIGHBORS
        .with(comm.neighbors_blocks(&input, &output));

    /// (8.6.3): a [`neighbor_alltoallv`](Self::neighbor_alltoallv) whose blocks have a datatype
    /// each ([`Blocks::of_types`]).
    neighbor_alltoallw "MPI_Neighbor_alltoallw" NeighborAlltoallw,
    ineighbor_alltoallw "MPI_Ineighbor_alltoallw" IneighborAlltoallw, neighbor_alltoallw_init:
    post_neighbor_alltoall(input: Blocks<'_>, output: Blocks<'_>),
    comm => input.all_bytes(comm.out_degree()), alike CommonArguments::AMONG_NEIGHBORS
        .with(comm.neighbors_blocks(&input, &output));
}
