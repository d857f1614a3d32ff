//! The place of the data that a member gives: in its record or in its memory, in equal blocks or
//! not.
//!
//! ```text
//! head   form │ all get the same │ the kernel copies │ length of a block, or of all that is laid
//!
//! form        after the head, or in the payload         in the words after the head
//! LAID_EQUAL  the blocks
//! LAID_EACH   where each is, how long; then they
//! EQUAL                                                 where, how far apart, length of the stream
//! EACH        where each is, how long (payload)         an address of any, 0, length of the stream
//! ```
//!
//! The *stream* of a giver is all that it gives, one block after the other in the order of the
//! members, without its own. Data that all get are in it once.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::local_exchange::GivenBlocks;
use crate::data::{ByteRange, DataView, fill, own_memory};
use crate::transport::smartmap::collective::group::LocalGroup;
use crate::transport::smartmap::collective::member::MemberRecord;
use bcs_core::smartmap::coll_info::{AFTER_HEAD_BYTES, PAYLOAD_BYTES};
use std::convert::Infallible;
use std::ops::Range;

/// The most members whose table fits the payload.
pub(crate) const MAX_MEMBERS: usize = PAYLOAD_BYTES / MEMORY_ENTRY_BYTES;

/// The most bytes that lie in the record: all that fit.
pub(super) const MAX_LAID_BYTES: usize = PAYLOAD_BYTES;

/// The most bytes of memory in a slot that lie in the record, if each member has a core. To wait
/// for the readers costs a cache line each way, and data that do not fit the area are copied
/// through lines that another core has. (Two ranks, 256 bytes: 0.70 us laid, 0.60 not.) If cores
/// are short, each member would have to run once more. Other memory costs each reader a call of the
/// kernel.
pub(super) const MAX_LAID_OF_SLOT: usize = AFTER_HEAD_BYTES;

/// Bytes of an entry of a table: address or offset, and length.
const MEMORY_ENTRY_BYTES: usize = 16;
const RECORD_ENTRY_BYTES: usize = 4;

const LAID_EQUAL: u64 = 1;
const LAID_EACH: u64 = 2;
const EQUAL: u64 = 3;
const EACH: u64 = 4;
const FORM: u64 = 0xff;

const SAME: u64 = 1 << 8;
const OPEN: u64 = 1 << 9;
const LEN_SHIFT: u32 = 16;

/// The data of one member for another, as it publishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfferedBlock {
    pub(super) len: u64,
    pub(super) lies: BlockLocation,
}

/// The place of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockLocation {
    /// In the record, at this offset of the `total` bytes there.
    Here { total: usize, at: usize },
    /// In the giver's memory, and the offset in its stream.
    There { address: u64, at: u64 },
}

/// A member that gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Giver<'a> {
    pub(super) info: &'a MemberRecord,
    pub(super) number: u64,
    /// The index of the member.
    pub(super) member: usize,
    /// The number of all members.
    pub(super) members: usize,
}

impl GivenBlocks {
    /// Returns the block for a member, given its place among the others, and among all.
    fn block(&self, other: usize, member: usize) -> ByteRange {
        match self {
            Self::Same(given) if other == 0 => *given,
            Self::Nothing | Self::Same(_) => ByteRange::EMPTY,
            Self::Row(row) => row.block(member),
            Self::Each(all) => all[member],
        }
    }

    /// Returns the blocks of the stream of a member of this many.
    fn blocks(&self, giver: usize, members: usize) -> impl Iterator<Item = ByteRange> {
        let others = (0..members).filter(move |&member| member != giver);
        (0..)
            .zip(others)
            .map(|(other, member)| self.block(other, member))
    }

    /// Returns any of the blocks.
    pub(super) fn any(&self) -> ByteRange {
        match self {
            Self::Nothing => ByteRange::EMPTY,
            Self::Same(given) => *given,
            Self::Row(row) => row.first(),
            Self::Each(all) => {
                let any = all.iter().find(|given| !given.is_empty());
                any.copied().unwrap_or_default()
            }
        }
    }

    /// Returns the length of the stream.
    pub(super) fn len(&self, giver: usize, members: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Same(given) => given.len(),
            // Other blocks are in memory, each at its own address.
            Self::Row(row) => row.len().saturating_mul(members - 1),
            Self::Each(_) => {
                let lens = self.blocks(giver, members).map(ByteRange::len);
                lens.fold(0, usize::saturating_add)
            }
        }
    }

    /// Returns whether all given data lie where this rank has published.
    #[cold]
    pub(super) fn are_there(&self, giver: Giver<'_>) -> bool {
        let mut blocks = self.blocks(giver.member, giver.members);
        blocks
            .all(|it| own_memory::is_mapped(it.address(), it.len(), own_memory::MemoryAccess::Read))
    }

    /// Copies bytes of the stream into the record, from this offset on among all that lie there.
    pub(super) fn lay(
        &self,
        giver: Giver<'_>,
        (from, total): (usize, usize),
        stream: Range<usize>,
    ) {
        let mut at = 0;
        for block in self.blocks(giver.member, giver.members) {
            let (first, last) = (stream.start.max(at), stream.end.min(at + block.len()));
            if first < last {
                // SAFETY: this rank does not write it meanwhile.
                let data = unsafe { block.part(first - at..last - at).bytes() };
                let to = from + (first - stream.start);
                giver.info.write_given(giver.number, total, to, data);
            }
            at += block.len();
        }
    }

    /// Publishes the data in the giver's record, before it enters. `open` means that the kernel is
    /// known to copy to all members. Up to `most` bytes, at most [`MAX_LAID_BYTES`], are copied
    /// into the record.
    pub(super) fn say(&self, giver: Giver<'_>, open: bool, most: usize) {
        let Giver {
            info,
            number,
            member,
            members,
        } = giver;
        let stream = self.len(member, members);
        let flags = if open { OPEN } else { 0 };
        let same = if matches!(self, Self::Same(_)) {
            SAME
        } else {
            0
        };
        let word = |len: usize| (len as u64) << LEN_SHIFT;
        let (each, address, distance, len) = match self {
            Self::Nothing => (None, 0, 0, 0),
            Self::Same(given) => (None, given.address(), 0, given.len()),
            Self::Row(row) => (None, row.first().address(), row.distance(), row.len()),
            Self::Each(all) => (Some(all), 0, 0, 0),
        };
        let Some(all) = each else {
            if stream <= most {
                info.publish_arguments(number, [LAID_EQUAL | same | flags | word(len)]);
                return self.lay(giver, (0, stream), 0..stream);
            }
            let head = EQUAL | same | flags | word(len);
            let distance = distance.cast_unsigned();
            return info.publish_arguments(number, [head, address, distance, stream as u64]);
        };
        let table = members * RECORD_ENTRY_BYTES;
        if stream.saturating_add(table) <= most {
            let total = table + stream;
            info.publish_arguments(number, [LAID_EACH | flags | word(total)]);
            let mut at = table;
            for (member, given) in all.iter().enumerate() {
                let entry = (at as u64) | (given.len() as u64) << 16;
                let entry = &entry.to_le_bytes()[..RECORD_ENTRY_BYTES];
                info.write_given(number, total, member * RECORD_ENTRY_BYTES, entry);
                at += given.len();
            }
            return self.lay(giver, (table, total), 0..stream);
        }
        let any = self.any().address();
        info.publish_arguments(number, [EACH | flags, any, 0, stream as u64]);
        for (member, given) in all.iter().enumerate() {
            let mut entry = [0; MEMORY_ENTRY_BYTES];
            entry[..8].copy_from_slice(&given.address().to_le_bytes());
            entry[8..].copy_from_slice(&(given.len() as u64).to_le_bytes());
            info.write_given(number, PAYLOAD_BYTES, member * MEMORY_ENTRY_BYTES, &entry);
        }
    }
}

impl Giver<'_> {
    /// Returns a member, as it publishes its data.
    pub(super) fn of(group: &LocalGroup, member: usize) -> Giver<'_> {
        Giver {
            info: &group.members[member].info,
            number: group.number,
            member,
            members: group.members.len(),
        }
    }

    fn head(&self) -> u64 {
        let [head] = self.info.arguments(self.number);
        head
    }

    /// Returns whether its data lie in its memory.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.head() & FORM, EQUAL | EACH)
    }

    /// Returns whether it knows that the kernel copies to all members.
    pub(super) fn is_open(&self) -> bool {
        self.head() & OPEN != 0
    }

    /// Returns an address in its memory, if its data lie there, and the length of its stream.
    pub(super) fn stream(&self) -> (u64, u64) {
        let [_, address, _, stream] = self.info.arguments(self.number);
        if self.is_in_memory() {
            (address, stream)
        } else {
            (0, 0)
        }
    }

    /// Returns the data that it publishes for a member; `None` if they are invalid.
    pub(super) fn gift(&self, taker: usize) -> Option<OfferedBlock> {
        let head = self.head();
        let len = head >> LEN_SHIFT;
        let other = taker - usize::from(taker > self.member);
        // Data that all get are one block.
        let (block, blocks) = match head & SAME {
            0 => (other, self.members - 1),
            _ => (0, 1),
        };
        match head & FORM {
            LAID_EQUAL => {
                let len = usize::try_from(len).ok()?;
                let total = len
                    .checked_mul(blocks)
                    .filter(|&total| total <= PAYLOAD_BYTES)?;
                let at = len * block;
                Some(OfferedBlock {
                    len: len as u64,
                    lies: BlockLocation::Here { total, at },
                })
            }
            LAID_EACH => {
                let total = usize::try_from(len).ok()?;
                let table = self.members * RECORD_ENTRY_BYTES;
                if !(table..=PAYLOAD_BYTES).contains(&total) {
                    return None;
                }
                let mut entry = [0; RECORD_ENTRY_BYTES];
                let entry_at = taker * RECORD_ENTRY_BYTES;
                self.info
                    .read_given(self.number, total, entry_at, &mut entry);
                let [at, len] = [[entry[0], entry[1]], [entry[2], entry[3]]]
                    .map(|half| usize::from(u16::from_le_bytes(half)));
                (at + len <= total).then_some(OfferedBlock {
                    len: len as u64,
                    lies: BlockLocation::Here { total, at },
                })
            }
            EQUAL => {
                let [_, address, distance] = self.info.arguments(self.number);
                // The address for this member. If all get the same, the distance is 0.
                let address = address.wrapping_add(distance.wrapping_mul(taker as u64));
                let at = len.saturating_mul(block as u64);
                Some(OfferedBlock {
                    len,
                    lies: BlockLocation::There { address, at },
                })
            }
            EACH => {
                let entry = |member: usize| {
                    let mut entry = [0; MEMORY_ENTRY_BYTES];
                    let entry_at = member * MEMORY_ENTRY_BYTES;
                    self.info
                        .read_given(self.number, PAYLOAD_BYTES, entry_at, &mut entry);
                    let (words, _) = entry.as_chunks::<8>();
                    [words[0], words[1]].map(u64::from_le_bytes)
                };
                let [address, len] = entry(taker);
                let before = (0..taker).map(|member| entry(member)[1]);
                let at = before.fold(0, u64::saturating_add);
                Some(OfferedBlock {
                    len,
                    lies: BlockLocation::There { address, at },
                })
            }
            _ => None,
        }
    }

    /// Takes bytes from the giver's record.
    pub(super) fn take_laid(self, (total, at): (usize, usize), into: &DataView) {
        let take = |from, bytes: &mut [u8]| {
            self.info.read_given(self.number, total, at + from, bytes);
            Ok::<_, Infallible>(())
        };
        let Ok(()) = fill::<PAYLOAD_BYTES, _>(into, 0..into.len(), take);
    }
}

const _: () = {
    assert!(MAX_LAID_OF_SLOT <= MAX_LAID_BYTES && MAX_LAID_BYTES <= PAYLOAD_BYTES);
    assert!(PAYLOAD_BYTES <= u16::MAX as usize);
};
