//! When a rank requests a slice (law 2; docs/slice.md).
//!
//! Work arms the next regular strobe. With elastic strobes, work that a rank waits for demands a
//! slice at once. A rank can see these conditions of law 2:
//!
//! | the rank | and | requests |
//! |---|---|---|
//! | posts a send | | arm |
//! | posts a send | a rank of the job is blocked | demand |
//! | posts a get of one-sided communication | | as a send |
//! | posts a receive or probe | BR holds messages for it | arm |
//! | arrives last of its node at a collective | | demand; nudge if it is short and nodes are on several hosts |
//! | opens or closes a context, cancels something | | demand: the rank waits for it |
//! | moves a descriptor that was held back into a ring | | as if it were posted now |
//! | is about to block, or finds nothing in a test or iprobe | it has work | demand |
//! | is about to block | a rank has armed | demand: now a rank waits |
//!
//! A demand makes arming superfluous. With fixed strobes there are no demands: a rank arms instead.
//!
//! If the nodes are on several hosts, a strobe takes long to reach all of them, and much needs none
//! (`bcs-nic/src/threads/buffer_receiver/outside_slice.rs`). There a rank requests no slice for its
//! messages. It nudges its NIC, which takes the posted descriptors at once, and requests the slice
//! that the rest needs. The rank does so for short collectives, too.
//!
//! The NIC checks the rest (what it holds back, matches that turn up during a slice) at the end of
//! each slice.

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

    /// Returns whether the NIC takes descriptors before a strobe makes it.
    fn works_outside_slice(&self) -> bool {
        self.elastic && self.page.spans_machines()
    }

    pub(crate) fn posted_send(&self) {
        self.request_for_work(NicThreadId::BufferSender);
    }

    /// Requests that the NIC takes a get from the receive ring.
    pub(crate) fn posted_get(&mut self) {
        self.gets = self.receives.posted();
        self.request_for_work(NicThreadId::BufferReceiver);
    }

    /// Requests what it takes that a NIC thread takes what was posted to it.
    pub(super) fn request_for_work(&self, thread: NicThreadId) {
        if self.works_outside_slice() {
            return self.page.nudge(self.node, thread);
        }
        if self.elastic && self.page.hungry() {
            self.page.demand(); // A slice comes at once, so there is nothing left to arm for.
            return;
        }
        self.page.arm_at(now_ns);
        // HUNGER: either this load sees that a rank is blocked, or that rank, which records it
        // before it reads, sees that something is armed.
        fence(Ordering::SeqCst);
        if self.elastic && self.page.hungry() {
            self.page.demand();
        }
    }

    pub(crate) fn posted_receive(&self) {
        // LONELY: either this load sees that BR holds a message, or BR, which records it before it
        // reads the ring, sees the receive.
        fence(Ordering::SeqCst);
        // A receive alone is no work for a slice.
        if self.unexpected() == 0 {
            return;
        }
        if self.works_outside_slice() {
            self.page.nudge(self.node, NicThreadId::BufferReceiver);
        } else {
            self.page.arm_at(now_ns);
        }
    }

    /// Requests the slice for a collective, as the last rank of the node to arrive. Before the last
    /// one there is nothing yet that a slice could do, and if each rank armed, each that then
    /// blocks would demand a slice. The last one is never missed: see
    /// [`arrive`](bcs_core::wake::MachinePage::arrive).
    pub(crate) fn arrived_last(&self, part: &CollectiveArguments) {
        if self.works_outside_slice() && is_short(part.kind, part.bytes as u64) {
            self.page.nudge(self.node, NicThreadId::BufferSender);
        } else {
            self.demand_slice();
        }
    }

    /// Demands a slice before a sleep, if there is work. The caller has recorded that it is
    /// blocked.
    pub(crate) fn about_to_block(&mut self) {
        fence(Ordering::SeqCst); // HUNGER
        let armed = self.elastic && self.page.wanted().0;
        if armed || self.has_work() {
            self.asked = Some(self.snapshot());
            self.demand_slice();
        }
    }

    /// Demands a slice after a test or iprobe that found nothing, if there is work.
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

    /// Demands a slice as soon as the strobe allows, for work that a rank waits for.
    pub(crate) fn demand_slice(&self) {
        if self.elastic {
            self.page.demand();
        } else {
            self.page.arm_at(now_ns);
        }
    }

    fn has_work(&mut self) -> bool {
        if self.works_outside_slice() {
            // The NIC has looked at it, or is about to. A rank waits for what it has found.
            return self.page.wanted().0;
        }
        self.sends.untaken()
            || self.has_untaken_get()
            || (self.unexpected() != 0 && self.receives.untaken())
    }

    /// Returns whether the NIC has not taken the last get.
    pub(super) fn has_untaken_get(&mut self) -> bool {
        self.receives.has_untaken_before(self.gets)
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
