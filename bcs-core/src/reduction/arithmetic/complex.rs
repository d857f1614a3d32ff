//! Complex numbers: two floating-point numbers side by side, real part first.
//!
//! A sum is that of the parts, so the loops for floating point do it, by software or processor. A
//! product is
//!
//! ```text
//! (a + bi)(c + di) = (ac - bd) + (ad + bc)i
//! ```
//!
//! Each of the six operations is rounded once, and none is fused with another. The reasons for this
//! formula:
//!
//! - It is the definition, and every processor can compute it, with or without fused operations.
//!   With a fused one, the result would depend on which of the two products of a part keeps its
//!   bits.
//! - It is commutative to the bit, which MPI assumes of its predefined operations: to swap the
//!   operands swaps the factors within products, and the two products of the imaginary part.
//! - The alternatives have no canonical result. With three multiplications instead of four
//!   (Karatsuba), unrelated parts cancel each other. C's annex G (`__muldc3`) checks results with
//!   NaNs in both parts, and turns some of those into infinities. That is a recommendation, which
//!   `-ffast-math` and Fortran do not follow. Here ∞ × (1 + 0i) has a NaN for an imaginary part, by
//!   the rules for NaNs of each operation.
//!
//! In `ac - bd`, a `bd` that is a NaN keeps its sign, as in the subtraction of a processor.

#[cfg(target_arch = "x86_64")]
use super::host;
use super::path::ArithmeticPath;
use super::{floating, soft};
use crate::reduction::{Datatype, Op};

/// Computes `accumulator = accumulator OP operand` for complex numbers; the caller has checked
/// operation and lengths.
pub(super) fn combine(
    op: Op,
    part: Datatype,
    path: ArithmeticPath,
    accumulator: &mut [u8],
    operand: &[u8],
) {
    match op {
        Op::Sum => floating::combine(op, part, path, accumulator, operand),
        Op::Prod => match path {
            #[cfg(target_arch = "x86_64")]
            ArithmeticPath::Host if host::has(part) => {
                host::complex_product(part, accumulator, operand)
            }
            ArithmeticPath::Soft | ArithmeticPath::Host => {
                soft::complex_product(part, accumulator, operand)
            }
        },
        _ => unreachable!("{op} is not defined on complex numbers"),
    }
}
