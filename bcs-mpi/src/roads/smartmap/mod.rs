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
//! A [`SmartMap`] is one rank's end of it, a state machine under the endpoint's lock. It knows no
//! sleeping: whoever waits looks at [`NodeMemory`] and calls again. What takes long it leaves to whoever calls, to be
//! done without the lock ([`errand`]).
//!
//! **One queue, all envelopes.** Whatever way the bytes of a message take, its envelope takes the
//! queue of its pair, so messages cannot overtake each other ([`envelope`]). Up to 32 bytes travel in
//! the entry, eager ones beside it; of longer ones the entry says where they are, and the receiver
//! fetches them when it has a receive for them ([`road`]).
//!
//! **Nothing is matched in the queue.** The receiver drains the queues of all that have ever sent to it
//! ([`bcs_core::smartmap::introductions`]) into its own matcher,
//! whatever it looks for, and copies what nobody has asked for yet. So a queue full of messages for
//! which there is no receive holds nobody up. What does not fit a queue waits in the
//! memory of its sender, in order ([`outgoing`]).
//!
//! **[`Slots`]** are the heaps of this node's ranks, as far as this one has mapped them.
//!
//! **Collectives** of ranks that are all here are done by these ranks ([`collective`]).
//!
//! **Requests** are slots of the rank's own ([`requests`]). A send that its sender has to wait for
//! has a *transfer slot* of the same number in node memory, where the receiver says what became of it.
//!
//! **Nothing here is believed.** Every rank of the node can write node memory. What cannot be right ends
//! the process and with it the job ([`ending`]).

mod alike;
mod collective;
mod ending;
mod envelope;
mod errand;
mod left;
mod lending;
mod outgoing;
mod receiving;
mod requests;
mod road;
mod sending;
mod shared;
mod short;
pub mod slots;
#[cfg(test)]
mod tests;

pub use slots::Slots;

use crate::attachment::Link;
use crate::data::{Piece, Room, Rooms};
use crate::roads::Outcome;
use bcs_core::limits::MAX_ENVELOPES_PER_RANK;
use bcs_core::matching::Matcher;
use bcs_core::memory::NicMemory;
use bcs_core::request::{Failure, RequestId};
use bcs_core::smartmap::NodeMemory;
use bcs_core::wake::MachinePage;
use bcs_core::whereabouts::Wait;
use collective::Collectives;
pub(crate) use errand::Errand;
use lending::Lender;
use outgoing::Outgoing;
use receiving::{Arrived, Incoming};
use requests::{Requests, State};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use collective::{Exchange, Given, Gives, GroupId, MAX_MEMBERS, Order, Takes};
pub(crate) use lending::{LEAST_BYTES as LEAST_LENT_BYTES, Settled};
pub(crate) use receiving::Extracted;
pub(crate) use requests::Id;
pub(crate) use road::Road;
pub(crate) use sending::{MAX_QUEUED_BYTES, Posted, copy_of};
pub(crate) use shared::LEAST_BYTES as LEAST_SHARED_BYTES;
pub(crate) use short::Next;

/// A rank's end of SMARTMAP.
#[derive(Debug)]
pub(crate) struct SmartMap {
    node: NodeMemory,
    /// Where receives that both roads may satisfy are claimed.
    memory: NicMemory,
    page: MachinePage,
    /// This rank's place on its node.
    place: usize,
    /// The world rank at place 0: ranks of a node follow each other.
    first: u32,
    /// To each place, this one among them, to which this rank has ever sent anything.
    outgoing: Vec<Option<Outgoing>>,
    /// From each.
    incoming: Vec<Incoming>,
    /// Whether to lend to each place.
    lenders: Vec<Lender>,
    /// Whether something waits for room in a queue.
    holding: bool,
    matcher: Matcher<Arrived, Receiving>,
    requests: Requests,
    collectives: Collectives,
    /// What is to be done without the lock.
    errands: VecDeque<Errand>,
    errands_so_far: u64,
    road: Road,
    /// Memory for messages in small pieces, and that of those under way.
    rooms: Rooms,
    packed: HashMap<Id, Room>,
    /// Copies of messages whose senders did not wait, until they are received.
    copies: VecDeque<(Id, Box<[u8]>)>,
    /// Their bytes.
    copied: usize,
    /// Messages for which there was no receive, so far; and the bytes of those that are kept now.
    kept: u64,
    kept_bytes: usize,
    /// Whose queue is drained first the next time.
    turn: usize,
    /// To the node manager, who is told why this process ends if it has to.
    link: Option<Arc<Link>>,
    /// There is none because this is a world of one: who runs it is told.
    alone: bool,
}

/// A receive that waits for its message.
#[derive(Debug)]
struct Receiving {
    request: Id,
    into: Piece,
    /// The request by which the NIC knows it, if either road may satisfy it: it has to be claimed.
    shared: Option<RequestId>,
}

impl SmartMap {
    /// The end of the rank at `place` of its node, whose first rank is `first`.
    pub(crate) fn new(
        node: NodeMemory,
        memory: NicMemory,
        page: MachinePage,
        (place, first): (usize, u32),
        road: Road,
    ) -> Self {
        let places = node.ranks();
        let incoming = (0..places).map(|from| Incoming::new(node.receiver(from, place)));
        Self {
            outgoing: (0..places).map(|_| None).collect(),
            incoming: incoming.collect(),
            lenders: (0..places).map(|_| Lender::new()).collect(),
            holding: false,
            matcher: Matcher::new(MAX_ENVELOPES_PER_RANK, MAX_ENVELOPES_PER_RANK),
            requests: Requests::default(),
            collectives: Collectives::default(),
            errands: VecDeque::new(),
            errands_so_far: 0,
            rooms: Rooms::default(),
            packed: HashMap::new(),
            copies: VecDeque::new(),
            copied: 0,
            kept: 0,
            kept_bytes: 0,
            turn: 0,
            node,
            memory,
            page,
            place,
            first,
            road,
            link: None,
            alone: false,
        }
    }

    fn ring(&self, place: usize) {
        self.page.wake(self.node.bell(place));
    }

    /// From now on this node manager is told why this process ends, if it has to.
    pub(crate) fn report_to(&mut self, link: Arc<Link>) {
        self.link = Some(link);
    }

    /// This process is a world of one: nobody else says why it ends.
    pub(crate) fn ends_alone(&mut self) {
        self.alone = true;
    }

    /// From now on messages are fetched from slots where they lie in one.
    pub(crate) fn use_slots(&mut self, slots: Arc<Slots>) {
        self.road.use_slots(slots);
    }

    /// Takes what has come and sends what was held back.
    pub(crate) fn progress(&mut self) {
        self.drain();
        self.flush();
        // Each call adds one at most.
        self.reap_copies(2);
        self.advance_collectives(true);
    }

    /// Whether something waits for room in a queue.
    pub(crate) fn holds(&self) -> bool {
        self.holding
    }

    /// Grows when this end completes a request, has something to do without the lock, or keeps a message that
    /// a probe may wait for.
    pub(crate) fn progressed(&self) -> u64 {
        self.requests.done() + self.kept + self.errands_so_far
    }

    /// What waits for a request: nothing, if it is done.
    fn look_at_transfer(&mut self, id: Id) {
        let Some(State::Sent { data, .. }) = self.requests.state(id) else {
            return;
        };
        let len = data.len as u64;
        if let Some(code) = self.node.transfer_outcome(self.place, id) {
            let failure = Failure::from_code(code);
            let outcome = Outcome {
                failure,
                len,
                ..Outcome::default()
            };
            self.requests.set(id, State::Done(outcome));
        } else if len >= shared::LEAST_BYTES as u64 {
            self.help(id);
        }
    }

    /// Whether a request is done.
    pub(crate) fn is_done(&mut self, id: Id) -> bool {
        self.look_at_transfer(id);
        matches!(self.requests.state(id), Some(State::Done(_)))
    }

    /// Spends a request that is done, and says what it came to.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: Id) -> Option<Outcome> {
        self.look_at_transfer(id);
        let outcome = self.requests.take(id)?;
        if !self.packed.is_empty() {
            self.unpacked(id);
        }
        Some(outcome)
    }

    /// What a message was packed into is free again.
    #[cold]
    fn unpacked(&mut self, id: Id) {
        let room = self.packed.remove(&id);
        self.rooms.give_back(room);
    }

    /// Spends a request that is done, if it did not fail, and says how many bytes it came to.
    pub(crate) fn take_success(&mut self, id: Id) -> Option<u64> {
        match self.requests.state(id) {
            Some(State::Done(outcome)) if outcome.failure == Failure::None => {
                self.requests.take(id).map(|outcome| outcome.len)
            }
            _ => None,
        }
    }

    /// Changes when a request is done, and when another rank has ended a transfer.
    pub(crate) fn events(&self) -> u64 {
        let news = self.node.news(self.place).load(Ordering::Acquire);
        // Whoever shares node memory may have written any number there.
        news.wrapping_add(self.requests.done())
    }

    /// What it means to wait for a request.
    pub(crate) fn wait(&mut self, id: Id) -> Option<Wait> {
        match self.requests.state(id)? {
            State::Held { to } | State::Sent { to, .. } | State::Away { to, .. } => {
                Some(Wait::Send(*to))
            }
            State::Posted { peer, .. } | State::Fetching { peer } => Some(Wait::Receive(*peer)),
            State::Pulling(pulling) => Some(Wait::Receive(pulling.peer)),
            State::Collective(_) => Some(Wait::Collective),
            State::Opened | State::Done(_) => None,
        }
    }

    /// How many more requests can be opened.
    pub(crate) fn room(&self) -> usize {
        self.requests.room()
    }
}
