//! The handshake: the messages between a rank and its node manager over the inherited socket.
//!
//! The rank finds the descriptor of a connected `SOCK_SEQPACKET` socket in [`SOCKET_VARIABLE`] and
//! sends [`FromRank::Hello`]. The kernel attaches the sender's process id (SCM_CREDENTIALS), so the
//! node manager need not believe the rank. It answers [`Welcome`], with file descriptors of the
//! rank's NIC memory and of the machine page. If messages within a node do not go through the NIC,
//! the descriptor of the node memory follows; if the rank records, that of its recorder comes last.
//! If the rank's heap lies in a slot ([`crate::memory::slot`]), Hello carries the descriptor of
//! that slot.
//!
//! Later the rank sends more messages. When it needs the slot of another rank of its node, it
//! requests it ([`FromRank::Slot`]). When it fetches many bytes that lie in no slot, it reports
//! that ([`FromRank::SlowCopies`]). If the program spawns others, or publishes a name, it asks the
//! launcher by way of the node manager ([`FromRank::Ask`]). A program that is not written in Rust
//! reports the files its code is mapped from ([`FromRank::Code`]). At the end the rank reports what
//! the program did not free ([`FromRank::Leaks`]), and sends [`FromRank::Finalized`]. If a socket
//! closes before that, its rank left without finalizing.
//!
//! All messages are encoded with postcard. The node manager refuses a different version with a
//! message, so a program built against an older library fails with an explanation, not with invalid
//! data.

use crate::job::{NodeId, Placement, RankAnswer, RankRequest, Settings, SpawnedGroup};
use crate::limits::MAX_RANKS;
use crate::mapped_code::MappedCode;
use serde::{Deserialize, Serialize};

/// The environment variable with the number of the socket's file descriptor.
pub const SOCKET_VARIABLE: &str = "BCS_SOCKET";

/// The environment variable that tells a rank the name of its node (`MPI_Get_processor_name`).
pub const NODE_NAME_VARIABLE: &str = "BCS_NODE_NAME";

/// The environment variable that replaces the name of this host in the names of its nodes.
pub const HOST_NAME_VARIABLE: &str = "BCS_HOST_NAME";

/// Returns the name of a host.
#[must_use]
pub fn host_name() -> String {
    let said = std::env::var(HOST_NAME_VARIABLE).ok();
    said.filter(|name| !name.is_empty()).unwrap_or_else(|| {
        let names = rustix::system::uname();
        names.nodename().to_string_lossy().into_owned()
    })
}

/// Returns the name of a node. The only node of a host has the host's name. If a host has several,
/// each name contains the node's number in the job, so that two ranks with the same name are on the
/// same node.
#[must_use]
pub fn node_name(host: &str, node: NodeId, nodes_of_host: usize) -> String {
    match nodes_of_host {
        0 | 1 => host.to_owned(),
        _ => format!("{host}/n{}", node.0),
    }
}

/// The version of the handshake and of the layout of NIC memory.
pub const PROTOCOL_VERSION: u32 = 21;

/// The longest message of the handshake: the placement of the largest job, and a margin.
pub const MAX_MESSAGE_BYTES: usize = 3 * MAX_RANKS + 64 * 1024;

/// A message from a rank to its node manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromRank {
    /// MPI_Init.
    Hello {
        /// [`PROTOCOL_VERSION`] of the rank's library.
        version: u32,
        /// The reason why the rank has no slot although it should have one; or, if a slot comes
        /// with this message, the reason why the program's heap does not lie in it.
        no_slot: Option<String>,
    },
    /// MPI_Finalize is complete: this rank waits for no completion, and no other rank waits for it.
    Finalized,
    /// MPI_Abort.
    Abort {
        /// The exit code that the program passed.
        code: i32,
        /// The reason, if the library called it.
        reason: String,
        /// The address of the call, if the program reports places as addresses.
        address: Option<u64>,
    },
    /// The rank needs the slot of another rank of the node.
    Slot {
        /// That rank's place on the node.
        place: u32,
    },
    /// The rank has copied at least [`SLOW_COPY_BYTES`](crate::limits::SLOW_COPY_BYTES) from or to
    /// memory of another rank of the node outside of slots, and the user should know it. The node
    /// manager does not answer.
    SlowCopies {
        /// That rank's place on the node.
        place: u32,
    },
    /// The files from which the program's code is mapped, if it is not written in Rust: such a
    /// program reports its places as addresses. The rank sends this after Welcome, and once more
    /// before it reports its leaks.
    Code(MappedCode),
    /// The address of the words of the rank's [`LastCall`](crate::mapped_code::LastCall), if the
    /// program is not written in Rust. The rank sends this after its code.
    LastCallAt(u64),
    /// The objects that the program did not free on this rank, if any, as the words of a
    /// [`LeakReport`](crate::wait_state::LeakReport). The rank sends this before
    /// [`FromRank::Finalized`].
    Leaks(Vec<u64>),
    /// The first message of a rank that another launcher has started, before Hello. A socket comes
    /// with it: the kernel kills the rank when the node manager's end is closed.
    Join {
        /// The rank.
        rank: u32,
    },
    /// The rank asks the launcher of its job for something, and waits for
    /// [`NodeManagerReply::Answer`].
    Ask(RankRequest),
}

impl FromRank {
    /// Decodes a message of a rank. Only the version of a Hello is the same in all versions, so
    /// this also decodes the Hello of another version, which can then be refused with a message.
    ///
    /// # Errors
    /// When the bytes are no message of a rank.
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

/// A message from a node manager to a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeManagerReply {
    /// The rank is accepted. NIC memory and machine page come with the message.
    Welcome(Box<Welcome>),
    /// The rank is refused, for this reason.
    Refused(String),
    /// The requested slot comes with the message.
    Slot,
    /// There is no such slot.
    NoSlot {
        /// Whether there may be a slot later: its rank has not sent Hello yet.
        yet: bool,
    },
    /// The launcher's answer to [`FromRank::Ask`].
    Answer(RankAnswer),
}

/// The information that a rank needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The rank's number in the world.
    pub rank: u32,
    /// The placement of ranks on nodes.
    pub placement: Placement,
    /// The settings of the runtime.
    pub settings: Settings,
    /// The selection of data that the job records (`--mds-record`), if this rank is to record. The
    /// last descriptor is then the recorder's memory.
    pub record: Option<String>,
    /// The number of the rank's program among those that were started with it (`MPI_APPNUM`).
    pub application: u32,
    /// `MPI_UNIVERSE_SIZE`, if the user has given it.
    pub universe_size: Option<u32>,
    /// A number that no other job has.
    pub job: u64,
    /// The ranks that were spawned with this one, if it was. They are its world.
    pub spawned: Option<SpawnedGroup>,
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
        // Version 4 had no slots; the rest of a later version's Hello is unknown.
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
