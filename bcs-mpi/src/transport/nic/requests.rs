//! What a rank's requests at its NIC are for, and which of them completed that nobody waits for.

use crate::data::{ByteRange, DataView, PackBuffer};
use crate::transport::{TooManyRequests, request_table};
use bcs_core::layout::DataLayout;
use bcs_core::matching::Pattern;
use bcs_core::request::{Completion, RequestId};
use bcs_core::wait_state::{EnteredCollective, MessagePeer};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a request slot is used for: what is to be done when it completes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A send that its sender waits for.
    Send {
        len: u64,
        to: MessagePeer,
        /// What the NIC reads to find the data.
        layout: Option<Arc<DataLayout>>,
        /// Where the data were packed.
        room: Option<PackBuffer>,
    },
    /// An eager send whose sender has gone on; its payload slot is free when it completes.
    Eager { payload_slot: u32 },
    /// A receive.
    Receive {
        pattern: Pattern,
        into: DataView,
        /// The same receive on another road, if either may satisfy it.
        twin: Option<RequestId>,
        /// Where the NIC puts what is to be unpacked.
        room: Option<PackBuffer>,
    },
    /// A probe.
    Probe(Pattern),
    /// A probe whose answer nobody wants any more.
    VoidProbe,
    /// A collective, or the opening or closing of a context, which nobody enters.
    Collective {
        output: ByteRange,
        entered: Option<EnteredCollective>,
    },
}

impl Purpose {
    /// The collective that the rank has entered by this.
    pub(super) fn entered(&self) -> Option<EnteredCollective> {
        match self {
            Self::Collective { entered, .. } => *entered,
            _ => None,
        }
    }
}

/// The rank's requests at its NIC.
#[derive(Debug, Default)]
pub(super) struct NicRequests {
    table: request_table::RequestTable<Purpose>,
    /// Requests that no caller waits for, the oldest first.
    detached: VecDeque<RequestId>,
    /// The count of completions when all of `detached` was last looked through.
    looked_at: u64,
}

impl NicRequests {
    /// None so far. What others have written of a slot is forgotten like this.
    pub(super) fn forgetting(forget: impl Fn(u32) + Send + 'static) -> Self {
        let mut requests = Self::default();
        requests.table.forget_by(forget);
        requests
    }

    /// For what needs no completion.
    pub(super) const NOBODY: RequestId = request_table::RequestTable::<Purpose>::NOBODY;

    pub(super) fn open(&mut self, purpose: Purpose) -> Result<RequestId, TooManyRequests> {
        self.table.open(purpose)
    }

    /// How many more requests may be opened.
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

    /// How many are open.
    pub(super) fn in_use(&self) -> usize {
        self.table.in_use()
    }

    /// Whether any is open that no caller waits for, or a slot is neither open nor free.
    pub(super) fn owes(&self) -> bool {
        self.has_detached() || self.table.has_lost_slot()
    }

    /// What an open request is for.
    ///
    /// # Panics
    /// If the request is spent: the caller kept a copy of it.
    pub(super) fn purpose(&self, request: RequestId) -> &Purpose {
        let purpose = self.table.get(request);
        purpose.unwrap_or_else(|| panic!("{request:?} is spent"))
    }

    /// What a request is for, unless it is spent.
    pub(super) fn if_live(&self, request: RequestId) -> Option<&Purpose> {
        self.table.get(request)
    }

    /// The same, to change it.
    pub(super) fn if_live_mut(&mut self, request: RequestId) -> Option<&mut Purpose> {
        self.table.get_mut(request)
    }

    /// What a rank has entered by a request, if it is a collective.
    pub(super) fn entered(&mut self, request: RequestId, by: EnteredCollective) {
        if let Some(Purpose::Collective { entered, .. }) = self.table.get_mut(request) {
            *entered = Some(by);
        }
    }

    /// Frees the slot of a completed request, and says what it was for.
    ///
    /// # Panics
    /// As [`purpose`](Self::purpose).
    pub(super) fn close(&mut self, request: RequestId) -> Purpose {
        let purpose = self.table.close(request);
        purpose.unwrap_or_else(|| panic!("{request:?} is spent"))
    }

    /// A receive may also be satisfied on another road.
    pub(super) fn share(&mut self, request: RequestId, with: RequestId) {
        if let Some(Purpose::Receive { twin, .. }) = self.table.get_mut(request) {
            *twin = Some(with);
        }
    }

    /// From now on no caller waits for this request.
    /// Returns what it was for before.
    pub(super) fn detach(&mut self, request: RequestId, purpose: Purpose) -> Option<Purpose> {
        self.detached.push_back(request);
        let used = self.table.get_mut(request)?;
        Some(std::mem::replace(used, purpose))
    }

    pub(super) fn opened_detached(
        &mut self,
        purpose: Purpose,
    ) -> Result<RequestId, TooManyRequests> {
        let request = self.open(purpose)?;
        self.detached.push_back(request);
        Ok(request)
    }

    /// Whether there are requests that no caller waits for.
    pub(super) fn has_detached(&self) -> bool {
        !self.detached.is_empty()
    }

    /// Closes detached requests that have completed and says what each was for. They complete
    /// about in the order of their posts, so usually a look at the oldest is enough; `all` looks
    /// at all of them, if `completions` says that anything completed since the last such look.
    pub(super) fn reap(
        &mut self,
        all: bool,
        completions: u64,
        completed: impl Fn(RequestId) -> Option<Completion>,
        mut done: impl FnMut(Purpose, Completion),
    ) {
        while let Some(&oldest) = self.detached.front() {
            let Some(completion) = completed(oldest) else {
                break;
            };
            self.detached.pop_front();
            done(self.close(oldest), completion);
        }
        if !all || self.looked_at == completions {
            return;
        }
        self.looked_at = completions;
        for request in std::mem::take(&mut self.detached) {
            if let Some(completion) = completed(request) {
                done(self.close(request), completion);
            } else {
                self.detached.push_back(request);
            }
        }
    }

    /// The open ones.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RequestId, &Purpose)> {
        self.table.iter()
    }

    /// To whom sends go that have not completed according to `completed`.
    pub(super) fn sending_to(
        &self,
        completed: impl Fn(RequestId) -> bool,
    ) -> impl Iterator<Item = MessagePeer> {
        self.table
            .iter()
            .filter_map(move |(request, purpose)| match purpose {
                Purpose::Send { to, .. } if !completed(request) => Some(*to),
                _ => None,
            })
    }

    /// Whether sends have not completed according to `completed`.
    pub(super) fn sends_outstanding(&self, completed: impl Fn(RequestId) -> bool) -> bool {
        let is_send =
            |purpose: &Purpose| matches!(purpose, Purpose::Send { .. } | Purpose::Eager { .. });
        let mut open = self.table.iter();
        open.any(|(request, purpose)| is_send(purpose) && !completed(request))
    }
}

impl Drop for NicRequests {
    fn drop(&mut self) {
        // Whatever made this end early, the NIC may still look for where to write. The data are
        // the program's, and stay; so must layouts and rooms, or it would write anywhere.
        for purpose in self.table.drain() {
            match purpose {
                Purpose::Send { layout, room, .. } => std::mem::forget((layout, room)),
                Purpose::Receive { into, room, .. } => std::mem::forget((into, room)),
                _ => {}
            }
        }
    }
}
