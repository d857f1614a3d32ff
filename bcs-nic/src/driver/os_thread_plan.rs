//! Which OS thread runs which NIC threads, and the channels between them.

use super::state_machines::{AddressedMail, MailRoute, Routes};
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::wake::MachinePage;
use bcs_core::wake::machine_page::BellId;
use bcs_core::wake::waiting::WaitPolicy;
use crossbeam_channel::{Receiver, unbounded};
use std::sync::Arc;

/// Which state machines an OS thread runs.
#[derive(Clone, Debug)]
pub(super) struct OsThreadPlan {
    pub(super) name: String,
    pub(super) bell: BellId,
    pub(super) strobes: bool,
    pub(super) hosts_all: bool,
    pub(super) patience: WaitPolicy,
    pub(super) hosted: Vec<(NodeId, NicThreadId)>,
}

impl OsThreadPlan {
    /// Returns the node that it works for, if it is one. The Strobe Sender's OS thread counts as
    /// the first node's.
    pub(super) fn node(&self) -> Option<usize> {
        let first = self.hosted.first().map_or(0, |(node, _)| node.index());
        (!self.hosts_all).then_some(first)
    }
}

/// The channels between the OS threads of this process.
#[derive(Debug)]
pub(super) struct Mailboxes {
    pub(super) routes: Arc<Routes>,
    pub(super) inboxes: Vec<Receiver<AddressedMail>>,
}

impl Mailboxes {
    pub(super) fn new(crews: &[OsThreadPlan], page: &MachinePage) -> Self {
        let mut routes = Routes::new();
        let mut inboxes = Vec::new();
        for crew in crews {
            let (sender, inbox) = unbounded();
            inboxes.push(inbox);
            for &seat in &crew.hosted {
                let (sender, bell) = (sender.clone(), crew.bell);
                routes.insert(seat, MailRoute { sender, bell });
                // Threads that signal this NIC thread through the fabric must ring the right bell.
                page.redirect(BellId::for_nic_thread(seat.0, seat.1), crew.bell);
            }
        }
        Self {
            routes: Arc::new(routes),
            inboxes,
        }
    }
}
