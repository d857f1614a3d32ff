//! The messages that an inner process of the tree delays, so that its parent gets those of all
//! below it in few datagrams.
//!
//! Stores of nodes, and how many PUTs their processes had sent before, are kept until all nodes of
//! the process and below it have reported the same value of the same variable, as they do at the
//! end of each microphase: the number of the microstrobe. Then they go up together, and equal
//! reports of several nodes are sent once for all of them. They also go when one of the nodes
//! requests a Compare-And-Write, before that, and at the latest after [`MAX_DELAY`].
//!
//! **Effects.** The sequencer learns later what a node has stored, as if the network had been
//! slower. Nothing is left out, and no value stands for others, so every comparison is of values
//! that the nodes have reported. The order of each node stays: what it has stored does not go
//! before what it has stored earlier, nor before the count of its process's PUTs. Counts go first,
//! since to know of a PUT earlier is only to wait for what was sent. A process that waits for all
//! nodes waits for the last one anyway. A process that waits for some of them gets an answer, if
//! later. No process waits for ever, for the delay is bounded.

use bcs_core::job::NodeSet;
use bcs_core::wake::profile::RelativeTime;
use std::collections::BTreeMap;

/// A store by some nodes: the same value, each in a variable of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoreReport {
    pub(super) nodes: NodeSet,
    pub(super) variable: u32,
    pub(super) value: u64,
    pub(super) told: u64,
    pub(super) reports: bool,
}

/// The longest delay: some round trips to the processes below in the tree, so that it ends when all
/// have reported. Only a process that waits for a part of them ever waits that long.
pub(super) const MAX_DELAY: RelativeTime = RelativeTime::Wakes(20);

/// Aggregates the reports of the processes below.
#[derive(Debug)]
pub(super) struct ReportAggregator {
    longest_ns: u64,
    /// Number of PUTs from one party to another.
    sent: BTreeMap<(u32, u32), u64>,
    claims: Vec<StoreReport>,
    /// When [`is_due`](Self::is_due) first found a waiting message.
    since_ns: Option<u64>,
    /// The last reported variable and value, and the nodes that have reported them since any other
    /// report.
    reported: Option<(u32, u64)>,
    agreed: NodeSet,
}

impl ReportAggregator {
    /// Makes an aggregator that delays nothing yet, and a message for at most `longest_ns`.
    pub(super) fn new(longest_ns: u64) -> Self {
        Self {
            longest_ns,
            sent: BTreeMap::new(),
            claims: Vec::new(),
            since_ns: None,
            reported: None,
            agreed: NodeSet::EMPTY,
        }
    }

    /// Records how many PUTs a party has sent to another.
    pub(super) fn send(&mut self, from: u32, to: u32, puts: u64) {
        self.sent.insert((from, to), puts);
    }

    /// Records a store.
    pub(super) fn store(&mut self, claim: StoreReport) {
        if claim.reports {
            let reported = Some((claim.variable, claim.value));
            if self.reported != reported {
                self.reported = reported;
                self.agreed = NodeSet::EMPTY;
            }
            self.agreed = self.agreed.or(&claim.nodes);
        }
        for known in self.claims.iter_mut().rev() {
            let nodes = claim.nodes;
            if *known
                == (StoreReport {
                    nodes: known.nodes,
                    ..claim
                })
            {
                known.nodes = known.nodes.or(&nodes);
                return;
            }
            if !known.nodes.and(&nodes).is_empty() {
                break; // a node's stores keep their order
            }
        }
        self.claims.push(claim);
    }

    /// Returns whether all of these nodes have reported the same.
    pub(super) fn is_whole(&self, nodes: &NodeSet) -> bool {
        self.agreed == *nodes
    }

    /// Returns whether no message waits.
    pub(super) fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.sent.is_empty()
    }

    /// Returns whether the waiting messages have to go now.
    pub(super) fn is_due(&mut self, now_ns: u64) -> bool {
        if self.is_empty() {
            return false;
        }
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        now_ns >= since_ns.saturating_add(self.longest_ns)
    }

    /// Returns when they have to go, if nothing happens before.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        let since_ns = self.since_ns.filter(|_| !self.is_empty());
        since_ns.map(|since_ns| since_ns.saturating_add(self.longest_ns))
    }

    /// Takes all: the counts, which go first, and the stores.
    pub(super) fn take(&mut self) -> (BTreeMap<(u32, u32), u64>, Vec<StoreReport>) {
        self.since_ns = None;
        (
            std::mem::take(&mut self.sent),
            std::mem::take(&mut self.claims),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::NodeId;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const LONGEST_NS: u64 = 200_000;

    fn claim(node: u16, variable: u32, value: u64, reports: bool) -> StoreReport {
        StoreReport {
            nodes: NodeSet::only(NodeId(node)),
            variable,
            value,
            told: 0,
            reports,
        }
    }

    #[test]
    fn what_nodes_report_alike_is_said_once_when_all_have() {
        let mut gathering = ReportAggregator::new(LONGEST_NS);
        let all = NodeSet::first_nodes(3);
        for node in [2, 0, 1] {
            assert!(!gathering.is_whole(&all));
            gathering.store(claim(node, 1, 5, false));
            gathering.store(claim(node, 0, 9, true));
        }
        assert!(gathering.is_whole(&all));
        gathering.send(1, 2, 7);
        let (sent, claims) = gathering.take();
        assert_eq!(sent, [((1, 2), 7)].into());
        let nodes = all;
        let of_all = |claim: StoreReport| StoreReport { nodes, ..claim };
        let said = [claim(0, 1, 5, false), claim(0, 0, 9, true)].map(of_all);
        assert_eq!(claims, said);
        assert!(gathering.is_empty());
        // The next store is another node's.
        gathering.store(claim(0, 0, 10, true));
        assert!(!gathering.is_whole(&all));
    }

    #[test]
    fn what_is_not_whole_goes_when_time_has_passed() {
        let mut gathering = ReportAggregator::new(LONGEST_NS);
        assert!(!gathering.is_due(0));
        gathering.store(claim(0, 0, 9, true));
        assert_eq!(
            gathering.deadline_ns(),
            None,
            "nobody has said what time it is"
        );
        assert!(!gathering.is_due(1_000));
        let deadline_ns = 1_000 + LONGEST_NS;
        assert_eq!(gathering.deadline_ns(), Some(deadline_ns));
        assert!(!gathering.is_due(deadline_ns - 1) && gathering.is_due(deadline_ns));
        let _all = gathering.take();
        assert_eq!(gathering.deadline_ns(), None);
        // The others are complete with those that have gone.
        gathering.store(claim(1, 0, 9, true));
        assert!(gathering.is_whole(&NodeSet::first_nodes(2)));
    }

    proptest! {
        /// The reports of each node hold what it has stored, in its order.
        #[test]
        fn of_each_node_all_is_said_in_its_order(
            stores in proptest::collection::vec((0_u16..4, 0_u32..3, 0_u64..3, any::<bool>()), 0..60),
        ) {
            let mut gathering = ReportAggregator::new(LONGEST_NS);
            let mut stored: HashMap<u16, Vec<(u32, u64, bool)>> = HashMap::new();
            for (node, variable, value, reports) in stores {
                let of = stored.entry(node).or_default();
                of.push((variable, value, reports));
                gathering.store(claim(node, variable, value, reports));
            }
            let mut said: HashMap<u16, Vec<(u32, u64, bool)>> = HashMap::new();
            for claim in gathering.take().1 {
                for node in claim.nodes.iter() {
                    let of = said.entry(node.0).or_default();
                    of.push((claim.variable, claim.value, claim.reports));
                }
            }
            // Two equal stores in a row may be reported once: that changes nothing.
            said.values_mut().chain(stored.values_mut()).for_each(Vec::dedup);
            prop_assert_eq!(said, stored);
        }
    }
}
