//! Persistent requests (MPI 5.0, 3.9): the arguments of a call, to be started again and again.
//!
//! The NIC knows nothing of them: a start is a post like any other, whose arguments were checked
//! once. A start begins an ordinary [`Request`](super::Request), which all waits and tests take.
//! When it is complete, the persistent request is inactive, and may be started again.
//!
//! | module | is |
//! |---|---|
//! | `request` | a persistent request |
//! | `init` | the calls that make one |
//! | `message`, `collective`, `partitioned` | what a start begins |
//! | `arguments` | arguments that last as long as the request |

mod arguments;
mod collective;
mod init;
mod message;
mod partitioned;
mod request;

pub(super) use arguments::{Keep, Lend};
pub use partitioned::PartitionedMessage;
pub use request::{Persistent, startall};
