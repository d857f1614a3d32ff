//! The events that NICs report to their process, and their recordings.

use crate::failure::NicFailure;
use bcs_core::wait_state::LeakReport;
use bcs_fabric::udp::RejectedDatagrams;
use mds::dump::NodeDump;

/// The recordings of the NICs of a process (EMDS).
#[derive(Debug, Default)]
pub struct Recordings {
    /// The hosted nodes' local figures.
    pub nodes: Vec<NodeDump>,
    /// The global figures, where the Strobe Sender ran.
    pub global: Option<mds::dump::StrobeDump>,
    /// Entries in the tables of the hosted nodes that the runtime had to take out before: failures
    /// of a job whose ranks have all ended well.
    pub left_over: Vec<NicFailure>,
    /// Entries that programs have left in these tables, by rank.
    pub left_by_ranks: Vec<(u32, LeakReport)>,
}

/// An event that NICs report to their host process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NicHostEvent {
    /// A failure that must end the job.
    Failed(NicFailure),
    /// The Strobe Sender has come to [rest](super::NicHost::quiesce): it strikes no more slices.
    Quiesced,
    /// The first datagrams have come that do not belong to the job.
    RejectedDatagrams(RejectedDatagrams),
}

/// The callback for these events.
pub(super) type NicHostEventHandler = dyn Fn(NicHostEvent) + Send + Sync;
