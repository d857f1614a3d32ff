//! Requests of messages within the node.
//!
//! A slot is used again, the last one freed first, with another generation. Slots of sends are those
//! of transfers in node memory, so there are no more than that.

use crate::data::Piece;
use crate::roads::{Outcome, TooManyRequests};
use bcs_core::limits::REQUEST_SLOTS;
use bcs_core::matching::ReceiveHandle;
use bcs_core::request::RequestId;
use bcs_core::whereabouts::{Entered, Peer};

/// A request, and which use of its slot it is.
pub(crate) type Id = RequestId;

/// How far a request is.
#[derive(Debug)]
pub(super) enum State {
    /// It is not known yet what becomes of it.
    Opened,
    /// A send that has not entered its queue.
    Held {
        to: Peer,
    },
    /// A send that its receiver ends; the data stay where they are, and so does their layout.
    Sent {
        to: Peer,
        data: Piece,
    },
    /// The same, and a thread is at the data without the lock: it is not done before that is back.
    Away {
        to: Peer,
        data: Piece,
    },
    /// A receive that is posted.
    Posted {
        peer: Peer,
        handle: ReceiveHandle,
    },
    /// A receive whose message is fetched without the lock.
    Fetching {
        peer: Peer,
    },
    /// A receive whose message comes in parts.
    Pulling(Box<Pulling>),
    /// A collective.
    Collective(Entered),
    Done(Outcome),
}

/// A message that comes in parts.
#[derive(Debug)]
pub(super) struct Pulling {
    pub(super) peer: Peer,
    pub(super) into: Piece,
    pub(super) missing: u64,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    state: Option<State>,
}

#[derive(Debug, Default)]
pub(super) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Sends that are not over.
    sending: usize,
    /// Those that are not done, receives as well.
    waiting: usize,
    /// How often a request was done.
    done: u64,
}

impl Requests {
    #[inline(always)]
    pub(super) fn open(&mut self, state: State) -> Result<Id, TooManyRequests> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < REQUEST_SLOTS => {
                self.slots.push(Slot::default());
                u32::try_from(self.slots.len() - 1).expect("REQUEST_SLOTS fits u32")
            }
            None => return Err(TooManyRequests),
        };
        self.sending += usize::from(is_send(&state));
        self.waiting += usize::from(waits(&state));
        let entry = &mut self.slots[slot as usize];
        // Zero is no transfer.
        entry.generation = entry.generation.wrapping_add(1).max(1);
        entry.state = Some(state);
        Ok(Id {
            slot,
            generation: entry.generation,
        })
    }

    /// How many are open.
    pub(super) fn in_use(&self) -> usize {
        let states = self.slots.iter();
        states.filter(|slot| slot.state.is_some()).count()
    }

    /// Whether any is open of which it is not known what becomes of it, a slot is neither open nor free, or
    /// the counts are not those of the table.
    pub(super) fn owes(&self) -> bool {
        let open = || self.slots.iter().filter_map(|slot| slot.state.as_ref());
        let opened = open().any(|state| matches!(state, State::Opened));
        let counted = (
            open().filter(|state| is_send(state)).count(),
            open().filter(|state| waits(state)).count(),
        );
        let lost = self.in_use() + self.free.len() != self.slots.len();
        opened || lost || counted != (self.sending, self.waiting)
    }

    /// How many more can be opened.
    pub(super) fn room(&self) -> usize {
        self.free.len() + (REQUEST_SLOTS - self.slots.len())
    }

    /// How far a request is; `None` if it is spent, or none of ours.
    pub(super) fn state(&mut self, id: Id) -> Option<&mut State> {
        let slot = self.slots.get_mut(id.slot as usize);
        slot.filter(|slot| slot.generation == id.generation)?
            .state
            .as_mut()
    }

    /// A request goes on.
    #[inline(always)]
    pub(super) fn set(&mut self, id: Id, state: State) {
        let (sends, waits_now) = (is_send(&state), waits(&state));
        if let Some(old) = self.state(id) {
            let done = matches!(state, State::Done(_));
            let old = std::mem::replace(old, state);
            self.done += u64::from(done);
            self.sending = self.sending + usize::from(sends) - usize::from(is_send(&old));
            self.waiting = self.waiting + usize::from(waits_now) - usize::from(waits(&old));
        }
    }

    /// Spends a request that is done, and says what it came to.
    #[inline(always)]
    pub(super) fn take(&mut self, id: Id) -> Option<Outcome> {
        let &mut State::Done(outcome) = self.state(id)? else {
            return None;
        };
        self.slots[id.slot as usize].state = None;
        self.free.push(id.slot);
        Some(outcome)
    }

    /// How often a request was done.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Whether sends are not over.
    pub(super) fn sending(&self) -> bool {
        self.sending > 0
    }

    /// Whether anything is not done.
    pub(super) fn waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The sends whose receivers have them.
    pub(super) fn sent(&self) -> impl Iterator<Item = Id> {
        (0..).zip(&self.slots).filter_map(|(slot, entry)| {
            matches!(entry.state, Some(State::Sent { .. })).then_some(Id {
                slot,
                generation: entry.generation,
            })
        })
    }
}

fn waits(state: &State) -> bool {
    !matches!(state, State::Opened | State::Done(_))
}

fn is_send(state: &State) -> bool {
    matches!(
        state,
        State::Held { .. } | State::Sent { .. } | State::Away { .. }
    )
}
