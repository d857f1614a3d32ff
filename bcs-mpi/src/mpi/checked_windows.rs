//! The windows of a rank of a checked job: calls whose buffers lie in the memory of a window are
//! accesses to it.

use super::error::{Operation, Result};
use crate::checked::UsedMemory;
use bcs_core::lockstep;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Memory that other ranks access by one-sided operations.
pub(super) trait AccessedMemory: Debug + Send + Sync {
    /// Looks for accesses of others to the buffer of a call, as far as it lies in this memory.
    ///
    /// # Errors
    /// When nothing orders such an access and the call.
    fn look_for_races(self: Arc<Self>, memory: &UsedMemory, operation: &Operation) -> Result<()>;
}

/// The windows that a rank has.
#[derive(Debug, Default)]
pub(super) struct CheckedWindows {
    windows: Mutex<Vec<Weak<dyn AccessedMemory>>>,
    /// Whether there may be a window. Most programs have none, and their calls need no lock.
    may_exist: AtomicBool,
}

impl CheckedWindows {
    /// Returns whether there is no window.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.may_exist.load(Ordering::Relaxed)
    }

    /// Adds a window that was made.
    pub(super) fn add(&self, window: Weak<dyn AccessedMemory>) {
        let mut windows = lockstep::lock(&self.windows);
        windows.retain(|window| window.strong_count() > 0);
        windows.push(window);
        self.may_exist.store(true, Ordering::Relaxed);
    }

    /// Looks for accesses of others to the buffer of a call in all windows.
    ///
    /// # Errors
    /// When nothing orders such an access and the call.
    pub(super) fn look_for_races(&self, memory: &UsedMemory, operation: &Operation) -> Result<()> {
        let windows: Vec<Arc<dyn AccessedMemory>> = {
            let mut windows = lockstep::lock(&self.windows);
            windows.retain(|window| window.strong_count() > 0);
            self.may_exist.store(!windows.is_empty(), Ordering::Relaxed);
            windows.iter().filter_map(Weak::upgrade).collect()
        };
        let mut windows = windows.into_iter();
        windows.try_for_each(|window| window.look_for_races(memory, operation))
    }
}
