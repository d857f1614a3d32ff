//! Errands: what takes long is done without the endpoint's lock.
//!
//! A [`SmartMap`] is a state machine under that lock, and its steps are short. A copy of more than
//! [`LONG_BYTES`] is none of them, nor is a collective that goes over as much, or calls functions of the
//! program's. Of each it makes an *errand*: whoever calls takes it with the lock, runs it without, and
//! *brings it back* with the lock. Meanwhile its request is not done, so whatever it touches stays.
//!
//! ```text
//!  with the lock      take ──►              ──► bring back: requests are done, peers are told
//!  without it              run: copy, fold
//! ```
//!
//! Every call that finds errands runs them before it returns or sleeps ([`crate::bcs`], `errands`). One that
//! packs comes before all others: a receiver may wait for it, and it waits for nobody.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::SmartMap;
use super::collective::Absent;
use super::envelope::{Envelope, Pieces};
use super::requests::{Id, State};
use super::road::Unreachable;
use super::shared::Copier;
use crate::data::{Piece, bytes_mut, gather, own_memory};
use crate::roads::Outcome;
use bcs_core::layout::Location;
use bcs_core::request::Failure;
use bcs_core::smartmap::packing::Packing;

/// Bytes that are packed before the receiver is told: it begins soon, and finds them in a cache.
const STEP_BYTES: usize = 32 * 1024;

/// What is to be done without the lock.
#[derive(Debug)]
pub(crate) enum Errand {
    /// To pack a message for its receiver.
    Pack(Pack),
    /// To fetch a message from its sender.
    Fetch(Box<Fetch>),
    /// To take part in the copy of a message that its receiver shares.
    Help(Help),
    /// To go on with a collective.
    Collective(Box<Absent>),
}

/// A message that is packed where its receiver looks for it.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(super) copier: Copier,
    pub(super) id: Id,
    pub(super) to: usize,
    pub(super) data: Piece,
    pub(super) into: u64,
}

/// A message that is fetched.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(super) copier: Copier,
    pub(super) place: usize,
    pub(super) envelope: Envelope,
    pub(super) from: From,
    pub(super) into: Piece,
    pub(super) request: Id,
    /// What it will have come to.
    pub(super) outcome: Outcome,
    fetched: Result<(), Unreachable>,
    /// It is this rank's own memory that is not there.
    own: bool,
}

/// Where it is fetched from.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    Memory(Location),
    /// It is still being packed there, from where it lies.
    Packing(u64, Pieces),
}

/// A message of this rank's, of which its receiver leaves a part to the sender.
#[derive(Debug)]
pub(crate) struct Help {
    pub(super) copier: Copier,
    pub(super) id: Id,
    pub(super) to: usize,
    pub(super) data: Piece,
}

impl Fetch {
    pub(super) fn new(
        copier: Copier,
        (place, envelope): (usize, &Envelope),
        from: From,
        (into, request): (Piece, Id),
        outcome: Outcome,
    ) -> Self {
        Self {
            copier,
            place,
            envelope: *envelope,
            from,
            into,
            request,
            outcome,
            fetched: Ok(()),
            own: false,
        }
    }
}

impl Errand {
    /// Does it. No lock is held.
    pub(crate) fn run(&mut self) {
        match self {
            Self::Pack(pack) => pack.run(),
            Self::Fetch(fetch) => {
                let len = fetch.envelope.len.min(fetch.into.len as u64);
                let len = usize::try_from(len).expect("no more than the piece has");
                let which = (fetch.place, fetch.envelope.transfer);
                let copier = &fetch.copier;
                fetch.fetched = match fetch.from {
                    From::Memory(from) => {
                        // SAFETY: whoever posted the receive promised that, and it is not done before this is back.
                        unsafe { copier.fetch(which, from, &fetch.into, len) }
                    }
                    From::Packing(packed, data) => {
                        let all = usize::try_from(fetch.envelope.len).unwrap_or(usize::MAX);
                        let from = (packed, all, data);
                        // SAFETY: as above.
                        unsafe { copier.follow(which, from, &fetch.into, len) }
                    }
                };
                let fault = fetch.fetched == Err(Unreachable::Fault);
                fetch.own = fault && !own_memory::takes(&fetch.into, len);
            }
            Self::Help(help) => help.copier.help(help.id, help.to, &help.data),
            Self::Collective(absent) => absent.run(),
        }
    }
}

impl Pack {
    fn run(&self) {
        let Copier {
            node, page, place, ..
        } = &self.copier;
        let packing = Packing::of(node, *place, self.id).expect("requests have their transfers");
        let mut packed = 0;
        while packed < self.data.len {
            let step = STEP_BYTES.min(self.data.len - packed);
            // SAFETY: the memory is the request's own, which is not spent before this is back, and nobody
            // reads it before it is told to.
            let into = unsafe { bytes_mut(self.into + packed as u64, step) };
            // SAFETY: whoever sends promised that, until the request is done.
            unsafe { gather(&self.data, packed, into) };
            packed += step;
            packing.advance(u32::try_from(packed).expect("what is packed has a bound"));
            page.wake(packing.bell());
            if self.copier.help_alike(self.id, self.to, &self.data) {
                return; // Its receiver needs nothing that is packed.
            }
        }
    }
}

impl SmartMap {
    pub(super) fn copier(&self) -> Copier {
        Copier {
            node: self.node.clone(),
            page: self.page.clone(),
            road: self.road.clone(),
            place: self.place,
        }
    }

    /// Whether there is something to do without the lock.
    #[inline]
    pub(crate) fn has_errands(&self) -> bool {
        !self.errands.is_empty() || self.has_due_collectives()
    }

    /// What is to be done next without the lock, of those that belong to requests which `are_mine`. It has to
    /// be [brought back](Self::brought).
    pub(crate) fn take_errand(&mut self, are_mine: impl Fn(Id) -> bool) -> Option<Errand> {
        let mine = |errand: &Errand| match errand {
            Errand::Pack(_) => true, // A peer may wait for it.
            Errand::Fetch(fetch) => are_mine(fetch.request),
            Errand::Help(help) => are_mine(help.id),
            Errand::Collective(absent) => absent.first().is_none_or(&are_mine),
        };
        if let Some(next) = self.errands.iter().position(mine) {
            return self.errands.remove(next);
        }
        let absent = self.take_due_collective(are_mine, true)?;
        Some(Errand::Collective(Box::new(absent)))
    }

    /// From now on there is this to be done.
    pub(super) fn push_errand(&mut self, errand: Errand) {
        self.errands_so_far += 1;
        match errand {
            Errand::Pack(_) => self.errands.push_front(errand),
            _ => self.errands.push_back(errand),
        }
    }

    /// An errand has been done.
    pub(crate) fn brought(&mut self, errand: Errand) {
        match errand {
            Errand::Pack(Pack { id, .. }) | Errand::Help(Help { id, .. }) => {
                // It may be that its receiver has asked for its parts meanwhile.
                if let Some(&mut State::Away { to, ref data }) = self.requests.state(id) {
                    let data = data.clone();
                    self.requests.set(id, State::Sent { to, data });
                }
            }
            Errand::Fetch(fetch) => self.fetched(*fetch),
            Errand::Collective(absent) => self.returned(*absent),
        }
    }

    fn fetched(&mut self, fetch: Fetch) {
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
            Ok(()) => Failure::None,
            // The sender has nothing to do with that.
            Err(Unreachable::Fault) if own => {
                outcome.failure = Failure::BadAddress;
                Failure::None
            }
            Err(Unreachable::Fault) => {
                outcome.failure = Failure::SenderMemory;
                Failure::BadAddress
            }
            Err(Unreachable::Closed) => {
                return self.pull(place, (&envelope, request), into, outcome);
            }
        };
        self.end_transfer(place, &envelope, ended);
        self.requests.set(request, State::Done(outcome));
    }

    /// A whole call, in the place of an endpoint.
    #[cfg(test)]
    pub(super) fn call(&mut self) {
        self.progress();
        self.do_errands(true);
    }

    /// Does what is to be done without the lock. Members of a collective that will not look again by
    /// themselves `listen`; the others look once.
    #[cfg(test)]
    pub(super) fn do_errands(&mut self, listen: bool) {
        let looks = if listen { 100_000 } else { 1 };
        for _ in 0..looks {
            while let Some(next) = self.errands.pop_front() {
                self.do_errand(next);
            }
            let Some(absent) = self.take_due_collective(|_| true, listen) else {
                return;
            };
            self.do_errand(Errand::Collective(Box::new(absent)));
        }
        assert!(!listen, "there is no end of it");
    }

    #[cfg(test)]
    fn do_errand(&mut self, mut errand: Errand) {
        errand.run();
        self.brought(errand);
    }
}
