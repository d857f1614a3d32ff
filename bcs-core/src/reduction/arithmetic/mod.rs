//! The arithmetic of reductions: `accumulator = accumulator OP operand`, element by element.
//!
//! The paper's NIC has no floating-point unit and reduces in software (BCS-MPI, 4.4: SoftFloat),
//! while ranks that reduce in each other's memory (SMARTMAP) have the processor's. A program must
//! not see which of them did the reduction. Hence the law of this module:
//!
//! > **[`ArithmeticPath::Soft`] and [`ArithmeticPath::Host`] give the same bits**, for every
//! > operand and in every floating-point mode of the process (flush to zero, rounding, unmasked
//! > exceptions). Neither changes that mode or its exception flags.
//!
//! # Rules
//!
//! *Integers.* Sum and product wrap. Logical operations take nonzero as true and give 0 or 1.
//!
//! *Floating point.* Sum and product round to nearest, ties to even; subnormals are kept. Maximum
//! and minimum are those of IEEE 754-2019: a NaN operand gives a NaN, and -0 < +0.
//!
//! *NaN.* The result is a NaN if an operand is one, or if the operation is invalid (∞ - ∞, 0 × ∞).
//! These rules select the NaN:
//!
//! 1. Operands that are NaNs are made quiet, keeping sign and payload. An invalid operation gives
//!    the *default NaN*: quiet, sign set, payload otherwise zero (as x86 hardware makes it).
//! 2. The result is the greatest of these by payload. If payloads are equal, it is the one with the
//!    sign clear.
//!
//! With a single NaN operand, every IEEE 754 processor gives this result. With two, SSE would take
//! the first. We do not, because then `a + b` and `b + a` would differ, and MPI calls these
//! operations commutative. The choice of the greatest makes **every operation commutative to the
//! bit**. Since the default NaN is the least of all quiet NaNs, another NaN wins over it wherever
//! it enters a reduction. So maximum and minimum are associative to the bit, and a sum or product
//! of NaNs and infinities does not depend on the association, unless numbers overflow or underflow
//! on the way. (Sums of numbers do depend on it, by rounding. Law 9 fixes the order for those.)
//!
//! *Long double.* The six padding bytes are ignored, and zero in the result. Encodings that the 387
//! and its successors refuse (unnormals, pseudo-infinities, pseudo-NaNs) count as the default NaN;
//! pseudo-denormals have the value they spell.
//!
//! *Complex numbers* ([`complex`]) have sums and products, made of those of their parts; *values
//! with their places* ([`location`]) have minima and maxima.

mod complex;
mod contributions;
#[cfg(target_arch = "x86_64")]
mod environment;
mod floating;
mod folding;
#[cfg(target_arch = "x86_64")]
mod host;
mod integer;
mod location;
mod path;
mod soft;
mod wide_vectors;

#[cfg(test)]
mod tests;

pub use contributions::Contributions;
pub use folding::fold;
pub use path::ArithmeticPath;

use crate::reduction::{Datatype, DatatypeClass, Op};

/// The reason why nothing was combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CombineError {
    /// The standard does not define this operation on this datatype.
    #[error("{op} is not defined on {datatype} (MPI 5.0, 6.9.2)")]
    Undefined {
        /// The operation.
        op: Op,
        /// The datatype.
        datatype: Datatype,
    },
    /// Accumulator and operand are not equally long.
    #[error("the accumulator has {accumulator} bytes and the operand {operand}")]
    UnequalLengths {
        /// Bytes in the accumulator.
        accumulator: usize,
        /// Bytes in the operand.
        operand: usize,
    },
    /// The length is not a whole number of elements.
    #[error("{length} bytes are no whole number of {datatype}, {} bytes each", datatype.size())]
    PartialElement {
        /// Bytes in the accumulator and in the operand.
        length: usize,
        /// The datatype.
        datatype: Datatype,
    },
}

/// Computes `accumulator = accumulator OP operand`, elementwise on little-endian elements of any
/// alignment.
///
/// The caller owns both slices: data in memory that a rank can write are copied out first.
///
/// # Errors
///
/// When the operation is not defined on the datatype, or the lengths differ or are no multiple of
/// its size. The accumulator is then untouched.
pub fn combine(
    op: Op,
    datatype: Datatype,
    path: ArithmeticPath,
    accumulator: &mut [u8],
    operand: &[u8],
) -> Result<(), CombineError> {
    if !op.allowed(datatype) {
        return Err(CombineError::Undefined { op, datatype });
    }
    if accumulator.len() != operand.len() {
        let (accumulator, operand) = (accumulator.len(), operand.len());
        return Err(CombineError::UnequalLengths {
            accumulator,
            operand,
        });
    }
    if !accumulator.len().is_multiple_of(datatype.size()) {
        return Err(CombineError::PartialElement {
            length: accumulator.len(),
            datatype,
        });
    }
    match (datatype.class(), datatype.part(), datatype.pair()) {
        (DatatypeClass::Floating, ..) => {
            floating::combine(op, datatype, path, accumulator, operand)
        }
        (_, Some(part), _) => complex::combine(op, part, path, accumulator, operand),
        (_, _, Some(pair)) => location::combine(op, pair, accumulator, operand),
        _ => integer::combine(op, datatype, accumulator, operand),
    }
    Ok(())
}
