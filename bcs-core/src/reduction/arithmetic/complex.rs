//! Complex numbers: two floating-point numbers side by side, real part first.
//!
//! A sum is that of the parts, so the loops for floating point do it, by software or processor. A
//! product is
//!
//! ```text
//! (a + bi)(c + di) = (ac - bd) + (ad + bc)i
//! ```
//!
//! with each of the six operations rounded once, and none fused with another. Why this one:
//!
//! - It is what the definition says and what every processor can do, fused operations or not; with
//!   one fused, the result would depend on which of the two products of a part keeps its bits.
//! - It is commutative to the bit, as MPI takes its predefined operations to be: swapping the
//!   operands swaps the factors within products, and the two products of the imaginary part.
//! - The alternatives cost canonical form. With three multiplications instead of four (Karatsuba)
//!   parts cancel that have nothing to do with each other. C's annex G (`__muldc3`) looks again
//!   where both parts came out as NaNs, and turns some of those into infinities; what it does there
//!   is a recommendation, which `-ffast-math` and Fortran do not follow. Here ∞ × (1 + 0i) has a
//!   NaN for an imaginary part, by the rules for NaNs of each operation.
//!
//! In `ac - bd`, a `bd` that is a NaN keeps its sign, as in the subtraction of a processor.

#[cfg(target_arch = "x86_64")]
use super::host;
use super::path::ArithmeticPath;
use super::{floating, soft};
use crate::reduction::{Datatype, Op};

/// `accumulator = accumulator OP operand`, of numbers of two such parts; operation and lengths have
/// been checked.
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
