//! SMARTMAP as a transport.

use super::state::SmartMap;
use crate::data::DataView;
use crate::transport::transport_trait::as_it_does_itself;
use crate::transport::{
    OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests, Transport,
};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

impl Transport for SmartMap {
    type Request = RequestId;

    fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
    ) -> Result<PostedSend<RequestId>, TooManyRequests> {
        self.send(mode, message)
    }

    fn receive(&mut self, pattern: Pattern, into: DataView) -> Result<RequestId, TooManyRequests> {
        self.receive(pattern, into, None)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests> {
        Ok(Self::probe(self, pattern))
    }

    as_it_does_itself!();

    fn progress(&mut self) {
        self.progress();
        while let Some(mut errand) = self.take_deferred_copy(|_| true) {
            errand.run();
            self.finish_deferred_copy(errand);
        }
    }

    fn is_over(&mut self) -> bool {
        self.is_quiet()
    }
}
