//! SMARTMAP: ranks of one node read and write each other's memory (the point-to-point paper).
//!
//! ```text
//!  sender                          node memory                        receiver
//!  send ── Outgoing ─ held back? ──► send queue (sender, receiver) ──► drain ── Matcher ── receive
//!                                                                       │ unexpected: kept here
//!  is done? ◄─────────────────────── transfer slot ◄── copied from ─────┘
//!                                                      the sender's memory
//! ```
//!
//! A [`SmartMap`] is one rank's end of it ([`state`]), a state machine under the endpoint's lock. It knows no
//! sleeping: whoever waits looks at
//! [`NodeMemory`](bcs_core::smartmap::NodeMemory) and calls again. What takes long it leaves to whoever calls, to be
//! done without the lock ([`errand`]).
//!
//! **One queue, all envelopes.** Whatever way the bytes of a message take, its envelope takes the
//! queue of its pair, so messages cannot overtake each other ([`messages::envelope`]). Up to 32 bytes travel in
//! the entry, eager ones beside it; of longer ones the entry says where they are, and the receiver
//! fetches them when it has a receive for them ([`peer_memory`]).
//!
//! **Nothing is matched in the queue.** The receiver drains the queues of all that have ever sent to it
//! ([`bcs_core::smartmap::introductions`]) into its own matcher,
//! whatever it looks for, and copies what nobody has asked for yet. So a queue full of messages for
//! which there is no receive holds nobody up. What does not fit a queue waits in the
//! memory of its sender, in order ([`messages::outgoing`]).
//!
//! **[`Slots`]** are the heaps of this node's ranks, as far as this one has mapped them.
//!
//! **Collectives** of ranks that are all here are done by these ranks ([`collective`]).
//!
//! **Requests** are slots of the rank's own ([`requests`]). A send that its sender has to wait for
//! has a *transfer slot* of the same number in node memory, where the receiver says what became of it.
//!
//! **Nothing here is believed.** Every rank of the node can write node memory. What cannot be right ends
//! the process and with it the job ([`abort`]).
//!
//! **Files import downwards**: of [`messages`] and [`collective`] machines know nothing of the end that they belong
//! to; [`state`] is all that an end consists of; and what it does is in the files that extend it.
//!
//! | an end's part in | file |
//! |---|---|
//! | sending, lending, receiving | [`sending`], [`lending`], [`receiving`] |
//! | cancels | [`cancelling`] |
//! | a send and a receive of one buffer | [`replacing`] |
//! | blocking calls that need no request | [`shortcut`] |
//! | communicators and collectives | [`communicators`], [`collectives`], [`long_collectives`] |
//! | every call; requests that are done | [`progress`], [`completion`] |
//! | what is done without the lock | [`deferred_copies`] |
//! | the end of its rank | [`leftovers`], [`abort`] |

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
pub(crate) use peer_memory::PeerMemory;
pub(crate) use requests::LocalRequestId;
pub(crate) use shortcut::QueueHead;
pub use slots::Slots;
pub(crate) use state::SmartMap;
