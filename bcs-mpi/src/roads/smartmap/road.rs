//! SMARTMAP as a road.

use super::state::SmartMap;
use crate::data::Piece;
use crate::roads::road::as_it_does_itself;
use crate::roads::{Message, Outcome, Posted, Road, SendMode, TooManyRequests};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

impl Road for SmartMap {
    type Request = RequestId;

    fn send(
        &mut self,
        mode: SendMode,
        message: &Message<'_>,
    ) -> Result<Posted<RequestId>, TooManyRequests> {
        self.send(mode, message)
    }

    fn receive(&mut self, pattern: Pattern, into: Piece) -> Result<RequestId, TooManyRequests> {
        self.receive(pattern, into, None)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<Outcome>, TooManyRequests> {
        Ok(Self::probe(self, pattern))
    }

    as_it_does_itself!();

    fn progress(&mut self) {
        self.progress();
        while let Some(mut errand) = self.take_errand(|_| true) {
            errand.run();
            self.brought(errand);
        }
    }

    fn is_over(&mut self) -> bool {
        self.is_quiet()
    }
}
