//! The topology and the neighbours of a communicator (MPI 5.0, 8.5.4, 8.6).

use crate::mpi::Comm;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::topology::{Neighborhood, Topology};

impl Comm {
    /// `MPI_Topo_test`: returns the topology; `None` if the communicator has none
    /// (`MPI_UNDEFINED`).
    #[must_use]
    pub fn topology(&self) -> Option<&Topology> {
        self.0.topology.as_deref()
    }

    /// Returns the ranks that this rank receives from and sends to in a neighbourhood collective,
    /// in the order of the blocks (MPI 5.0, 8.6). In a grid some may be
    /// [`PROC_NULL`](crate::mpi::PROC_NULL).
    ///
    /// # Errors
    /// When the communicator has no topology, or a graph with an edge that does not lead back.
    pub fn neighbors(&self) -> Result<(Vec<i32>, Vec<i32>)> {
        let hood = self.neighborhood(Operation::plain("MPI_Dist_graph_neighbors"))?;
        Ok((hood.sources, hood.destinations))
    }

    /// Returns how many blocks this rank sends in a neighbourhood collective, including those to
    /// `MPI_PROC_NULL` at the ends of a grid.
    pub(super) fn out_degree(&self) -> usize {
        self.topology()
            .map_or(0, |topology| topology.out_degree(self.0.group.me))
    }

    /// Returns the ranks that this rank exchanges with in a neighbourhood collective.
    pub(in crate::mpi) fn neighborhood(&self, operation: Operation) -> Result<Neighborhood> {
        self.usable(&operation)?;
        let refuse = |reason: &str| operation.error(ErrorClass::Topology, reason);
        let topology = self
            .topology()
            .ok_or_else(|| refuse("the communicator has no topology, so nobody is a neighbour"))?;
        topology.neighborhood(self.0.group.me).ok_or_else(|| {
            refuse(match topology {
                Topology::Distributed(_) => {
                    "the ranks do not agree about the edges: one is named at its source or at its destination only, or not \
                     as often at both, so a neighbour would wait for ever"
                }
                _ => "the graph has an edge that does not lead back: a neighbour would wait for ever",
            })
        })
    }
}
