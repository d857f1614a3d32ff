//! The neighbours of a rank, in any topology.

use super::cartesian::Cartesian;
use super::distributed::DistributedGraph;
use super::graph::Graph;

/// The topologies that `MPI_Topo_test` distinguishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// `MPI_CART`.
    Cartesian(Cartesian),
    /// `MPI_GRAPH`.
    Graph(Graph),
    /// `MPI_DIST_GRAPH`.
    Distributed(DistributedGraph),
}

/// The ranks of the communicator that a rank exchanges data with in a neighbourhood collective. In
/// a grid some may be [`PROC_NULL`](crate::mpi::PROC_NULL).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mpi) struct Neighborhood {
    /// In the order of the blocks that are received.
    pub(in crate::mpi) sources: Vec<i32>,
    /// In the order of the blocks that are sent.
    pub(in crate::mpi) destinations: Vec<i32>,
    /// The order of the sources in which their blocks are received while all ranks send in the
    /// order of `destinations`. It matters if one rank is a source several times.
    pub(in crate::mpi) matched: Vec<usize>,
}

impl Neighborhood {
    /// Returns neighbours where the k-th of several edges from one rank to another is the k-th at
    /// both ends.
    fn in_order(sources: Vec<i32>, destinations: Vec<i32>) -> Self {
        let matched = (0..sources.len()).collect();
        Self {
            sources,
            destinations,
            matched,
        }
    }

    /// Returns the neighbours in a grid, where data sent in a direction come from the opposite one.
    /// If both neighbours of a dimension are the same rank, its first message, to the neighbour
    /// before it, belongs to the place of the neighbour behind (MPI 5.0, 8.6).
    fn of_pairs(neighbors: Vec<i32>) -> Self {
        let matched = (0..neighbors.len()).map(|place| place ^ 1).collect();
        Self {
            sources: neighbors.clone(),
            destinations: neighbors,
            matched,
        }
    }
}

impl Topology {
    /// Returns how many blocks the rank in this place sends in a neighbourhood collective,
    /// including those to `MPI_PROC_NULL` at the ends of a grid.
    pub(in crate::mpi) fn out_degree(&self, place: usize) -> usize {
        match self {
            Self::Cartesian(grid) => 2 * grid.dims().len(),
            Self::Graph(graph) => graph.neighbors_of(place).len(),
            Self::Distributed(graph) => graph.destinations().len(),
        }
    }

    /// Returns the ranks that the rank in this place exchanges with; `None` if a neighbour would
    /// wait for ever, because the graph has an edge that does not lead back, or that is named at
    /// one of its ends only.
    pub(in crate::mpi) fn neighborhood(&self, place: usize) -> Option<Neighborhood> {
        Some(match self {
            Self::Cartesian(grid) => {
                let rank = i32::try_from(place).expect("MAX_RANKS fits i32");
                Neighborhood::of_pairs(grid.neighbors(rank))
            }
            Self::Graph(graph) if !graph.is_symmetric() => return None,
            Self::Graph(graph) => {
                let neighbors = graph.neighbors_of(place);
                Neighborhood::in_order(neighbors.to_vec(), neighbors.to_vec())
            }
            Self::Distributed(graph) if !graph.matched => return None,
            Self::Distributed(graph) => {
                Neighborhood::in_order(graph.sources().to_vec(), graph.destinations().to_vec())
            }
        })
    }
}
