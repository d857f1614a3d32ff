//! The NIC as a road.

use super::Nic;
use crate::data::Piece;
use crate::roads::road::as_it_does_itself;
use crate::roads::{Message, Outcome, Posted, Road, SendMode, TooManyRequests};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

impl Road for Nic {
    type Request = RequestId;

    fn send(
        &mut self,
        mode: SendMode,
        message: &Message<'_>,
    ) -> Result<Posted<RequestId>, TooManyRequests> {
        self.send(mode, message, None)
    }

    fn receive(&mut self, pattern: Pattern, into: Piece) -> Result<RequestId, TooManyRequests> {
        self.receive(pattern, into)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<Outcome>, TooManyRequests> {
        self.ask_once(pattern)?;
        Ok(self.answer(pattern))
    }

    as_it_does_itself!();

    fn progress(&mut self) {
        self.progress();
        while let Some(mut unpack) = self.take_errand(|_| true) {
            unpack.run();
            self.brought(unpack);
        }
    }

    fn is_over(&mut self) -> bool {
        self.is_over()
    }
}
