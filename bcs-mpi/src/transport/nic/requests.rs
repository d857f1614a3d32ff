//! The uses of a rank's requests at its NIC, and the completions that no caller waits for.

use crate::data::{ByteRange, DataView, PackBuffer};
use crate::transport::{TooManyRequests, request_table};
use bcs_core::layout::DataLayout;
use bcs_core::matching::Pattern;
use bcs_core::request::{Completion, RequestId};
use bcs_core::wait_state::{EnteredCollective, MessagePeer};
use std::collections::VecDeque;
use std::sync::Arc;

/// The use of a request slot: it determines what to do when the request completes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A send that its sender waits for.
    Send {
        len: u64,
        to: MessagePeer,
        /// The layout that the NIC reads to find the data.
        layout: Option<Arc<DataLayout>>,
        /// The buffer into which the data were packed.
        room: Option<PackBuffer>,
    },
    /// An eager send whose sender has gone on. Its payload slot is free when it completes.
    Eager { payload_slot: u32 },
    /// A receive.
    Receive {
        pattern: Pattern,
        into: DataView,
        /// The same receive on the other transport, if either may satisfy it.
        twin: Option<RequestId>,
        /// The buffer into which the NIC puts data that have to be unpacked.
        room: Option<PackBuffer>,
    },
    /// A one-sided operation that sends.
    OneSided {
        /// Where the bytes go that come back.
        result: DataView,
        /// The layout that the NIC reads to find the data.
        layout: Option<Arc<DataLayout>>,
        /// The buffer into which the data were packed.
        room: Option<PackBuffer>,
    },
    /// A get of one-sided communication.
    Get {
        into: DataView,
        /// The buffer into which the NIC puts data that have to be unpacked.
        room: Option<PackBuffer>,
    },
    /// A probe.
    Probe(Pattern),
    /// A probe whose answer is no longer needed.
    VoidProbe,
    /// A collective, or the opening or closing of a context, which no rank enters.
    Collective {
        output: ByteRange,
        entered: Option<EnteredCollective>,
    },
}

impl Purpose {
    /// Returns the collective that the rank has entered by this.
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
    /// The count of completions when all of `detached` was last checked.
    looked_at: u64,
}

impl NicRequests {
    /// Makes an empty table. `forget` erases what others have written of a slot.
    pub(super) fn forgetting(forget: impl Fn(u32) + Send + 'static) -> Self {
        let mut requests = Self::default();
        requests.table.forget_by(forget);
        requests
    }

    pub(super) fn open(&mut self, purpose: Purpose) -> Result<RequestId, TooManyRequests> {
        self.table.open(purpose)
    }

    /// Returns how many more requests may be opened.
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

    /// Returns how many are open.
    pub(super) fn in_use(&self) -> usize {
        self.table.in_use()
    }

    /// Returns whether any request is open that no caller waits for, or a slot is neither open nor
    /// free.
    pub(super) fn owes(&self) -> bool {
        self.has_detached() || self.table.has_lost_slot()
    }

    /// Returns the use of an open request.
    ///
    /// # Panics
    /// If the request is spent: the caller kept a copy of it.
    pub(super) fn purpose(&self, request: RequestId) -> &Purpose {
        let purpose = self.table.get(request);
        purpose.unwrap_or_else(|| panic!("{request:?} is spent"))
    }

    /// Returns the use of a request, unless it is spent.
    pub(super) fn if_live(&self, request: RequestId) -> Option<&Purpose> {
        self.table.get(request)
    }

    /// Returns the use of a request, to change it.
    pub(super) fn if_live_mut(&mut self, request: RequestId) -> Option<&mut Purpose> {
        self.table.get_mut(request)
    }

    /// Records the collective that a rank has entered by a request.
    pub(super) fn entered(&mut self, request: RequestId, by: EnteredCollective) {
        if let Some(Purpose::Collective { entered, .. }) = self.table.get_mut(request) {
            *entered = Some(by);
        }
    }

    /// Frees the slot of a completed request, and returns its use.
    ///
    /// # Panics
    /// As [`purpose`](Self::purpose).
    pub(super) fn close(&mut self, request: RequestId) -> Purpose {
        let purpose = self.table.close(request);
        purpose.unwrap_or_else(|| panic!("{request:?} is spent"))
    }

    /// Records that the other transport may also satisfy a receive.
    pub(super) fn share(&mut self, request: RequestId, with: RequestId) {
        if let Some(Purpose::Receive { twin, .. }) = self.table.get_mut(request) {
            *twin = Some(with);
        }
    }

    /// Detaches a request, so that no caller waits for it. Returns its former use.
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

    /// Returns whether there are requests that no caller waits for.
    pub(super) fn has_detached(&self) -> bool {
        !self.detached.is_empty()
    }

    /// Closes detached requests that have completed, and reports the use of each. They complete
    /// about in the order of their posts, so usually a look at the oldest is enough. `all` checks
    /// all of them, if `completions` shows that anything completed since the last such check.
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

    /// Returns the open requests.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RequestId, &Purpose)> {
        self.table.iter()
    }

    /// Returns the receivers of sends that have not completed according to `completed`.
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

    /// Returns whether any send has not completed according to `completed`.
    pub(super) fn sends_outstanding(&self, completed: impl Fn(RequestId) -> bool) -> bool {
        let is_send = |purpose: &Purpose| {
            matches!(
                purpose,
                Purpose::Send { .. }
                    | Purpose::Eager { .. }
                    | Purpose::OneSided { .. }
                    | Purpose::Get { .. }
            )
        };
        let mut open = self.table.iter();
        open.any(|(request, purpose)| is_send(purpose) && !completed(request))
    }
}

impl Drop for NicRequests {
    fn drop(&mut self) {
        // If this end goes early, the NIC may still want to write. The data are the program's, and
        // stay. So must layouts and pack buffers, or the NIC would write anywhere.
        for purpose in self.table.drain() {
            match purpose {
                Purpose::Send { layout, room, .. } => std::mem::forget((layout, room)),
                Purpose::Receive { into, room, .. } | Purpose::Get { into, room } => {
                    std::mem::forget((into, room));
                }
                Purpose::OneSided { layout, room, .. } => std::mem::forget((layout, room)),
                _ => {}
            }
        }
    }
}
