//! The work of an end without the endpoint's lock: it is handed out, and returned.

use super::deferred_copy::LocalDeferredCopy;
use super::messages::copier::{Copier, CopyHelp, ring_sender};
use super::messages::fetching::Fetch;
use super::messages::packing::Pack;
use super::messages::replacing::ReplacingReceive;
use super::peer_memory::FetchError;
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::READ_ONLY;
use bcs_core::smartmap::shared_copy::{CopyShape, SharedCopy};
use std::sync::atomic::Ordering;

impl SmartMap {
    pub(super) fn copier(&self) -> Copier {
        Copier {
            node: self.node.clone(),
            page: self.page.clone(),
            peer_memory: self.peer_memory.clone(),
            place: self.place,
        }
    }

    /// Returns whether there is something to do without the lock.
    #[inline]
    pub(crate) fn has_deferred_copies(&self) -> bool {
        !self.deferred_copies.is_empty() || self.has_due_collectives()
    }

    /// Takes the next work to do without the lock, of requests which `are_mine`. It has to be
    /// [returned](Self::finish_deferred_copy).
    pub(crate) fn take_deferred_copy(
        &mut self,
        are_mine: impl Fn(LocalRequestId) -> bool,
    ) -> Option<LocalDeferredCopy> {
        let mine = |errand: &LocalDeferredCopy| match errand {
            LocalDeferredCopy::Pack(_) => true, // A peer may wait for it.
            LocalDeferredCopy::Fetch(fetch) => are_mine(fetch.request),
            LocalDeferredCopy::Help(help) => are_mine(help.id),
            LocalDeferredCopy::Collective(absent) => absent.first().is_none_or(&are_mine),
        };
        if let Some(next) = self.deferred_copies.iter().position(mine) {
            return self.deferred_copies.remove(next);
        }
        let absent = self.take_due_collective(are_mine, true)?;
        Some(LocalDeferredCopy::Collective(Box::new(absent)))
    }

    /// Adds work to do without the lock.
    pub(super) fn push_deferred_copy(&mut self, errand: LocalDeferredCopy) {
        self.deferred_copies_so_far += 1;
        match errand {
            LocalDeferredCopy::Pack(_) => self.deferred_copies.push_front(errand),
            _ => self.deferred_copies.push_back(errand),
        }
    }

    /// Takes back work that was done.
    pub(crate) fn finish_deferred_copy(&mut self, errand: LocalDeferredCopy) {
        match errand {
            LocalDeferredCopy::Pack(Pack { id, .. })
            | LocalDeferredCopy::Help(CopyHelp { id, .. }) => {
                // Its receiver may have requested its parts meanwhile.
                if let Some(&mut LocalRequestState::Away { to, ref data }) = self.requests.state(id)
                {
                    let data = data.clone();
                    self.requests.set(id, LocalRequestState::Sent { to, data });
                }
            }
            LocalDeferredCopy::Fetch(fetch) => self.fetched(*fetch),
            LocalDeferredCopy::Collective(absent) => self.returned(*absent),
        }
    }

    /// Makes this rank take part in the copy of its own message, if the receiver offers that.
    pub(in crate::transport::smartmap) fn help(&mut self, id: LocalRequestId) {
        let Some(&mut LocalRequestState::Sent { to, ref data }) = self.requests.state(id) else {
            return;
        };
        let data = data.clone();
        let is_plain = data.layout().is_none();
        let Some(place) = to
            .rank
            .and_then(|rank| self.place_of(rank))
            .filter(|_| is_plain)
        else {
            return;
        };
        let process = self.node.process_id(place).load(Ordering::Acquire);
        let (transfer, offerer) = ((self.place, id), process & !READ_ONLY);
        let offered =
            SharedCopy::find_offer(&self.node, transfer, offerer, data.len(), CopyShape::Plain);
        let leads = |into, len| self.peer_memory.leads_to((place, process), into, len);
        if offered.is_some_and(|(copy, into, len)| copy.is_open() && leads(into, len)) {
            let help = CopyHelp {
                copier: self.copier(),
                id,
                to: place,
                data: data.clone(),
            };
            self.requests.set(id, LocalRequestState::Away { to, data });
            self.push_deferred_copy(LocalDeferredCopy::Help(help));
        }
    }

    fn fetched(&mut self, mut fetch: Fetch) {
        let replacing = fetch.replacing.take();
        if fetch.fetched == Err(FetchError::Closed)
            && let Some(transfer) = fetch.envelope.transfer
        {
            // Its sender may be waiting for the rest of it to be fetched.
            SharedCopy::stop_fetching(&self.node, (fetch.place, transfer));
            ring_sender(&self.node, &self.page, (fetch.place, transfer));
        }
        if let Some(replacing) = replacing {
            self.keep_replacing(&mut fetch, replacing);
        }
        let Fetch {
            place,
            envelope,
            into,
            request,
            mut outcome,
            fetched,
            own,
            ..
        } = fetch;
        let ended = match fetched {
            Ok(()) => RequestFailure::None,
            // The sender has no part in that failure.
            Err(FetchError::Fault) if own => {
                outcome.failure = RequestFailure::BadAddress;
                RequestFailure::None
            }
            Err(FetchError::Fault) => {
                outcome.failure = RequestFailure::SenderMemory;
                RequestFailure::BadAddress
            }
            Err(FetchError::Closed) => {
                return self.pull(place, (&envelope, request), into, outcome);
            }
        };
        self.end_transfer(place, &envelope, ended);
        self.requests.set(request, LocalRequestState::Done(outcome));
    }

    /// Keeps the part that may not be stored yet of a message that was fetched, or that its sender
    /// has to bring.
    fn keep_replacing(&mut self, fetch: &mut Fetch, mut replacing: ReplacingReceive) {
        if fetch.fetched == Err(FetchError::Closed) {
            let len = fetch.envelope.len.min(fetch.into.len() as u64);
            let len = usize::try_from(len).expect("no more than the piece has");
            fetch.into = replacing.keep_all(len);
        }
        if replacing.keeps_any() {
            self.replacing.insert(fetch.request, replacing);
        }
    }

    /// Makes a whole call, as an endpoint would.
    #[cfg(test)]
    pub(super) fn call(&mut self) {
        self.progress();
        self.do_errands(true);
    }

    /// Does the work that needs no lock. Members of a collective that will not poll again by
    /// themselves `listen`; the others poll once.
    #[cfg(test)]
    pub(super) fn do_errands(&mut self, listen: bool) {
        let looks = if listen { 100_000 } else { 1 };
        for _ in 0..looks {
            while let Some(next) = self.deferred_copies.pop_front() {
                self.do_errand(next);
            }
            let Some(absent) = self.take_due_collective(|_| true, listen) else {
                return;
            };
            self.do_errand(LocalDeferredCopy::Collective(Box::new(absent)));
        }
        assert!(!listen, "there is no end of it");
    }

    #[cfg(test)]
    fn do_errand(&mut self, mut errand: LocalDeferredCopy) {
        errand.run();
        self.finish_deferred_copy(errand);
    }
}
