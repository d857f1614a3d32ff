//! How a rank is received: the conversation with its node manager over the inherited socket.
//!
//! The rank finds the descriptor of a connected `SOCK_SEQPACKET` socket in [`SOCKET_VARIABLE`]
//! and sends [`FromRank::Hello`]. The kernel attaches the sender's process id (SCM_CREDENTIALS),
//! so the node manager need not believe the rank. It answers [`Welcome`], with file
//! descriptors of the rank's NIC memory, the machine page and, where messages within a node do not go
//! through the NIC, the memory of its node, and at last, if it records, that of its recorder. If the rank's heap lies in a slot
//! ([`crate::memory::slot`]), the descriptor of that comes with Hello. Whenever the rank then needs the
//! slot of another rank of its node, it asks for it ([`FromRank::Slot`]); where much lies in no slot, it
//! says so ([`FromRank::SlowCopies`]). A program that is not written in Rust says which files its code is of
//! ([`FromRank::Code`]). At the end the rank says what the program has left
//! ([`FromRank::Leaks`]), and sends
//! [`FromRank::Finalized`]; a socket that closes before is a rank that left without finalizing.
//!
//! Both are encoded with postcard. A version that differs is refused with a message, so that a
//! program built against an older library fails with words, not with rubbish.

use crate::job::{NodeId, Placement, Settings};
use crate::limits::MAX_RANKS;
use crate::mapped_code::MappedCode;
use serde::{Deserialize, Serialize};

/// The environment variable with the number of the socket's file descriptor.
pub const SOCKET_VARIABLE: &str = "BCS_SOCKET";

/// By which a rank is told the name of its node (`MPI_Get_processor_name`).
pub const NODE_NAME_VARIABLE: &str = "BCS_NODE_NAME";

/// By which somebody says how nodes of this host are named, if not by its name.
pub const HOST_NAME_VARIABLE: &str = "BCS_HOST_NAME";

/// The name of a host.
#[must_use]
pub fn host_name() -> String {
    let said = std::env::var(HOST_NAME_VARIABLE).ok();
    said.filter(|name| !name.is_empty()).unwrap_or_else(|| {
        let names = rustix::system::uname();
        names.nodename().to_string_lossy().into_owned()
    })
}

/// The name of a node of a host, which has so many. The only one is named as its host is; of several each has its
/// number in the job, so that two ranks with one name are on one node.
#[must_use]
pub fn node_name(host: &str, node: NodeId, nodes_of_host: usize) -> String {
    match nodes_of_host {
        0 | 1 => host.to_owned(),
        _ => format!("{host}/n{}", node.0),
    }
}

/// Version of the conversation and of the layout of NIC memory.
pub const PROTOCOL_VERSION: u32 = 17;

/// The longest message of the conversation: the placement of the largest job, and some.
pub const MAX_MESSAGE_BYTES: usize = 3 * MAX_RANKS + 64 * 1024;

/// What a rank says to its node manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromRank {
    /// MPI_Init.
    Hello {
        /// [`PROTOCOL_VERSION`] of the rank's library.
        version: u32,
        /// Why the rank has no slot, where it was to have one; or, where a slot comes along, why the
        /// program's heap does not lie in it.
        no_slot: Option<String>,
    },
    /// MPI_Finalize is complete: this rank owes and is owed nothing.
    Finalized,
    /// MPI_Abort.
    Abort {
        /// The exit code the program asked for.
        code: i32,
        /// Why, if the library called it.
        reason: String,
        /// Where the call is, if places of the program are addresses.
        address: Option<u64>,
    },
    /// The slot of another rank of the node is needed.
    Slot {
        /// That rank's place on the node.
        place: u32,
    },
    /// Of another rank of the node so much was fetched, all from beside a slot, that somebody should hear
    /// of it ([`SLOW_COPY_BYTES`](crate::limits::SLOW_COPY_BYTES)). Nothing is answered.
    SlowCopies {
        /// That rank's place on the node.
        place: u32,
    },
    /// Which files the program's code is of, if it is not written in Rust: it says where in the program something is
    /// by addresses. After it was received, and once more before it says what is left.
    Code(MappedCode),
    /// What the program has left on this rank, if anything: before [`FromRank::Finalized`], in the words of
    /// [`Leaks`](crate::whereabouts::Leaks).
    Leaks(Vec<u64>),
}

impl FromRank {
    /// Decodes what a rank said. Of a Hello only the version is the same in all versions: so one of
    /// another version is a Hello, too, that can be refused in words.
    ///
    /// # Errors
    /// When it is nothing that a rank says.
    pub fn decode(bytes: &[u8]) -> Result<Self, postcard::Error> {
        let decoded = postcard::from_bytes(bytes);
        match postcard::from_bytes(bytes) {
            Ok(VersionOnlyMessage::Hello { version }) if version != PROTOCOL_VERSION => {
                Ok(Self::Hello {
                    version,
                    no_slot: None,
                })
            }
            _ => decoded,
        }
    }
}

/// The part of [`FromRank`] that never changes.
#[derive(Deserialize)]
enum VersionOnlyMessage {
    Hello { version: u32 },
}

/// What a node manager answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeManagerReply {
    /// The rank is received; NIC memory and machine page come along.
    Welcome(Box<Welcome>),
    /// The rank is not received: why.
    Refused(String),
    /// The slot that was asked for comes along.
    Slot,
    /// There is no such slot.
    NoSlot {
        /// Whether there may be one later: its rank has not said hello.
        yet: bool,
    },
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
    /// What the job records (`--mds-record`), if this rank is to: memory for it comes along, the last descriptor.
    pub record: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_of_another_version_is_understood_that_far() {
        let ours = FromRank::Hello {
            version: PROTOCOL_VERSION,
            no_slot: Some("no memory".to_owned()),
        };
        let bytes = postcard::to_stdvec(&ours).unwrap();
        assert_eq!(FromRank::decode(&bytes), Ok(ours));
        // Version 4 said nothing of slots; what a later one says nobody knows.
        for bytes in [&[0, 4][..], &[0, 4, 7, 255, 255], &[0, 200, 1, 9]] {
            let decoded = FromRank::decode(bytes).unwrap();
            assert!(
                matches!(decoded, FromRank::Hello { version, no_slot: None } if version != PROTOCOL_VERSION)
            );
        }
        let this = u8::try_from(PROTOCOL_VERSION).expect("small");
        for bytes in [&[][..], &[0], &[0, this, 9], &[9, 9]] {
            assert!(FromRank::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
