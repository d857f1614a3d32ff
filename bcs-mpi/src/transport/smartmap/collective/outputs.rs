//! Where a member puts its folded share.
//!
//! In a reduction to all it writes its share into the outputs of all members, if these lie in
//! slots. All is done when all have folded: no member copies or waits for a copy. Otherwise it
//! keeps its share in its own output, and the others copy it from there.
//!
//! In a reduction to one it writes into the output of that member, or keeps its share for it.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::member_buffers::MemberBuffers;
use crate::data::{ByteRange, start};
use bcs_core::limits::LEAST_STREAMED_BYTES;
use bcs_core::memory::streaming::StreamingCopy;
use std::ops::Range;
use std::ptr::NonNull;

/// The destinations of a member's share.
#[derive(Debug)]
pub(super) struct Outputs {
    /// The start of the share in each of them.
    starts: Vec<NonNull<u8>>,
    /// The only one, if it is this rank's memory and holds nothing that is still to be folded.
    direct: Option<ByteRange>,
    streams: bool,
}

impl Outputs {
    /// Returns memory of this rank alone as the destination. Its input may lie there.
    pub(super) fn own(memory: ByteRange, in_place: bool) -> Self {
        Self {
            starts: NonNull::new(start(memory.address())).into_iter().collect(),
            direct: (!in_place).then_some(memory),
            streams: false,
        }
    }

    /// Returns the outputs of these members, each this long, if all of them can be written from
    /// here.
    pub(super) fn of(
        members: impl Iterator<Item = usize>,
        share: &Range<usize>,
        bytes: usize,
        group: &LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> Option<Self> {
        let at_member = |member: usize| {
            let member = &group.members[member];
            let output = MemberBuffers::writable_output(&member.info, group.number, bytes)?;
            let whole = around.peer_memory.resolve(member.place, output, bytes)?;
            // SAFETY: the share is within the bytes that were resolved.
            Some(unsafe { whole.add(share.start) })
        };
        let starts: Vec<_> = members.map(at_member).collect::<Option<_>>()?;
        Some(Self {
            streams: bytes * starts.len() >= LEAST_STREAMED_BYTES,
            direct: None,
            starts,
        })
    }

    /// Returns where to fold a chunk, from byte `at` of the share on: at its destination, or in
    /// this buffer.
    pub(super) fn room<'a>(&'a self, at: usize, room: &'a mut [u8]) -> &'a mut [u8] {
        match self.direct {
            // SAFETY: the collective that folds this share is under way, and nothing else has its
            // memory.
            Some(memory) => unsafe { memory.part(at..at + room.len()).bytes_mut() },
            None => room,
        }
    }

    /// Writes a chunk to its destinations, which no other rank uses now, unless it is there
    /// already.
    pub(super) fn put(&self, at: usize, chunk: &[u8]) {
        if self.direct.is_some() {
            return;
        }
        let starts = self.starts.iter();
        // SAFETY: the chunk is within the share.
        let starts = starts.map(|start| unsafe { start.add(at) });
        if self.streams {
            let streaming = StreamingCopy::begin();
            // SAFETY: these bytes are mapped there, in another rank's slot (they were resolved),
            // and it has promised that they may be written until it is done.
            starts.for_each(|start| unsafe { streaming.copy(chunk, start) });
        } else {
            // SAFETY: as above.
            starts.for_each(|start| unsafe {
                std::ptr::copy_nonoverlapping(chunk.as_ptr(), start.as_ptr(), chunk.len());
            });
        }
    }
}
