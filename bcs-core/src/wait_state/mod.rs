//! Wait states: what each blocked rank waits for.
//!
//! A rank that is about to sleep in a call writes into its NIC memory what it waits for, which
//! collectives it has entered and not left, and how far it is in its communicators
//! ([`NicMemory::publish_wait_state`]). It does so for every transport. Only the deadlock detector
//! of `bcs run` reads it, through the node managers. So a hang can be explained, and ranks that
//! called different collectives of one communicator are found even if no message ever crosses
//! between them (MPI 5.0, 6.14: they must call the same in the same order). When a rank finalizes,
//! it reports how far it has come, and its leaks ([`LeakReport`]).
//!
//! All of this comes from a rank that is not trusted. Total functions decode it. At worst, wrong
//! words make the rank's own job print something wrong, or end.
//!
//! [`NicMemory::publish_wait_state`]: crate::memory::NicMemory::publish_wait_state

mod called_collective;
mod communicator;
mod conflicting_call;
mod context_name;
mod encoding;
mod entered_collective;
mod label;
mod leak_report;
mod site;
mod wait;

#[cfg(test)]
mod tests;

pub use called_collective::{CalledCollective, MessageCollective};
pub use communicator::{CommunicatorProgress, MemberRange, extend_call_digest};
pub use conflicting_call::ConflictingCall;
pub use context_name::{ContextName, UNIVERSE_CONTEXT};
pub use encoding::WAIT_STATE_WORDS;
pub use entered_collective::{EnteredCollective, group_fingerprint};
pub use label::CommunicatorLabel;
pub use leak_report::{Leak, LeakReport, LeakedObject, PostedOperation, UntakenSend};
pub use site::{Site, SourceLine};
pub use wait::{
    CALL_MESSAGES, COLLECTIVE_MESSAGES, LIBRARY_MESSAGES, MessagePeer, SEND_CHECK_CONTEXT,
    WaitReason, WaitState,
};
