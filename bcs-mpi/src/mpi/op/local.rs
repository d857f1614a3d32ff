//! Combining without communication.

use super::any::{AnyOp, one_datatype, reducible};
use crate::bcs::Fold;
use crate::mpi::Buffer;
use crate::mpi::error::{ErrorClass, Operation, Result};

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
            let plain = "predefined elements lie side by side";
            // Predefined operations are commutative, bit for bit.
            let fold = Fold::Arithmetic(op, datatype);
            fold.run(into.plain().expect(plain), from.plain().expect(plain));
        }
        AnyOp::User(op) if bytes > 0 => {
            let (invec, inoutvec) = (input.start().cast_const(), inout.start());
            (op.function)(invec, inoutvec, input.count(), input.datatype().clone());
        }
        AnyOp::User(_) => {}
    }
    Ok(())
}
