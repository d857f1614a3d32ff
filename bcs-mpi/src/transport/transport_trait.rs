//! The interface of a transport.

use super::{OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests};
use crate::data::DataView;
use bcs_core::matching::Pattern;

/// Forwards each method to the type's own method of the same name.
macro_rules! as_it_does_itself {
    () => {
        fn cancel(&mut self, request: Self::Request) {
            self.cancel(request);
        }

        fn is_done(&mut self, request: Self::Request) -> bool {
            self.is_done(request)
        }

        fn take(&mut self, request: Self::Request) -> Option<RequestOutcome> {
            self.take(request)
        }

        fn room(&self) -> usize {
            self.room()
        }
    };
}
pub(super) use as_it_does_itself;

/// One rank's end of a path by which messages get from rank to rank.
///
/// A transport is a state machine under its owner's lock. Nothing here blocks or waits: a call
/// posts or polls. A caller that waits calls [`progress`](Self::progress) and polls again. The
/// rules of [`conformance`](super::conformance) are what every transport guarantees.
pub(crate) trait Transport {
    /// A posted operation, until it is taken.
    type Request: Copy;

    /// Posts a send. Standard sends of at most the eager limit are complete when they have been
    /// copied (law 3).
    fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage,
    ) -> Result<PostedSend<Self::Request>, TooManyRequests>;

    /// Posts a receive of at most as many bytes as `into` has.
    fn receive(
        &mut self,
        pattern: Pattern,
        into: DataView,
    ) -> Result<Self::Request, TooManyRequests>;

    /// Returns the message that a receive with this pattern would get now, as far as this end
    /// knows. A caller that asks again after [`progress`](Self::progress) finds the message
    /// eventually.
    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests>;

    /// Requests that a receive or a send be cancelled. The caller has still to take it. An
    /// operation that is already matched goes on. A cancelled send ends whatever its receiver does.
    fn cancel(&mut self, request: Self::Request);

    /// Returns whether a request is done.
    fn is_done(&mut self, request: Self::Request) -> bool;

    /// Takes the outcome of a request, if it is done. The request is spent then.
    fn take(&mut self, request: Self::Request) -> Option<RequestOutcome>;

    /// Passes on operations that were held back, takes messages that have come, and does long
    /// operations.
    fn progress(&mut self);

    /// Returns how many more requests may be posted.
    fn room(&self) -> usize;

    /// Returns whether this rank owes nothing: all that it has sent has arrived, or is stored at
    /// the receiver.
    fn is_over(&mut self) -> bool;
}
