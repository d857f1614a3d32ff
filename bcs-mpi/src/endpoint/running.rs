//! How errands are run: by the calls of a rank, before they return or sleep.

use super::endpoint::Endpoint;
use super::errands::Errand;
use super::state::State;
use bcs_core::wake::owner_lock::OwnerGuard;

/// Errands that a call runs before it returns, whatever comes up meanwhile.
const MOST_IN_A_CALL: usize = 64;

impl Endpoint {
    /// Ends a call: does what is to be done without the lock.
    #[inline]
    pub(crate) fn leave<'a>(&'a self, state: OwnerGuard<'a, State>) {
        if state.has_errands() {
            self.run_errands(state);
        }
    }

    /// Does what is to be done without the lock, as long as there is something that no other thread waits for.
    #[cold]
    pub(crate) fn run_errands<'a>(&'a self, mut state: OwnerGuard<'a, State>) {
        for _ in 0..MOST_IN_A_CALL {
            let Some(errand) = state.take_errand(None) else {
                return;
            };
            state = self.run_errand(state, errand);
        }
    }

    /// Does this without the lock.
    #[cold]
    pub(crate) fn run_errand<'a>(
        &'a self,
        state: OwnerGuard<'a, State>,
        mut errand: Errand,
    ) -> OwnerGuard<'a, State> {
        drop(state);
        errand.run();
        let mut state = self.lock();
        state.bring_back(errand);
        self.progress(&mut state);
        state
    }
}
