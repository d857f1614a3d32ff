//! Operations of reductions: the predefined ones, and functions of the program (MPI 5.0, 6.9.5).
//!
//! The NIC performs predefined operations. It cannot call a function of the program, so reductions
//! with one are made of messages ([`crate::bcs`]): they fold from the left, in the order of the
//! communicator. The result is the same to the bit in every layout, whether the function is
//! commutative or not. [`UserOp::create`] only records whether it is.
//!
//! A function gets elements laid out as their datatype defines, gaps included. If the data lie side
//! by side from the address of an element on, it gets the received data. Elements of other types
//! are spread over memory of their own first (`operand_buffers`).
//!
//! A function may be called in any call of this rank, with any part of the elements, by any of its
//! threads. No lock is held, so it may take any time, and call MPI on other communicators (MPI 5.0,
//! 6.9.5, would not allow that). If it panics, the job ends with a message: the other ranks would
//! wait for a contribution that will never come.

mod any;
mod local;
mod operand_buffers;
mod user;

pub use any::AnyOp;
pub(super) use any::one_datatype;
pub use local::reduce_local;
pub use user::UserOp;
