//! Kinds of messages: the types of a message, and the place of its call.

use crate::bcs::{ByteRange, Endpoint, ReceiveOutcome, RequestOutcome};
use crate::recording::Site;
use crate::transport::{Blocking, OutgoingMessage, SendMode};
use bcs_core::check_bits::CheckBits;
use bcs_core::lockstep;
use bcs_core::matching::Pattern;
use bcs_core::wait_state::SEND_CHECK_CONTEXT;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many kinds can have a number: 8 bits, of which 0 stands for all other kinds.
const NUMBERED: usize = 255;

/// Places for their keys: a power of two. At least half of them stay empty.
const PLACES: usize = 512;

/// The bits of a mark that hold the signature.
pub(crate) const SIGNATURE_BITS: u32 = 20;

/// Bytes of a part of a description. A part fits in a queue entry and in a descriptor.
const PART_BYTES: usize = 32;

/// The longest description, in parts: as many as the tag can number.
const MOST_PARTS: usize = 16;

/// The factor of Fibonacci hashing: the fraction of the golden ratio, in 64 bits.
const SPREADING: u64 = 0x9e37_79b9_7f4a_7c15;

/// The kinds of messages of a rank.
#[derive(Debug)]
pub(crate) struct MessageKinds {
    /// The key of each kind, with its number in the lowest 8 bits.
    places: Box<[AtomicU64; PLACES]>,
    /// The description of each kind, from number 1.
    known: Mutex<Vec<String>>,
    /// For each rank of the world 256 bits: the kinds that were described to it.
    told: Box<[AtomicU64]>,
    /// The descriptions from other ranks.
    heard: Mutex<HashMap<(u32, u8), String>>,
}

/// Returns the 20 bits of a signature, which are never 0.
pub(crate) fn bits(signature: u64) -> u32 {
    let bits = u32::try_from(signature >> (u64::BITS - SIGNATURE_BITS)).expect("20 bits");
    bits.max(1)
}

/// Returns the number of the kind of a marked message.
fn number(mark: CheckBits) -> u8 {
    let [number, ..] = mark.bits().to_le_bytes();
    number
}

/// Returns the mark of a message with these signature bits and this kind.
pub(crate) fn mark(bits: u32, kind: u8) -> CheckBits {
    CheckBits::new(bits << 8 | u32::from(kind))
}

/// Returns whether a marked message has these signature bits.
pub(crate) fn is_of(mark: CheckBits, bits: u32) -> bool {
    mark.bits() >> 8 == bits
}

impl MessageKinds {
    pub(super) fn new(ranks: usize) -> Self {
        let zeros = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
        Self {
            places: Box::new([const { AtomicU64::new(0) }; PLACES]),
            known: Mutex::default(),
            told: zeros(ranks * 4),
            heard: Mutex::default(),
        }
    }

    /// Returns the number of the kind for this word and a call at this place; 0 if there are too
    /// many kinds. Calls `describe` once.
    #[inline]
    pub(crate) fn number(&self, what: u64, site: Site, describe: impl Fn() -> String) -> u8 {
        let place = match site {
            Site::Rust(place) => {
                crate::foreign::address().unwrap_or(std::ptr::from_ref(place).addr() as u64)
            }
            Site::Address(address) => address,
        };
        // Places of a program differ in few bits, as do types. The multiplication spreads these
        // bits over the key.
        let key = (what.rotate_left(u64::BITS / 2) ^ place).wrapping_mul(SPREADING) & !0xff;
        self.find(key)
            .unwrap_or_else(|| self.new_number(key, describe))
    }

    #[cold]
    fn new_number(&self, key: u64, describe: impl Fn() -> String) -> u8 {
        let mut known = lockstep::lock(&self.known);
        // Another thread may have been faster.
        match self.find(key) {
            Some(number) => number,
            None if known.len() >= NUMBERED => 0,
            None => {
                known.push(describe());
                let number = u8::try_from(known.len()).expect("at most 255");
                let free = self
                    .places_of(key)
                    .find(|it| it.load(Ordering::Relaxed) == 0);
                let free = free.expect("half of the places stay empty");
                free.store(key | u64::from(number), Ordering::Relaxed);
                number
            }
        }
    }

    /// Returns the places where a key may be, in order.
    fn places_of(&self, key: u64) -> impl Iterator<Item = &AtomicU64> {
        let first = usize::try_from(key >> (u64::BITS - PLACES.ilog2())).unwrap_or(0);
        (first..first + PLACES).map(|at| &self.places[at % PLACES])
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u8> {
        let mut places = self.places_of(key).map(|it| it.load(Ordering::Relaxed));
        let found = places.find(|&word| word == 0 || word & !0xff == key)?;
        let [number, ..] = found.to_le_bytes();
        (found != 0).then_some(number)
    }

    /// Returns the description of a kind of this rank, if it has a number.
    pub(crate) fn own(&self, number: u8) -> Option<String> {
        let at = usize::from(number).checked_sub(1)?;
        lockstep::lock(&self.known).get(at).cloned()
    }

    /// Sends a rank the description of a kind, unless that was done before.
    #[inline]
    pub(crate) fn tell(&self, endpoint: &Endpoint, to: u32, number: u8) {
        let word = &self.told[to as usize * 4 + usize::from(number / 64)];
        let bit = 1 << (number % 64);
        if number != 0 && word.load(Ordering::Relaxed) & bit == 0 {
            self.describe(endpoint, to, number, (word, bit));
        }
    }

    #[cold]
    fn describe(&self, endpoint: &Endpoint, to: u32, number: u8, (word, bit): (&AtomicU64, u64)) {
        if !may_tell(endpoint) {
            return;
        }
        if word.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            return;
        }
        let text = self.own(number).unwrap_or_default();
        let end = text.floor_char_boundary(PART_BYTES * MOST_PARTS - 1);
        let mut bytes = text.as_bytes()[..end].to_vec();
        // The last part is not full. The zeros after the text are not part of it.
        bytes.push(0);
        for (part, at) in bytes.chunks(PART_BYTES).zip(0..) {
            let mut whole = [0; PART_BYTES];
            whole[..part.len()].copy_from_slice(part);
            let message = OutgoingMessage {
                context: SEND_CHECK_CONTEXT,
                destination: to,
                tag: tag(number, at),
                data: &own_words(&mut whole).into(),
                mark: CheckBits::NONE,
            };
            // Without a request slot nothing is posted, so this cannot be refused.
            let _complete = endpoint.bcs_send(SendMode::Standard, &message);
        }
    }

    /// Returns the description of the kind of a marked message of a rank, if it is known. The
    /// description came before the message.
    pub(crate) fn heard(&self, endpoint: &Endpoint, from: u32, mark: CheckBits) -> Option<String> {
        self.heard_of(endpoint, from, number(mark))
    }

    /// Returns the description of the kind of this number.
    pub(crate) fn heard_of(&self, endpoint: &Endpoint, from: u32, number: u8) -> Option<String> {
        if number == 0 || !may_tell(endpoint) {
            return None;
        }
        let mut heard = lockstep::lock(&self.heard);
        if let Some(known) = heard.get(&(from, number)) {
            return Some(known.clone());
        }
        let mut text = Vec::new();
        for at in 0..i32::try_from(MOST_PARTS).unwrap_or(i32::MAX) {
            let mut part = [0; PART_BYTES];
            receive(
                endpoint,
                (SEND_CHECK_CONTEXT, from, tag(number, at)),
                &mut part,
            )?;
            let end = part.iter().position(|&byte| byte == 0);
            text.extend_from_slice(&part[..end.unwrap_or(PART_BYTES)]);
            if end.is_some() {
                break;
            }
        }
        // The description comes from another rank. It must not control the terminal.
        let text = String::from_utf8_lossy(&text).replace(char::is_control, "?");
        heard.insert((from, number), text.clone());
        Some(text)
    }
}

/// Returns whether descriptions are sent. Without eager messages each of them would wait for its
/// receiver.
pub(crate) fn may_tell(endpoint: &Endpoint) -> bool {
    endpoint.settings().eager_limit >= PART_BYTES
}

fn tag(number: u8, part: i32) -> i32 {
    i32::from(number) << 4 | part
}

/// Returns the caller's bytes as memory of a message.
#[expect(unsafe_code, reason = "messages are named by address")]
pub(super) fn own_words(bytes: &mut [u8]) -> ByteRange {
    let address = bytes.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: a send copies them before it returns, and a receive is waited for.
    unsafe { ByteRange::new(address, bytes.len()) }
}

/// Waits for a message that the library itself has sent.
pub(super) fn receive(
    endpoint: &Endpoint,
    (context, from, tag): (u32, u32, i32),
    into: &mut [u8],
) -> Option<()> {
    let pattern = Pattern {
        context,
        source: Some(from),
        tag: Some(tag),
    };
    let (into, mut outcome) = (own_words(into).into(), RequestOutcome::default());
    if let ReceiveOutcome::Posted(request) = endpoint.bcs_recv(pattern, &into, &mut outcome).ok()? {
        endpoint.bcs_test(Blocking::Yes, request)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_until_there_are_too_many() {
        let kinds = MessageKinds::new(2);
        let site = Site::here();
        let number = |signature| kinds.number(signature, site, || format!("kind {signature}"));
        let first: Vec<u8> = (0..300).map(number).collect();
        let again: Vec<u8> = (0..300).map(number).collect();
        assert_eq!(first, again);
        assert_eq!((first[0], first[254], first[255]), (1, 255, 0));
        assert_eq!(kinds.own(7).as_deref(), Some("kind 6"));
        assert_eq!(kinds.own(0), None);
    }

    #[test]
    fn a_mark_has_a_signature_and_a_kind() {
        let mark = mark(bits(u64::MAX), 200);
        assert!(is_of(mark, bits(u64::MAX)) && !is_of(mark, bits(7)) && number(mark) == 200);
        assert!(!super::mark(bits(0), 0).is_none());
    }
}
