//! Graphs that every rank knows as a whole (MPI 5.0, 8.5.2): the older of the two kinds. They need
//! memory for all edges on every rank; [`distributed`](super::distributed) graphs do not.

use crate::mpi::error::{ErrorClass, Operation, Result};
use std::collections::HashMap;

/// A graph. It may contain an edge several times, and edges from a rank to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    index: Vec<i32>,
    edges: Vec<i32>,
    /// Where the edges of each rank begin, and where those of the last end.
    bounds: Vec<usize>,
    symmetric: bool,
}

impl Graph {
    /// Makes a graph. `index` counts the edges of each rank and all before it; `edges` holds the
    /// ranks to which they lead.
    pub(in crate::mpi) fn new(index: &[i32], edges: &[i32], operation: Operation) -> Result<Self> {
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

    /// Returns whether between any two ranks there are as many edges back as forth.
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

    /// `MPI_Graphdims_get`: returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.index.len()
    }

    /// `MPI_Graph_get`: returns for each rank the number of edges of it and all ranks before it.
    #[must_use]
    pub fn index(&self) -> &[i32] {
        &self.index
    }

    /// `MPI_Graph_get`: returns the ranks to which the edges lead.
    #[must_use]
    pub fn edges(&self) -> &[i32] {
        &self.edges
    }

    pub(super) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    pub(in crate::mpi) fn neighbors_of(&self, rank: usize) -> &[i32] {
        &self.edges[self.bounds[rank]..self.bounds[rank + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(index: &[i32], edges: &[i32]) -> Result<Graph> {
        Graph::new(index, edges, Operation::plain("MPI_Graph_create"))
    }

    /// Checks the example of the standard (8.5.2), and invalid graphs.
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
