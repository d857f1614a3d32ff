//! Requests (MPI 5.0, 3.7).
//!
//! | file | is |
//! |---|---|
//! | `completion` | how operations complete |
//! | `request` | an operation that a call has started |
//! | `several` | waits and tests for several |

mod completion;
#[expect(
    clippy::module_inception,
    reason = "a request is what the folder is about"
)]
mod request;
mod several;

pub(super) use completion::{CompletionHandler, CompletionKind, LeakedRequest};
pub use request::Request;
pub use several::{testall, testany, testsome, waitall, waitany, waitsome};
