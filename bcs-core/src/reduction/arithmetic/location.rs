//! Minima and maxima with their places (`MPI_MINLOC`, `MPI_MAXLOC`; MPI 5.0, 6.9.4).
//!
//! The value of a result is that of the minimum or maximum, by the rules of the module above, NaNs
//! included. Its place is that of the operand that has this value. If both have it, it is the lower
//! one of their places, for maxima, too. Both operands have the value in these cases:
//!
//! - Numbers: when they are equal. -0 and +0 are equal. (Their minimum is -0, at the lower place.
//!   That is the standard's definition, which computes value and place independently.)
//! - NaNs: when they are the same once they are quiet. So a NaN wins over every number and brings
//!   its place along. If NaNs differ, the greatest wins.
//!
//! These rules make the operation commutative and associative to the bit. Places are `int`. Those
//! of Fortran's pairs are floating-point numbers; their minimum is the lower place. A result is
//! written as a whole: its padding is zero, and a NaN in it is quiet.
//!
//! Nothing is rounded here, so there is no host path: the loops compare integers.

use super::soft::{self, Format};
use crate::reduction::{Datatype, LocationPair, Op};
use std::cmp::Ordering;

/// Computes `accumulator = accumulator OP operand`; the caller has checked operation and lengths.
pub(super) fn combine(op: Op, pair: LocationPair, accumulator: &mut [u8], operand: &[u8]) {
    match pair.value {
        Datatype::Float => places::<Soft<soft::Binary32>>(op, pair, accumulator, operand),
        Datatype::Double => places::<Soft<soft::Binary64>>(op, pair, accumulator, operand),
        Datatype::LongDouble => places::<Soft<soft::Extended>>(op, pair, accumulator, operand),
        Datatype::Int16 => places::<Signed<2>>(op, pair, accumulator, operand),
        Datatype::Int32 => places::<Signed<4>>(op, pair, accumulator, operand),
        Datatype::Int64 => places::<Signed<8>>(op, pair, accumulator, operand),
        other => unreachable!("{other} is no value that has a place"),
    }
}

fn places<V: LocationValue>(op: Op, pair: LocationPair, accumulator: &mut [u8], operand: &[u8]) {
    match pair.place {
        Datatype::Int32 => each::<V, Signed<4>>(op, pair, accumulator, operand),
        Datatype::Float => each::<V, Soft<soft::Binary32>>(op, pair, accumulator, operand),
        Datatype::Double => each::<V, Soft<soft::Binary64>>(op, pair, accumulator, operand),
        other => unreachable!("{other} is no place"),
    }
}

fn each<V: LocationValue, P: LocationValue>(
    op: Op,
    pair: LocationPair,
    accumulator: &mut [u8],
    operand: &[u8],
) {
    let values = match op {
        Op::MinLoc => Op::Min,
        _ => Op::Max,
    };
    let (place_at, size) = (pair.place_at(), pair.size());
    let elements = accumulator
        .chunks_exact_mut(size)
        .zip(operand.chunks_exact(size));
    for (left, right) in elements {
        let (a, b) = (V::load(left), V::load(right));
        let (i, j) = (P::load(&left[place_at..]), P::load(&right[place_at..]));
        let place = match V::prefer(values, a, b) {
            Ordering::Less => i,
            Ordering::Equal => P::extremum(Op::Min, i, j),
            Ordering::Greater => j,
        };
        let value = V::extremum(values, a, b);
        left.fill(0);
        left[..V::SIZE].copy_from_slice(&value.to_le_bytes()[..V::SIZE]);
        left[place_at..place_at + P::SIZE].copy_from_slice(&place.to_le_bytes()[..P::SIZE]);
    }
}

/// The type of a value or a place; its values are bits, right-aligned.
trait LocationValue {
    /// Bytes of storage.
    const SIZE: usize;

    /// Returns the canonical bits of the value at the start of these bytes.
    fn load(bytes: &[u8]) -> u128;

    /// Returns the minimum or maximum of two canonical values.
    fn extremum(op: Op, a: u128, b: u128) -> u128;

    /// Returns which place a minimum or maximum has: the first operand's (less), the second one's
    /// (greater), or either (equal).
    fn prefer(op: Op, a: u128, b: u128) -> Ordering;
}

/// A signed integer of `SIZE` bytes.
struct Signed<const SIZE: usize>;

impl<const SIZE: usize> Signed<SIZE> {
    fn number(bits: u128) -> i128 {
        let above = 128 - 8 * SIZE;
        (bits << above).cast_signed() >> above
    }
}

impl<const SIZE: usize> LocationValue for Signed<SIZE> {
    const SIZE: usize = SIZE;

    fn load(bytes: &[u8]) -> u128 {
        soft::load(&bytes[..SIZE])
    }

    fn extremum(op: Op, a: u128, b: u128) -> u128 {
        match Self::prefer(op, a, b) {
            Ordering::Greater => b,
            _ => a,
        }
    }

    fn prefer(op: Op, a: u128, b: u128) -> Ordering {
        let order = Self::number(a).cmp(&Self::number(b));
        if op == Op::Min {
            order
        } else {
            order.reverse()
        }
    }
}

/// A floating-point number of this format.
struct Soft<F>(std::marker::PhantomData<F>);

impl<F: Format> LocationValue for Soft<F> {
    const SIZE: usize = F::SIZE;

    fn load(bytes: &[u8]) -> u128 {
        let bits = F::canonical(soft::load(&bytes[..F::SIZE]));
        if F::is_nan(bits) {
            bits | F::QUIET
        } else {
            bits
        }
    }

    fn extremum(op: Op, a: u128, b: u128) -> u128 {
        soft::element::<F>(op, a, b)
    }

    fn prefer(op: Op, a: u128, b: u128) -> Ordering {
        if F::is_nan(a) || F::is_nan(b) {
            // The extremum is one of the two, and the same bits are the same NaN.
            return match Self::extremum(op, a, b) {
                _ if a == b => Ordering::Equal,
                winner if winner == a => Ordering::Less,
                _ => Ordering::Greater,
            };
        }
        let zero = |bits: u128| bits & !F::SIGN == 0;
        if zero(a) && zero(b) {
            return Ordering::Equal;
        }
        let order = soft::order::<F>(a).cmp(&soft::order::<F>(b));
        if op == Op::Min {
            order
        } else {
            order.reverse()
        }
    }
}
