//! The bells that an OS thread has to ring for its ports.

use bcs_core::wake::machine_page::BellId;
use std::sync::{Arc, Mutex, PoisonError};

/// The bells to ring for what the ports and the sequencer of an OS thread have done. Ports and
/// sequencer do not ring them: the OS thread may do the work itself for which it would have to wake
/// another thread.
#[derive(Clone, Debug, Default)]
pub struct PendingBells(Arc<Mutex<Vec<BellId>>>);

impl PendingBells {
    pub(crate) fn add(&self, bell: BellId) {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !bells.contains(&bell) {
            bells.push(bell);
        }
    }

    /// Returns whether no bell is to be rung.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bells.is_empty()
    }

    /// Moves the bells that are to be rung now to `into`.
    pub fn take(&self, into: &mut Vec<BellId>) {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        into.append(&mut bells);
    }
}
