//! Which core an OS thread of a NIC is pinned to.

use super::NicHostConfig;
use super::os_thread::Crew;
use bcs_core::job::Driver;

/// The core of an OS thread, where there is one to spare. NIC OS threads take cores from the end
/// of the list, for ranks are usually bound from its beginning. Where ranks and NICs share cores,
/// nobody is pinned: the kernel then finds the idle one.
pub(super) fn core_for(crew: &Crew, config: &NicHostConfig) -> Option<usize> {
    let cores = &config.cores;
    let nodes = config.placement.nodes();
    let per_node = match config.settings.driver {
        Driver::Shared => 0,
        Driver::Coprocessor => 1,
        Driver::Dedicated => bcs_core::job::NicThreadId::COUNT,
    };
    if cores.len() < config.placement.ranks() + 1 + nodes * per_node {
        return None;
    }
    let from_the_end = match crew.hosted.first() {
        Some(&(node, thread)) if config.settings.driver != Driver::Shared => {
            1 + node.index() * per_node + thread.index() % per_node.max(1)
        }
        _ => 0,
    };
    cores
        .len()
        .checked_sub(1 + from_the_end)
        .map(|at| cores[at])
}

/// Pins the calling OS thread.
pub(super) fn pin(core: Option<usize>) {
    if let Some(id) = core {
        // Not being pinned costs some speed, nothing else.
        let _pinned = core_affinity::set_for_current(core_affinity::CoreId { id });
    }
}
