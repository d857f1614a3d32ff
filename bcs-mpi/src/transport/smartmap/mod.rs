//! SMARTMAP: ranks of one node read and write each other's memory (the point-to-point paper).
//!
//! ```text
//!  sender                          node memory                        receiver
//!  send ── Outgoing ─ held back? ──► send queue (sender, receiver) ──► drain ── Matcher ── receive
//!                                                                       │ unexpected: stored here
//!  is done? ◄─────────────────────── transfer slot ◄── copied from ─────┘
//!                                                      the sender's memory
//! ```
//!
//! A [`SmartMap`] is one rank's end of it ([`state`]), a state machine under the endpoint's lock.
//! It never sleeps: a caller that waits watches [`NodeMemory`](bcs_core::smartmap::NodeMemory) and
//! calls again. It leaves long work to its callers, which do it without the lock
//! ([`deferred_copy`]).
//!
//! **One queue, all envelopes.** Whatever path the bytes of a message take, its envelope takes the
//! queue of its pair, so messages cannot overtake each other ([`messages::envelope`]). Up to 32
//! bytes travel in the entry, and eager data beside it. For longer messages the entry holds the
//! address, and the receiver fetches them when it has a receive for them ([`peer_memory`]).
//!
//! **Nothing is matched in the queue.** The receiver drains the queues of all that have ever sent
//! to it ([`bcs_core::smartmap::known_senders`]) into its own matcher, whatever it waits for, and
//! copies unexpected messages. So messages without a receive never block a queue. Messages that do
//! not fit a queue wait in the memory of their sender, in order ([`messages::outgoing`]).
//!
//! **[`Slots`]** are the heaps of this node's ranks that this one has mapped.
//!
//! **Collectives** of local ranks are done by these ranks ([`collective`]).
//!
//! **Requests** are slots of the rank's own ([`requests`]). A send that its sender has to wait for
//! has a *transfer slot* of the same number in node memory, where the receiver writes the outcome.
//!
//! **Nothing here is trusted.** Every rank of the node can write node memory. Invalid data end the
//! process and with it the job ([`abort`]).
//!
//! **Files import downwards.** The machines of [`messages`] and [`collective`] do not know the end
//! that they belong to. [`state`] holds all state of an end. The files that extend it hold its
//! methods.
//!
//! | an end's part in | file |
//! |---|---|
//! | sending, lending, receiving | [`sending`], [`lending`], [`receiving`] |
//! | cancels | [`cancelling`] |
//! | a send and a receive of one buffer | [`replacing`] |
//! | blocking calls that need no request | [`shortcut`] |
//! | operations on the memory of other ranks | [`one_sided`] |
//! | communicators and collectives | [`communicators`], [`collectives`], [`long_collectives`] |
//! | every call; requests that are done | [`progress`], [`completion`] |
//! | work without the lock | [`deferred_copies`] |
//! | the end of its rank | [`leaks`], [`abort`] |

mod abort;
mod cancelling;
mod collective;
mod collectives;
mod communicators;
mod completion;
mod deferred_copies;
mod deferred_copy;
mod leaks;
mod lending;
mod long_collectives;
mod messages;
mod node_manager;
mod one_sided;
mod peer_memory;
mod progress;
mod receiving;
mod replacing;
mod requests;
mod sending;
mod shortcut;
pub mod slots;
mod state;
#[cfg(test)]
mod tests;
mod transport_impl;

pub(crate) use collective::{
    GivenBlocks, GroupId, LocalExchange, MAX_MEMBERS, NicOrder, TakenBlocks,
};
pub(crate) use deferred_copy::LocalDeferredCopy;
pub(crate) use messages::incoming::LocalMatchedMessage;
pub(crate) use messages::loans::LoanOutcome;
pub(crate) use messages::replacing::ReplacingReceive;
pub(crate) use node_manager::{NodeManager, SlotReply};
pub(crate) use one_sided::LocalOneSided;
pub(crate) use peer_memory::PeerMemory;
pub(crate) use requests::LocalRequestId;
pub(crate) use shortcut::QueueHead;
pub use slots::Slots;
pub(crate) use state::SmartMap;
