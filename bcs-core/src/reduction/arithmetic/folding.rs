//! Folding of several ranks' contributions in place.

#[cfg(target_arch = "x86_64")]
use super::host;
use super::{ArithmeticPath, CombineError, Contributions, combine};
use crate::reduction::{Datatype, DatatypeClass, Op};

/// The block that is copied at a time of datatypes that the processor does not fold from memory.
/// Together with the result it takes a part of a first-level cache.
const BLOCK_BYTES: usize = 4096;

/// Computes `into = first OP second OP ...`: from byte `at` of each contribution on, in their
/// order. The bits are those that [`combine`] gives by [`ArithmeticPath::Host`].
///
/// # Errors
/// As [`combine`]. Then nothing has been written.
///
/// # Panics
/// If a contribution is shorter.
pub fn fold(
    (op, datatype): (Op, Datatype),
    contributions: Contributions<'_>,
    at: usize,
    into: &mut [u8],
) -> Result<(), CombineError> {
    let length = into.len();
    if !op.allowed(datatype) {
        return Err(CombineError::Undefined { op, datatype });
    }
    if !length.is_multiple_of(datatype.size()) {
        return Err(CombineError::PartialElement { length, datatype });
    }
    let part = contributions.part(at, length);
    #[cfg(target_arch = "x86_64")]
    if datatype.class() == DatatypeClass::Floating && host::has(datatype) {
        host::fold(op, datatype, part, into);
        return Ok(());
    }
    let mut room = [0; BLOCK_BYTES];
    let block = BLOCK_BYTES / datatype.size() * datatype.size();
    for (start, into) in (0..).step_by(block).zip(into.chunks_mut(block)) {
        let part = part.from(start);
        let operand = &mut room[..into.len()];
        part.copy(0, into);
        for member in 1..part.members() {
            part.copy(member, operand);
            combine(op, datatype, ArithmeticPath::Host, into, operand)?;
        }
    }
    Ok(())
}
