//! The launch tree of ScELA: agents that start agents, and relay between them and the launcher.
//!
//! ```text
//!                       bcs run
//!                    ┌─────┴─────┐            at most `degree` links at each
//!                 agent 0     agent 4
//!               ┌────┼────┐   ┌──┴───┐        an agent with children has a relay, which is
//!              1     2    3   5      6        one OS thread beside that of the agent
//! ```
//!
//! - [`shape`]: the degree, and who starts whom.
//! - [`relay_frame`]: the frames on the links between launcher and relays.
//! - [`relay`]: the state machine of a relay; `tests.rs` joins hundreds of them in virtual time.
//! - [`starter`]: starts the processes of the children.
//! - [`relay_thread`]: the OS thread that moves the bytes.
//!
//! An agent without children has no relay, and does not know whether there is a tree: a job of at
//! most `degree` agents is the star that it always was. Section 2 of the paper has the tree and its
//! degree, its PROCESS_FAIL is [`FromManager::ProcessFail`](crate::control::FromManager) and
//! [`AgentEvent::Ended`], its PROCESS_TERMINATE is a broadcast of
//! [`ToManager::Terminate`](crate::control::ToManager).

mod relay;
mod relay_frame;
pub(crate) mod relay_thread;
pub mod shape;
mod starter;
#[cfg(test)]
mod tests;

pub use crate::subtree::{AgentStart, HOST, Subtree};
pub use relay_frame::{AgentEnd, AgentEvent, AgentNews, Recipients, Upward, routed, upward};
