//! Send descriptors: rank → BS, and, with the sender's name added, BS → BR.

use super::{BadDescriptor, OneSidedTarget, bad};
use crate::check_bits::CheckBits;
use crate::layout::Location;
use crate::limits::{INLINE_BYTES, MAX_RANKS, PAYLOAD_SLOTS};
use crate::request::{RequestId, high, inline_from_words, inline_to_words, low};

/// The place of a message's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// In the descriptor: at most [`INLINE_BYTES`].
    Inline([u8; INLINE_BYTES]),
    /// In an eager payload slot of the sender's NIC memory. The address is that of the slot in the
    /// sender's process: a NIC in another process reads the slot there.
    Slot {
        /// The slot, below [`PAYLOAD_SLOTS`].
        slot: u32,
        /// The address at which the sender has mapped it.
        address: u64,
    },
    /// In the sender's memory: rendezvous.
    Memory(Location),
    /// Nowhere: this is no message, but a cancel of the message with this request, if that has met
    /// no receive (MPI 5.0 section 3.8.4). Only that message completes by this.
    Cancel,
}

/// A send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendDescriptor {
    /// The sender's request. With `needs_completion` false the sender does not wait for it.
    pub request: RequestId,
    /// Whether the NIC owes the sender a completion. It owes none for an eager send with inline
    /// payload, which needs nothing of the sender once the descriptor was exchanged.
    pub needs_completion: bool,
    /// Context id of the communicator.
    pub context: u32,
    /// World rank of the receiver.
    pub destination: u32,
    /// Tag.
    pub tag: i32,
    /// Length of the message in bytes.
    pub len: u64,
    /// The bits that a checked job sends with the message.
    pub check_bits: CheckBits,
    /// The place of the bytes.
    pub payload: Payload,
    /// What to do at the receiver, which is the target, if this is no message but a one-sided
    /// operation. Then it has no context, tag or check bits, and `len` counts the bytes of the
    /// target. The payload has [as many as are sent](OneSidedTarget::sent_len).
    pub one_sided: Option<OneSidedTarget>,
}

const OWED: u64 = 1;
const IN_SLOT: u64 = 2;
const INLINE: u64 = 4;
const ONE_SIDED: u64 = 8;
/// Both flags at once, because no payload is at two places.
const CANCEL: u64 = INLINE | IN_SLOT;
/// The check bits are above the flags.
const MARK_SHIFT: u32 = u32::BITS - CheckBits::BITS;

const _: () = assert!(ONE_SIDED < 1 << MARK_SHIFT);

impl SendDescriptor {
    /// Words of a ring entry: two cache lines, the second one inline payload.
    pub const WORDS: usize = 16;

    /// Returns the words of a ring entry. Words 6 and 7 are free for the envelope.
    #[must_use]
    #[inline]
    pub fn encode(&self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = self.request.word();
        words[1] = u64::from(self.context) | u64::from(self.destination) << 32;
        words[3] = self.len;
        let mut flags = u64::from(self.check_bits.bits()) << MARK_SHIFT;
        if self.needs_completion {
            flags |= OWED;
        }
        match &self.payload {
            Payload::Inline(bytes) => {
                flags |= INLINE;
                inline_to_words(bytes, &mut words[8..]);
            }
            Payload::Cancel => flags |= CANCEL,
            Payload::Slot { slot, address } => {
                flags |= IN_SLOT;
                words[4] = *address;
                words[5] = u64::from(*slot);
            }
            Payload::Memory(location) => {
                words[4] = location.address;
                words[5] = location.layout_word();
                words[8] = u64::from(location.grain);
            }
        }
        let mut tag = self.tag.cast_unsigned();
        if let Some(target) = &self.one_sided {
            flags |= ONE_SIDED;
            tag = target.word();
            words[Self::target_word(flags)] = target.address;
        }
        words[2] = u64::from(tag) | flags << 32;
        words
    }

    /// Returns the word with the address at the target of a one-sided operation: one that its
    /// payload leaves free.
    const fn target_word(flags: u64) -> usize {
        if flags & INLINE != 0 { 4 } else { 9 }
    }

    /// Parses the words of a ring entry.
    ///
    /// # Errors
    /// [`BadDescriptor`] with the field that is impossible.
    #[inline]
    pub fn parse(words: &[u64; Self::WORDS]) -> Result<Self, BadDescriptor> {
        let flags = u64::from(high(words[2]));
        let len = words[3];
        if flags & ONE_SIDED != 0 {
            return Self::parse_one_sided(words);
        }
        let destination = high(words[1]);
        if destination as usize >= MAX_RANKS {
            return bad("destination", u64::from(destination));
        }
        let payload = match flags & (INLINE | IN_SLOT) {
            INLINE if len <= INLINE_BYTES as u64 => {
                let mut bytes = [0; INLINE_BYTES];
                inline_from_words(&words[8..], &mut bytes);
                Payload::Inline(bytes)
            }
            INLINE => return bad("inline length", len),
            CANCEL if flags & OWED != 0 => return bad("flags", flags),
            CANCEL => Payload::Cancel,
            0 => {
                let location = Location::from_words(words[4], words[5], words[8]);
                if !location.may_have(len) {
                    return bad("address", words[4]);
                }
                Payload::Memory(location)
            }
            _ if words[4].checked_add(len).is_none() => return bad("address", words[4]),
            _ if words[5] < PAYLOAD_SLOTS as u64 => Payload::Slot {
                slot: low(words[5]),
                address: words[4],
            },
            _ => return bad("payload slot", words[5]),
        };
        Ok(Self {
            request: RequestId::from_word(words[0]),
            needs_completion: flags & OWED != 0,
            context: low(words[1]),
            destination,
            tag: low(words[2]).cast_signed(),
            len,
            check_bits: CheckBits::new(high(words[2]) >> MARK_SHIFT),
            payload,
            one_sided: None,
        })
    }

    /// Parses a one-sided operation: its payload as that of a message, and its target.
    fn parse_one_sided(words: &[u64; Self::WORDS]) -> Result<Self, BadDescriptor> {
        let (len, flags) = (words[3], u64::from(high(words[2])));
        let address = words[Self::target_word(flags)];
        let target = OneSidedTarget::parse(low(words[2]), address, len)?;
        let mut message = *words;
        message[2] = (flags & (OWED | IN_SLOT | INLINE)) << 32;
        message[3] = target.sent_len(len);
        let message = Self::parse(&message)?;
        check_one_sided(&target, &message.payload, len)?;
        if !message.needs_completion {
            return bad("flags", flags);
        }
        Ok(Self {
            len,
            one_sided: Some(target),
            ..message
        })
    }
}

/// Checks that the bytes of a one-sided operation may be where they are: what comes back to the
/// origin is inline, and then so is what is sent.
fn check_one_sided(
    target: &OneSidedTarget,
    payload: &Payload,
    len: u64,
) -> Result<(), BadDescriptor> {
    let is_inline = matches!(payload, Payload::Inline(_));
    let inline = INLINE_BYTES as u64;
    match payload {
        Payload::Slot { .. } | Payload::Cancel => bad("payload of a one-sided operation", len),
        _ if is_inline && target.sent_len(len) > inline => bad("inline length", len),
        _ if target.returned_len(len) > if is_inline { inline } else { 0 } => {
            bad("length of an update that fetches", len)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::OneSidedAction;
    use crate::one_sided::Update;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_is_total_and_encoding_is_its_inverse(words: [u64; SendDescriptor::WORDS]) {
            if let Ok(send) = SendDescriptor::parse(&words) {
                prop_assert_eq!(SendDescriptor::parse(&send.encode()), Ok(send));
            }
        }

        #[test]
        fn sends_survive_the_ring(slot: u32, context: u32, destination in 0u32..16_384,
                                  tag: i32, len in 0..=INLINE_BYTES as u64, needs_completion: bool, byte: u8, check_bits: u32) {
            let check_bits = CheckBits::new(check_bits);
            let send = SendDescriptor {
                request: RequestId { slot, generation: 1 },
                needs_completion, context, destination, tag, len, check_bits,
                payload: Payload::Inline([byte; INLINE_BYTES]),
                one_sided: None,
            };
            prop_assert_eq!(SendDescriptor::parse(&send.encode()), Ok(send));
            let send = SendDescriptor { payload: Payload::Memory(Location::contiguous(u64::from(slot))), ..send };
            prop_assert_eq!(SendDescriptor::parse(&send.encode()), Ok(send));
            let location = Location::from_words(u64::MAX, u64::from(tag.cast_unsigned()) + 1, len);
            let send = SendDescriptor { payload: Payload::Memory(location), ..send };
            prop_assert_eq!(SendDescriptor::parse(&send.encode()), Ok(send));
        }
    }

    proptest! {
        #[test]
        fn one_sided_operations_survive_the_ring(
            address: u64, elements in 0u64..20, code: u32, wakes: bool, in_memory: bool, destination in 0u32..16_384,
        ) {
            let action = match Update::parse(code & 0x1_ffff) {
                Some(update) => OneSidedAction::Update(update),
                None => OneSidedAction::Put,
            };
            let len = match action {
                OneSidedAction::Put => elements,
                OneSidedAction::Update(update) => elements * update.datatype.size() as u64,
            };
            let payload = if in_memory {
                Payload::Memory(Location::contiguous(address.wrapping_mul(3)))
            } else {
                Payload::Inline([7; INLINE_BYTES])
            };
            let send = SendDescriptor {
                request: RequestId { slot: 3, generation: 4 },
                needs_completion: true, context: 0, destination, tag: 0, len, check_bits: CheckBits::NONE, payload,
                one_sided: Some(OneSidedTarget { address, action, wakes }),
            };
            if let Ok(parsed) = SendDescriptor::parse(&send.encode()) {
                prop_assert_eq!(parsed, send);
                let target = parsed.one_sided.unwrap();
                let inline = if in_memory { 0 } else { INLINE_BYTES as u64 };
                prop_assert!(target.returned_len(len) <= inline);
                prop_assert!(in_memory || target.sent_len(len) <= inline);
            } else {
                let fits = match action {
                    OneSidedAction::Put => in_memory || len <= INLINE_BYTES as u64,
                    OneSidedAction::Update(update) => {
                        !in_memory && update.fits(len) && len <= INLINE_BYTES as u64 / 2
                    }
                };
                let is_long = address.checked_add(len).is_none() || address.wrapping_mul(3).checked_add(2 * len).is_none();
                prop_assert!(!fits || is_long, "{send:?} was refused");
            }
        }
    }

    #[test]
    fn rubbish_names_its_field() {
        let send = SendDescriptor {
            request: RequestId::default(),
            needs_completion: true,
            context: 0,
            destination: 0,
            tag: 0,
            len: 65,
            check_bits: CheckBits::NONE,
            payload: Payload::Slot {
                slot: 0,
                address: 0,
            },
            one_sided: None,
        };
        let mut words = send.encode();
        words[5] = PAYLOAD_SLOTS as u64;
        assert_eq!(
            SendDescriptor::parse(&words).unwrap_err().field,
            "payload slot"
        );
        words[1] = u64::MAX;
        assert_eq!(
            SendDescriptor::parse(&words).unwrap_err().field,
            "destination"
        );
    }
}
