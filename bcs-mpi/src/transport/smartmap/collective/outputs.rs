//! Where a member puts what it has folded.
//!
//! In a reduction to all it writes its share into the outputs of all members, if these lie in slots. Then all is
//! done when all have folded: nobody copies, and nobody waits until others have. Otherwise it keeps its share in
//! its own output, and the others copy it from there.
//!
//! In a reduction to one it writes into the output of that one, or keeps its share for it.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::member_buffers::MemberBuffers;
use crate::data::{ByteRange, start};
use bcs_core::limits::LEAST_STREAMED_BYTES;
use bcs_core::memory::streaming::StreamingCopy;
use std::ops::Range;
use std::ptr::NonNull;

/// Where the share of a member goes.
#[derive(Debug)]
pub(super) struct Outputs {
    /// Where it begins in each of them.
    starts: Vec<NonNull<u8>>,
    /// The only one, if it is memory of this rank's where nothing lies that is still to be folded.
    direct: Option<ByteRange>,
    streams: bool,
}

impl Outputs {
    /// Memory of this rank's alone, which its input may lie in.
    pub(super) fn own(memory: ByteRange, in_place: bool) -> Self {
        Self {
            starts: NonNull::new(start(memory.address())).into_iter().collect(),
            direct: (!in_place).then_some(memory),
            streams: false,
        }
    }

    /// The outputs of these members, of so many bytes each, if all of them can be written from here.
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

    /// Where a chunk is to be folded, from byte `at` of the share on: where it goes, or in this room.
    pub(super) fn room<'a>(&'a self, at: usize, room: &'a mut [u8]) -> &'a mut [u8] {
        match self.direct {
            // SAFETY: the collective that folds this share is under way, and nobody else has its room.
            Some(memory) => unsafe { memory.part(at..at + room.len()).bytes_mut() },
            None => room,
        }
    }

    /// Puts a chunk where it goes, which nobody else writes or reads now, if it is not there.
    pub(super) fn put(&self, at: usize, chunk: &[u8]) {
        if self.direct.is_some() {
            return;
        }
        let starts = self.starts.iter();
        // SAFETY: the chunk is within the share.
        let starts = starts.map(|start| unsafe { start.add(at) });
        if self.streams {
            let streaming = StreamingCopy::begin();
            // SAFETY: so many bytes are mapped there, in another rank's slot (they were resolved), and it has
            // promised that they may be written until it is done.
            starts.for_each(|start| unsafe { streaming.copy(chunk, start) });
        } else {
            // SAFETY: as above.
            starts.for_each(|start| unsafe {
                std::ptr::copy_nonoverlapping(chunk.as_ptr(), start.as_ptr(), chunk.len());
            });
        }
    }
}
