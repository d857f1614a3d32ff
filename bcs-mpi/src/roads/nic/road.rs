//! The NIC as a road.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::Nic;
use crate::data::Piece;
use crate::roads::{Message, Outcome, Posted, Road, SendMode, TooManyRequests};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

impl Road for Nic {
    type Request = RequestId;

    unsafe fn send(
        &mut self,
        mode: SendMode,
        message: &Message,
    ) -> Result<Posted<RequestId>, TooManyRequests> {
        // SAFETY: the caller's promise.
        unsafe { self.send(mode, message, None) }
    }

    unsafe fn receive(
        &mut self,
        pattern: Pattern,
        into: Piece,
    ) -> Result<RequestId, TooManyRequests> {
        // SAFETY: the caller's promise.
        unsafe { self.receive(pattern, into) }
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<Outcome>, TooManyRequests> {
        self.ask_once(pattern)?;
        Ok(self.answer(pattern))
    }

    fn cancel(&mut self, request: RequestId) {
        self.cancel(request);
    }

    fn is_done(&mut self, request: RequestId) -> bool {
        self.is_done(request)
    }

    fn take(&mut self, request: RequestId) -> Option<Outcome> {
        self.take(request)
    }

    fn progress(&mut self) {
        self.progress();
        while let Some(mut unpack) = self.take_errand(|_| true) {
            unpack.run();
            self.brought(unpack);
        }
    }

    fn room(&self) -> usize {
        self.room()
    }

    fn is_over(&mut self) -> bool {
        self.is_over()
    }
}
