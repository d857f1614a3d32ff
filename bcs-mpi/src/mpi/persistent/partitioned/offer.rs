//! What a sender says before its parts.

use crate::data::Plain;

/// What a sender offers: the tag of its first part, how many parts there are, and how long each is.
pub(super) type Offer = [u64; 3];

/// The tag of a part.
pub(super) fn tag_of(first: u64, part: usize) -> i32 {
    let tag = first.wrapping_add(part as u64) & u64::from(i32::MAX.cast_unsigned());
    i32::try_from(tag).expect("it has 31 bits")
}

/// Words as memory of a message, which whoever has them keeps until it is over, or for ever.
#[expect(unsafe_code, reason = "messages name their data by address")]
pub(super) fn memory(words: &mut Offer) -> Plain {
    let address = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the owner keeps them, and looks at them when the message is over.
    unsafe { Plain::new(address, size_of_val(words)) }
}
