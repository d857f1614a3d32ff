//! Collectives that are made of messages, and what a rank knows of the contexts that they take place in.
//!
//! | file | is |
//! |---|---|
//! | `schedule.rs`, `sends.rs` | schedules under way: messages of both roads, and steps between them |
//! | `plan.rs`, `one_round.rs`, `members.rs` | what is to be posted |
//! | `hierarchy` | blocks that go by the leaders of nodes |
//! | `context.rs` | contexts: members, numbers, groups |

mod context;
mod hierarchy;
mod members;
mod one_round;
mod plan;
mod schedule;
mod sends;

pub(crate) use context::{Context, Contexts, Locality};
pub(crate) use hierarchy::Hierarchy;
pub use hierarchy::Nodes;
pub use members::Members;
pub(crate) use one_round::{OneRound, Side};
pub(crate) use plan::Plan;
pub use schedule::COLLECTIVE_MESSAGES;
pub(crate) use schedule::{Schedule, ScheduleId, Schedules, Steps};
