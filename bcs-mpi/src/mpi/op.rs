//! Operations of reductions: the predefined ones, and functions of the program's (MPI 5.0, 6.9.5).
//!
//! Predefined operations are the NIC's. It cannot call a function of the program's, so reductions
//! with one are made of messages ([`crate::bcs`]): they fold from the left, in the order of the
//! communicator. The result is the same to the bit in every layout, whether the function is
//! commutative or not; what [`UserOp::create`] is told about that is only kept for whoever asks.
//!
//! A function gets elements laid out as their datatype says, gaps included. Where the data lie side by
//! side from the address of an element on, it gets what has come; other types are spread over memory
//! of their own first (`spread`).
//!
//! A function may be called in any call of this rank, and with any part of the elements, by whichever of its
//! threads is in one. No lock is held, so it may take as long as it likes, and call MPI on other communicators
//! (MPI 5.0, 6.9.5, would not allow that). If it panics, the job ends with a message: the other ranks wait for
//! a contribution that will never come.
#![expect(unsafe_code, reason = "functions get buffers by address")]

mod lent;
mod spread;

use super::error::{ErrorClass, Operation};
use super::{Buffer, Comm, Datatype, Op, Process, Result};
use crate::bcs::Fold;
use bcs_core::reduction;
use bcs_core::reduction::arithmetic::{Path, combine};
use lent::Lent;
pub(super) use lent::Returned;
use spread::Spread;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

/// The exit code of a job whose function panicked: that of a Rust program that panics.
const PANICKED: i32 = 101;

/// `MPI_User_function`: `inoutvec[i] = invec[i] OP inoutvec[i]` for so many elements of the
/// datatype, laid out as the datatype says. `invec` is of the lower ranks.
type Function = dyn Fn(*const u8, *mut u8, usize, Datatype) + Send + Sync;

/// An operation that the program made. Clones are handles of the same one.
#[derive(Clone)]
pub struct UserOp {
    function: Arc<Function>,
    commute: bool,
}

impl UserOp {
    /// `MPI_Op_create`, of a function of `invec`, `inoutvec`, `count` and `datatype` that says
    /// `inoutvec[i] = invec[i] OP inoutvec[i]`. The operation is taken to be associative, and to be
    /// commutative if `commute` says so.
    ///
    /// # Safety
    /// Given `count` elements of the datatype at either address, which nobody else uses and which
    /// do not overlap, the function does nothing undefined: it reads the data of `invec`, reads and
    /// writes those of `inoutvec`, and uses nothing beside the elements.
    #[must_use]
    pub unsafe fn create(
        function: impl Fn(*const u8, *mut u8, usize, Datatype) + Send + Sync + 'static,
        commute: bool,
    ) -> Self {
        Self {
            function: Arc::new(function),
            commute,
        }
    }

    /// The function for elements of a datatype, as a NIC's schedule calls it: it ends the job if
    /// it panics.
    fn fold(&self, process: &Arc<Process>, data: &Buffer, operation: Operation) -> Result<Fold> {
        let function = Lent::new(self.function.clone(), process.returned().clone());
        // Weak, because the process keeps the schedules that will keep this.
        let process = Arc::downgrade(process);
        let datatype = data.datatype().clone();
        let size = datatype.operand_size().max(1);
        let spread = Spread::of(data, operation)?;
        Ok(Fold::Function(Arc::new(move |invec, inoutvec, bytes| {
            let function = function.get();
            let call = || match &spread {
                None => function(invec, inoutvec, bytes / size, datatype.clone()),
                // SAFETY: both are what a schedule combines.
                Some(spread) => unsafe { spread.run(function, invec, inoutvec, bytes) },
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
                end(&process, panic.as_ref());
            }
        })))
    }
}

impl fmt::Debug for UserOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commute = self.commute;
        write!(f, "UserOp {{ commute: {commute} }}")
    }
}

/// A function panicked: the job ends.
fn end(process: &Weak<Process>, panic: &(dyn Any + Send)) -> ! {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let reason = format!(
        "the function of a reduction operation panicked: {}",
        text.unwrap_or("it did not say why")
    );
    match process.upgrade() {
        Some(process) => process.abort(PANICKED, &reason),
        // Only a schedule of a process that is gone; nobody is left to be told.
        None => std::process::exit(PANICKED),
    }
}

/// An operation (`MPI_Op`): predefined, or the program's own.
#[derive(Clone, Debug)]
pub enum AnyOp {
    /// `MPI_SUM` and the like.
    Predefined(Op),
    /// What `MPI_Op_create` made.
    User(UserOp),
}

impl From<Op> for AnyOp {
    fn from(op: Op) -> Self {
        Self::Predefined(op)
    }
}

impl From<UserOp> for AnyOp {
    fn from(op: UserOp) -> Self {
        Self::User(op)
    }
}

impl From<&UserOp> for AnyOp {
    fn from(op: &UserOp) -> Self {
        Self::User(op.clone())
    }
}

impl AnyOp {
    /// `MPI_Op_commutative`.
    #[must_use]
    pub fn commutative(&self) -> bool {
        match self {
            Self::Predefined(_) => true,
            Self::User(op) => op.commute,
        }
    }

    /// `MPI_Op_free`: gives up a handle. Reductions under way keep the operation.
    ///
    /// # Errors
    /// When the operation is predefined: those are nobody's to free.
    pub fn free(self) -> Result<()> {
        match self {
            Self::Predefined(op) => {
                let operation = Operation::plain("MPI_Op_free");
                let reason = format!("{op} is a predefined operation");
                Err(operation.error(ErrorClass::Op, reason))
            }
            Self::User(_) => Ok(()),
        }
    }

    /// How elements of `data` are combined.
    pub(super) fn fold(&self, comm: &Comm, data: &Buffer, operation: Operation) -> Result<Fold> {
        match self {
            Self::Predefined(op) => Ok(Fold::Arithmetic(*op, reducible(*op, data, operation)?)),
            Self::User(op) => op.fold(comm.process(), data, operation),
        }
    }
}

/// The elementary datatype of what is to be reduced, if the operation is defined on it.
pub(super) fn reducible(
    op: Op,
    data: &Buffer,
    operation: Operation,
) -> Result<reduction::Datatype> {
    let Some(datatype) = data.datatype().elementary() else {
        let reason = "predefined operations are defined on predefined datatypes only";
        return Err(operation.error(ErrorClass::Type, reason));
    };
    if !op.allowed(datatype) {
        let reason = format!("{op} is not defined on {datatype} (MPI 5.0, 6.9.2)");
        return Err(operation.error(ErrorClass::Op, reason));
    }
    Ok(datatype)
}

/// Input and output of a reduction must be of one datatype.
pub(super) fn one_datatype(input: &Buffer, output: &Buffer, operation: Operation) -> Result<()> {
    if input.datatype() != output.datatype() {
        let reason = "input and output are of different datatypes";
        return Err(operation.error(ErrorClass::Type, reason));
    }
    Ok(())
}

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
