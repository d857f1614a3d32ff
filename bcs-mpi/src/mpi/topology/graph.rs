//! Graphs of which every rank knows all (MPI 5.0, 8.5.2): the older of the two kinds. It needs
//! memory for all edges on every rank; [`distributed`](super::distributed) graphs do not.

use super::Topology;
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::{Comm, Result};
use crate::recording::Primitive;
use std::collections::HashMap;

/// A graph. Edges may be there several times, and lead from a rank to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    index: Vec<i32>,
    edges: Vec<i32>,
    /// Where the edges of each rank begin, and where those of the last end.
    bounds: Vec<usize>,
    symmetric: bool,
}

impl Graph {
    /// `index` counts the edges of each rank and all before it; `edges` says where they lead.
    fn new(index: &[i32], edges: &[i32], operation: Operation) -> Result<Self> {
        let refuse = |reason: String| Err(operation.error(ErrorClass::Arg, reason));
        let mut bounds = vec![0];
        for (rank, &end) in index.iter().enumerate() {
            match usize::try_from(end).ok() {
                Some(end) if end >= bounds[rank] && end <= edges.len() => bounds.push(end),
                _ => {
                    let (begin, edges) = (bounds[rank], edges.len());
                    return refuse(format!(
                        "the edges of rank {rank} end at {end}: that is not from {begin}, where \
                         they begin, to {edges}, the number of all edges"
                    ));
                }
            }
        }
        let (nodes, counted) = (index.len(), bounds[index.len()]);
        if counted != edges.len() {
            let given = edges.len();
            return refuse(format!(
                "{given} edges are given, and {counted} are counted"
            ));
        }
        let outside = |edge: &&i32| usize::try_from(**edge).map_or(true, |edge| edge >= nodes);
        if let Some(edge) = edges.iter().find(outside) {
            let reason = format!("an edge leads to {edge} in a graph of {nodes} ranks");
            return Err(operation.error(ErrorClass::Rank, reason));
        }
        let mut graph = Self {
            index: index.to_vec(),
            edges: edges.to_vec(),
            bounds,
            symmetric: false,
        };
        graph.symmetric = graph.leads_back();
        Ok(graph)
    }

    /// Whether there are as many edges back as there are from one rank to another.
    fn leads_back(&self) -> bool {
        let mut surplus: HashMap<(i32, i32), i64> = HashMap::new();
        for (rank, from) in (0_i32..).zip(0..self.index.len()) {
            for &to in self.neighbors_of(from) {
                let step = i64::from(rank <= to) - i64::from(rank >= to);
                *surplus.entry((rank.min(to), rank.max(to))).or_default() += step;
            }
        }
        surplus.values().all(|&surplus| surplus == 0)
    }

    /// `MPI_Graphdims_get`, the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.index.len()
    }

    /// `MPI_Graph_get`: for each rank the number of its edges and of those of all before it.
    #[must_use]
    pub fn index(&self) -> &[i32] {
        &self.index
    }

    /// `MPI_Graph_get`: where the edges lead.
    #[must_use]
    pub fn edges(&self) -> &[i32] {
        &self.edges
    }

    pub(super) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    pub(super) fn neighbors_of(&self, rank: usize) -> &[i32] {
        &self.edges[self.bounds[rank]..self.bounds[rank + 1]]
    }
}

impl Comm {
    /// The graph of this communicator (`MPI_Graphdims_get`, `MPI_Graph_get`).
    #[must_use]
    pub fn graph(&self) -> Option<&Graph> {
        match self.topology()? {
            Topology::Graph(graph) => Some(graph),
            _ => None,
        }
    }

    /// A graph for the first ranks.
    fn planned_graph(&self, index: &[i32], edges: &[i32], operation: Operation) -> Result<Graph> {
        self.usable_within(operation)?;
        let ranks = self.members().len();
        if index.len() > ranks {
            let nodes = index.len();
            let reason = format!("{nodes} nodes in a communicator of {ranks} ranks");
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        Graph::new(index, edges, operation)
    }

    /// `MPI_Graph_map`: this rank's number in such a graph, which is its number here; `None` if it
    /// is not in it (`MPI_UNDEFINED`).
    ///
    /// # Errors
    /// As [`graph_create`](Self::graph_create), as far as this rank can tell.
    pub fn graph_map(&self, index: &[i32], edges: &[i32]) -> Result<Option<i32>> {
        let graph = self.planned_graph(index, edges, Operation::plain("MPI_Graph_map"))?;
        Ok(Some(self.rank()).filter(|_| self.0.group.me < graph.nodes()))
    }

    /// `MPI_Graph_create`: the first ranks of this communicator as the nodes of a graph. The
    /// others get none. All members call it, with the same arguments: `index` has for each node
    /// the number of its edges and of those of all before it, `edges` where they lead.
    ///
    /// # Errors
    /// When the two do not fit each other, the graph has more nodes than the communicator has
    /// ranks, and as [`dup`](Self::dup).
    pub fn graph_create(&self, index: &[i32], edges: &[i32]) -> Result<Option<Self>> {
        let call = ("MPI_Graph_create", Primitive::CommCreate);
        let graph = self.planned_graph(index, edges, Operation::plain(call.0))?;
        let color = (self.0.group.me < index.len()).then_some(0);
        self.split_for(call, color, 0, Some(Topology::Graph(graph)))
    }

    /// `MPI_Graph_neighbors` and `MPI_Graph_neighbors_count`: where the edges of a rank lead.
    ///
    /// # Errors
    /// When the communicator has no graph or no such rank.
    pub fn graph_neighbors(&self, rank: i32) -> Result<&[i32]> {
        let operation = Operation::plain("MPI_Graph_neighbors");
        self.usable(operation)?;
        self.world_rank(rank, operation)?;
        let graph = self.graph().ok_or_else(|| {
            let reason = "the communicator has no graph topology (MPI_Graph_create)";
            operation.error(ErrorClass::Topology, reason)
        })?;
        Ok(graph.neighbors_of(usize::try_from(rank).expect("it was checked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(index: &[i32], edges: &[i32]) -> Result<Graph> {
        Graph::new(index, edges, Operation::plain("MPI_Graph_create"))
    }

    /// The example of the standard (8.5.2), and what cannot be a graph.
    #[test]
    fn edges_belong_to_their_ranks() {
        let example = graph(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).unwrap();
        let neighbors: Vec<_> = (0..4).map(|rank| example.neighbors_of(rank)).collect();
        assert_eq!(neighbors, [&[1, 3][..], &[0], &[3], &[0, 2]]);
        assert!(example.is_symmetric());
        assert!(graph(&[3, 5], &[0, 1, 1, 0, 0]).unwrap().is_symmetric());
        assert!(!graph(&[2, 3], &[1, 1, 0]).unwrap().is_symmetric());
        assert!(graph(&[], &[]).unwrap().is_symmetric());
        for (index, edges) in [
            (&[2, 1][..], &[0, 0][..]),
            (&[-1], &[]),
            (&[1], &[]),
            (&[0], &[0]),
        ] {
            let error = graph(index, edges).unwrap_err();
            assert_eq!(error.class, ErrorClass::Arg, "{index:?} {edges:?}");
        }
        let error = graph(&[1, 2], &[0, 2]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Rank);
        assert!(error.to_string().contains("leads to 2 in a graph of 2"));
    }
}
