//! How two contributions become one.
#![expect(unsafe_code, reason = "memory is named by address")]

use crate::data::{Piece, bytes};
use bcs_core::reduction::arithmetic::{Path, combine};
use bcs_core::reduction::{Datatype, Op};
use std::fmt;
use std::sync::Arc;

/// A function of the program's that combines so many bytes: `inout = in OP inout`, element by
/// element. It must not panic: others wait for what it makes. It is called with no lock held. Both addresses
/// are aligned for every datatype.
pub type Function = dyn Fn(*const u8, *mut u8, usize) + Send + Sync;

/// How two contributions become one.
#[derive(Clone)]
pub enum Fold {
    /// By a predefined operation.
    Arithmetic(Op, Datatype),
    /// By a function of the program's.
    Function(Arc<Function>),
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
    /// `accumulator = accumulator OP operand`. A function leaves its result in `operand` first.
    ///
    /// # Safety
    /// Both are initialised and as long as each other, the accumulator may be written, as may the
    /// operand if this is a function, and nobody else uses them.
    pub(super) unsafe fn run(&self, accumulator: Piece, operand: Piece) {
        if accumulator.len == 0 {
            return; // An address of nothing means nothing.
        }
        match self {
            Self::Arithmetic(op, datatype) => {
                // SAFETY: the caller's promise.
                let into = unsafe { bytes::bytes_mut(accumulator.address, accumulator.len) };
                // SAFETY: the caller's promise.
                let bytes = unsafe { bytes::bytes(operand.address, operand.len) };
                combine(*op, *datatype, Path::Host, into, bytes)
                    .expect("operation, datatype and lengths were checked");
            }
            Self::Function(function) => {
                let (left, right) = (
                    bytes::start(accumulator.address),
                    bytes::start(operand.address),
                );
                function(left.cast_const(), right, operand.len);
                // SAFETY: the caller's promise.
                unsafe { bytes::copy(operand.address, accumulator.address, operand.len) };
            }
        }
    }
}
