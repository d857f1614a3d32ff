//! A long message, which its receiver fetches from the memory of its sender.

use super::copier::Copier;
use super::envelope::{Envelope, Original};
use super::replacing::Replacing;
use crate::data::{Piece, own_memory};
use crate::roads::Outcome;
use crate::roads::smartmap::peer_memory::Unreachable;
use crate::roads::smartmap::requests::Id;
use bcs_core::layout::Location;

/// A message that is fetched.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(in crate::roads::smartmap) copier: Copier,
    pub(in crate::roads::smartmap) place: usize,
    pub(in crate::roads::smartmap) envelope: Envelope,
    pub(in crate::roads::smartmap) from: FetchFrom,
    pub(in crate::roads::smartmap) into: Piece,
    pub(in crate::roads::smartmap) request: Id,
    /// What it will have come to.
    pub(in crate::roads::smartmap) outcome: Outcome,
    pub(in crate::roads::smartmap) fetched: Result<(), Unreachable>,
    /// It is this rank's own memory that is not there.
    pub(in crate::roads::smartmap) own: bool,
    /// It goes where a send reads, so not all of it may be stored at once.
    pub(in crate::roads::smartmap) replacing: Option<Replacing>,
}

/// Where it is fetched from.
#[derive(Clone, Copy, Debug)]
pub(in crate::roads::smartmap) enum FetchFrom {
    Memory(Location),
    /// It is still being packed there, from where it lies.
    Packing(u64, Original),
}

impl Fetch {
    pub(in crate::roads::smartmap) fn new(
        copier: Copier,
        (place, envelope): (usize, &Envelope),
        from: FetchFrom,
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
            replacing: None,
        }
    }

    /// Fetches it. No lock is held.
    pub(in crate::roads::smartmap) fn run(&mut self) {
        let len = self.envelope.len.min(self.into.len() as u64);
        let len = usize::try_from(len).expect("no more than the piece has");
        let which = (self.place, self.envelope.transfer);
        let copier = &self.copier;
        self.fetched = match (&mut self.replacing, self.from) {
            (Some(replacing), FetchFrom::Memory(from)) => {
                let transfer = which.1.expect("a message in memory has a transfer");
                replacing.fetch(copier, (self.place, transfer), from, len)
            }
            (_, FetchFrom::Memory(from)) => copier.fetch(which, from, &self.into, len),
            (_, FetchFrom::Packing(packed, data)) => {
                let all = usize::try_from(self.envelope.len).unwrap_or(usize::MAX);
                let from = (packed, all, data);
                copier.follow(which, from, &self.into, len)
            }
        };
        let fault = self.fetched == Err(Unreachable::Fault);
        self.own = fault && !own_memory::takes(&self.into, len);
    }
}
