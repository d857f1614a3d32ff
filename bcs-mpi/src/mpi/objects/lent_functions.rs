//! Functions that schedules use, and how they come back.
//!
//! A schedule releases its function while the endpoint is locked. The values that the function has
//! captured may need the lock when they are dropped, for example to free a communicator. So the
//! function is put aside. The next thread of its rank that has a completed request, or finalizes,
//! drops it.

use crate::mpi::Datatype;
use bcs_core::lockstep;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// `MPI_User_function`: `inoutvec[i] = invec[i] OP inoutvec[i]` for a number of elements of the
/// datatype, laid out as the datatype defines. `invec` comes from the lower ranks.
pub(in crate::mpi) type Function = dyn Fn(*const u8, *mut u8, usize, Datatype) + Send + Sync;

/// A function that a schedule uses.
pub(in crate::mpi) struct LentFunction {
    /// `Some` until this is dropped.
    function: Option<Arc<Function>>,
    returned: Arc<ReturnedFunctions>,
}

impl LentFunction {
    pub(in crate::mpi) fn new(function: Arc<Function>, returned: Arc<ReturnedFunctions>) -> Self {
        let function = Some(function);
        Self { function, returned }
    }

    pub(in crate::mpi) fn get(&self) -> &Function {
        self.function.as_deref().expect("lent until it is dropped")
    }
}

impl Drop for LentFunction {
    fn drop(&mut self) {
        let mut list = lockstep::lock(&self.returned.list);
        // The handle is moved, not cloned. Another thread may drop the handle in the list at once,
        // and a clone left here would then be the last one.
        list.extend(self.function.take());
        self.returned.any.store(true, Ordering::Release);
    }
}

/// The functions that schedules of a rank have released.
#[derive(Default)]
pub(in crate::mpi) struct ReturnedFunctions {
    list: Mutex<Vec<Arc<Function>>>,
    /// Whether the list has functions, so that other threads can check it without the lock.
    any: AtomicBool,
}

impl ReturnedFunctions {
    /// Drops all functions. No lock may be held.
    #[inline]
    pub(in crate::mpi) fn drop_all(&self) {
        if self.any.load(Ordering::Acquire) {
            self.drop_some();
        }
    }

    #[cold]
    fn drop_some(&self) {
        let mut list = lockstep::lock(&self.list);
        self.any.store(false, Ordering::Release);
        let functions = std::mem::take(&mut *list);
        drop(list);
        drop(functions);
    }
}

impl fmt::Debug for ReturnedFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Returned").finish_non_exhaustive()
    }
}
