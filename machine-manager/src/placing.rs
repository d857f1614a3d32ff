//! Places ranks on nodes and cores, as requested.

use crate::cores::ranges;
use crate::hosts::HostList;
use crate::launch::JobPlan;
use bcs_core::job::{BadJob, NicThreading, NodeId, Placement};
use bcs_core::limits::{DEFAULT_SPARE_RANKS, LEAST_FILES_WITH_SPARE, MOST_RANKS_WITH_SPARE};
use bcs_nic::driver::{self, ThreadPlacement, UnpinnedReason};
use node_manager::rank_cores::RankCores;
use rustix::process::{Resource, getrlimit};

/// An error in a placement.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlacing {
    /// Too few or too many ranks or nodes.
    #[error(transparent)]
    Job(#[from] BadJob),
    /// Two options that exclude each other.
    #[error(
        "--nodes {nodes} and --ppn {per_node} contradict each other: {ranks} ranks, {per_node} on \
         each node, take {needed}; leave one of the two out"
    )]
    Contradiction {
        /// `--nodes`.
        nodes: usize,
        /// `--ppn`.
        per_node: usize,
        /// How many ranks there are.
        ranks: usize,
        /// How many nodes `--ppn` requires.
        needed: usize,
    },
    /// The hosts take fewer ranks.
    #[error(
        "{ranks} ranks do not fit into the {slots} slots of the hosts: give them more, or leave the \
         slots out, and the hosts share the ranks"
    )]
    Slots {
        /// How many ranks there are.
        ranks: usize,
        /// How many the hosts take.
        slots: usize,
    },
    /// A host takes fewer ranks than the numbers place on it.
    #[error(
        "host {host} has {slots} slots, but --nodes or --ppn puts {ranks} ranks on it: leave one of \
         the two out, or the slots"
    )]
    Crowded {
        /// Its name.
        host: String,
        /// The number of ranks placed on it.
        ranks: usize,
        /// The number of ranks that it takes.
        slots: usize,
    },
    /// Fewer places than ranks.
    #[error(
        "--universe-size {size} is less than the {ranks} ranks of the job: give at least {ranks}, \
         or leave it out"
    )]
    SmallUniverse {
        /// The places.
        size: usize,
        /// How many ranks there are.
        ranks: usize,
    },
}

/// Places ranks on nodes.
///
/// # Errors
/// [`BadPlacing`] describes the error in the numbers.
pub fn place(
    ranks: usize,
    nodes: Option<usize>,
    per_node: Option<usize>,
) -> Result<Placement, BadPlacing> {
    let Some(per_node) = per_node else {
        return Ok(Placement::block(ranks, nodes.unwrap_or(1))?);
    };
    let placement = Placement::full(ranks, per_node)?;
    let needed = placement.nodes();
    match nodes {
        Some(nodes) if nodes != needed => Err(BadPlacing::Contradiction {
            nodes,
            per_node,
            ranks,
            needed,
        }),
        _ => Ok(placement),
    }
}

/// Places ranks on hosts with slots, the first hosts first. Each host is a node.
///
/// # Errors
/// [`BadPlacing`] when there are more ranks than slots.
pub fn place_in_slots(ranks: usize, slots: &[usize]) -> Result<Placement, BadPlacing> {
    let mut left = ranks;
    let mut counts = Vec::new();
    for &slots in slots {
        if left == 0 {
            break;
        }
        counts.push(left.min(slots));
        left -= left.min(slots);
    }
    match left {
        0 => Ok(Placement::counts(&counts)?),
        _ => Err(BadPlacing::Slots {
            ranks,
            slots: ranks - left,
        }),
    }
}

/// Checks that hosts with slots take the ranks that numbers place on them. `host_of` holds the host
/// of each node.
///
/// # Errors
/// [`BadPlacing::Crowded`] names the first host that does not.
pub fn fits(placement: &Placement, host_of: &[String], named: &HostList) -> Result<(), BadPlacing> {
    let Some(slots) = &named.slots else {
        return Ok(());
    };
    let nodes = (0..placement.nodes()).map(NodeId::from_index);
    let counts: Vec<usize> = nodes
        .map(|node| placement.starting_on(node).count())
        .collect();
    for name in &named.names {
        let slots = of(name, &named.names, slots);
        let ranks = of(name, host_of, &counts);
        if ranks > slots {
            let host = name.clone();
            return Err(BadPlacing::Crowded { host, ranks, slots });
        }
    }
    Ok(())
}

/// Returns the total count of a host, which may be named more than once.
fn of(host: &str, names: &[String], counts: &[usize]) -> usize {
    let all = names.iter().zip(counts);
    all.filter(|(name, _)| *name == host)
        .map(|(_, count)| count)
        .sum()
}

/// Returns the cores that ranks may use: those without pinned OS threads of NICs, unless these have
/// all.
#[must_use]
pub fn rank_cores(one_each: bool, allowed: &[usize], nics: &[ThreadPlacement]) -> RankCores {
    let taken: Vec<usize> = nics.iter().filter_map(|nic| nic.core.ok()).collect();
    let left = allowed.iter().filter(|core| !taken.contains(core));
    let mut left: Vec<usize> = left.copied().collect();
    if left.is_empty() {
        left = allowed.to_vec();
    }
    if one_each {
        RankCores::OneEach(left)
    } else if left.len() == allowed.len() {
        RankCores::All
    } else {
        RankCores::Any(left)
    }
}

/// Returns the lines of `--report-bindings`: one for each rank, and one for each OS thread of NICs.
#[must_use]
pub fn report(job: &JobPlan) -> Vec<String> {
    let of_rank = |rank| {
        let node = job.placement.node_of(rank);
        let who = format!("rank {rank} on node {}", node.expect("a rank of this job"));
        match job.rank_cores.cores_of(rank) {
            [] => format!("{who} may use cores {}", ranges(&job.cores.allowed)),
            [core] => format!("{who} is bound to core {core}"),
            cores => format!("{who} may use cores {}", ranges(cores)),
        }
    };
    let ranks = (0u32..).take(job.placement.ranks()).map(of_rank);
    let nics = driver::place_os_threads(job.settings.driver, &job.placement, &job.cores);
    ranks.chain(nics.iter().map(placed)).collect()
}

/// Describes the place of an OS thread of a NIC.
fn placed(nic: &ThreadPlacement) -> String {
    let name = &nic.name;
    match &nic.core {
        Ok(core) => format!("OS thread {name} is pinned to core {core}"),
        Err(why) => format!("OS thread {name} is not pinned: {why}"),
    }
}

/// Returns the hint about a requested driver for which there are too few cores. A single OS thread
/// cannot be reduced, so there is no hint then.
#[must_use]
pub fn hint(asked: NicThreading, placement: &Placement, usable: usize) -> Option<String> {
    let short = UnpinnedReason::cores_short(asked, placement, usable);
    let short = short.filter(|_| asked != NicThreading::Shared)?;
    let better = NicThreading::for_cores(usable, placement.ranks(), placement.nodes());
    Some(format!(
        "--nic-threads {}: {short}; they take turns, which costs time, and without this option it is {}",
        asked.name(),
        better.name()
    ))
}

/// Adds places for ranks that are started later: those of `--universe-size`, or, if there may be
/// some that nobody has asked for, a few.
///
/// # Errors
/// [`BadPlacing`] when there are fewer places than ranks, or more than a limit.
pub fn with_spare(
    placement: Placement,
    universe_size: Option<usize>,
    unasked: bool,
) -> Result<Placement, BadPlacing> {
    let ranks = placement.ranks();
    let spare = match universe_size {
        Some(size) if size < ranks => return Err(BadPlacing::SmallUniverse { size, ranks }),
        Some(size) => size - ranks,
        None if unasked && ranks <= MOST_RANKS_WITH_SPARE && has_room_for_spare() => {
            DEFAULT_SPARE_RANKS
        }
        None => 0,
    };
    Ok(placement.with_spare(spare)?)
}

/// Returns whether this process may have the files and the address space of spare ranks, which
/// nobody has asked for: where these are limited, a job without spare ranks still runs.
fn has_room_for_spare() -> bool {
    let is_unlimited = |resource| getrlimit(resource).current.is_none();
    let files = getrlimit(Resource::Nofile).maximum;
    is_unlimited(Resource::Fsize)
        && is_unlimited(Resource::As)
        && files.is_none_or(|files| files >= LEAST_FILES_WITH_SPARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes_of(placement: &Placement) -> Vec<u32> {
        (0u32..)
            .map_while(|rank| placement.node_of(rank))
            .map(|node| u32::from(node.0))
            .collect()
    }

    #[test]
    fn ppn_decides_nodes_and_fills_them() {
        let placement = place(7, None, Some(3)).unwrap();
        assert_eq!(placement.nodes(), 3);
        assert_eq!(nodes_of(&placement), [0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(place(2, None, Some(8)).unwrap().nodes(), 1);
        assert_eq!(place(7, Some(3), Some(3)).unwrap(), placement);
    }

    #[test]
    fn slots_are_filled_in_the_order_of_hosts() {
        let placement = place_in_slots(4, &[1, 2, 5, 1]).unwrap();
        assert_eq!(nodes_of(&placement), [0, 1, 1, 2]);
        let error = place_in_slots(4, &[1, 2]).unwrap_err();
        assert_eq!(error, BadPlacing::Slots { ranks: 4, slots: 3 });
    }

    #[test]
    fn a_host_takes_no_more_than_its_slots() {
        let named = crate::hosts::parse_names("a:2,b:1").unwrap();
        let hosts = ["a", "b"].map(String::from);
        let fits = |ranks| fits(&place(ranks, Some(2), None).unwrap(), &hosts, &named);
        assert_eq!(fits(3), Ok(()));
        let error = fits(4).unwrap_err().to_string();
        assert!(error.starts_with("host b has 1 slots, but"), "{error}");
    }

    #[test]
    fn without_ppn_nodes_share_evenly() {
        assert_eq!(nodes_of(&place(4, None, None).unwrap()), [0; 4]);
        assert_eq!(
            nodes_of(&place(7, Some(3), None).unwrap()),
            [0, 0, 0, 1, 1, 2, 2]
        );
    }

    #[test]
    fn ppn_and_nodes_may_not_contradict() {
        let error = place(7, Some(2), Some(3)).unwrap_err();
        assert!(matches!(error, BadPlacing::Contradiction { needed: 3, .. }));
        assert_eq!(
            place(7, None, Some(0)),
            Err(BadPlacing::Job(BadJob::NoRanksOnNode))
        );
    }

    #[test]
    fn ranks_are_kept_off_the_cores_of_nics() {
        let nics = |cores: &[usize]| -> Vec<ThreadPlacement> {
            let nic = |&core| ThreadPlacement {
                name: String::new(),
                core: Ok(core),
            };
            cores.iter().map(nic).collect()
        };
        let allowed = [0, 1, 4, 6];
        for (of_nics, one_each, expected) in [
            (&[6][..], false, RankCores::Any(vec![0, 1, 4])),
            (&[6, 0], true, RankCores::OneEach(vec![1, 4])),
            (&[], false, RankCores::All),
            (&[], true, RankCores::OneEach(vec![0, 1, 4, 6])),
            // They must run somewhere.
            (&[0, 1, 4, 6], false, RankCores::All),
            (&[0, 1, 4, 6], true, RankCores::OneEach(vec![0, 1, 4, 6])),
        ] {
            let cores = rank_cores(one_each, &allowed, &nics(of_nics));
            assert_eq!(cores, expected, "NICs on {of_nics:?}");
        }
        let nowhere = ThreadPlacement {
            name: "bcs-nic".to_owned(),
            core: Err(UnpinnedReason::Unknown),
        };
        assert_eq!(rank_cores(false, &allowed, &[nowhere]), RankCores::All);
    }

    #[test]
    fn a_driver_that_is_asked_for_is_hinted_at_only_where_cores_are_short() {
        let placement = Placement::block(2, 2).unwrap();
        let hint = |asked, usable| hint(asked, &placement, usable);
        assert_eq!(
            hint(NicThreading::Dedicated, 5).unwrap(),
            "--nic-threads dedicated: cores are short: ranks 2, OS threads of NICs 13, usable cores 5; \
             they take turns, which costs time, and without this option it is coprocessor"
        );
        assert_eq!(hint(NicThreading::Coprocessor, 5), None);
        assert!(
            hint(NicThreading::Coprocessor, 4)
                .unwrap()
                .ends_with(" shared")
        );
        assert_eq!(hint(NicThreading::Shared, 1), None);
    }
}
