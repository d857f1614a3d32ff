//! Layouts of the five nodes on several machines.

use bcs_core::job::NodeId;

/// Machines, their processes, and the nodes of the processes.
pub type HostLayout = Vec<Vec<Vec<NodeId>>>;

/// Returns all layouts.
#[must_use]
pub fn layouts() -> Vec<HostLayout> {
    let layouts: [&[&[&[u16]]]; 7] = [
        &[&[&[0]], &[&[1]], &[&[2]], &[&[3]], &[&[4]]],
        &[&[&[0, 3]], &[&[1, 2]], &[&[4]]],
        &[&[&[4]], &[&[0, 1, 2, 3]]],
        &[&[&[0], &[1], &[2]], &[&[3], &[4]]],
        &[&[&[3], &[1]], &[&[4, 0], &[2]]],
        &[&[&[1], &[0]], &[&[2], &[3]], &[&[4]]],
        &[&[&[4], &[2]], &[&[0]], &[&[1], &[3]]],
    ];
    let process = |of: &&[u16]| of.iter().copied().map(NodeId).collect();
    let machine = |of: &&[&[u16]]| of.iter().map(process).collect();
    let layout = |of: &&[&[&[u16]]]| of.iter().map(machine).collect();
    layouts.iter().map(layout).collect()
}
