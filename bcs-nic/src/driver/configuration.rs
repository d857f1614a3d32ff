//! The configuration of a process that hosts NICs.

use super::remote_hosts::RemoteHosts;
use crate::bounds::Bounds;
use crate::bug::PlantedBug;
use bcs_core::job::{NodeId, Placement, Settings};
use bcs_core::memory::NicMemory;
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::Segment;
use mds::selection::{NodeSelection, SliceWindow};
use std::sync::Arc;
/// The configuration of a process that hosts NICs.
#[derive(Clone, Debug)]
pub struct NicHostConfig {
    /// Which ranks run where.
    pub placement: Placement,
    /// The settings of the runtime.
    pub settings: Settings,
    /// The capacities of the NICs' tables: in a job, the default.
    pub bounds: Bounds,
    /// A planted bug, for tests; in a job there is none.
    pub bug: Option<PlantedBug>,
    /// The nodes whose NICs run in this process.
    pub nodes: Vec<NodeId>,
    /// Whether the Strobe Sender and the sequencer run here, too: in the one NIC-host process of
    /// the shared driver, else in the process of the machine manager (which hosts no node).
    pub strobe_sender: bool,
    /// The fabric's segment.
    pub segment: Segment,
    /// The machine page.
    pub page: MachinePage,
    /// NIC memory by world rank, of the ranks on the hosted nodes.
    pub nic_memory: Arc<Vec<Option<NicMemory>>>,
    /// The cores of the job.
    pub cores: bcs_core::job::Cores,
    /// The nodes that are recorded (EMDS), if any.
    pub emds: Option<NodeSelection>,
    /// The connection to nodes on other machines, if there are any.
    pub far: Option<RemoteHosts>,
}

impl NicHostConfig {
    /// Returns the slices whose rows are recorded, if this node is recorded.
    pub(super) fn window(&self, node: NodeId) -> Option<SliceWindow> {
        let emds = self.emds.as_ref();
        let emds = emds.filter(|emds| emds.nodes.has(u32::from(node.0)));
        emds.map(|emds| emds.window)
    }
}
