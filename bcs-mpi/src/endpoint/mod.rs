//! An endpoint: one rank's end of its transports.
//!
//! Its state lies behind one lock. Under the lock no thread sleeps, copies long data or calls the
//! program's functions. These are deferred copies, which a call runs without it. Every call first
//! passes on the descriptors that had to wait (law 5). If several threads wait, one listens to the
//! rank's bell and passes on what it hears.
//!
//! | file | is |
//! |---|---|
//! | `state.rs`, `endpoint.rs` | what is behind the lock; the lock, and progress |
//! | `request.rs`, `wait_target.rs` | what was posted; what a wait is for |
//! | `turn.rs`, `waiting.rs` | whose turn it is to listen; the wait |
//! | `async_operation.rs`, `async_progress.rs` | what is done step by step for one request; how it advances |
//! | `deferred_copies.rs`, `run_deferred.rs` | what is done without the lock, and by which thread |
//! | `messages.rs`, `probing.rs`, `immediate.rs` | sends and receives, probes, and calls that are over at once |
//! | `long_fetch.rs` | updates that fetch many bytes of a rank of another node |
//! | `one_sided.rs` | operations on the memory of other ranks, and waits for words that they change |
//! | `conformance.rs` | an endpoint as one that keeps the rules of transports |
//! | `table_usage.rs` | what is in the tables now, in numbers |
//! | `wait_state.rs`, `finalize.rs`, `leaks.rs` | what a blocked rank reports; the end, and what is left |

mod async_operation;
mod async_progress;
mod conformance;
mod deferred_copies;
#[expect(
    clippy::module_inception,
    reason = "the file of the type that the folder is about"
)]
mod endpoint;
mod finalize;
mod immediate;
mod leaks;
mod long_fetch;
mod messages;
mod one_sided;
mod poll_watch;
mod probing;
mod request;
mod run_deferred;
mod state;
mod table_usage;
mod turn;
mod wait_state;
mod wait_target;
mod waiting;

pub(crate) use async_operation::{AsyncOperation, OperationContext, succeeded};
pub(crate) use deferred_copies::DeferredCopy;
pub use endpoint::{Endpoint, RankLocation};
pub use finalize::FinalizeOutcome;
pub use immediate::SendAttempt;
pub use leaks::LeakCounts;
pub use messages::{ReceiveOutcome, ReplaceRequests};
pub use probing::MatchedMessage;
pub(crate) use request::OperationId;
pub use request::Request;
pub(crate) use state::{EndpointState, LeaderRequest};
pub use table_usage::TableUsage;
pub(crate) use wait_target::WaitTarget;
