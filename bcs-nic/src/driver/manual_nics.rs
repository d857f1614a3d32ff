//! The NICs of a job on the caller's thread, which strikes each slice itself: for tests of demands
//! for a slice, which a regular slice would hide.
//!
//! The state machines, the fabric and the turns are those of the shared driver.

use super::{Mailboxes, NicHostConfig, StateMachines, plan_os_threads, state_machines_config};
use crate::failure::NicFailure;
use bcs_core::job::{NicThreading, StrobeMode};
use bcs_core::wake::MachinePage;

/// All NICs of a job, idle between two calls.
pub struct ManualNics {
    machines: StateMachines,
    page: MachinePage,
}

impl std::fmt::Debug for ManualNics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByHand").finish_non_exhaustive()
    }
}

impl ManualNics {
    /// Creates the NICs of all nodes, and the Strobe Sender. No slice has been struck.
    ///
    /// # Panics
    /// Unless the driver is shared and the strobe elastic: nothing here waits for a regular strobe.
    #[must_use]
    pub fn new(config: &NicHostConfig) -> Self {
        assert_eq!(config.settings.driver, NicThreading::Shared);
        assert_eq!(config.settings.strobe, StrobeMode::Elastic);
        assert!(config.strobe_sender);
        let page = config.page.clone();
        let plan = plan_os_threads(config);
        let Mailboxes { routes, inboxes } = Mailboxes::new(&plan, &page);
        let mut crews = plan.into_iter().zip(inboxes);
        let (crew, inbox) = crews.next().expect("the shared driver has one OS thread");
        let machines = StateMachines::new(state_machines_config(&crew, config, routes, inbox));
        Self { machines, page }
    }

    /// Strikes a slice, and then all slices that the NICs demand at once. Returns the failures that
    /// would end the job.
    pub fn slice(&mut self) -> Vec<NicFailure> {
        self.page.demand();
        self.machines.run_until_rest()
    }
}
