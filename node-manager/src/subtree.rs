//! The part of a launch tree below an agent ([`launch_tree`](crate::launch_tree)).

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The first message to an agent that is to start others and to relay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtree {
    /// The number of this agent.
    pub me: u32,
    /// The hosts of this agent and of those below it, in the order of their numbers; `None` on the
    /// launcher's machine.
    pub hosts: Vec<Option<String>>,
    /// The degree of the tree.
    pub degree: usize,
    /// How agents are started.
    pub start: AgentStart,
    /// The time that each start takes in addition, for tests: agents on one machine need no login.
    pub start_cost: Duration,
}

/// How an agent starts others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentStart {
    /// On one machine: they inherit machine page and segment.
    Inherit {
        /// The party that has the rank which reads the standard input.
        reader: Option<u32>,
    },
    /// By a command on another host, and without it on its own.
    Command {
        /// The words of the command; [`HOST`] stands for the host.
        words: Vec<String>,
    },
}

/// Stands for the host in the words of a launcher's command.
pub const HOST: &str = "{host}";
