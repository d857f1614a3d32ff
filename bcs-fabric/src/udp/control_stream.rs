//! Control messages as a stream of bytes: outgoing until they are acknowledged, and incoming until
//! they are whole.
//!
//! A message is its length (four bytes) and its bytes. The cut of the stream into frames depends on
//! what else a datagram holds. So ranges of the stream are sent and acknowledged rather than
//! messages.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use rangemap::RangeSet;

use super::datagram::MalformedDatagram;

/// The bytes that may be in flight. A peer that sends further on is broken.
pub const WINDOW_BYTES: u64 = 1 << 20;

/// The length of the longest message.
pub const MAX_MESSAGE_BYTES: usize = 1 << 19;

/// Bytes of a message's length.
const LENGTH_BYTES: usize = 4;

/// The bytes that are to be sent, or were sent and are not acknowledged.
#[derive(Debug, Default)]
pub struct OutgoingStream {
    /// The stream from `base` on.
    bytes: VecDeque<u8>,
    base: u64,
    /// The ranges above `base` that are acknowledged.
    acknowledged: RangeSet<u64>,
    /// The first byte that was never sent.
    next: u64,
    /// The ranges that were sent, and lost.
    lost: RangeSet<u64>,
}

impl OutgoingStream {
    /// Appends a message. Returns the new end of the stream.
    ///
    /// # Panics
    /// When it is longer than [`MAX_MESSAGE_BYTES`].
    pub fn push(&mut self, message: &[u8]) -> u64 {
        assert!(message.len() <= MAX_MESSAGE_BYTES, "a message is bounded");
        let len = u32::try_from(message.len()).expect("it is bounded");
        self.bytes.extend(len.to_le_bytes());
        self.bytes.extend(message);
        self.end()
    }

    /// Returns the end of the part that is acknowledged without a gap.
    #[must_use]
    pub fn acknowledged_to(&self) -> u64 {
        self.base
    }

    /// Returns whether everything was acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Returns whether something is to be sent now.
    #[must_use]
    pub fn has_more(&self) -> bool {
        !self.lost.is_empty() || self.next < self.end().min(self.base + WINDOW_BYTES)
    }

    /// Takes at most `most` bytes of what is to be sent, lost bytes first.
    pub fn take(&mut self, most: u64) -> Option<Range<u64>> {
        if most == 0 {
            return None;
        }
        if let Some(lost) = self.lost.first().cloned() {
            let taken = lost.start..lost.end.min(lost.start + most);
            self.lost.remove(taken.clone());
            return Some(taken);
        }
        let end = self.end().min(self.base + WINDOW_BYTES);
        let taken = self.next..end.min(self.next + most);
        self.next = taken.end;
        (!taken.is_empty()).then_some(taken)
    }

    /// Appends bytes that were taken.
    pub fn copy(&self, taken: &Range<u64>, to: &mut Vec<u8>) {
        let place = |at: u64| usize::try_from(at - self.base).expect("within the window");
        let range = place(taken.start)..place(taken.end);
        let (first, second) = self.bytes.as_slices();
        let split = first.len();
        to.extend(&first[range.start.min(split)..range.end.min(split)]);
        to.extend(&second[range.start.max(split) - split..range.end.max(split) - split]);
    }

    /// Records that these bytes have come.
    pub fn acknowledge(&mut self, range: Range<u64>) {
        let range = range.start.max(self.base)..range.end;
        if range.is_empty() {
            return;
        }
        self.lost.remove(range.clone());
        self.acknowledged.insert(range);
        let Some(first) = self.acknowledged.first().cloned() else {
            return;
        };
        if first.start == self.base {
            let count = usize::try_from(first.end - self.base).expect("within the window");
            self.bytes.drain(..count);
            self.base = first.end;
            self.acknowledged.remove(first);
        }
    }

    /// Records that these bytes are lost, and are to be sent again.
    pub fn mark_lost(&mut self, range: Range<u64>) {
        let range = range.start.max(self.base)..range.end;
        if range.is_empty() {
            return;
        }
        let missing: Vec<Range<u64>> = self.acknowledged.gaps(&range).collect();
        self.lost.extend(missing);
    }
}

/// The bytes that have come.
#[derive(Debug, Default)]
pub struct IncomingStream {
    /// All bytes before it are in `whole`, or were.
    next: u64,
    /// Pieces that came out of order, further on.
    early: BTreeMap<u64, Vec<u8>>,
    /// The stream up to `next`, from the first message that was not passed on.
    whole: VecDeque<u8>,
}

impl IncomingStream {
    /// Checks that a piece lies where a peer may send.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), MalformedDatagram> {
        let end = offset
            .checked_add(bytes.len() as u64)
            .ok_or(MalformedDatagram)?;
        // A piece that was acknowledged may lie further on, by the length of the lost ones before
        // it.
        if end > self.next + 2 * WINDOW_BYTES {
            return Err(MalformedDatagram);
        }
        Ok(())
    }

    /// Adds a piece that has come. `message` gets each message that is whole now, in order.
    ///
    /// # Errors
    /// A message is longer than any may be.
    pub fn add(
        &mut self,
        offset: u64,
        bytes: &[u8],
        message: &mut dyn FnMut(&[u8]),
    ) -> Result<(), MalformedDatagram> {
        if offset > self.next {
            let known = self.early.get(&offset).map_or(0, Vec::len);
            if bytes.len() > known {
                self.early.insert(offset, bytes.to_vec());
            }
            return Ok(());
        }
        self.append(offset, bytes);
        while let Some(entry) = self.early.first_entry() {
            if *entry.key() > self.next {
                break;
            }
            let (offset, bytes) = entry.remove_entry();
            self.append(offset, &bytes);
        }
        self.deliver_messages(message)
    }

    fn append(&mut self, offset: u64, bytes: &[u8]) {
        let known = usize::try_from(self.next - offset).unwrap_or(usize::MAX);
        let Some(new) = bytes.get(known..) else {
            return;
        };
        self.whole.extend(new);
        self.next += new.len() as u64;
    }

    fn deliver_messages(
        &mut self,
        message: &mut dyn FnMut(&[u8]),
    ) -> Result<(), MalformedDatagram> {
        let stream = self.whole.make_contiguous();
        let mut given = 0;
        while let Some((len, rest)) = stream[given..].split_first_chunk::<LENGTH_BYTES>() {
            let len = u32::from_le_bytes(*len) as usize;
            if len > MAX_MESSAGE_BYTES {
                return Err(MalformedDatagram);
            }
            let Some(bytes) = rest.get(..len) else {
                break;
            };
            message(bytes);
            given += LENGTH_BYTES + len;
        }
        self.whole.drain(..given);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(number: usize, len: usize) -> Vec<u8> {
        let byte = |at: usize| (number * 31 + at).to_le_bytes()[0];
        (0..len).map(byte).collect()
    }

    proptest! {
        /// Pieces of any size, each lost, late, twice or acknowledged at any time.
        #[test]
        fn messages_come_whole_and_in_order(
            lens in proptest::collection::vec(0_usize..3000, 1..20),
            fates in proptest::collection::vec((1_u64..900, 0_u8..5), 1..400),
        ) {
            let mut outgoing = OutgoingStream::default();
            for (number, len) in lens.iter().enumerate() {
                outgoing.push(&message(number, *len));
            }
            let (mut incoming, mut got) = (IncomingStream::default(), Vec::new());
            let mut late: Vec<(u64, Vec<u8>)> = Vec::new();
            let mut come = |incoming: &mut IncomingStream, offset, bytes: &[u8]| {
                incoming.check(offset, bytes).unwrap();
                incoming.add(offset, bytes, &mut |message| got.push(message.to_vec())).unwrap();
            };
            for (most, fate) in fates.into_iter().chain(std::iter::repeat_n((500, 0), 2000)) {
                let Some(range) = outgoing.take(most) else {
                    break;
                };
                let mut bytes = Vec::new();
                outgoing.copy(&range, &mut bytes);
                prop_assert_eq!(bytes.len() as u64, range.end - range.start);
                match fate {
                    0 => come(&mut incoming, range.start, &bytes),
                    1 => {
                        outgoing.mark_lost(range);
                        continue;
                    }
                    2 => {
                        // It has come, and the acknowledgement is lost.
                        come(&mut incoming, range.start, &bytes);
                        outgoing.mark_lost(range);
                        continue;
                    }
                    3 => {
                        late.push((range.start, bytes));
                        outgoing.mark_lost(range);
                        continue;
                    }
                    _ => {
                        come(&mut incoming, range.start, &bytes);
                        for (offset, bytes) in late.drain(..) {
                            come(&mut incoming, offset, &bytes);
                        }
                    }
                }
                outgoing.acknowledge(range);
            }
            prop_assert!(outgoing.is_empty() && !outgoing.has_more());
            let sent: Vec<Vec<u8>> = lens.iter().enumerate().map(|(n, len)| message(n, *len)).collect();
            prop_assert_eq!(got, sent);
        }
    }

    #[test]
    fn who_sends_beyond_the_window_is_broken() {
        let incoming = IncomingStream::default();
        assert_eq!(incoming.check(0, &[0; 10]), Ok(()));
        assert_eq!(
            incoming.check(2 * WINDOW_BYTES, &[0]),
            Err(MalformedDatagram)
        );
        assert_eq!(incoming.check(u64::MAX, &[0; 2]), Err(MalformedDatagram));
    }

    #[test]
    fn what_is_said_to_be_endless_is_refused() {
        let mut incoming = IncomingStream::default();
        let len = u32::MAX.to_le_bytes();
        assert_eq!(incoming.add(0, &len, &mut |_| ()), Err(MalformedDatagram));
    }
}
