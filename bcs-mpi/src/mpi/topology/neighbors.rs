//! The neighbours of a rank, whichever topology it is in.

use super::cartesian::Cartesian;
use super::distributed::DistributedGraph;
use super::graph::Graph;

/// What `MPI_Topo_test` tells apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// `MPI_CART`.
    Cartesian(Cartesian),
    /// `MPI_GRAPH`.
    Graph(Graph),
    /// `MPI_DIST_GRAPH`.
    Distributed(DistributedGraph),
}

/// With whom a rank exchanges in a neighbourhood collective, as ranks of the communicator. In a
/// grid some may be [`PROC_NULL`](crate::mpi::PROC_NULL).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mpi) struct Neighborhood {
    /// In the order of the blocks that are received.
    pub(in crate::mpi) sources: Vec<i32>,
    /// In the order of the blocks that are sent.
    pub(in crate::mpi) destinations: Vec<i32>,
    /// The sources in the order in which what is received from one of them several times belongs
    /// to the places, while everybody sends in the order of `destinations`.
    pub(in crate::mpi) matched: Vec<usize>,
}

impl Neighborhood {
    /// The k-th of several edges from one rank to another at its source is the k-th of them at its
    /// destination.
    fn in_order(sources: Vec<i32>, destinations: Vec<i32>) -> Self {
        let matched = (0..sources.len()).collect();
        Self {
            sources,
            destinations,
            matched,
        }
    }

    /// What was sent in a direction of a grid comes from the opposite one: where both neighbours
    /// of a dimension are the same rank, what it sent first, to the one before it, belongs to the
    /// place of the one behind (MPI 5.0, 8.6).
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
    /// How many blocks the rank in this place sends in a neighbourhood collective, or would at the ends of a
    /// grid.
    pub(in crate::mpi) fn out_degree(&self, place: usize) -> usize {
        match self {
            Self::Cartesian(grid) => 2 * grid.dims().len(),
            Self::Graph(graph) => graph.neighbors_of(place).len(),
            Self::Distributed(graph) => graph.destinations().len(),
        }
    }

    /// Whom the rank in this place exchanges with; `None` if a neighbour would wait for ever, because the graph
    /// has an edge that does not lead back, or that is named at one of its ends only.
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
