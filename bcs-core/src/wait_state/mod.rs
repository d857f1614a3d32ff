//! Whereabouts: what a blocked rank says about where it is.
//!
//! A rank that is about to sleep in a call writes into its NIC memory what it waits for, which
//! collectives it has entered and not left, and how far it is in its communicators
//! ([`NicMemory::publish_wait_state`]), whichever road what it waits for would take. Nobody reads it but the lookout
//! of `bcs run`, which asks node managers: so a hang has words, and ranks that called
//! different collectives of one communicator are found even where no message ever crosses between
//! them (MPI 5.0, 6.14: they must call the same in the same order). When it finalizes it says how far it has
//! come, and what it has left ([`LeakReport`]).
//!
//! All of it is an allegation of the rank's. It is decoded by total functions, and the worst that
//! a wrong one does is to have the rank's own job say something wrong, or end.
//!
//! [`NicMemory::publish_wait_state`]: crate::memory::NicMemory::say_where

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
pub use context_name::ContextName;
pub use encoding::WAIT_STATE_WORDS;
pub use entered_collective::{EnteredCollective, group_fingerprint};
pub use label::CommunicatorLabel;
pub use leak_report::{Leak, LeakReport, LeakedObject, PostedOperation, UntakenSend};
pub use site::{Site, SourceLine};
pub use wait::{
    CALL_MESSAGES, COLLECTIVE_MESSAGES, LIBRARY_MESSAGES, MessagePeer, SEND_CHECK_CONTEXT,
    WaitReason, WaitState,
};
