//! The queue from one place, the messages from it, and what waits for them.

use super::envelope::Envelope;
use crate::data::{DataView, fill};
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::memory::MappedWords;
use bcs_core::request::RequestId;
use bcs_core::smartmap::send_queue::QueueReceiver;

/// After this many entries, or bytes of payload, a receiver checks whether its sender waits for
/// room.
///
/// A sender waits only if it found no room *after* it has recorded that it will wait. So if less
/// than this was left in the queue at the last check, the sender either found room, or was seen.
pub(in crate::transport::smartmap) const ENTRIES_TO_A_LOOK: u64 = 32;
pub(in crate::transport::smartmap) const BYTES_TO_A_LOOK: u64 = 8 * 1024;

/// Payload that is not contiguous is copied through a buffer that fits in the first-level cache.
const BOUNCE_BYTES: usize = 4096;

/// Out of this many receives from a place that are posted one after the other, only one polls the
/// queue, because a poll reads the cache line that the sender writes next.
const POSTS_TO_A_LOOK: u32 = 8;

/// The queue from one place.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct IncomingQueue {
    pub(in crate::transport::smartmap) queue: QueueReceiver<MappedWords>,
    /// Entries and bytes since the last check.
    pub(in crate::transport::smartmap) entries: u64,
    pub(in crate::transport::smartmap) bytes: u64,
    /// Receives that were posted since the last poll.
    pub(in crate::transport::smartmap) posts: u32,
}

impl IncomingQueue {
    pub(in crate::transport::smartmap) fn new(queue: QueueReceiver<MappedWords>) -> Self {
        Self {
            queue,
            entries: 0,
            bytes: 0,
            posts: 0,
        }
    }

    /// Counts a receive from here that is posted. Returns whether it is time to poll the queue.
    pub(in crate::transport::smartmap) fn posted(&mut self) -> bool {
        let looks = self.posts == 0;
        self.posts = (self.posts + 1) % POSTS_TO_A_LOOK;
        looks
    }

    /// Copies payload to a data view from `offset` on. Returns false if there is no such payload.
    pub(in crate::transport::smartmap) fn copy(
        &self,
        payload: u64,
        into: &DataView,
        offset: usize,
        len: usize,
    ) -> bool {
        let part = offset..offset + len;
        let read =
            |at, bytes: &mut [u8]| self.queue.read(payload, at, bytes).then_some(()).ok_or(());
        fill::<BOUNCE_BYTES, _>(into, part, read).is_ok()
    }
}

/// A message for which there was no receive.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct UnexpectedMessage {
    /// Its source.
    pub(in crate::transport::smartmap) place: usize,
    pub(in crate::transport::smartmap) envelope: Envelope,
    /// A copy of its bytes in the queue.
    pub(in crate::transport::smartmap) kept: Option<Box<[u8]>>,
}

/// A message that was taken out of matching.
#[derive(Debug)]
#[must_use = "nobody else can receive this message"]
pub(crate) struct LocalMatchedMessage(pub(in crate::transport::smartmap) UnexpectedMessage);

/// A receive that waits for its message.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct PostedReceive {
    pub(in crate::transport::smartmap) request: LocalRequestId,
    pub(in crate::transport::smartmap) into: DataView,
    /// The request by which the NIC knows it, if either transport may satisfy it. It has to be
    /// claimed.
    pub(in crate::transport::smartmap) shared: Option<RequestId>,
}

impl PostedReceive {
    /// Takes it, field by field.
    #[inline(always)]
    pub(in crate::transport::smartmap) fn moved(&mut self) -> Self {
        Self {
            request: self.request,
            into: std::mem::replace(&mut self.into, DataView::EMPTY),
            shared: self.shared,
        }
    }
}
