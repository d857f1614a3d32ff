//! Operations of reductions: the predefined ones, and functions of the program's (MPI 5.0, 6.9.5).
//!
//! Predefined operations are the NIC's. It cannot call a function of the program's, so reductions
//! with one are made of messages ([`crate::bcs`]): they fold from the left, in the order of the
//! communicator. The result is the same to the bit in every layout, whether the function is
//! commutative or not; what [`UserOp::create`] is told about that is only kept for whoever asks.
//!
//! A function gets elements laid out as their datatype says, gaps included. Where the data lie side by
//! side from the address of an element on, it gets what has come; other types are spread over memory
//! of their own first (`spread`).
//!
//! A function may be called in any call of this rank, and with any part of the elements, by whichever of its
//! threads is in one. No lock is held, so it may take as long as it likes, and call MPI on other communicators
//! (MPI 5.0, 6.9.5, would not allow that). If it panics, the job ends with a message: the other ranks wait for
//! a contribution that will never come.

mod any;
mod local;
mod operand_buffers;
mod user;

pub use any::AnyOp;
pub(super) use any::one_datatype;
pub use local::reduce_local;
pub use user::UserOp;
