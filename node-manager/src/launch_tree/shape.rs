//! The shape of the launch tree: its degree, and which agent starts which.
//!
//! Parties are numbered in preorder: an agent and all agents below it are one range of numbers, so
//! a relay finds the child that leads to a party by comparing ranges. Every agent divides its range
//! in the same way as the launcher does, from the same data.

use std::ops::Range;

/// The most levels of a tree whose degree we choose (ScELA, section 2.2). Each level adds the time
/// of one start and one hop, and a degree of 16 serves 4,096 agents in three levels.
pub const MAX_DEPTH: u32 = 3;

/// The most connections that a process handles without getting slower (ScELA, section 2.2 and its
/// measurements in 4.2).
pub const MAX_CONN: usize = 128;

/// The least degree that we choose. A launcher starts this many agents itself as fast as a tree
/// does, so small jobs have no relays.
pub const LEAST_DEGREE: usize = 16;

/// Returns the degree for this number of agents, of which each has at most `ranks` ranks: the least
/// for which the depth is at most [`MAX_DEPTH`]. It is lower if an agent would have more than
/// [`MAX_CONN`] connections to its parent, its children and its ranks, but no lower than
/// [`LEAST_DEGREE`].
#[must_use]
pub fn degree(agents: usize, ranks: usize) -> usize {
    let mut ideal = 1usize;
    while ideal.saturating_pow(MAX_DEPTH) < agents {
        ideal += 1;
    }
    ideal
        .min((MAX_CONN - 1).saturating_sub(ranks))
        .max(LEAST_DEGREE)
}

/// Returns the subtrees of an agent's children, or of the launcher's, in their order. The first
/// party of each is the child.
///
/// `hosts` are the hosts of consecutive parties from number `first` on, `own` is the host of the
/// agent that starts them. A start on its own host costs no login. So if there are at most `degree`
/// hosts, each other host gets one child, which starts the others of that host; and no agent starts
/// an agent on a third host. With more hosts the children share the hosts evenly.
#[must_use]
pub fn divide<H: PartialEq>(
    hosts: &[H],
    first: u32,
    own: Option<&H>,
    degree: usize,
) -> Vec<Range<u32>> {
    let degree = degree.max(1);
    let groups = groups(hosts);
    let at = |place: usize| first + u32::try_from(place).expect("MAX_NODES fits u32");
    if groups.len() > degree {
        let parts = evenly(0..groups.len(), degree);
        return parts
            .map(|part| at(groups[part.start].start)..at(groups[part.end - 1].end))
            .collect();
    }
    let is_own = |group: &Range<usize>| own == Some(&hosts[group.start]);
    let own_groups = groups.iter().filter(|group| is_own(group)).count();
    let for_own = (degree - (groups.len() - own_groups)) / own_groups.max(1);
    let mut children = Vec::new();
    for group in groups {
        let parts = match is_own(&group) {
            true => for_own.max(1),
            false => 1,
        };
        children.extend(evenly(group, parts).map(|part| at(part.start)..at(part.end)));
    }
    children
}

/// Returns the maximal runs of parties on one host, as places in `hosts`.
fn groups<H: PartialEq>(hosts: &[H]) -> Vec<Range<usize>> {
    let mut start = 0;
    let runs = hosts.chunk_by(|one, other| one == other);
    runs.map(|run| {
        start += run.len();
        start - run.len()..start
    })
    .collect()
}

/// Divides a range into at most this many parts, none of them empty, of nearly the same length.
fn evenly(range: Range<usize>, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = parts.min(range.len());
    let cut = move |part: usize| range.start + part * range.len() / parts.max(1);
    (0..parts).map(move |part| cut(part)..cut(part + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns depth and largest number of children, and checks that each party is started once.
    fn examine(hosts: &[usize], own: Option<usize>, degree: usize) -> (usize, usize) {
        let mut started = vec![0; hosts.len()];
        let mut deepest = 0;
        let mut widest = 0;
        let whole = 0..u32::try_from(hosts.len()).unwrap();
        let mut left = vec![(whole, own, 1)];
        while let Some((range, own, depth)) = left.pop() {
            let within = &hosts[range.start as usize..range.end as usize];
            let children = divide(within, range.start, own.as_ref(), degree);
            widest = widest.max(children.len());
            for child in children {
                deepest = deepest.max(depth);
                started[child.start as usize] += 1;
                let host = hosts[child.start as usize];
                left.push((child.start + 1..child.end, Some(host), depth + 1));
            }
        }
        assert!(started.iter().all(|&count| count == 1), "{started:?}");
        (deepest, widest)
    }

    #[test]
    fn every_party_is_started_once_and_no_agent_has_more_children_than_the_degree() {
        for agents in [1, 2, 7, 8, 31, 100, 1000] {
            for degree in [1, 2, 3, 16] {
                for per_host in [1, 3, 8, 2000] {
                    let hosts: Vec<usize> = (0..agents).map(|party| party / per_host).collect();
                    let (_, widest) = examine(&hosts, None, degree);
                    assert!(widest <= degree, "{agents} {degree} {per_host}: {widest}");
                }
            }
        }
    }

    #[test]
    fn the_depth_is_that_of_the_paper() {
        assert_eq!(examine(&[0; 16], Some(0), degree(16, 1)), (1, 16));
        assert_eq!(examine(&[0; 256], Some(0), degree(256, 1)).0, 2);
        assert_eq!(examine(&[0; 1024], Some(0), degree(1024, 1)).0, 3);
        assert_eq!(examine(&[0; 4096], Some(0), degree(4096, 1)), (3, 16));
        assert_eq!(examine(&[0; 14], Some(0), 2), (3, 2));
        assert_eq!(degree(8000, 8), 20);
        assert_eq!(degree(1 << 20, 20), 102);
        assert_eq!(degree(1 << 20, 200), LEAST_DEGREE);
    }

    #[test]
    fn as_many_hosts_as_the_degree_are_reached_from_the_launcher_only() {
        let hosts: Vec<usize> = (0..21).map(|party| party / 7).collect();
        assert_eq!(divide(&hosts, 0, None, 16), [0..7, 7..14, 14..21]);
        assert_eq!(
            divide(&hosts[1..7], 1, Some(&0), 4),
            [1..2, 2..4, 4..5, 5..7]
        );
        let many: Vec<usize> = (0..5).collect();
        assert_eq!(divide(&many, 10, None, 2), [10..12, 12..15]);
        assert_eq!(divide(&[0, 0, 1], 4, Some(&0), 2), [4..6, 6..7]);
    }
}
