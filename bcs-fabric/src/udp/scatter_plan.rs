//! Which bytes that come next the kernel may put where they belong, and what becomes of a wrong guess.
//!
//! A receiver has asked for the bytes that come. So it looks at the front of what comes next, without taking it
//! ([`PeekedDatagrams`]), and makes a [`ScatterPlan`]: datagrams of one length, which the kernel has joined, bring the bytes of a transfer
//! from there on, one after the other. Fronts and tags go into a buffer, and what is between them into the memory of the
//! rank, by one call and one copy.
//!
//! ```text
//!  as they come   front bytes tag | front bytes tag | front bytes tag
//!  buffer         front       tag   front       tag   front       tag
//!  rank's memory        bytes             bytes             bytes
//! ```
//!
//! A sender helps by lengths: a datagram that is as long as can be brings bytes of one transfer and nothing else
//! (`Link::fill`), and what the kernel joins ends with the first that is shorter.
//!
//! **What may be lent.** Only what this process has asked that party for, in a transfer that is still under way, as far as
//! none of it has come, and only where it lies side by side in a slot that is mapped here ([`Hub::lend`](super::Hub::lend)).
//! A loan ends before anything else is received.
//!
//! **What a sight is.** An allegation: nobody has looked at a tag so far. What it leads to is bytes in a range that was
//! granted and has not come. What the rank sees there is undefined as long as its receive is not complete, and it is
//! complete when all bytes have come whose tags are right. So whoever sends what he likes writes nothing that is
//! ever used, and can do no more with a plan than to have bytes copied once more.
//!
//! **A wrong guess.** What does not have the front that was planned ([`ScatterPlan::number`]) is put together again, out of
//! buffer and rank, with all that follows it, and goes the way of what nobody had expected: it is another party's, another
//! transfer's, out of turn, of another length, or a control message. What has the front that was planned and the wrong
//! tag belongs nowhere. In either case the range counts as not come, and is sent again, or was never sent.
//!
//! **The tag** is computed of the bytes where the kernel has put them, which their rank may change meanwhile. If it does,
//! the tag is wrong, and the bytes count as lost: then no more of that transfer is lent ([`Hub::keep`](super::Hub::keep)), and
//! it goes on by copies. If it changes them afterwards, it could do so in any case. Fronts and tags lie where no rank
//! writes, so all that a rank decides by this is what it finds in its own buffer. What was sent for another may lie
//! there for a moment, by a wrong guess: for that it had to be sent to this process as what its rank had asked for, or was
//! joined to it, and where frames are secret nothing is lent at all
//! ([`Opener::piecewise_tag_bytes`](super::seal::Opener::piecewise_tag_bytes)).

use super::datagram::{BULK_FRONT_BYTES, BulkFront};
use super::link::PlacedDatagrams;
use std::ops::Range;

/// What can be seen of what comes next.
#[derive(Clone, Copy, Debug)]
pub struct PeekedDatagrams<'a> {
    /// The front of the first datagram.
    pub front: &'a [u8],
    /// The length of all that the kernel has joined.
    pub bytes: usize,
    /// The length of each but the last, which may be shorter.
    pub each: usize,
}

/// Datagrams that bring fewer bytes are copied as fast.
const MIN_SCATTER_BYTES: usize = 4 * 1024;

/// Where the bytes of joined datagrams go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScatterPlan {
    first: BulkFront,
    /// Bytes of the tag of each.
    tag: usize,
    /// Bytes of a transfer that each brings but the last.
    brings: usize,
    /// Bytes that the last one brings.
    last: usize,
    /// How many datagrams there are whose bytes are lent.
    count: usize,
}

impl ScatterPlan {
    /// What to ask for, after a sight, when tags have so many bytes. `None` if it is nothing that could be put where it
    /// belongs, or not worth it.
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

    /// The front of the first datagram.
    #[must_use]
    pub fn first(&self) -> &BulkFront {
        &self.first
    }

    /// The bytes of the transfer for which memory is needed.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.first.offset..self.first.offset + self.part(self.count - 1).end as u64
    }

    /// So many of these bytes have memory. False if that is not worth it.
    pub fn limit_to_lent(&mut self, bytes: usize) -> bool {
        if bytes < self.part(self.count - 1).end {
            self.count = bytes / self.brings;
            self.last = self.brings;
        }
        self.count > 0
    }

    /// How many datagrams have their bytes in what was lent.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes of a datagram that go into the buffer.
    #[must_use]
    pub fn overhead_bytes(&self) -> usize {
        BULK_FRONT_BYTES + self.tag
    }

    /// Where the bytes of a datagram lie in what was lent.
    #[must_use]
    pub fn part(&self, nth: usize) -> Range<usize> {
        let len = match nth + 1 == self.count {
            true => self.last,
            false => self.brings,
        };
        nth * self.brings..nth * self.brings + len
    }

    /// Bytes of all that was joined in front of a datagram, or of what follows the last one whose bytes are lent.
    #[must_use]
    pub fn bytes_before(&self, nth: usize) -> usize {
        let brought = match nth == self.count {
            true => self.part(nth - 1).end,
            false => nth * self.brings,
        };
        nth * self.overhead_bytes() + brought
    }

    /// The number of a datagram, if it has the front that was planned.
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

    /// A datagram whose tag is right.
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

/// Datagrams that are taken at once.
#[derive(Debug, Default)]
pub struct DatagramRunMerger(Option<PlacedDatagrams>);

impl DatagramRunMerger {
    /// Takes one more, and gives those to which it cannot be joined.
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

    /// Gives what there is.
    pub fn take(&mut self) -> Option<PlacedDatagrams> {
        self.0.take()
    }
}

#[cfg(test)]
mod tests;
