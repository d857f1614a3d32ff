//! Topologies (MPI 5.0, chapter 8): which ranks of a communicator are neighbours. What a communicator
//! knows of it is here; the calls are in [`super::neighborhood`].
//!
//! Ranks keep their numbers in all of them: nothing is known here that a reordering could use,
//! since all nodes are equally far from each other. So no call has the `reorder` of the standard.
//!
//! | module | is |
//! |---|---|
//! | [`cartesian`], [`dims_create`] | grids, of which every rank knows all |
//! | [`graph`] | graphs of which every rank knows all |
//! | [`distributed`] | graphs of which every rank knows its own edges |
//! | `neighbors` | the neighbours that a rank has in any of them |

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
