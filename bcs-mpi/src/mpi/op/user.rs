//! Operations that the program makes (MPI 5.0, 6.9.5).
#![expect(unsafe_code, reason = "functions get buffers by address")]

use super::operand_buffers::OperandBuffers;
use crate::bcs::Fold;
use crate::mpi::error::{Operation, Result};
use crate::mpi::live_objects::LiveObject;
use crate::mpi::objects::lent_functions::{Function, LentFunction};
use crate::mpi::{Buffer, Datatype, Process};
use bcs_core::wait_state::LeakedObject;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

/// The exit code of a job whose function panicked, as of a Rust program that panics.
const PANICKED: i32 = 101;

/// An operation that the program made. Clones are handles of the same one.
#[derive(Clone)]
pub struct UserOp {
    pub(super) function: Arc<Function>,
    pub(super) commute: bool,
    _alive: Arc<LiveObject>,
}

impl UserOp {
    /// `MPI_Op_create`, makes an operation of a function of `invec`, `inoutvec`, `count` and
    /// `datatype` that computes `inoutvec[i] = invec[i] OP inoutvec[i]`. The operation is assumed
    /// to be associative, and, if `commute` is true, commutative.
    ///
    /// # Safety
    /// Both addresses have `count` elements of the datatype, which are not used otherwise and do
    /// not overlap. Given these, the function has no undefined behaviour: it reads the data of
    /// `invec`, reads and writes those of `inoutvec`, and uses no other memory.
    #[must_use]
    pub unsafe fn create(
        function: impl Fn(*const u8, *mut u8, usize, Datatype) + Send + Sync + 'static,
        commute: bool,
    ) -> Self {
        Self {
            function: Arc::new(function),
            commute,
            _alive: Arc::new(LiveObject::new(LeakedObject::Operation)),
        }
    }

    /// Returns the function for elements of a datatype, as a NIC's schedule calls it. It ends the
    /// job if it panics.
    pub(super) fn fold(
        &self,
        process: &Arc<Process>,
        data: &Buffer,
        operation: Operation,
    ) -> Result<Fold> {
        let function = LentFunction::new(self.function.clone(), process.returned().clone());
        // The reference is weak, because the process keeps the schedules that will keep this.
        let process = Arc::downgrade(process);
        let datatype = data.datatype().clone();
        let size = datatype.operand_size().max(1);
        let spread = OperandBuffers::of(data, operation)?;
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

/// Ends the job because a function panicked.
fn end(process: &Weak<Process>, panic: &(dyn Any + Send)) -> ! {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let reason = format!(
        "the function of a reduction operation panicked: {}",
        text.unwrap_or("it did not say why")
    );
    match process.upgrade() {
        Some(process) => process.abort(PANICKED, &reason),
        // Only a schedule of a process that is gone comes here. There is no job to end.
        None => std::process::exit(PANICKED),
    }
}
