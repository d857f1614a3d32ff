//! Requests (MPI 5.0, 3.7).
//!
//! | file | is |
//! |---|---|
//! | `request` | an operation that a call has started |
//! | `several` | waits and tests for several |

#[expect(
    clippy::module_inception,
    reason = "a request is what the folder is about"
)]
mod request;
mod several;

pub use request::Request;
pub(super) use request::{CompletionHandler, CompletionKind, LeakedRequest};
pub use several::{testall, testany, testsome, waitall, waitany, waitsome};
