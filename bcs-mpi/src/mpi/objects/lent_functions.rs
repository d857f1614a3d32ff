//! Functions that schedules have, and how they come back.
//!
//! A schedule lets its function go while the endpoint is locked, and what the function has captured may want to
//! lock it, too: to free a communicator, say. So it is put aside, and dropped by whichever thread of its rank next
//! has a request that is done, or finalizes.

use crate::mpi::Datatype;
use bcs_core::lockstep;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// `MPI_User_function`: `inoutvec[i] = invec[i] OP inoutvec[i]` for so many elements of the
/// datatype, laid out as the datatype says. `invec` is of the lower ranks.
pub(in crate::mpi) type Function = dyn Fn(*const u8, *mut u8, usize, Datatype) + Send + Sync;

/// A function that a schedule has.
pub(in crate::mpi) struct LentFunction {
    /// There until this is dropped.
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
        // Moved, not cloned: another thread may drop what is in the list at once, and what were left
        // here would then be the last handle.
        list.extend(self.function.take());
        self.returned.any.store(true, Ordering::Release);
    }
}

/// What schedules of a rank have let go.
#[derive(Default)]
pub(in crate::mpi) struct ReturnedFunctions {
    list: Mutex<Vec<Arc<Function>>>,
    /// Whether there is something, so that others need not lock the list to look.
    any: AtomicBool,
}

impl ReturnedFunctions {
    /// Drops them all. No lock may be held.
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
