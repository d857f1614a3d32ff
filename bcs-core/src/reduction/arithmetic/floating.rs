//! Floating point, by software or processor.

#[cfg(target_arch = "x86_64")]
use super::host;
use super::path::ArithmeticPath;
use super::soft;
use crate::reduction::{Datatype, Op};

/// Computes `accumulator = accumulator OP operand`; the caller has checked operation, datatype and
/// lengths.
#[inline]
pub(super) fn combine(
    op: Op,
    datatype: Datatype,
    path: ArithmeticPath,
    accumulator: &mut [u8],
    operand: &[u8],
) {
    match path {
        #[cfg(target_arch = "x86_64")]
        ArithmeticPath::Host if host::has(datatype) => {
            host::combine(op, datatype, accumulator, operand)
        }
        ArithmeticPath::Soft | ArithmeticPath::Host => {
            soft::combine(op, datatype, accumulator, operand)
        }
    }
}
