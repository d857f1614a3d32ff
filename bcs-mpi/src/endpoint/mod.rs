//! An endpoint: one rank's end of its roads.
//!
//! Its state lies behind one lock. Under it nobody sleeps, copies long data or calls the program's functions: these
//! are errands, which a call does without it. Every call passes on what had to wait before it does anything else
//! (law 5). Of several threads that wait, one listens to the rank's bell and passes on what it hears.
//!
//! | file | is |
//! |---|---|
//! | `state.rs`, `endpoint.rs` | what is behind the lock; the lock, and progress |
//! | `request.rs`, `what.rs` | what was posted; what a wait is for |
//! | `turn.rs`, `waiting.rs` | whose turn it is to listen; the wait |
//! | `undertaking.rs`, `advancing.rs` | what is done step by step for one request; how it moves on |
//! | `errands.rs`, `running.rs` | what is done without the lock, and by whom |
//! | `messages.rs`, `probing.rs`, `short.rs` | sends and receives, probes, and those that are over at once |
//! | `conformance.rs` | an endpoint as one that keeps the rules of roads |
//! | `held.rs` | what is in the tables now, in numbers |
//! | `whereabouts.rs`, `finalize.rs`, `left.rs` | what a rank says while it is blocked; the end, and what is left |

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
mod messages;
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
