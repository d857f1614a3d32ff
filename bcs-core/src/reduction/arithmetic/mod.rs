//! The arithmetic of reductions: `accumulator = accumulator OP operand`, element by element.
//!
//! The paper's NIC has no floating-point unit and reduces in software (BCS-MPI, 4.4: SoftFloat),
//! while ranks that reduce in each other's memory (SMARTMAP) have the processor's. A program must
//! not be able to tell which of them did it. Hence the law of this module:
//!
//! > **[`ArithmeticPath::Soft`] and [`ArithmeticPath::Host`] give the same bits**, for every operand, in whatever
//! > floating-point mode the process runs (flush to zero, rounding, unmasked exceptions), and
//! > neither changes that mode or its exception flags.
//!
//! # Rules
//!
//! *Integers.* Sum and product wrap. Logical operations take nonzero as true and give 0 or 1.
//!
//! *Floating point.* Sum and product round to nearest, ties to even; subnormals are kept.
//! Maximum and minimum are those of IEEE 754-2019: a NaN operand gives a NaN, and -0 < +0.
//!
//! *NaN.* The result is a NaN if an operand is one, or if the operation is invalid (∞ - ∞, 0 × ∞).
//! Which one:
//!
//! 1. Operands that are NaNs are made quiet, keeping sign and payload. An invalid operation stands
//!    for the *default NaN*: quiet, sign set, payload otherwise zero (what x86 hardware makes).
//! 2. Of these the greatest is taken, by payload, and of equal payloads the one with the sign clear.
//!
//! With a single NaN operand this is what every IEEE 754 processor gives. With two, SSE would take
//! the first; we do not, because then `a + b` and `b + a` would differ, and MPI calls these
//! operations commutative. Taking the greatest makes **every operation commutative to the bit**, and
//! since the default NaN is the least of all quiet NaNs, a NaN wins over it wherever in a reduction
//! it enters: maximum and minimum are associative to the bit, and a sum or product in which NaNs and
//! infinities meet does not depend on the association, unless numbers overflow or underflow on the
//! way. (Sums of numbers do, of course: rounding. Law 9 fixes the order for those.)
//!
//! *Long double.* The six padding bytes are ignored, and zero in the result. Encodings that the 387
//! and its successors refuse (unnormals, pseudo-infinities, pseudo-NaNs) count as the default NaN;
//! pseudo-denormals have the value they spell.
//!
//! *Complex numbers* ([`complex`]) have sums and products, made of those of their parts; *values with
//! their places* ([`location`]) have minima and maxima.

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

/// Why nothing was combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CombineError {
    /// The standard does not define this operation on this datatype.
    #[error("{op} is not defined on {datatype} (MPI 5.0, 6.9.2)")]
    Undefined {
        /// The operation asked for.
        op: Op,
        /// The datatype asked for.
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
        /// The datatype asked for.
        datatype: Datatype,
    },
}

/// `accumulator = accumulator OP operand`, elementwise on little-endian elements of any alignment.
///
/// The caller owns both slices: what lies in memory that a rank can write is copied out first.
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
