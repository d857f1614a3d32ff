//! Communicators with a graph that every rank knows as a whole (MPI 5.0, 8.5.2).

use crate::mpi::Comm;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::topology::{Graph, Topology};
use crate::recording::Primitive;

impl Comm {
    /// Returns the graph of this communicator (`MPI_Graphdims_get`, `MPI_Graph_get`).
    #[must_use]
    pub fn graph(&self) -> Option<&Graph> {
        match self.topology()? {
            Topology::Graph(graph) => Some(graph),
            _ => None,
        }
    }

    /// Returns a graph for the first ranks.
    fn planned_graph(&self, index: &[i32], edges: &[i32], operation: Operation) -> Result<Graph> {
        self.usable_within(&operation)?;
        let ranks = self.members().len();
        if index.len() > ranks {
            let nodes = index.len();
            let reason = format!("{nodes} nodes in a communicator of {ranks} ranks");
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        Graph::new(index, edges, operation)
    }

    /// `MPI_Graph_map`: returns this rank's number in such a graph, which is its number here;
    /// `None` if it is not in it (`MPI_UNDEFINED`).
    ///
    /// # Errors
    /// As [`graph_create`](Self::graph_create), as far as this rank can tell.
    pub fn graph_map(&self, index: &[i32], edges: &[i32]) -> Result<Option<i32>> {
        let graph = self.planned_graph(index, edges, Operation::plain("MPI_Graph_map"))?;
        Ok(Some(self.rank()).filter(|_| self.0.group.me < graph.nodes()))
    }

    /// `MPI_Graph_create`: makes a communicator of the first ranks of this one, as the nodes of a
    /// graph. The other ranks get none. All members call it, with the same arguments. `index` has
    /// for each node the number of edges of it and all nodes before it, `edges` the nodes where
    /// they lead.
    ///
    /// # Errors
    /// When the two do not fit each other, the graph has more nodes than the communicator has
    /// ranks, and as [`dup`](Self::dup).
    #[track_caller]
    pub fn graph_create(&self, index: &[i32], edges: &[i32]) -> Result<Option<Self>> {
        let call = ("MPI_Graph_create", Primitive::CommCreate);
        let graph = self.planned_graph(index, edges, Operation::plain(call.0))?;
        let color = (self.0.group.me < index.len()).then_some(0);
        self.split_for(call, color, 0, Some(Topology::Graph(graph)))
    }

    /// `MPI_Graph_neighbors` and `MPI_Graph_neighbors_count`: returns the ranks to which the edges
    /// of a rank lead.
    ///
    /// # Errors
    /// When the communicator has no graph or no such rank.
    pub fn graph_neighbors(&self, rank: i32) -> Result<&[i32]> {
        let operation = Operation::plain("MPI_Graph_neighbors");
        self.usable(&operation)?;
        self.world_rank(rank, &operation)?;
        let graph = self.graph().ok_or_else(|| {
            let reason = "the communicator has no graph topology (MPI_Graph_create)";
            operation.error(ErrorClass::Topology, reason)
        })?;
        Ok(graph.neighbors_of(usize::try_from(rank).expect("it was checked")))
    }
}
