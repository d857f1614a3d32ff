//! A plan for the next bytes that the kernel may put where they belong, and for a wrong guess.
//!
//! A receiver has requested the bytes that come. So it peeks at the front of what comes next
//! ([`PeekedDatagrams`]), and makes a [`ScatterPlan`]: datagrams of one length, which the kernel
//! has joined, bring the bytes of a transfer from there on, one after the other. One call and one
//! copy put fronts and tags into a buffer, and the bytes between them into the memory of the rank.
//!
//! ```text
//!  as they come   front bytes tag | front bytes tag | front bytes tag
//!  buffer         front       tag   front       tag   front       tag
//!  rank's memory        bytes             bytes             bytes
//! ```
//!
//! A sender helps by lengths. A datagram of full length brings bytes of one transfer and nothing
//! else (`Link::fill`), and what the kernel joins ends with the first that is shorter.
//!
//! **What may be lent.** Only bytes that this process has requested from that party, in a transfer
//! that is still under way, as far as none of them has come, and only where they lie side by side
//! in a slot that is mapped here ([`Hub::lend`](super::Hub::lend)). A loan ends before anything
//! else is received.
//!
//! **A peek is not trusted.** No tag has been checked so far. It only leads to bytes in a range
//! that was granted and has not come. The data that the rank sees there are undefined as long as
//! its receive is not complete, and the receive is complete when all bytes have come whose tags are
//! right. So an attacker writes nothing that is ever used, and a plan only makes the receiver copy
//! bytes once more.
//!
//! **A wrong guess.** A datagram may not have the front that was planned ([`ScatterPlan::number`]):
//! it is another party's, another transfer's, out of turn, of another length, or a control message.
//! It is reassembled from buffer and rank, with all that follows it, and handled as if it had not
//! been expected. A datagram with the planned front and a wrong tag is dropped. In either case the
//! range counts as not come, and is sent again, or was never sent.
//!
//! **The tag** is computed over the bytes where the kernel has put them, which their rank may
//! change meanwhile. If it does, the tag is wrong, and the bytes count as lost. Then no more of
//! that transfer is lent ([`Hub::stop_lending`](super::Hub::stop_lending)), and it goes on by
//! copies. If the rank changes them afterwards, it could do so in any case. Fronts and tags lie
//! where no rank writes, so a rank decides by this only what it finds in its own buffer. Bytes for
//! another rank may lie there for a moment, by a wrong guess. For that they had to be sent to this
//! process as what its rank had requested, or were joined to it. Where frames are secret nothing is
//! lent at all ([`Opener::piecewise_tag_bytes`](super::seal::Opener::piecewise_tag_bytes)).

use super::datagram::{BULK_FRONT_BYTES, BulkFront};
use super::link::PlacedDatagrams;
use std::ops::Range;

/// The visible part of what comes next.
#[derive(Clone, Copy, Debug)]
pub struct PeekedDatagrams<'a> {
    /// The front of the first datagram.
    pub front: &'a [u8],
    /// The length of all that the kernel has joined.
    pub bytes: usize,
    /// The length of each but the last, which may be shorter.
    pub each: usize,
}

/// Datagrams that bring fewer bytes are copied in the same time.
const MIN_SCATTER_BYTES: usize = 4 * 1024;

/// The destinations of the bytes of joined datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScatterPlan {
    first: BulkFront,
    /// Bytes of each tag.
    tag: usize,
    /// Bytes of a transfer in each datagram but the last.
    brings: usize,
    /// Bytes of a transfer in the last datagram.
    last: usize,
    /// The number of datagrams whose bytes are lent.
    count: usize,
}

impl ScatterPlan {
    /// Makes a plan after a peek, for tags of `tag` bytes. Returns `None` if it is nothing that
    /// could be put where it belongs, or not worth it.
    #[must_use]
    pub fn for_peeked(sight: &PeekedDatagrams<'_>, tag: usize) -> Option<Self> {
        let beside = BULK_FRONT_BYTES + tag;
        let brings = |bytes: usize| bytes.checked_sub(beside).filter(|&bytes| bytes > 0);
        if sight.bytes < MIN_SCATTER_BYTES || sight.each == 0 {
            return None;
        }
        let first = BulkFront::take(sight.front)?;
        let each = sight.each.min(sight.bytes);
        let (whole, rest) = (sight.bytes / each, brings(sight.bytes % each));
        let each = brings(each)?;
        if usize::from(first.len) != each {
            return None;
        }
        first.offset.checked_add(sight.bytes as u64)?;
        Some(Self {
            first,
            tag,
            brings: each,
            last: rest.unwrap_or(each),
            count: whole + usize::from(rest.is_some()),
        })
    }

    /// Returns the front of the first datagram.
    #[must_use]
    pub fn first(&self) -> &BulkFront {
        &self.first
    }

    /// Returns the bytes of the transfer that need memory.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.first.offset..self.first.offset + self.part(self.count - 1).end as u64
    }

    /// Limits the plan to the first `bytes` bytes, which have memory. Returns false if that is not
    /// worth it.
    pub fn limit_to_lent(&mut self, bytes: usize) -> bool {
        if bytes < self.part(self.count - 1).end {
            self.count = bytes / self.brings;
            self.last = self.brings;
        }
        self.count > 0
    }

    /// Returns how many datagrams have their bytes in lent memory.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the bytes of a datagram that go into the buffer.
    #[must_use]
    pub fn overhead_bytes(&self) -> usize {
        BULK_FRONT_BYTES + self.tag
    }

    /// Returns where the bytes of a datagram lie in lent memory.
    #[must_use]
    pub fn part(&self, nth: usize) -> Range<usize> {
        let len = match nth + 1 == self.count {
            true => self.last,
            false => self.brings,
        };
        nth * self.brings..nth * self.brings + len
    }

    /// Returns the bytes of all joined datagrams in front of a datagram, or in front of what
    /// follows the last one whose bytes are lent.
    #[must_use]
    pub fn bytes_before(&self, nth: usize) -> usize {
        let brought = match nth == self.count {
            true => self.part(nth - 1).end,
            false => nth * self.brings,
        };
        nth * self.overhead_bytes() + brought
    }

    /// Returns the number of a datagram, if it has the front that was planned.
    #[must_use]
    pub fn number(&self, nth: usize, front: &[u8]) -> Option<u64> {
        let found = BulkFront::take(front)?;
        let (part, number) = (self.part(nth), found.header.number);
        let mut planned = self.first;
        planned.header.number = number;
        planned.offset += part.start as u64;
        planned.len = u16::try_from(part.len()).ok()?;
        (found == planned).then_some(number)
    }

    /// Returns a datagram whose tag is right as a run of one.
    #[must_use]
    pub fn placed(&self, nth: usize, number: u64) -> PlacedDatagrams {
        let part = self.part(nth);
        let mut first = self.first.header;
        first.number = number;
        PlacedDatagrams {
            first,
            last: number,
            transfer: self.first.transfer,
            range: self.first.offset + part.start as u64..self.first.offset + part.end as u64,
        }
    }
}

/// Merges datagrams that are taken at once.
#[derive(Debug, Default)]
pub struct DatagramRunMerger(Option<PlacedDatagrams>);

impl DatagramRunMerger {
    /// Adds one more, and returns those to which it cannot be joined.
    pub fn add(&mut self, next: PlacedDatagrams) -> Option<PlacedDatagrams> {
        if let Some(run) = &mut self.0
            && next.first.number == run.last + 1
            && next.range.start == run.range.end
        {
            run.last = next.last;
            run.range.end = next.range.end;
            return None;
        }
        self.0.replace(next)
    }

    /// Takes the run that is left.
    pub fn take(&mut self) -> Option<PlacedDatagrams> {
        self.0.take()
    }
}

#[cfg(test)]
mod tests;
