//! The message that a sender sends before its parts, and the receiver's answer.

use crate::data::ByteRange;

/// A sender's offer: the tag of its first part or [`CHOOSE`], the number of parts, the length of
/// each, and the number of the answer.
pub(super) type Offer = [u64; 4];

/// In place of the first tag: the receiver is to choose it.
pub(super) const CHOOSE: u64 = u64::MAX;

/// Returns words as memory of a message. The owner keeps them until it is complete, or for ever.
#[expect(unsafe_code, reason = "messages name their data by address")]
pub(super) fn memory(words: &mut [u64]) -> ByteRange {
    let address = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the owner keeps them, and looks at them when the message is over.
    unsafe { ByteRange::new(address, size_of_val(words)) }
}
