//! How deferred copies are run: by the calls of a rank, before they return or sleep.

use super::deferred_copies::DeferredCopy;
use super::endpoint::Endpoint;
use super::state::EndpointState;
use bcs_core::wake::owner_lock::OwnerGuard;

/// The most deferred copies that a call runs before it returns, even if more come.
const MOST_IN_A_CALL: usize = 64;

impl Endpoint {
    /// Ends a call: does the work that needs no lock.
    #[inline]
    pub(crate) fn leave<'a>(&'a self, state: OwnerGuard<'a, EndpointState>) {
        if state.has_deferred_copies() {
            self.run_deferred_copies(state);
        }
    }

    /// Runs deferred copies without the lock, as long as there is one that no other thread waits
    /// for.
    #[cold]
    pub(crate) fn run_deferred_copies<'a>(&'a self, mut state: OwnerGuard<'a, EndpointState>) {
        for _ in 0..MOST_IN_A_CALL {
            let Some(errand) = state.take_deferred_copy(None) else {
                return;
            };
            state = self.run_deferred_copy(state, errand);
        }
    }

    /// Runs this deferred copy without the lock.
    #[cold]
    pub(crate) fn run_deferred_copy<'a>(
        &'a self,
        state: OwnerGuard<'a, EndpointState>,
        mut errand: DeferredCopy,
    ) -> OwnerGuard<'a, EndpointState> {
        drop(state);
        errand.run();
        let mut state = self.lock();
        state.bring_back(errand);
        self.progress(&mut state);
        state
    }
}
