//! The safe layer: typed slices, requests that cannot outlive their buffers, failures as
//! [`Result`](crate::Result)s. It is re-exported at the root of the crate.

pub(crate) mod barrier;
pub(crate) mod collectives;
pub(crate) mod communicator;
pub(crate) mod equivalence;
pub(crate) mod grids;
pub(crate) mod groups;
pub(crate) mod intercommunicator;
mod lender;
pub(crate) mod matched;
pub(crate) mod matching;
pub(crate) mod neighborhoods;
pub(crate) mod numbers;
pub(crate) mod operation;
pub(crate) mod owned;
pub(crate) mod persistent;
pub(crate) mod persistent_messages;
pub(crate) mod reductions;
pub(crate) mod scope;
pub(crate) mod scoped_messages;
pub(crate) mod section;
mod shape;
pub(crate) mod single_values;
pub(crate) mod spawning;
pub(crate) mod unchecked_memory;
pub(crate) mod universe;
pub(crate) mod views;
pub(crate) mod waiting;
pub(crate) mod window;
