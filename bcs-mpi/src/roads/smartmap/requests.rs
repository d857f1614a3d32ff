//! How far the requests of messages within the node are.
//!
//! Slots of sends are those of transfers in node memory, so there are no more than that.

use crate::data::Piece;
use crate::roads::{Outcome, TooManyRequests, requests};
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
pub(super) struct Requests {
    table: requests::Requests<State>,
    /// Sends that are not over.
    sending: usize,
    /// Those that are not done, receives as well.
    waiting: usize,
    /// How often a request was done.
    done: u64,
}

impl Requests {
    /// None so far. What others have written of a slot is forgotten like this.
    pub(super) fn forgetting(forget: impl Fn(u32) + Send + 'static) -> Self {
        let mut requests = Self::default();
        requests.table.forget_by(forget);
        requests
    }

    #[inline(always)]
    pub(super) fn open(&mut self, state: State) -> Result<Id, TooManyRequests> {
        let (sends, waits) = (is_send(&state), waits(&state));
        let id = self.table.open(state)?;
        self.sending += usize::from(sends);
        self.waiting += usize::from(waits);
        Ok(id)
    }

    /// How many are open.
    pub(super) fn in_use(&self) -> usize {
        self.table.in_use()
    }

    /// Whether any is open of which it is not known what becomes of it, a slot is neither open nor free, or
    /// the counts are not those of the table.
    pub(super) fn owes(&self) -> bool {
        let count =
            |of: fn(&State) -> bool| self.table.iter().filter(|(_, state)| of(state)).count();
        let opened = count(|state| matches!(state, State::Opened));
        let counted = (count(is_send), count(waits));
        opened > 0 || self.table.has_lost() || counted != (self.sending, self.waiting)
    }

    /// The open ones.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &State)> {
        self.table.iter()
    }

    /// How many more can be opened.
    pub(super) fn room(&self) -> usize {
        self.table.room()
    }

    /// How often there was no slot.
    pub(super) fn refusals(&self) -> u64 {
        self.table.refusals()
    }

    /// The slots that are opened next, so many, were used as often before.
    #[cfg(test)]
    pub(super) fn were_used(&mut self, slots: usize, times: u32) {
        self.table.were_used(slots, times);
    }

    /// Makes the table of requests a small one.
    #[cfg(test)]
    pub(super) fn limit(&mut self, slots: usize) {
        self.table.limit(slots);
    }

    /// How far a request is; `None` if it is spent, or none of ours.
    pub(super) fn state(&mut self, id: Id) -> Option<&mut State> {
        self.table.get_mut(id)
    }

    /// A request goes on.
    #[inline(always)]
    pub(super) fn set(&mut self, id: Id, state: State) {
        let (sends, waits_now) = (is_send(&state), waits(&state));
        if let Some(old) = self.table.get_mut(id) {
            self.done += u64::from(matches!(state, State::Done(_)));
            self.sending = self.sending + usize::from(sends) - usize::from(is_send(old));
            self.waiting = self.waiting + usize::from(waits_now) - usize::from(waits(old));
            *old = state;
        }
    }

    /// Spends a request that is done, and says what it came to.
    #[inline(always)]
    pub(super) fn take(&mut self, id: Id) -> Option<Outcome> {
        let &State::Done(outcome) = self.table.get(id)? else {
            return None;
        };
        self.table.free(id);
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

    /// To whom sends that are not over go.
    pub(super) fn sending_to(&self) -> impl Iterator<Item = Peer> {
        self.table.iter().filter_map(|(_, state)| match state {
            State::Held { to } | State::Sent { to, .. } | State::Away { to, .. } => Some(*to),
            _ => None,
        })
    }

    /// Whether anything is not done.
    pub(super) fn waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The sends whose receivers have them.
    pub(super) fn sent(&self) -> impl Iterator<Item = Id> {
        let sent = |(id, state): (Id, &State)| matches!(state, State::Sent { .. }).then_some(id);
        self.table.iter().filter_map(sent)
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
