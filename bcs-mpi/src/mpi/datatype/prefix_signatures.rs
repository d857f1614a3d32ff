//! Signatures of prefixes, in the bits that go along with messages of a checked job.
//!
//! Programs send the same number of elements again and again, and computing a signature takes tens
//! of nanoseconds. So the last result is cached in one word, which also holds its key, so that
//! threads need no lock.

use super::{Datatype, PrefixSignature, handle::DatatypeKind};
use crate::checked;
use std::sync::atomic::{AtomicU64, Ordering};

/// The signature's bits in a cached word. Above them are 8 bits for a predefined type's code, and
/// the number of bytes.
const CODE_SHIFT: u32 = checked::SIGNATURE_BITS;
const BYTES_SHIFT: u32 = CODE_SHIFT + 8;

/// The size of the cache of predefined types. Type and length give an entry's place, where a later
/// entry replaces it.
const PLACES: usize = 64;
static OF_PREDEFINED: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// Returns the place of a key. Keys differ in few of their low bits.
fn place(key: u64) -> &'static AtomicU64 {
    let spread = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2());
    &OF_PREDEFINED[usize::try_from(spread).unwrap_or(0) % PLACES]
}

impl Datatype {
    /// Returns the signature bits of the first `bytes` bytes of a sequence of elements, if all of
    /// it is known.
    #[inline]
    pub(in crate::mpi) fn beginning_bits(&self, bytes: u64) -> Option<u32> {
        let compute = || match self.beginning(bytes) {
            PrefixSignature::Known(signature) => Some(checked::bits(signature.word())),
            PrefixSignature::Anything | PrefixSignature::Within => None,
        };
        let code = match &self.0 {
            DatatypeKind::Predefined(named) if named.is_packed() => return None,
            DatatypeKind::Predefined(named) => named.element as u8,
            DatatypeKind::Derived(_) => 0,
        };
        let longest = u64::MAX >> BYTES_SHIFT;
        if bytes > longest {
            return compute();
        }
        let key = bytes << BYTES_SHIFT | u64::from(code) << CODE_SHIFT;
        let kept = match &self.0 {
            DatatypeKind::Predefined(_) => place(key),
            DatatypeKind::Derived(derived) => &derived.beginning,
        };
        let word = kept.load(Ordering::Relaxed) ^ key;
        // A signature's bits are never 0, as those of an empty place are.
        if word >> CODE_SHIFT == 0 && word != 0 {
            return Some(u32::try_from(word).expect("20 bits"));
        }
        let computed = compute()?;
        kept.store(key | u64::from(computed), Ordering::Relaxed);
        Some(computed)
    }

    /// Returns a number for the basic types among kinds of messages; 0 if they are not known.
    #[inline]
    pub(in crate::mpi) fn key(&self) -> u64 {
        match &self.0 {
            DatatypeKind::Predefined(named) if named.is_packed() => 0,
            DatatypeKind::Predefined(named) => named.element as u64,
            DatatypeKind::Derived(_) => self.signature().map_or(0, |one| one.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::reduction::Datatype as Elementary;

    #[test]
    fn what_is_kept_is_what_is_computed() {
        let of = |element| Datatype::from(element);
        let (int, double) = (of(Elementary::Int32), of(Elementary::Double));
        let pair = Datatype::structure(&[1, 1], &[0, 8], &[int, double.clone()]).unwrap();
        let types = [Datatype::BYTE, double, pair, Datatype::PACKED];
        // These are more keys than places, and each is requested again after others have replaced
        // it.
        for _ in 0..3 {
            for bytes in (0..200).chain([1 << 35, 1 << 36, 1 << 50]) {
                for datatype in &types {
                    let computed = match datatype.beginning(bytes) {
                        PrefixSignature::Known(signature) => Some(checked::bits(signature.word())),
                        PrefixSignature::Anything | PrefixSignature::Within => None,
                    };
                    for _again in 0..2 {
                        assert_eq!(
                            datatype.beginning_bits(bytes),
                            computed,
                            "{datatype:?} {bytes}"
                        );
                    }
                }
            }
        }
    }
}
