//! Type signatures (MPI 5.0, 3.3.1): the sequence of basic types of a number of elements, as one
//! number.
//!
//! Two sequences match if they are the same, however types are nested and wherever the data lie. So
//! the number must not depend on that. It is a polynomial whose coefficients are the codes of the
//! basic types, evaluated at one place, modulo a prime. The number of two sequences one after the
//! other follows from those of both. For a billion repetitions of a sequence this takes thirty
//! steps; no sequence is ever expanded.
//!
//! `MPI_PACKED` matches everything, and so does a sequence that contains it: such a sequence has no
//! signature. `MPI_BYTE` matches `MPI_BYTE`. Names of one representation (`MPI_INT`, `MPI_INT32_T`)
//! are one type here.

use bcs_core::fingerprint::mix64;
use bcs_core::reduction::Datatype as Elementary;

/// A number that stands for a sequence of basic types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) struct Signature {
    /// The value of the polynomial.
    sum: u64,
    /// The place, to the power of the number of basic types.
    power: u64,
}

/// A prime: 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// The place where polynomials are evaluated.
const PLACE: u64 = 0x0e21_9c5b_3f7a_6d43;

fn times(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    let [low, high] = [product & u128::from(PRIME), product >> 61];
    let sum = u64::try_from(low + high).expect("two numbers below 2^62");
    if sum >= PRIME { sum - PRIME } else { sum }
}

impl Signature {
    /// The signature of no types.
    pub(super) const EMPTY: Self = Self { sum: 0, power: 1 };

    /// Returns the signature of one basic type.
    pub(super) fn of(element: Elementary) -> Self {
        Self {
            sum: mix64(element as u64) % PRIME,
            power: PLACE,
        }
    }

    /// Returns the signature of this sequence and, behind it, another one.
    pub(super) fn then(self, next: Self) -> Self {
        let sum = times(self.sum, next.power) + next.sum;
        Self {
            sum: if sum >= PRIME { sum - PRIME } else { sum },
            power: times(self.power, next.power),
        }
    }

    /// Returns the signature of `count` copies of the sequence.
    pub(in crate::mpi) fn repeated(self, mut count: u64) -> Self {
        let (mut all, mut doubled) = (Self::EMPTY, self);
        while count > 0 {
            if count & 1 == 1 {
                all = all.then(doubled);
            }
            count >>= 1;
            if count > 0 {
                doubled = doubled.then(doubled);
            }
        }
        all
    }

    /// Returns the signature in one word.
    pub(in crate::mpi) fn word(self) -> u64 {
        mix64(self.sum ^ mix64(self.power))
    }
}

/// The signature of the first bytes of some elements, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) enum PrefixSignature {
    /// They have this signature.
    Known(Signature),
    /// They match everything.
    Anything,
    /// They end within a basic type.
    Within,
}
