//! How a rank is received: the conversation with its node manager over the inherited socket.
//!
//! The rank finds the descriptor of a connected `SOCK_SEQPACKET` socket in [`SOCKET_VARIABLE`]
//! and sends [`FromRank::Hello`]. The kernel attaches the sender's process id (SCM_CREDENTIALS),
//! so the node manager need not believe the rank. It answers [`Welcome`], with three file
//! descriptors: the rank's NIC memory, the machine page, and the memory of its node. At the end the rank sends
//! [`FromRank::Finalized`]; a socket that closes before is a rank that left without finalizing.
//!
//! Both are encoded with postcard. A version that differs is refused with a message, so that a
//! program built against an older library fails with words, not with rubbish.

use crate::job::{Placement, Settings};
use crate::limits::MAX_RANKS;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The environment variable with the number of the socket's file descriptor.
pub const SOCKET_VARIABLE: &str = "BCS_SOCKET";

/// Version of the conversation and of the layout of NIC memory.
pub const PROTOCOL_VERSION: u32 = 5;

/// The longest message of the conversation: the placement of the largest job, and some.
pub const MAX_MESSAGE_BYTES: usize = 3 * MAX_RANKS + 64 * 1024;

/// What a rank says to its node manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromRank {
    /// MPI_Init.
    Hello {
        /// [`PROTOCOL_VERSION`] of the rank's library.
        version: u32,
    },
    /// MPI_Finalize is complete: this rank owes and is owed nothing.
    Finalized,
    /// MPI_Abort.
    Abort {
        /// The exit code the program asked for.
        code: i32,
        /// Why, if the library called it.
        reason: String,
    },
}

/// What a node manager answers to Hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The rank is received; NIC memory and machine page come along.
    Welcome(Box<Welcome>),
    /// The rank is not received: why.
    Refused(String),
}

/// What a rank needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The rank's number in the world.
    pub rank: u32,
    /// Which ranks run where.
    pub placement: Placement,
    /// How the runtime is set.
    pub settings: Settings,
    /// The name of this run, which no other has, in dumps.
    pub job: String,
    /// The directory for the rank's MMDS dump at the end, if it records; absolute.
    pub mds: Option<PathBuf>,
}
