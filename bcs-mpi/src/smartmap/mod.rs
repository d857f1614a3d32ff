//! SMARTMAP: ranks of one node read and write each other's memory.
//!
//! | module | is |
//! |---|---|
//! | [`slots`] | the heaps of this node's ranks, as far as this rank has mapped them |

pub mod slots;

pub use slots::Slots;
