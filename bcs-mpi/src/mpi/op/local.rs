//! Combining without communication.
#![expect(unsafe_code, reason = "functions get buffers by address")]

use super::any::{AnyOp, one_datatype, reducible};
use crate::mpi::Buffer;
use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::reduction::arithmetic::{Path, combine};

/// `MPI_Reduce_local` (6.9.7): `inout[i] = input[i] OP inout[i]`, here and without communication.
/// A panic of the program's function is the caller's.
///
/// # Safety
/// `input` may be read and `inout` read and written, nobody else uses them, and they do not overlap.
///
/// # Errors
/// When the lengths or datatypes differ, or the operation is not defined on the datatype.
pub unsafe fn reduce_local(input: Buffer, inout: Buffer, op: impl Into<AnyOp>) -> Result<()> {
    let operation = Operation {
        bytes: input.bytes().map(|bytes| bytes as u64),
        ..Operation::plain("MPI_Reduce_local")
    };
    let bytes = input.operand(operation)?.len;
    one_datatype(&input, &inout, operation)?;
    let room = inout.operand(operation)?.len;
    if bytes != room {
        let reason = format!("{bytes} bytes are to be combined with {room}");
        return Err(operation.error(ErrorClass::Count, reason));
    }
    match op.into() {
        AnyOp::Predefined(op) => {
            let datatype = reducible(op, &input, operation)?;
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: the caller's promise; the address is not 0.
            let operand = unsafe { std::slice::from_raw_parts(input.start(), bytes) };
            // SAFETY: the caller's promise; the address is not 0.
            let into = unsafe { std::slice::from_raw_parts_mut(inout.start(), bytes) };
            // Predefined operations are commutative to the bit.
            combine(op, datatype, Path::Host, into, operand)
                .expect("operation, datatype and lengths were checked");
        }
        AnyOp::User(op) if bytes > 0 => {
            let (invec, inoutvec) = (input.start().cast_const(), inout.start());
            (op.function)(invec, inoutvec, input.count(), input.datatype().clone());
        }
        AnyOp::User(_) => {}
    }
    Ok(())
}
