//! When a rank asks for a slice (law 2; docs/slice.md).
//!
//! Work arms the next regular strobe. With elastic strobes, work for which somebody waits demands
//! a slice at once. Of the conditions of law 2, a rank can see these:
//!
//! | it | and | asks |
//! |---|---|---|
//! | posts a send | | arm |
//! | posts a send | somebody of the job is blocked | demand |
//! | posts a receive or probe | BR holds messages for it | arm |
//! | arrives last of its node at a collective | | demand; where nodes are far and it is short, nudge |
//! | opens or closes a context, cancels something | | demand: somebody waits for it |
//! | moves what was held back into a ring | | as if it were posted now |
//! | is about to block, or finds nothing in a test or iprobe | it has work | demand |
//! | is about to block | anybody armed | demand: now somebody waits |
//!
//! A demand makes arming superfluous. With fixed strobes there are no demands: what would be one
//! arms.
//!
//! Where nodes are on several machines a strobe takes long to come to all, and much can do without one
//! (`bcs-nic/src/threads/buffer_receiver/ahead.rs`). There a rank asks for no slice for its messages: it nudges its NIC, which takes at once
//! what was posted, and asks for the slice that the rest needs. So it does for short collectives.
//!
//! The rest (what the NIC holds back, matches that turn up during a slice) is looked at by the NIC
//! at the end of each slice.

use super::NicTransport;
use super::state::DemandSnapshot;
use crate::steps::CollectiveArguments;
use bcs_core::clock::now_ns;
use bcs_core::descriptor::is_short;
use bcs_core::job::NicThreadId;
use std::sync::atomic::{Ordering, fence};

impl NicTransport {
    fn unexpected(&self) -> u64 {
        self.memory.unexpected().load(Ordering::Acquire)
    }

    /// Whether the NIC takes what is posted before a strobe makes it.
    fn works_outside_slice(&self) -> bool {
        self.elastic && self.page.spans_machines()
    }

    pub(crate) fn posted_send(&self) {
        if self.works_outside_slice() {
            return self.page.nudge(self.node, NicThreadId::BufferSender);
        }
        if self.elastic && self.page.hungry() {
            self.page.demand(); // A slice at once: there is nothing left to arm for.
            return;
        }
        self.page.arm_at(now_ns);
        // HUNGER: either this look sees that a rank is blocked, or that rank, which says so before
        // it looks, sees that something is armed.
        fence(Ordering::SeqCst);
        if self.elastic && self.page.hungry() {
            self.page.demand();
        }
    }

    pub(crate) fn posted_receive(&self) {
        // LONELY: either this look sees that BR holds a message, or BR, which says so before it
        // looks at the ring, sees the receive.
        fence(Ordering::SeqCst);
        // A receive alone is no work.
        if self.unexpected() == 0 {
            return;
        }
        if self.works_outside_slice() {
            self.page.nudge(self.node, NicThreadId::BufferReceiver);
        } else {
            self.page.arm_at(now_ns);
        }
    }

    /// Who has not arrived last of the node has nothing yet that a slice could do, and arming for each of them would make
    /// each that then blocks demand a slice. The last one is never missed: see
    /// [`arrive`](bcs_core::wake::MachinePage::arrive).
    pub(crate) fn arrived_last(&self, part: &CollectiveArguments) {
        if self.works_outside_slice() && is_short(part.kind, part.bytes as u64) {
            self.page.nudge(self.node, NicThreadId::BufferSender);
        } else {
            self.demand_slice();
        }
    }

    /// Before a sleep. Whoever calls this has said that it is blocked.
    pub(crate) fn about_to_block(&mut self) {
        fence(Ordering::SeqCst); // HUNGER
        let armed = self.elastic && self.page.wanted().0;
        if armed || self.has_work() {
            self.asked = Some(self.snapshot());
            self.demand_slice();
        }
    }

    /// After a test or iprobe that found nothing.
    pub(crate) fn found_nothing(&mut self) {
        if !self.has_work() {
            return;
        }
        let asks = self.snapshot();
        if self.asked != Some(asks) {
            self.asked = Some(asks);
            self.demand_slice();
        }
    }

    /// Somebody waits for work: as soon as the strobe allows.
    pub(crate) fn demand_slice(&self) {
        if self.elastic {
            self.page.demand();
        } else {
            self.page.arm_at(now_ns);
        }
    }

    fn has_work(&mut self) -> bool {
        if self.works_outside_slice() {
            // The NIC has looked at it, or is about to; somebody waits for what it has found.
            return self.page.wanted().0;
        }
        self.sends.untaken() || (self.unexpected() != 0 && self.receives.untaken())
    }

    fn snapshot(&self) -> DemandSnapshot {
        DemandSnapshot {
            sends: self.sends.posted(),
            receives: self.receives.posted(),
            unexpected: self.unexpected(),
            completions: self.completions(),
        }
    }
}
