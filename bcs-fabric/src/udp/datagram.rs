//! The contents of a datagram: a header, and frames one after the other.
//!
//! ```text
//! epoch u32 | from u16 | version u16 | number u64 | frame ... | tag
//! ```
//!
//! All numbers are little-endian. A datagram is not trusted until its tag is right, and its frames
//! are read with care even then: the peer may be of another version, or broken. Reading allocates
//! nothing.

use bcs_core::job::NodeId;

/// The version of this format.
pub const VERSION: u16 = 1;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 16;

/// The most ranges of numbers that one acknowledgement names.
pub const MAX_RANGES: usize = 32;

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The job's epoch: 32 bits that identify the job.
    pub epoch: u32,
    /// The node that sent the datagram.
    pub from: NodeId,
    /// The number of the datagram in this direction, from 1. No number is sent twice.
    pub number: u64,
}

/// A part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An acknowledgement of datagrams that have come.
    Acknowledgement(Acknowledgement<'a>),
    /// Bytes of the control stream.
    Control {
        /// Their place in the stream.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Bytes of a transfer.
    Data {
        /// The number of the transfer.
        transfer: u64,
        /// Their place in the transfer.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A request for an acknowledgement, and nothing else.
    Ping,
}

/// A record of the datagrams that have come, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// The number of the newest datagram.
    pub largest: u64,
    /// How long the acknowledgement was delayed, in nanoseconds.
    pub delay_ns: u32,
    /// Pairs of counts: datagrams that have come, and those below them that have not.
    runs: &'a [u8],
}

/// Bytes of a pair of runs.
const RUN_BYTES: usize = 8;

impl Acknowledgement<'_> {
    /// Returns the ranges of numbers that have come, first and last of each, the newest first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut last = Some(self.largest);
        self.runs.chunks_exact(RUN_BYTES).map_while(move |run| {
            let (come, gap) = run.split_at(4);
            let [come, gap] = [come, gap]
                .map(|word| u64::from(u32::from_le_bytes(word.try_into().expect("four bytes"))));
            let end = last?;
            let first = end.checked_sub(come.checked_sub(1)?)?;
            last = first.checked_sub(gap + 1);
            Some((first, end))
        })
    }
}

const ACKNOWLEDGEMENT: u8 = 1;
const CONTROL: u8 = 2;
const DATA: u8 = 3;
const PING: u8 = 4;

/// Bytes of a control frame beside its content.
pub const CONTROL_HEAD: usize = 1 + 8 + 2;

/// Bytes of a data frame beside its content.
pub const DATA_HEAD: usize = 1 + 8 + 8 + 2;

/// A datagram is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no datagram of version {VERSION}")]
pub struct MalformedDatagram;

impl Header {
    /// Appends the header.
    pub fn put(&self, datagram: &mut Vec<u8>) {
        datagram.extend(self.epoch.to_le_bytes());
        datagram.extend(self.from.0.to_le_bytes());
        datagram.extend(VERSION.to_le_bytes());
        datagram.extend(self.number.to_le_bytes());
    }

    /// Reads the header. Returns it and what follows.
    ///
    /// # Errors
    /// When the datagram is too short or of another version.
    pub fn take(datagram: &[u8]) -> Result<(Self, &[u8]), MalformedDatagram> {
        let mut rest = FrameCursor(datagram);
        let header = Self {
            epoch: rest.u32()?,
            from: NodeId(rest.u16()?),
            number: {
                if rest.u16()? != VERSION {
                    return Err(MalformedDatagram);
                }
                rest.u64()?
            },
        };
        Ok((header, rest.0))
    }
}

/// The front of a datagram that brings bytes of a transfer and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkFront {
    /// Its header.
    pub header: Header,
    /// The number of the transfer.
    pub transfer: u64,
    /// The place of the bytes in the transfer.
    pub offset: u64,
    /// The number of bytes.
    pub len: u16,
}

/// Bytes of such a front.
pub const BULK_FRONT_BYTES: usize = HEADER_BYTES + DATA_HEAD;

impl BulkFront {
    /// Returns the front of a datagram, if the datagram begins with bytes of a transfer.
    #[must_use]
    pub fn take(datagram: &[u8]) -> Option<Self> {
        let (header, frames) = Header::take(datagram).ok()?;
        let mut rest = FrameCursor(frames);
        if rest.u8().ok()? != DATA {
            return None;
        }
        Some(Self {
            header,
            transfer: rest.u64().ok()?,
            offset: rest.u64().ok()?,
            len: rest.u16().ok()?,
        })
    }
}

/// Appends an acknowledgement of ranges, the newest first. It names at most [`MAX_RANGES`] of them.
///
/// A run has 32 bits, and a range grows for as long as no datagram is lost. If a range is longer,
/// the acknowledgement names only its newest 2^32 - 1 numbers. The peer does not wait for the lower
/// ones, since a datagram counts as lost long before 2^32 - 1 others have overtaken it.
pub fn put_acknowledgement(
    datagram: &mut Vec<u8>,
    delay_ns: u32,
    ranges: impl Iterator<Item = (u64, u64)>,
) {
    let mut runs: [(u32, u32); MAX_RANGES] = [(0, 0); MAX_RANGES];
    let (mut count, mut largest, mut below) = (0, 0, 0);
    for (first, last) in ranges.take(MAX_RANGES) {
        let come = u32::try_from(last - first + 1);
        if count == 0 {
            largest = last;
        } else {
            let Ok(gap) = u32::try_from(below - last - 1) else {
                break;
            };
            runs[count - 1].1 = gap;
        }
        runs[count].0 = come.unwrap_or(u32::MAX);
        (below, count) = (first, count + 1);
        if come.is_err() {
            break;
        }
    }
    if count == 0 {
        return;
    }
    datagram.push(ACKNOWLEDGEMENT);
    datagram.extend(largest.to_le_bytes());
    datagram.extend(delay_ns.to_le_bytes());
    datagram.push(u8::try_from(count).expect("few ranges"));
    for (come, gap) in &runs[..count] {
        datagram.extend(come.to_le_bytes());
        datagram.extend(gap.to_le_bytes());
    }
}

/// Appends the head of a frame of control bytes, whose bytes follow. There are at most as many as a
/// datagram holds.
pub fn put_control(datagram: &mut Vec<u8>, offset: u64, len: u16) {
    datagram.push(CONTROL);
    datagram.extend(offset.to_le_bytes());
    datagram.extend(len.to_le_bytes());
}

/// Appends the head of a frame of data. Its bytes follow.
pub fn put_data(datagram: &mut Vec<u8>, transfer: u64, offset: u64, len: u16) {
    datagram.push(DATA);
    datagram.extend(transfer.to_le_bytes());
    datagram.extend(offset.to_le_bytes());
    datagram.extend(len.to_le_bytes());
}

/// Appends a ping.
pub fn put_ping(datagram: &mut Vec<u8>) {
    datagram.push(PING);
}

/// The frames of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a>(pub &'a [u8]);

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, MalformedDatagram>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut rest = FrameCursor(self.0);
        let frame = rest.frame();
        // After a malformed frame, the rest cannot be parsed.
        self.0 = if frame.is_ok() { rest.0 } else { &[] };
        Some(frame)
    }
}

/// The bytes that have not been read.
struct FrameCursor<'a>(&'a [u8]);

impl<'a> FrameCursor<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], MalformedDatagram> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(MalformedDatagram)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedDatagram> {
        Ok(self.bytes(N)?.try_into().expect("as many as asked for"))
    }

    fn u8(&mut self) -> Result<u8, MalformedDatagram> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn u16(&mut self) -> Result<u16, MalformedDatagram> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, MalformedDatagram> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, MalformedDatagram> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn frame(&mut self) -> Result<Frame<'a>, MalformedDatagram> {
        match self.u8()? {
            ACKNOWLEDGEMENT => {
                let (largest, delay_ns) = (self.u64()?, self.u32()?);
                let count = usize::from(self.u8()?);
                if count == 0 || count > MAX_RANGES {
                    return Err(MalformedDatagram);
                }
                let runs = self.bytes(count * RUN_BYTES)?;
                let acknowledgement = Acknowledgement {
                    largest,
                    delay_ns,
                    runs,
                };
                // Each run must consist of possible numbers.
                if acknowledgement.ranges().count() != count {
                    return Err(MalformedDatagram);
                }
                Ok(Frame::Acknowledgement(acknowledgement))
            }
            CONTROL => {
                let offset = self.u64()?;
                let len = self.u16()?;
                let bytes = self.bytes(len.into())?;
                Ok(Frame::Control { offset, bytes })
            }
            DATA => {
                let (transfer, offset) = (self.u64()?, self.u64()?);
                let len = self.u16()?;
                let bytes = self.bytes(len.into())?;
                Ok(Frame::Data {
                    transfer,
                    offset,
                    bytes,
                })
            }
            PING => Ok(Frame::Ping),
            _ => Err(MalformedDatagram),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_come_back_in_their_order() {
        let mut datagram = Vec::new();
        let header = Header {
            epoch: 7,
            from: NodeId(3),
            number: 99,
        };
        header.put(&mut datagram);
        put_acknowledgement(&mut datagram, 40, [(8, 9), (3, 5), (1, 1)].into_iter());
        put_control(&mut datagram, 1 << 40, 3);
        datagram.extend(b"abc");
        put_ping(&mut datagram);
        put_data(&mut datagram, 5, 6, 2);
        datagram.extend(b"de");
        let (found, rest) = Header::take(&datagram).unwrap();
        assert_eq!((found, datagram.len() - rest.len()), (header, HEADER_BYTES));
        let frames: Vec<Frame<'_>> = Frames(rest).map(Result::unwrap).collect();
        let Frame::Acknowledgement(acknowledgement) = frames[0] else {
            panic!("{frames:?}");
        };
        let ranges: Vec<_> = acknowledgement.ranges().collect();
        assert_eq!(ranges, [(8, 9), (3, 5), (1, 1)]);
        assert_eq!(acknowledgement.delay_ns, 40);
        let rest = [
            Frame::Control {
                offset: 1 << 40,
                bytes: b"abc",
            },
            Frame::Ping,
            Frame::Data {
                transfer: 5,
                offset: 6,
                bytes: b"de",
            },
        ];
        assert_eq!(frames[1..], rest);
    }

    #[test]
    fn what_is_cut_or_of_another_version_is_refused() {
        let mut datagram = Vec::new();
        let header = Header {
            epoch: 7,
            from: NodeId(3),
            number: 99,
        };
        header.put(&mut datagram);
        for len in 0..HEADER_BYTES {
            assert_eq!(Header::take(&datagram[..len]), Err(MalformedDatagram));
        }
        datagram[6] += 1;
        assert_eq!(Header::take(&datagram), Err(MalformedDatagram));
        let mut frames = Vec::new();
        put_data(&mut frames, 1, 2, 3);
        frames.extend(b"abc");
        for len in 1..frames.len() {
            let found: Vec<_> = Frames(&frames[..len]).collect();
            assert_eq!(found, [Err(MalformedDatagram)], "{len}");
        }
    }

    #[test]
    fn a_range_of_more_numbers_than_a_run_holds_is_told_by_its_newest() {
        const WRAP: u64 = 1 << 32;
        let told = |ranges: &[(u64, u64)]| {
            let mut frame = Vec::new();
            put_acknowledgement(&mut frame, 0, ranges.iter().copied());
            let Some(Ok(Frame::Acknowledgement(acknowledgement))) = Frames(&frame).next() else {
                panic!("{frame:?}");
            };
            acknowledgement.ranges().collect::<Vec<_>>()
        };
        assert_eq!(told(&[(1, WRAP - 1)]), [(1, WRAP - 1)]);
        assert_eq!(told(&[(1, WRAP)]), [(2, WRAP)]);
        assert_eq!(told(&[(7, 3 * WRAP)]), [(2 * WRAP + 2, 3 * WRAP)]);
        // The acknowledgement names what is newer, and not what is older.
        let ranges = [(2 * WRAP, 2 * WRAP + 4), (9, 2 * WRAP - 2), (1, 5)];
        assert_eq!(told(&ranges), [ranges[0], (WRAP, 2 * WRAP - 2)]);
        assert_eq!(
            told(&[(2 * WRAP, 2 * WRAP), (1, 5)]),
            [(2 * WRAP, 2 * WRAP)]
        );
    }

    #[test]
    fn an_acknowledgement_names_numbers_that_there_are() {
        let acknowledged = |largest: u64, runs: &[(u32, u32)]| {
            let mut frame = vec![ACKNOWLEDGEMENT];
            frame.extend(largest.to_le_bytes());
            frame.extend([0; 4]);
            frame.push(u8::try_from(runs.len()).unwrap());
            for (come, gap) in runs {
                frame.extend(come.to_le_bytes());
                frame.extend(gap.to_le_bytes());
            }
            Frames(&frame).all(|frame| frame.is_ok())
        };
        assert!(acknowledged(5, &[(3, 1), (1, 0)]));
        assert!(!acknowledged(5, &[]));
        assert!(!acknowledged(5, &[(0, 0)]), "none has come");
        assert!(!acknowledged(5, &[(7, 0)]), "there is no number below 0");
        assert!(!acknowledged(5, &[(3, 5), (1, 0)]));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_to_its_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Header::take(&bytes);
            let frames = Frames(&bytes).count();
            prop_assert!(frames <= bytes.len());
        }
    }
}
