//! The NIC as a transport.

use super::NicTransport;
use crate::data::DataView;
use crate::transport::transport_trait::as_it_does_itself;
use crate::transport::{
    OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests, Transport,
};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

impl Transport for NicTransport {
    type Request = RequestId;

    fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
    ) -> Result<PostedSend<RequestId>, TooManyRequests> {
        self.send(mode, message, None)
    }

    fn receive(&mut self, pattern: Pattern, into: DataView) -> Result<RequestId, TooManyRequests> {
        self.receive(pattern, into)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests> {
        self.ask_once(pattern)?;
        Ok(self.answer(pattern))
    }

    as_it_does_itself!();

    fn progress(&mut self) {
        self.progress();
        while let Some(mut unpack) = self.take_deferred_copy(|_| true) {
            unpack.run();
            self.finish_deferred_copy(unpack);
        }
    }

    fn is_over(&mut self) -> bool {
        self.is_over()
    }
}
