//! Combining without communication.

use super::any::{AnyOp, one_datatype, reducible};
use crate::bcs::{DataView, Fold, gather, scatter};
use crate::mpi::Buffer;
use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::limits::FOLDED_CHUNK_BYTES;
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use bcs_core::reduction::{Datatype, Op};

/// `MPI_Reduce_local` (6.9.7): `inout[i] = input[i] OP inout[i]`, here and without communication. A
/// panic of the program's function reaches the caller.
///
/// # Errors
/// When the lengths or datatypes differ, or the operation is not defined on the datatype.
pub fn reduce_local(input: Buffer, inout: Buffer, op: impl Into<AnyOp>) -> Result<()> {
    let operation = Operation {
        bytes: input.bytes().map(|bytes| bytes as u64),
        ..Operation::plain("MPI_Reduce_local")
    };
    let from = input.operand(&operation)?;
    let bytes = from.len();
    one_datatype(&input, &inout, operation)?;
    let into = inout.operand(&operation)?;
    let room = into.len();
    if bytes != room {
        let reason = format!("{bytes} bytes are to be combined with {room}");
        return Err(operation.error(ErrorClass::Count, reason));
    }
    match op.into() {
        AnyOp::Predefined(op) => {
            let datatype = reducible(op, &input, operation)?;
            // Predefined operations are commutative, bit for bit.
            match (into.plain(), from.plain()) {
                (Some(into), Some(from)) => Fold::Arithmetic(op, datatype).run(into, from),
                _ => combine_in_chunks((op, datatype), &into, &from),
            }
        }
        AnyOp::User(op) if bytes > 0 => {
            let (invec, inoutvec) = (input.start().cast_const(), inout.start());
            (op.function)(invec, inoutvec, input.count(), input.datatype().clone());
        }
        AnyOp::User(_) => {}
    }
    Ok(())
}

/// Combines operands that are not contiguous, a chunk at a time.
fn combine_in_chunks((op, datatype): (Op, Datatype), into: &DataView, from: &DataView) {
    let chunk = FOLDED_CHUNK_BYTES / datatype.size() * datatype.size();
    let mut buffers = vec![0; 2 * chunk];
    let (accumulator, operand) = buffers.split_at_mut(chunk);
    for start in (0..from.len()).step_by(chunk) {
        let len = chunk.min(from.len() - start);
        let (accumulator, operand) = (&mut accumulator[..len], &mut operand[..len]);
        gather(into, start, accumulator);
        gather(from, start, operand);
        combine(op, datatype, ArithmeticPath::Host, accumulator, operand)
            .expect("operation, datatype and lengths were checked");
        scatter(into, start, accumulator);
    }
}
