//! Topologies (MPI 5.0, chapter 8): which ranks of a communicator are neighbours.
//!
//! Ranks keep their numbers in all of them: nothing is known here that a reordering could use,
//! since all nodes are equally far from each other. So no call has the `reorder` of the standard.
//!
//! | module | is |
//! |---|---|
//! | [`cartesian`] | grids, of which every rank knows all |
//! | [`graph`] | graphs of which every rank knows all |
//! | [`distributed`] | graphs of which every rank knows its own edges |

pub mod cartesian;
pub mod distributed;
pub mod graph;

pub use cartesian::{Cartesian, dims_create};
pub use distributed::DistributedGraph;
pub use graph::Graph;

use super::error::{ErrorClass, Operation};
use super::{Comm, Result};

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
/// grid some may be [`PROC_NULL`](super::PROC_NULL).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Neighborhood {
    /// In the order of the blocks that are received.
    pub(super) sources: Vec<i32>,
    /// In the order of the blocks that are sent.
    pub(super) destinations: Vec<i32>,
    /// The sources in the order in which what is received from one of them several times belongs
    /// to the places, while everybody sends in the order of `destinations`.
    pub(super) matched: Vec<usize>,
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

impl Comm {
    /// `MPI_Topo_test`: `None` if the communicator has no topology (`MPI_UNDEFINED`).
    #[must_use]
    pub fn topology(&self) -> Option<&Topology> {
        self.0.topology.as_deref()
    }

    /// From whom this rank receives and to whom it sends in a neighbourhood collective, in the
    /// order of the blocks (MPI 5.0, 8.6). In a grid some may be [`PROC_NULL`](super::PROC_NULL).
    ///
    /// # Errors
    /// When the communicator has no topology, or a graph with an edge that does not lead back.
    pub fn neighbors(&self) -> Result<(Vec<i32>, Vec<i32>)> {
        let hood = self.neighborhood(Operation::plain("MPI_Dist_graph_neighbors"))?;
        Ok((hood.sources, hood.destinations))
    }

    /// How many blocks this rank sends in a neighbourhood collective, or would at the ends of a
    /// grid.
    pub(super) fn out_degree(&self) -> usize {
        match self.topology() {
            Some(Topology::Cartesian(grid)) => 2 * grid.dims().len(),
            Some(Topology::Graph(graph)) => graph.neighbors_of(self.0.group.me).len(),
            Some(Topology::Distributed(graph)) => graph.destinations().len(),
            None => 0,
        }
    }

    /// Whom this rank exchanges with in a neighbourhood collective.
    pub(super) fn neighborhood(&self, operation: Operation) -> Result<Neighborhood> {
        self.usable(operation)?;
        let refuse = |reason: &str| Err(operation.error(ErrorClass::Topology, reason));
        match self.topology() {
            Some(Topology::Cartesian(grid)) => {
                Ok(Neighborhood::of_pairs(grid.neighbors(self.rank())))
            }
            Some(Topology::Graph(graph)) if !graph.is_symmetric() => refuse(
                "the graph has an edge that does not lead back: a neighbour would wait for ever",
            ),
            Some(Topology::Graph(graph)) => {
                let neighbors = graph.neighbors_of(self.0.group.me);
                Ok(Neighborhood::in_order(
                    neighbors.to_vec(),
                    neighbors.to_vec(),
                ))
            }
            Some(Topology::Distributed(graph)) => Ok(Neighborhood::in_order(
                graph.sources().to_vec(),
                graph.destinations().to_vec(),
            )),
            None => refuse("the communicator has no topology, so nobody is a neighbour"),
        }
    }
}
