//! How two contributions become one.
#![expect(unsafe_code, reason = "memory is named by address")]

use crate::data::{ByteRange, copy, start};
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use bcs_core::reduction::{Datatype, Op};
use std::fmt;
use std::sync::Arc;

/// A function of the program that combines this many bytes: `inout = in OP inout`, element by
/// element. It must not panic, because other ranks wait for its result. It is called with no lock
/// held. Both addresses are aligned for every datatype.
pub type ReductionFunction = dyn Fn(*const u8, *mut u8, usize) + Send + Sync;

/// How two contributions become one.
#[derive(Clone)]
pub enum Fold {
    /// By a predefined operation.
    Arithmetic(Op, Datatype),
    /// By a function of the program.
    Function(Arc<ReductionFunction>),
}

impl fmt::Debug for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic(op, datatype) => write!(f, "Arithmetic({op}, {datatype})"),
            Self::Function(_) => f.write_str("Function"),
        }
    }
}

impl Fold {
    /// Computes `accumulator = accumulator OP operand` for two buffers of equal length. A function
    /// leaves its result in `operand` first.
    pub(crate) fn run(&self, accumulator: ByteRange, operand: ByteRange) {
        if accumulator.is_empty() {
            return; // The address of an empty buffer has no meaning.
        }
        match self {
            Self::Arithmetic(op, datatype) => {
                // SAFETY: this step alone uses them, and no other step of the collective runs
                // meanwhile.
                let into = unsafe { accumulator.bytes_mut() };
                // SAFETY: as above.
                let bytes = unsafe { operand.bytes() };
                combine(*op, *datatype, ArithmeticPath::Host, into, bytes)
                    .expect("operation, datatype and lengths were checked");
            }
            Self::Function(function) => {
                let [left, right] = [accumulator, operand].map(|it| start(it.address()));
                function(left.cast_const(), right, operand.len());
                copy(&operand.into(), &accumulator.into());
            }
        }
    }
}
