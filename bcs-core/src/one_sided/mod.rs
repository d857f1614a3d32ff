//! Updates: what the accumulate functions of one-sided communication do to a target's memory (MPI
//! 5.0, section 12.3.4).
//!
//! An update is atomic for each element of its predefined datatype. The origin carries it out if
//! the target is a rank of its node, and the NIC of the target's node if it is not. So several
//! processes update the same memory at once, and all of them have to exclude each other. All of
//! them choose between these two ways by the same facts:
//!
//! - **Atomic operations of the processor**, if the element has 1, 2, 4 or 8 bytes, is aligned, and
//!   lies in the target's slot ([`Update::is_atomic`], [`Update::apply_atomically`]).
//! - **The target's lock** in node memory ([`UpdateLock`](crate::memory::UpdateLock)) in all other
//!   cases.
//!   The holder reads the elements, updates the copy ([`Update::apply_to_copy`]), and writes them
//!   back.
//!
//! The standard defines the result of concurrent updates only if they have the same predefined
//! datatype. Then they are elements of the same size at the same addresses, and take the same way.

mod atomic;
#[cfg(test)]
mod tests;
mod update;

pub use update::{Update, UpdateKind};
