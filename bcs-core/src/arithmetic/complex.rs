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
use super::soft::{self, Format};
use super::{Path, floating};
use crate::datatype::Datatype;
use crate::op::Op;

/// `accumulator = accumulator OP operand`, of numbers of two such parts; operation and lengths have
/// been checked.
pub(super) fn combine(op: Op, part: Datatype, path: Path, accumulator: &mut [u8], operand: &[u8]) {
    match op {
        Op::Sum => floating(op, part, path, accumulator, operand),
        Op::Prod => match path {
            #[cfg(target_arch = "x86_64")]
            Path::Host if host::has(part) => host::complex_product(part, accumulator, operand),
            Path::Soft | Path::Host => soft_product(part, accumulator, operand),
        },
        _ => unreachable!("{op} is not defined on complex numbers"),
    }
}

/// The product in software.
pub(super) fn soft_product(part: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    match part {
        Datatype::Float => each::<soft::Binary32>(accumulator, operand),
        Datatype::Double => each::<soft::Binary64>(accumulator, operand),
        Datatype::LongDouble => each::<soft::Extended>(accumulator, operand),
        Datatype::Float16 => each::<soft::Binary16>(accumulator, operand),
        Datatype::Quad => each::<soft::Binary128>(accumulator, operand),
        _ => unreachable!("{part} is no part of a complex number"),
    }
}

fn each<F: Format>(accumulator: &mut [u8], operand: &[u8]) {
    let numbers = accumulator
        .chunks_exact_mut(2 * F::SIZE)
        .zip(operand.chunks_exact(2 * F::SIZE));
    for (left, right) in numbers {
        let part = |bytes: &[u8]| F::canonical(soft::load(bytes));
        let (a, b) = (part(&left[..F::SIZE]), part(&left[F::SIZE..]));
        let (c, d) = (part(&right[..F::SIZE]), part(&right[F::SIZE..]));
        let (real, imaginary) = product::<F>((a, b), (c, d));
        left[..F::SIZE].copy_from_slice(&real.to_le_bytes()[..F::SIZE]);
        left[F::SIZE..].copy_from_slice(&imaginary.to_le_bytes()[..F::SIZE]);
    }
}

fn product<F: Format>((a, b): (u128, u128), (c, d): (u128, u128)) -> (u128, u128) {
    let times = |a, b| soft::element::<F>(Op::Prod, a, b);
    let plus = |a, b| soft::element::<F>(Op::Sum, a, b);
    let negative = |bits| {
        if F::is_nan(bits) {
            bits
        } else {
            bits ^ F::SIGN
        }
    };
    let real = plus(times(a, c), negative(times(b, d)));
    let imaginary = plus(times(a, d), times(b, c));
    (real, imaginary)
}
