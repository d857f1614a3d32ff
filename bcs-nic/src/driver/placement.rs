//! The core to which each OS thread of a job's NICs is pinned.
//!
//! One pure function, [`place_os_threads`], decides this for all of them, whichever process runs
//! them. So the cores that the launcher reports, and keeps ranks away from, are the cores that NICs
//! use.

use bcs_core::job::{Cores, NicThreadId, NicThreading, NodeId, Placement};

/// An OS thread of the NICs of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPlacement {
    /// Its name in the kernel.
    pub name: String,
    /// The core that it is pinned to, or the reason why it is not pinned.
    pub core: Result<usize, UnpinnedReason>,
}

/// Why an OS thread of a NIC may run on all cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpinnedReason {
    /// A pinned thread would wait for its core while another one idles.
    #[error("cores are short: ranks {ranks}, OS threads of NICs {threads}, usable cores {usable}")]
    Short {
        /// Ranks.
        ranks: usize,
        /// OS threads of NICs.
        threads: usize,
        /// Cores that can be busy at once.
        usable: usize,
    },
    /// The cores to pin it to are unknown.
    #[error("the kernel does not say which cores may be used")]
    Unknown,
}

impl UnpinnedReason {
    /// Whether there are too few cores for each rank and each OS thread of the NICs to have one.
    #[must_use]
    pub fn cores_short(driver: NicThreading, placement: &Placement, usable: usize) -> Option<Self> {
        let (ranks, threads) = (placement.ranks(), driver.os_threads(placement.nodes()));
        (usable < ranks + threads).then_some(Self::Short {
            ranks,
            threads,
            usable,
        })
    }
}

/// Returns where the OS threads of a job's NICs run: the Strobe Sender's first, then node by node.
///
/// If cores are named for NICs, the threads take them in turn, even if there are too few. Otherwise
/// each OS thread gets its own core, from the last one downwards, if there is one for each rank,
/// too. Where ranks and NICs share cores no thread is pinned: the kernel then finds the idle core.
#[must_use]
pub fn place_os_threads(
    driver: NicThreading,
    placement: &Placement,
    cores: &Cores,
) -> Vec<ThreadPlacement> {
    let short = UnpinnedReason::cores_short(driver, placement, cores.usable);
    let core_of = |turn: usize| {
        if let Some(turn) = turn.checked_rem(cores.of_nics.len()) {
            return Ok(cores.of_nics[turn]);
        }
        if let Some(short) = short {
            return Err(short);
        }
        let from_the_end = cores.allowed.iter().rev().nth(turn);
        from_the_end.copied().ok_or(UnpinnedReason::Unknown)
    };
    let turns = names(driver, placement.nodes()).into_iter().enumerate();
    turns
        .map(|(turn, name)| ThreadPlacement {
            name,
            core: core_of(turn),
        })
        .collect()
}

/// Returns the names of the OS threads of a job's NICs.
fn names(driver: NicThreading, nodes: usize) -> Vec<String> {
    let nodes = (0..nodes).map(NodeId::from_index);
    let strobe_sender = ["bcs-SS".to_owned()].into_iter();
    match driver {
        NicThreading::Shared => vec!["bcs-nic".to_owned()],
        NicThreading::Coprocessor => {
            let of_nodes = nodes.map(|node| format!("bcs-nic-{node}"));
            strobe_sender.chain(of_nodes).collect()
        }
        NicThreading::Dedicated => {
            let name = |node, thread: NicThreadId| format!("bcs-{}-{node}", thread.name());
            let of_node = |node| NicThreadId::ALL.map(|thread| name(node, thread));
            strobe_sender.chain(nodes.flat_map(of_node)).collect()
        }
    }
}

/// The core of the OS thread of this name, if it is pinned to one.
pub(super) fn core_of(name: &str, placed: &[ThreadPlacement]) -> Option<usize> {
    let placed = placed.iter().find(|placed| placed.name == name);
    let placed = placed.expect("all OS threads of NICs are placed");
    placed.core.ok()
}

/// Pins the calling OS thread.
pub(super) fn pin(core: Option<usize>) {
    if let Some(id) = core {
        // Not being pinned costs some speed, nothing else.
        let _pinned = core_affinity::set_for_current(core_affinity::CoreId { id });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bounds;
    use crate::driver::{NicHostConfig, plan_os_threads};
    use bcs_core::job::Settings;
    use bcs_core::wake::MachinePage;
    use bcs_fabric::shm::Segment;
    use std::sync::Arc;

    fn cores(allowed: &[usize], usable: usize, of_nics: &[usize]) -> Cores {
        Cores {
            allowed: allowed.to_vec(),
            usable,
            of_nics: of_nics.to_vec(),
        }
    }

    /// Two ranks on this number of nodes.
    fn placed(driver: NicThreading, nodes: usize, cores: &Cores) -> Vec<ThreadPlacement> {
        place_os_threads(driver, &Placement::block(2, nodes).unwrap(), cores)
    }

    #[test]
    fn where_os_threads_run_is_a_table() {
        use NicThreading::{Coprocessor, Dedicated, Shared};
        const TWELVE: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        for (driver, nodes, allowed, of_nics, expected) in [
            // A core for each, from the last one downwards; no more than are needed.
            (Shared, 1, &[0, 1, 2][..], &[][..], &[2][..]),
            (Shared, 2, &[1, 3, 5, 7], &[], &[7]),
            (Coprocessor, 1, &[0, 1, 2, 3], &[], &[3, 2]),
            (Coprocessor, 2, TWELVE, &[], &[11, 10, 9]),
            (Dedicated, 1, TWELVE, &[], &[11, 10, 9, 8, 7, 6, 5]),
            // Those that are named, in this order, and in turn where they are too few.
            (Shared, 2, &[0, 1], &[1], &[1]),
            (Shared, 2, TWELVE, &[4, 2], &[4]),
            (Coprocessor, 2, &[0, 1], &[1, 0], &[1, 0, 1]),
            (Dedicated, 1, &[0, 1, 2, 3], &[3, 1], &[3, 1, 3, 1, 3, 1, 3]),
        ] {
            let cores = cores(allowed, allowed.len(), of_nics);
            let placed = placed(driver, nodes, &cores);
            let found: Vec<usize> = placed
                .iter()
                .filter_map(|thread| thread.core.ok())
                .collect();
            assert_eq!(found, expected, "{driver:?} on {nodes} nodes, {cores:?}");
            assert_eq!(found.len(), placed.len(), "all are pinned, or nobody is");
        }
    }

    #[test]
    fn who_is_not_pinned_has_a_reason() {
        let short = |threads, usable| UnpinnedReason::Short {
            threads,
            ranks: 2,
            usable,
        };
        for (driver, cores, expected) in [
            (NicThreading::Shared, cores(&[0, 1], 2, &[]), short(1, 2)),
            (
                NicThreading::Coprocessor,
                cores(&[0, 1, 2, 3], 4, &[]),
                short(3, 4),
            ),
            // A quota: no more are busy at once than it allows.
            (
                NicThreading::Shared,
                cores(&[0, 1, 2, 3], 2, &[]),
                short(1, 2),
            ),
            (
                NicThreading::Dedicated,
                cores(&[], 64, &[]),
                UnpinnedReason::Unknown,
            ),
        ] {
            for thread in placed(driver, 2, &cores) {
                assert_eq!(thread.core, Err(expected), "{driver:?}, {cores:?}");
            }
        }
        assert_eq!(
            short(3, 4).to_string(),
            "cores are short: ranks 2, OS threads of NICs 3, usable cores 4"
        );
    }

    #[test]
    fn the_os_threads_of_a_job_are_those_that_are_placed() {
        for driver in [
            NicThreading::Shared,
            NicThreading::Coprocessor,
            NicThreading::Dedicated,
        ] {
            let config = NicHostConfig {
                placement: Placement::block(2, 2).unwrap(),
                settings: Settings {
                    driver,
                    ..Settings::default()
                },
                bounds: Bounds::default(),
                bug: None,
                nodes: vec![NodeId(0), NodeId(1)],
                strobe_sender: true,
                segment: Segment::private(2, 2).unwrap(),
                page: MachinePage::private(2, 2).unwrap(),
                nic_memory: Arc::default(),
                cores: Cores::default(),
                emds: None,
                far: None,
            };
            let crews = plan_os_threads(&config);
            let names: Vec<&str> = crews.iter().map(|crew| crew.name.as_str()).collect();
            let placed = place_os_threads(driver, &config.placement, &config.cores);
            let expected: Vec<&str> = placed.iter().map(|thread| thread.name.as_str()).collect();
            assert_eq!(names, expected, "{driver:?}");
        }
    }
}
