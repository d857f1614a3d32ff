//! Graphs whose edges each rank knows as far as they lead to it or from it (MPI 5.0, 8.5.3).

/// The edges at one end: the ranks at the other end, and the weights, if edges have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mpi) struct Edges {
    pub(in crate::mpi) ranks: Vec<i32>,
    pub(in crate::mpi) weights: Vec<i32>,
}

impl Edges {
    pub(in crate::mpi) fn new(ranks: &[i32], weights: Option<&[i32]>) -> Self {
        Self {
            ranks: ranks.to_vec(),
            weights: weights.unwrap_or_default().to_vec(),
        }
    }
}

/// A rank's part of a distributed graph. It may contain an edge several times, and edges from a
/// rank to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributedGraph {
    pub(in crate::mpi) into: Edges,
    pub(in crate::mpi) out: Edges,
    pub(in crate::mpi) weighted: bool,
    /// Whether each edge of all ranks is named at both of its ends.
    pub(in crate::mpi) matched: bool,
}

impl DistributedGraph {
    /// Returns the ranks from which edges lead to this one.
    #[must_use]
    pub fn sources(&self) -> &[i32] {
        &self.into.ranks
    }

    /// Returns the ranks to which edges lead from this one.
    #[must_use]
    pub fn destinations(&self) -> &[i32] {
        &self.out.ranks
    }

    /// Returns the weights of the edges from the sources and of those to the destinations; `None`
    /// if the graph is unweighted (`MPI_UNWEIGHTED`).
    #[must_use]
    pub fn weights(&self) -> Option<(&[i32], &[i32])> {
        let weights = || (self.into.weights.as_slice(), self.out.weights.as_slice());
        self.weighted.then(weights)
    }
}
