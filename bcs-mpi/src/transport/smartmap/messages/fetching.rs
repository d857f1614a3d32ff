//! A long message, which its receiver fetches from the memory of its sender.

use super::copier::Copier;
use super::envelope::{Envelope, ScatteredSource};
use super::replacing::ReplacingReceive;
use crate::data::{DataView, own_memory};
use crate::transport::RequestOutcome;
use crate::transport::smartmap::peer_memory::FetchError;
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::layout::Location;

/// A message that is fetched.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(in crate::transport::smartmap) copier: Copier,
    pub(in crate::transport::smartmap) place: usize,
    pub(in crate::transport::smartmap) envelope: Envelope,
    pub(in crate::transport::smartmap) from: FetchSource,
    pub(in crate::transport::smartmap) into: DataView,
    pub(in crate::transport::smartmap) request: LocalRequestId,
    /// Its outcome when it is fetched.
    pub(in crate::transport::smartmap) outcome: RequestOutcome,
    pub(in crate::transport::smartmap) fetched: Result<(), FetchError>,
    /// This rank's own memory is not mapped.
    pub(in crate::transport::smartmap) own: bool,
    /// A send reads the destination, so not all of it may be stored at once.
    pub(in crate::transport::smartmap) replacing: Option<ReplacingReceive>,
}

/// The place to fetch it from.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::smartmap) enum FetchSource {
    Memory(Location),
    /// Its sender is still packing it there, from this source.
    Packing(u64, ScatteredSource),
}

impl Fetch {
    pub(in crate::transport::smartmap) fn new(
        copier: Copier,
        (place, envelope): (usize, &Envelope),
        from: FetchSource,
        (into, request): (DataView, LocalRequestId),
        outcome: RequestOutcome,
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

    /// Fetches it. The caller holds no lock.
    pub(in crate::transport::smartmap) fn run(&mut self) {
        let len = self.envelope.len.min(self.into.len() as u64);
        let len = usize::try_from(len).expect("no more than the piece has");
        let which = (self.place, self.envelope.transfer);
        let copier = &self.copier;
        self.fetched = match (&mut self.replacing, self.from) {
            (Some(replacing), FetchSource::Memory(from)) => {
                let transfer = which.1.expect("a message in memory has a transfer");
                replacing.fetch(copier, (self.place, transfer), from, len)
            }
            (_, FetchSource::Memory(from)) => copier.fetch(which, from, &self.into, len),
            (_, FetchSource::Packing(packed, data)) => {
                let all = usize::try_from(self.envelope.len).unwrap_or(usize::MAX);
                let from = (packed, all, data);
                copier.follow(which, from, &self.into, len)
            }
        };
        let fault = self.fetched == Err(FetchError::Fault);
        self.own = fault && !own_memory::is_writable(&self.into, len);
    }
}
