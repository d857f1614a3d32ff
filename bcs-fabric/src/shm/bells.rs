//! Whom the ports of an OS thread have given something to look at.

use bcs_core::wake::machine_page::BellId;
use std::sync::{Arc, Mutex, PoisonError};

/// The bells that are to be rung for what the ports and the sequencer of an OS thread have done. They do not ring
/// them: that OS thread may do itself what another one would have to be woken for.
#[derive(Clone, Debug, Default)]
pub struct PendingBells(Arc<Mutex<Vec<BellId>>>);

impl PendingBells {
    pub(crate) fn add(&self, bell: BellId) {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !bells.contains(&bell) {
            bells.push(bell);
        }
    }

    /// Whether none is to be rung.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bells.is_empty()
    }

    /// Gives those that are to be rung now.
    pub fn take(&self, into: &mut Vec<BellId>) {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        into.append(&mut bells);
    }
}
