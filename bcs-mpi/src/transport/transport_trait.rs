//! What a road is.

use super::{OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests};
use crate::data::DataView;
use bcs_core::matching::Pattern;

/// What an end does by a method of its own of the same name.
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

/// One rank's end of a way by which messages get from rank to rank.
///
/// A road is a state machine under its owner's lock. Nothing here blocks or waits: a call posts or looks, and
/// whoever waits calls [`progress`](Self::progress) and looks again. What a road promises are the rules of
/// [`conformance`](super::conformance), which every road keeps.
pub(crate) trait Transport {
    /// What is posted, until it is taken.
    type Request: Copy;

    /// Posts a send. Standard sends of at most the eager limit are complete when they have been copied (law 3).
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

    /// The message that a receive with this pattern would get now, as far as this end knows. Who asks again after
    /// [`progress`](Self::progress) is told in the end.
    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests>;

    /// Asks to cancel a receive or a send, which has still to be taken. What has met its message, or its receive, goes
    /// on. A send that is cancelled ends whatever its receiver does.
    fn cancel(&mut self, request: Self::Request);

    /// Whether a request is done.
    fn is_done(&mut self, request: Self::Request) -> bool;

    /// Takes what a request came to, if it is done. It is spent then.
    fn take(&mut self, request: Self::Request) -> Option<RequestOutcome>;

    /// Passes on what was held back, takes what has come, and does what takes long.
    fn progress(&mut self);

    /// How many more requests may be posted.
    fn room(&self) -> usize;

    /// Whether this rank owes nothing: all that it has sent has come where it was sent to, or is kept there.
    fn is_over(&mut self) -> bool;
}
