//! A send and a receive of one call and one buffer (`MPI_Sendrecv_replace`): see
//! [`messages::replacing`](super::messages::replacing).

use super::deferred_copy::LocalDeferredCopy;
use super::messages::envelope::{Body, Envelope};
use super::messages::fetching::Fetch;
use super::messages::incoming::PostedReceive;
use super::messages::replacing::ReplacingReceive;
use super::receiving::PendingDelivery;
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use crate::data::DataView;
use crate::transport::{OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests};
use bcs_core::limits::LEAST_SHARED_BYTES;
use bcs_core::matching::Pattern;

impl SmartMap {
    /// Posts a send and a receive of the same bytes, with ranks of this node, or neither. The
    /// message is not completely stored until both are done and the receive was
    /// [taken](Self::take_replacing).
    pub(crate) fn replace(
        &mut self,
        message: &OutgoingMessage<'_>,
        pattern: Pattern,
        into: DataView,
    ) -> Result<(PostedSend, LocalRequestId), TooManyRequests> {
        let receive = self.requests.open(LocalRequestState::Opened)?;
        let sent = self.send(SendMode::Standard, message);
        let Ok(send) = sent else {
            self.requests
                .set(receive, LocalRequestState::Done(RequestOutcome::default()));
            self.requests.take(receive);
            return Err(TooManyRequests);
        };
        let sending = match send {
            PostedSend::Complete => None,
            PostedSend::Request(id) => Some(id),
        };
        let replacing = ReplacingReceive::new(sending, into.clone());
        self.replacing.insert(receive, replacing);
        self.post_receive(receive, pattern, into, None);
        Ok((send, receive))
    }

    /// Takes the data that have come for such a receive and were not stored before its send was
    /// done.
    pub(crate) fn take_replacing(&mut self, receive: LocalRequestId) -> Option<ReplacingReceive> {
        self.replacing.remove(&receive)
    }

    /// Delivers a message to a receive whose memory is being sent. A long one that is contiguous in
    /// the memory of its sender comes chunk by chunk. Any other is kept as a whole.
    #[cold]
    pub(super) fn deliver_replacing(
        &mut self,
        (place, envelope): (usize, &Envelope),
        kept: Option<&[u8]>,
        mut receiving: PostedReceive,
    ) {
        let request = receiving.request;
        let fits = envelope.len.min(receiving.into.len() as u64);
        let fits = usize::try_from(fits).expect("no more than the piece has");
        let is_plain = matches!(envelope.body, Body::InSenderMemory(from) if from.layout.is_none());
        let has_transfer = envelope.transfer.is_some();
        if fits < LEAST_SHARED_BYTES || !is_plain || !has_transfer {
            let replacing = self.replacing.get_mut(&request);
            let replacing = replacing.expect("the caller has looked");
            receiving.into = replacing.keep_all(fits);
            return self.deliver_to((place, envelope), kept, receiving);
        }
        let mut outcome = RequestOutcome::NOTHING;
        let into = receiving.into;
        let brought = self.bring(place, envelope, kept, &into, &mut outcome);
        let Err(PendingDelivery::Fetched(from)) = brought else {
            unreachable!("a long message in memory is fetched without the lock");
        };
        let peer = self.peer(place, envelope);
        self.requests
            .set(request, LocalRequestState::Fetching { peer });
        let which = (place, envelope);
        let mut fetch = Fetch::new(self.copier(), which, from, (into, request), outcome);
        fetch.replacing = self.replacing.remove(&request);
        self.push_deferred_copy(LocalDeferredCopy::Fetch(Box::new(fetch)));
    }
}
