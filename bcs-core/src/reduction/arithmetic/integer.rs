//! Integers, logicals and bytes: one path for NIC and host, whose integer units agree.
//!
//! Each loop is over arrays of a constant size, which the compiler turns into vector code. If the
//! sign makes no difference, the loop of the unsigned type serves both.

use super::wide_vectors::{self, Kernel};
use crate::reduction::{Datatype, Op};

/// Computes `accumulator = accumulator OP operand`; the caller has checked operation, datatype and
/// lengths.
pub(super) fn combine(op: Op, datatype: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    wide_vectors::run(IntegerKernel { op, datatype }, accumulator, operand);
}

/// An operation on integers.
struct IntegerKernel {
    op: Op,
    datatype: Datatype,
}

impl Kernel<&[u8]> for IntegerKernel {
    #[inline(always)]
    fn run(self, accumulator: &mut [u8], operand: &[u8]) {
        all(self.op, self.datatype, accumulator, operand);
    }
}

#[inline(always)]
fn all(op: Op, datatype: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    match op {
        // Bitwise operations do not depend on the size of elements.
        Op::Band => each::<u8, 1>(accumulator, operand, |a, b| a & b),
        Op::Bor => each::<u8, 1>(accumulator, operand, |a, b| a | b),
        Op::Bxor => each::<u8, 1>(accumulator, operand, |a, b| a ^ b),
        Op::Max | Op::Min => ordered(op, datatype, accumulator, operand),
        Op::Sum | Op::Prod | Op::Land | Op::Lor | Op::Lxor => match datatype.size() {
            1 => modular::<u8, 1>(op, accumulator, operand),
            2 => modular::<u16, 2>(op, accumulator, operand),
            4 => modular::<u32, 4>(op, accumulator, operand),
            8 => modular::<u64, 8>(op, accumulator, operand),
            size => unreachable!("{datatype} has {size} bytes and is no integer"),
        },
        Op::MinLoc | Op::MaxLoc => unreachable!("{op} is of values with their places"),
    }
}

/// Computes maximum or minimum, which depend on the sign.
#[inline(always)]
fn ordered(op: Op, datatype: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    match datatype {
        Datatype::Int8 => extremum::<i8, 1>(op, accumulator, operand),
        Datatype::Int16 => extremum::<i16, 2>(op, accumulator, operand),
        Datatype::Int32 => extremum::<i32, 4>(op, accumulator, operand),
        Datatype::Int64 => extremum::<i64, 8>(op, accumulator, operand),
        Datatype::Uint8 => extremum::<u8, 1>(op, accumulator, operand),
        Datatype::Uint16 => extremum::<u16, 2>(op, accumulator, operand),
        Datatype::Uint32 => extremum::<u32, 4>(op, accumulator, operand),
        Datatype::Uint64 => extremum::<u64, 8>(op, accumulator, operand),
        _ => unreachable!("{op} of {datatype} is not integer arithmetic"),
    }
}

#[inline(always)]
fn extremum<T: Integer<SIZE>, const SIZE: usize>(op: Op, accumulator: &mut [u8], operand: &[u8]) {
    match op {
        Op::Max => each::<T, SIZE>(accumulator, operand, Ord::max),
        _ => each::<T, SIZE>(accumulator, operand, Ord::min),
    }
}

/// Computes the operations that depend only on the width of an integer.
#[inline(always)]
fn modular<T: Integer<SIZE>, const SIZE: usize>(op: Op, accumulator: &mut [u8], operand: &[u8]) {
    match op {
        Op::Sum => each::<T, SIZE>(accumulator, operand, T::sum),
        Op::Prod => each::<T, SIZE>(accumulator, operand, T::product),
        Op::Land => each::<T, SIZE>(accumulator, operand, |a, b| {
            T::truth(a != T::ZERO && b != T::ZERO)
        }),
        Op::Lor => each::<T, SIZE>(accumulator, operand, |a, b| {
            T::truth(a != T::ZERO || b != T::ZERO)
        }),
        Op::Lxor => each::<T, SIZE>(accumulator, operand, |a, b| {
            T::truth((a != T::ZERO) != (b != T::ZERO))
        }),
        _ => unreachable!("{op} is not modular arithmetic"),
    }
}

#[inline(always)]
fn each<T: Integer<SIZE>, const SIZE: usize>(
    accumulator: &mut [u8],
    operand: &[u8],
    operation: impl Fn(T, T) -> T,
) {
    let (accumulator, _) = accumulator.as_chunks_mut::<SIZE>();
    let (operand, _) = operand.as_chunks::<SIZE>();
    for (a, b) in accumulator.iter_mut().zip(operand) {
        *a = operation(T::load(*a), T::load(*b)).store();
    }
}

/// The operations that the loops above need of an integer of `SIZE` bytes.
trait Integer<const SIZE: usize>: Copy + Ord {
    const ZERO: Self;
    fn load(bytes: [u8; SIZE]) -> Self;
    fn store(self) -> [u8; SIZE];
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn truth(value: bool) -> Self;
}

macro_rules! integers {
    ($($integer:ident: $size:literal),* $(,)?) => {$(
        impl Integer<$size> for $integer {
            const ZERO: Self = 0;

            #[inline]
            fn load(bytes: [u8; $size]) -> Self {
                Self::from_le_bytes(bytes)
            }

            #[inline]
            fn store(self) -> [u8; $size] {
                self.to_le_bytes()
            }

            #[inline]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            fn truth(value: bool) -> Self {
                Self::from(value)
            }
        }
    )*};
}

integers!(i8: 1, i16: 2, i32: 4, i64: 8, u8: 1, u16: 2, u32: 4, u64: 8);
