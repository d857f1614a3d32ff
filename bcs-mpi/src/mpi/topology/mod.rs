//! Topologies (MPI 5.0, chapter 8): which ranks of a communicator are neighbours. Here are the data
//! that a communicator keeps; the calls are in [`super::neighborhood`].
//!
//! Ranks keep their numbers in all topologies. All nodes are equally far from each other, so a
//! reordering would gain nothing, and no call has the `reorder` of the standard.
//!
//! | module | is |
//! |---|---|
//! | [`cartesian`], [`dims_create`] | grids, which every rank knows as a whole |
//! | [`graph`] | graphs that every rank knows as a whole |
//! | [`distributed`] | graphs of which every rank knows its own edges |
//! | `neighbors` | the neighbours of a rank in any topology |

pub mod cartesian;
mod dims;
pub mod distributed;
pub mod graph;
mod neighbors;

pub use cartesian::Cartesian;
pub use dims::dims_create;
pub use distributed::DistributedGraph;
pub use graph::Graph;
pub(super) use neighbors::Neighborhood;
pub use neighbors::Topology;
