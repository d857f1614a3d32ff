//! Collectives that are made of messages, and what a rank knows of their contexts.
//!
//! | file | is |
//! |---|---|
//! | `schedule.rs`, `sends.rs` | schedules under way: messages of both transports, and steps between them |
//! | `plan.rs`, `one_round.rs`, `members.rs` | what is to be posted |
//! | `hierarchical_alltoall` | blocks that go by the leaders of nodes |
//! | `context.rs` | contexts: members, numbers, groups |

mod context;
mod hierarchical_alltoall;
mod members;
mod one_round;
mod plan;
mod schedule;
mod sends;

pub(crate) use context::{Context, Contexts, Locality};
pub(crate) use hierarchical_alltoall::HierarchicalAlltoall;
pub use hierarchical_alltoall::MembersByNode;
pub use members::Members;
pub(crate) use one_round::{OneRound, RoundBlocks};
pub(crate) use plan::Plan;
pub use schedule::COLLECTIVE_MESSAGES;
pub(crate) use schedule::{DeferredSteps, Schedule, ScheduleId, Schedules};
