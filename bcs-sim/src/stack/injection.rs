//! The state of faults that ranks and the simulator share.

use super::fault::{FaultKind, StruckFaults};
use super::memory::VanishSchedule;
use bcs_core::lockstep;
use std::sync::{Arc, Mutex};

/// The state that ranks and the simulator share.
#[derive(Clone, Debug)]
pub(super) struct InjectionState {
    pub(super) vanishing: VanishSchedule,
    pub(super) struck: Arc<Mutex<StruckFaults>>,
}

impl InjectionState {
    pub(super) fn record_fault(&self, kind: FaultKind) {
        lockstep::lock(&self.struck).insert(kind);
    }
}
