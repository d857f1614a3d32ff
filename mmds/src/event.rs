//! The events that a rank reports to its recorder.

use std::num::NonZeroU64;
use std::panic::Location;

use crate::Primitive;
use serde::{Deserialize, Serialize};

/// The place in the program that called MPI.
#[derive(Debug, Clone, Copy)]
pub enum Site {
    /// A place in a Rust program.
    Rust(&'static Location<'static>),
    /// A return address in a program in another language. The reports resolve it.
    Address(u64),
}

impl Site {
    /// Returns the place from which the caller, which must be marked `#[track_caller]`, was called.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub fn here() -> Self {
        Self::Rust(Location::caller())
    }

    /// Returns a word that tells sites of different calls apart; it is never 0. Two words may mean
    /// one place in the source (a function that was compiled twice), so readers compare the places.
    #[inline(always)]
    pub(super) fn key(self, primitive: Primitive) -> u64 {
        let (kind, address) = match self {
            Self::Rust(location) => (1, std::ptr::from_ref(location).addr() as u64),
            Self::Address(address) => (2, address),
        };
        kind << 56 | (primitive as u64) << 48 | address & ((1 << 48) - 1)
    }

    /// Returns the place as text. The function names addresses that are no code's.
    pub(super) fn place(self, name_of: fn(u64) -> Option<String>) -> String {
        match self {
            Self::Rust(location) => location.to_string(),
            Self::Address(address) => name_of(address).unwrap_or_else(|| format!("{address:#x}")),
        }
    }
}

/// Returns the primitive in the key of a site, if its number is valid.
#[must_use]
pub fn primitive_of(key: u64) -> Option<Primitive> {
    let number = usize::try_from(key >> 48 & 0xff).ok()?;
    Primitive::ALL.get(number).copied()
}

/// The transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageTransport {
    /// The NICs, in slices.
    Nic,
    /// From memory to memory, within a node.
    Smartmap,
}

/// A call as it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallInfo {
    /// Which call.
    pub primitive: Primitive,
    /// Whether it may wait for others. Its time is then communication overhead, and not
    /// computation.
    pub blocking: bool,
    /// The context id of its communicator, if it has one.
    pub context: Option<u32>,
    /// The receiver, sender or root in the world, if there is one.
    pub peer: Option<u32>,
    /// The tag, if there is one.
    pub tag: Option<i32>,
    /// The length of the data.
    pub bytes: u64,
}

impl CallInfo {
    /// Describes a call without communicator, peer, tag and data.
    #[must_use]
    pub const fn plain(primitive: Primitive, blocking: bool) -> Self {
        Self {
            primitive,
            blocking,
            context: None,
            peer: None,
            tag: None,
            bytes: 0,
        }
    }
}

/// When, where and by which call something began. It consists of whole words, because it is copied
/// right after it is made: a processor stalls when it loads stored bytes in another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallOrigin {
    at_ns: NonZeroU64,
    /// The number of the slice.
    pub slice: u64,
    /// From the lowest bit on: the number of the message in its stream, if the call has posted one
    /// (32 bits), the site, as the recorder numbers it (16), and the call (8).
    small: u64,
}

impl CallOrigin {
    #[inline(always)]
    pub(super) fn new(at_ns: u64, slice: u64, primitive: Primitive, site: u16) -> Self {
        Self {
            at_ns: NonZeroU64::new(at_ns).unwrap_or(NonZeroU64::MIN),
            slice,
            small: u64::from(NO_NUMBER) | u64::from(site) << 32 | (primitive as u64) << 48,
        }
    }

    /// Returns the time.
    #[must_use]
    #[inline(always)]
    pub fn at_ns(&self) -> u64 {
        self.at_ns.get()
    }

    /// Returns the same, recorded as another call.
    #[must_use]
    pub fn with_primitive(self, primitive: Primitive) -> Self {
        let small = self.small & ((1 << 48) - 1) | (primitive as u64) << 48;
        Self { small, ..self }
    }

    /// Returns the same, for a message with this number.
    #[inline(always)]
    pub(super) fn numbered(self, ordinal: u32) -> Self {
        let small = self.small >> 32 << 32 | u64::from(ordinal);
        Self { small, ..self }
    }

    /// Returns the number of the primitive.
    #[inline(always)]
    pub(super) fn primitive(&self) -> usize {
        (self.small >> 48) as usize
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a part of the word")]
    pub(super) fn site(&self) -> u16 {
        (self.small >> 32) as u16
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a part of the word")]
    pub(super) fn ordinal(&self) -> u32 {
        self.small as u32
    }
}

/// A message, as one of its two ranks knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageInfo {
    /// The context id of its communicator.
    pub context: u32,
    /// The other rank, in the world.
    pub peer: u32,
    /// Its tag.
    pub tag: i32,
    /// Its length.
    pub bytes: u64,
    /// Its transport.
    pub road: MessageTransport,
}

/// A call or message in six words.
///
/// | word | holds, from the lowest bit on |
/// |---|---|
/// | 0 | when it began |
/// | 1 | when it ended |
/// | 2 | slice (40 bits), site (16), primitive, or 1 for a message that was received and 2 for one by SMARTMAP (8) |
/// | 3 | context (32), peer (32) |
/// | 4 | tag (32), ordinal of a message (32) |
/// | 5 | bytes |
///
/// A value with all bits set means that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PackedEvent {
    /// When it began.
    pub begun_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// The number of the slice in which it began.
    pub slice: u64,
    /// The site, as the recorder numbers it.
    pub site: u16,
    /// The primitive, or for a message its direction and transport.
    pub kind: u8,
    /// The context id of the communicator.
    pub context: u32,
    /// The other rank, in the world.
    pub peer: u32,
    /// The tag.
    pub tag: u32,
    /// The number of a message in its stream.
    pub ordinal: u32,
    /// The length of the data.
    pub bytes: u64,
}

/// The value of a 32-bit number that is absent.
pub const NO_NUMBER: u32 = u32::MAX;
const SLICE_BITS: u32 = 40;

impl PackedEvent {
    #[inline(always)]
    pub(super) fn words(&self) -> [u64; 6] {
        let slice = self.slice.min((1 << SLICE_BITS) - 1);
        [
            self.begun_ns,
            self.ended_ns,
            slice | u64::from(self.site) << SLICE_BITS | u64::from(self.kind) << 56,
            u64::from(self.context) | u64::from(self.peer) << 32,
            u64::from(self.tag) | u64::from(self.ordinal) << 32,
            self.bytes,
        ]
    }

    /// Unpacks an event from its words.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "parts of words")]
    pub fn from_words(words: [u64; 6]) -> Self {
        let [begun_ns, ended_ns, what, whom, which, bytes] = words;
        Self {
            begun_ns,
            ended_ns,
            slice: what & ((1 << SLICE_BITS) - 1),
            site: (what >> SLICE_BITS) as u16,
            kind: (what >> 56) as u8,
            context: whom as u32,
            peer: (whom >> 32) as u32,
            tag: which as u32,
            ordinal: (which >> 32) as u32,
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_its_words() {
        let event = PackedEvent {
            begun_ns: u64::MAX - 1,
            ended_ns: u64::MAX,
            slice: (1 << 40) - 1,
            site: 0xfffe,
            kind: 0xfd,
            context: 0xffff_fffc,
            peer: 0xffff_fffb,
            tag: 0xffff_fffa,
            ordinal: 0xffff_fff9,
            bytes: 7,
        };
        assert_eq!(PackedEvent::from_words(event.words()), event);
        let none = PackedEvent::default();
        assert_eq!(PackedEvent::from_words(none.words()), none);
        let late = PackedEvent {
            slice: u64::MAX,
            ..none
        };
        assert_eq!(
            PackedEvent::from_words(late.words()).slice,
            (1 << 40) - 1,
            "and nothing else"
        );
    }

    #[test]
    fn a_key_tells_places_and_calls_apart() {
        let (here, there) = (Site::here(), Site::here());
        let key = here.key(Primitive::Send);
        assert_ne!(key, there.key(Primitive::Send));
        assert_ne!(key, here.key(Primitive::Recv));
        assert_ne!(key, 0);
        assert_eq!(primitive_of(key), Some(Primitive::Send));
        assert_eq!(primitive_of(u64::MAX), None);
        assert!(here.place(|_| None).contains("event.rs:"));
        let address = Site::Address(0x7f00);
        assert_eq!(address.place(|_| None), "0x7f00");
        let name_of = |it| Some(format!("dead.py:{it}"));
        assert_eq!(address.place(name_of), "dead.py:32512");
    }
}
