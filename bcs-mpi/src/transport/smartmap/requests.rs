//! The states of the requests of messages within the node.
//!
//! The slots of sends are also those of transfers in node memory, so there are no more than that.

use crate::data::DataView;
use crate::transport::{RequestOutcome, TooManyRequests, request_table};
use bcs_core::matching::ReceiveHandle;
use bcs_core::request::RequestId;
use bcs_core::wait_state::{EnteredCollective, MessagePeer};

/// A request, with the generation of its slot.
pub(crate) type LocalRequestId = RequestId;

/// The state of a request.
#[derive(Debug)]
pub(super) enum LocalRequestState {
    /// Opened. Its next state is not known yet.
    Opened,
    /// A send that has not entered its queue.
    Held {
        to: MessagePeer,
    },
    /// A send that its receiver ends. The data and their layout stay in place.
    Sent {
        to: MessagePeer,
        data: DataView,
    },
    /// The same, while a thread uses the data without the lock. It is not done before the thread
    /// returns.
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
    /// How many requests were done so far.
    done: u64,
}

impl LocalRequests {
    /// Makes an empty table. `forget` erases what others have written of a slot.
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

    /// Returns how many are open.
    pub(super) fn in_use(&self) -> usize {
        self.table.in_use()
    }

    /// Returns whether any open request has no next state, a slot is neither open nor free, or the
    /// counts differ from those of the table.
    pub(super) fn owes(&self) -> bool {
        let count = |of: fn(&LocalRequestState) -> bool| {
            self.table.iter().filter(|(_, state)| of(state)).count()
        };
        let opened = count(|state| matches!(state, LocalRequestState::Opened));
        let counted = (count(is_send), count(waits));
        opened > 0 || self.table.has_lost_slot() || counted != (self.sending, self.waiting)
    }

    /// Returns the open requests.
    pub(super) fn iter(&self) -> impl Iterator<Item = (LocalRequestId, &LocalRequestState)> {
        self.table.iter()
    }

    /// Returns how many more can be opened.
    pub(super) fn room(&self) -> usize {
        self.table.room()
    }

    /// Returns how often there was no slot.
    pub(super) fn refusals(&self) -> u64 {
        self.table.refusals()
    }

    /// Makes the next slots look as if they were used this many times before.
    #[cfg(test)]
    pub(super) fn were_used(&mut self, slots: usize, times: u32) {
        self.table.were_used(slots, times);
    }

    /// Makes the request table small.
    #[cfg(test)]
    pub(super) fn limit(&mut self, slots: usize) {
        self.table.limit(slots);
    }

    /// Returns the state of a request; `None` if it is spent, or not of this table.
    pub(super) fn state(&mut self, id: LocalRequestId) -> Option<&mut LocalRequestState> {
        self.table.get_mut(id)
    }

    /// Changes the state of a request.
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

    /// Spends a request that is done, and returns its outcome.
    #[inline(always)]
    pub(super) fn take(&mut self, id: LocalRequestId) -> Option<RequestOutcome> {
        let &LocalRequestState::Done(outcome) = self.table.get(id)? else {
            return None;
        };
        self.table.free(id);
        Some(outcome)
    }

    /// Returns how many requests were done so far.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Returns whether any send is not over.
    pub(super) fn sending(&self) -> bool {
        self.sending > 0
    }

    /// Returns the receivers of sends that are not over.
    pub(super) fn sending_to(&self) -> impl Iterator<Item = MessagePeer> {
        self.table.iter().filter_map(|(_, state)| match state {
            LocalRequestState::Held { to }
            | LocalRequestState::Sent { to, .. }
            | LocalRequestState::Away { to, .. } => Some(*to),
            _ => None,
        })
    }

    /// Returns whether any request is not done.
    pub(super) fn waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Returns the sends that their receivers have to end.
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
