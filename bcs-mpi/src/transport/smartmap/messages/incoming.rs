//! The way from one place, what it has brought, and what waits for it.

use super::envelope::Envelope;
use crate::data::{DataView, fill};
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::memory::MappedWords;
use bcs_core::request::RequestId;
use bcs_core::smartmap::send_queue::QueueReceiver;

/// After so many entries, or bytes of payload, a receiver looks whether its sender waits for room.
///
/// A sender waits only when it found no room *after* it has said that it will. So if the last look was
/// when less than this was left in the queue, it found room, or was seen.
pub(in crate::transport::smartmap) const ENTRIES_TO_A_LOOK: u64 = 32;
pub(in crate::transport::smartmap) const BYTES_TO_A_LOOK: u64 = 8 * 1024;

/// Payload is copied through a buffer of which the first cache holds all, unless its piece lies side by side.
const BOUNCE_BYTES: usize = 4096;

/// Of so many receives from a place that are posted one after the other, one looks whether anything has
/// come: the line that it looks at is the one that the sender writes next.
const POSTS_TO_A_LOOK: u32 = 8;

/// The way from one place.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct IncomingQueue {
    pub(in crate::transport::smartmap) queue: QueueReceiver<MappedWords>,
    /// Since the last look.
    pub(in crate::transport::smartmap) entries: u64,
    pub(in crate::transport::smartmap) bytes: u64,
    /// Receives that were posted without a look.
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

    /// A receive from here is posted. Returns whether it is time to look if anything has come.
    pub(in crate::transport::smartmap) fn posted(&mut self) -> bool {
        let looks = self.posts == 0;
        self.posts = (self.posts + 1) % POSTS_TO_A_LOOK;
        looks
    }

    /// Copies payload to bytes `offset` on of a piece. Returns false if there is no such payload.
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
    /// Where it came from.
    pub(in crate::transport::smartmap) place: usize,
    pub(in crate::transport::smartmap) envelope: Envelope,
    /// A copy of what was in the queue.
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
    /// The request by which the NIC knows it, if either road may satisfy it: it has to be claimed.
    pub(in crate::transport::smartmap) shared: Option<RequestId>,
}

impl PostedReceive {
    /// What it is for, part by part.
    #[inline(always)]
    pub(in crate::transport::smartmap) fn moved(&mut self) -> Self {
        Self {
            request: self.request,
            into: std::mem::replace(&mut self.into, DataView::EMPTY),
            shared: self.shared,
        }
    }
}
