//! Leaks of ranks, in words.

use bcs_core::job::NodeId;
use bcs_core::wait_state::{ContextName, Leak, LeakedObject, MessagePeer};
use std::collections::BTreeSet;

/// A leak of a rank, and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeakEntry {
    pub(super) rank: u32,
    pub(super) node: NodeId,
    pub(super) thing: Leak,
    pub(super) count: u32,
}

/// Describes what the ranks of these leaks, which are of one group, have left.
pub(super) fn describe(entries: &[LeakEntry], count: u64) -> String {
    let thing = entries[0].thing;
    let some = |one: &str, many: &str| match count {
        1 => one.to_owned(),
        count => format!("{count} {many}"),
    };
    match thing {
        Leak::Message(peer) if peer.is_of_program() => {
            let messages = some("a message", "messages");
            format!("not received {messages} from {}", peers(entries))
        }
        Leak::Message(peer) => format!(
            "not taken part in what others have called, in {} of {}: {} came from {}",
            some("a collective", "collectives"),
            ContextName(communicator(peer)),
            some("a message", "messages"),
            senders(entries)
        ),
        Leak::Receive(_) => format!(
            "{} not over: from {}",
            some("a receive that is", "receives that are"),
            peers(entries)
        ),
        Leak::Truncated(_) => format!(
            "received {} that had no room in the buffer: from {}",
            some("a message", "messages"),
            peers(entries)
        ),
        Leak::Collective(entered) => format!("begun {entered}, which is not over"),
        Leak::Request => format!(
            "not waited for, tested or freed {} done",
            some("a request that is", "requests that are")
        ),
        Leak::Communicator(context) => format!("not freed {}", ContextName(context)),
        Leak::Object(object) => {
            format!("not freed {}", some(&with_article(object), &plural(object)))
        }
    }
}

fn with_article(object: LeakedObject) -> String {
    match object {
        LeakedObject::Operation => format!("an {object}"),
        _ => format!("a {object}"),
    }
}

fn plural(object: LeakedObject) -> String {
    match object {
        LeakedObject::SingleMember => "communicators of one rank".to_owned(),
        _ => format!("{object}s"),
    }
}

fn of(thing: Leak) -> Option<MessagePeer> {
    match thing {
        Leak::Message(peer) | Leak::Receive(peer) | Leak::Truncated(peer) => Some(peer),
        _ => None,
    }
}

/// Describes the peer, if there is only one: "rank 1".
fn senders(entries: &[LeakEntry]) -> String {
    let ranks = entries.iter().filter_map(|entry| of(entry.thing));
    let ranks: BTreeSet<Option<u32>> = ranks.map(|peer| peer.rank).collect();
    match ranks.first() {
        Some(Some(rank)) if ranks.len() == 1 => format!("rank {rank}"),
        _ if ranks.len() == 1 => "any rank".to_owned(),
        _ => "several ranks".to_owned(),
    }
}

/// Describes peers: "rank 1 with tag 5 in MPI_COMM_WORLD"
fn peers(entries: &[LeakEntry]) -> String {
    let Some(peer) = entries.first().and_then(|entry| of(entry.thing)) else {
        return String::new();
    };
    let tag = match peer.tag {
        Some(tag) => format!("with tag {tag}"),
        None => "with any tag".to_owned(),
    };
    format!(
        "{} {tag} in {}",
        senders(entries),
        ContextName(peer.context)
    )
}

/// Returns the context of the communicator for whose collective a message was.
pub(super) fn communicator(peer: MessagePeer) -> u32 {
    peer.context & !bcs_core::wait_state::LIBRARY_MESSAGES
}
