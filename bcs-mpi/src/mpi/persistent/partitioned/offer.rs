//! What a sender says before its parts, and what its receiver may answer.

use crate::data::ByteRange;

/// What a sender offers: the tag of its first part or [`CHOOSE`], how many parts there are, how long
/// each is, and the number of the answer.
pub(super) type Offer = [u64; 4];

/// The tag of a first part that the receiver is to choose.
pub(super) const CHOOSE: u64 = u64::MAX;

/// Words as memory of a message, which whoever has them keeps until it is over, or for ever.
#[expect(unsafe_code, reason = "messages name their data by address")]
pub(super) fn memory(words: &mut [u64]) -> ByteRange {
    let address = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the owner keeps them, and looks at them when the message is over.
    unsafe { ByteRange::new(address, size_of_val(words)) }
}
