//! Collectives that are made of messages, and what a rank knows of their contexts.
//!
//! | file | is |
//! |---|---|
//! | `schedule.rs`, `sends.rs` | schedules under way: messages of both transports, and steps between them |
//! | `plan.rs`, `one_round.rs`, `members.rs` | what is to be posted |
//! | `blocks_by_leaders` | blocks that go by the leaders of nodes |
//! | `context.rs` | contexts: members, numbers, groups |

mod blocks_by_leaders;
mod context;
mod members;
mod one_round;
mod plan;
mod schedule;
mod sends;

pub use blocks_by_leaders::MembersByNode;
pub(crate) use blocks_by_leaders::{BlocksByLeaders, LeaderBlocks};
pub(crate) use context::{Context, Contexts, Locality};
pub use members::Members;
pub(crate) use one_round::{OneRound, RoundBlocks};
pub(crate) use plan::Plan;
pub use schedule::COLLECTIVE_MESSAGES;
pub(crate) use schedule::{DeferredSteps, Schedule, ScheduleId, Schedules};
