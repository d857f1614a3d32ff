//! How far the requests of messages within the node are.
//!
//! Slots of sends are those of transfers in node memory, so there are no more than that.

use crate::data::DataView;
use crate::transport::{RequestOutcome, TooManyRequests, request_table};
use bcs_core::matching::ReceiveHandle;
use bcs_core::request::RequestId;
use bcs_core::wait_state::{EnteredCollective, MessagePeer};

/// A request, and which use of its slot it is.
pub(crate) type LocalRequestId = RequestId;

/// How far a request is.
#[derive(Debug)]
pub(super) enum LocalRequestState {
    /// It is not known yet what becomes of it.
    Opened,
    /// A send that has not entered its queue.
    Held {
        to: MessagePeer,
    },
    /// A send that its receiver ends; the data stay where they are, and so does their layout.
    Sent {
        to: MessagePeer,
        data: DataView,
    },
    /// The same, and a thread is at the data without the lock: it is not done before that is back.
    Away {
        to: MessagePeer,
        data: DataView,
    },
    /// A receive that is posted.
    Posted {
        peer: MessagePeer,
        handle: ReceiveHandle,
    },
    /// A receive whose message is fetched without the lock.
    Fetching {
        peer: MessagePeer,
    },
    /// A receive whose message comes in parts.
    Pulling(Box<PartwiseReceive>),
    /// A collective.
    Collective(EnteredCollective),
    Done(RequestOutcome),
}

/// A message that comes in parts.
#[derive(Debug)]
pub(super) struct PartwiseReceive {
    pub(super) peer: MessagePeer,
    pub(super) into: DataView,
    pub(super) missing: u64,
    pub(super) outcome: RequestOutcome,
}

#[derive(Debug, Default)]
pub(super) struct LocalRequests {
    table: request_table::RequestTable<LocalRequestState>,
    /// Sends that are not over.
    sending: usize,
    /// Those that are not done, receives as well.
    waiting: usize,
    /// How often a request was done.
    done: u64,
}

impl LocalRequests {
    /// None so far. What others have written of a slot is forgotten like this.
    pub(super) fn forgetting(forget: impl Fn(u32) + Send + 'static) -> Self {
        let mut requests = Self::default();
        requests.table.forget_by(forget);
        requests
    }

    #[inline(always)]
    pub(super) fn open(
        &mut self,
        state: LocalRequestState,
    ) -> Result<LocalRequestId, TooManyRequests> {
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
        let count = |of: fn(&LocalRequestState) -> bool| {
            self.table.iter().filter(|(_, state)| of(state)).count()
        };
        let opened = count(|state| matches!(state, LocalRequestState::Opened));
        let counted = (count(is_send), count(waits));
        opened > 0 || self.table.has_lost_slot() || counted != (self.sending, self.waiting)
    }

    /// The open ones.
    pub(super) fn iter(&self) -> impl Iterator<Item = (LocalRequestId, &LocalRequestState)> {
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
    pub(super) fn state(&mut self, id: LocalRequestId) -> Option<&mut LocalRequestState> {
        self.table.get_mut(id)
    }

    /// A request goes on.
    #[inline(always)]
    pub(super) fn set(&mut self, id: LocalRequestId, state: LocalRequestState) {
        let (sends, waits_now) = (is_send(&state), waits(&state));
        if let Some(old) = self.table.get_mut(id) {
            self.done += u64::from(matches!(state, LocalRequestState::Done(_)));
            self.sending = self.sending + usize::from(sends) - usize::from(is_send(old));
            self.waiting = self.waiting + usize::from(waits_now) - usize::from(waits(old));
            *old = state;
        }
    }

    /// Spends a request that is done, and says what it came to.
    #[inline(always)]
    pub(super) fn take(&mut self, id: LocalRequestId) -> Option<RequestOutcome> {
        let &LocalRequestState::Done(outcome) = self.table.get(id)? else {
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
    pub(super) fn sending_to(&self) -> impl Iterator<Item = MessagePeer> {
        self.table.iter().filter_map(|(_, state)| match state {
            LocalRequestState::Held { to }
            | LocalRequestState::Sent { to, .. }
            | LocalRequestState::Away { to, .. } => Some(*to),
            _ => None,
        })
    }

    /// Whether anything is not done.
    pub(super) fn waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The sends whose receivers have them.
    pub(super) fn sent(&self) -> impl Iterator<Item = LocalRequestId> {
        let sent = |(id, state): (LocalRequestId, &LocalRequestState)| {
            matches!(state, LocalRequestState::Sent { .. }).then_some(id)
        };
        self.table.iter().filter_map(sent)
    }
}

fn waits(state: &LocalRequestState) -> bool {
    !matches!(
        state,
        LocalRequestState::Opened | LocalRequestState::Done(_)
    )
}

fn is_send(state: &LocalRequestState) -> bool {
    matches!(
        state,
        LocalRequestState::Held { .. }
            | LocalRequestState::Sent { .. }
            | LocalRequestState::Away { .. }
    )
}
