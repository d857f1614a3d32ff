//! The tree of processes for the messages to and from the sequencer and the Strobe Sender.
//!
//! Its root is their process, and its members are the processes of other machines. A process
//! derives its place from what all know of the job, so that all find the same tree. Parent and
//! child are on different machines, for only then there is a link between them. If all processes
//! with room are on a process's own machine, it is a child of the root, which is on another
//! machine. So the root has more children than [`HubConfig::fan_out`](super::HubConfig::fan_out)
//! where nearly all other processes are of one machine. With at most that many processes beside the
//! root's the tree is a star.
//!
//! **Down** go microstrobes, the writes of the sequencer, verdicts, and for which PUTs to wait. A
//! process forwards them when they come from its parent, before it handles them itself, and
//! whatever it still waits for. **Up** go stores, how many PUTs were sent, and requests for
//! Compare-And-Writes; an inner process aggregates them first ([`super::report_aggregator`]). All
//! else goes by the link of the two whom it concerns, and so do PUTs of NIC threads.
//!
//! **Why the laws hold.** Between the root and any process there is one path, and all messages
//! between that process and the sequencer and the Strobe Sender go along it. A link keeps the order
//! of messages, and a process that forwards them keeps it as well. So the path does what the link
//! of the two did when there was no tree:
//!
//! - *All or none.* A link loses nothing, an inner process forwards all, and one that dies or is
//!   cut off ends the job. So either all nodes get a microstrobe, or the job ends.
//! - *One order.* All processes handle the root's writes in the order in which it sent them, so
//!   these need no numbers. They handle a microstrobe or verdict after the writes that were made
//!   before it. A PUT goes by another link, and takes effect after the writes that its sender knew
//!   of, since it holds their number.
//! - *A comparison sees what its requester's node has stored before.* Both go up the same path, in
//!   order.
//! - *A strobe follows the PUTs of what was reported* ([`super::put_counts`]). A report comes after
//!   the count of the PUTs that its process has sent before. The root notifies their receivers for
//!   how many to wait, and then sends the strobe, along one path. Two kinds of PUTs were in that
//!   order by their link alone. Those from the root's process to one that is not its child are
//!   counted now and waited for as others are. Those to the root's process from one that is not its
//!   child are counted as well, and the root handles nothing more of the branch that reports this
//!   until it has them.
//! - *A microstrobe is complete* when it is sent. A process that knows of it otherwise knows from
//!   the root, by what comes behind it on its path.
//! - *PUTs of one port come in order.* Those of the Strobe Sender go along the tree, all others by
//!   the link of the two. Writes and counts order the ones and the others, as above.
//!
//! **No process waits for ever.** A message that has come and is not handled waits for earlier
//! ones: for what came before it by the same link, for writes that the sender of a PUT knew of, for
//! PUTs that had been sent before the root learned of them. (A forwarded message is as old as its
//! first sending.) Only one thing may come by a link before what was sent earlier: a process's own
//! message, sent before it forwards something older. That waits for nothing of its own: to a child,
//! since each write is forwarded before it is handled, and to the root, since that knows all
//! writes. And all that was sent comes, since a process forwards without waiting. So of all that is
//! not handled, the message that was sent first waits for nothing.
//!
//! **Trust.** Down the tree a process handles messages of its parent only, and what comes up is of
//! nodes of the sender's branch. All else is invalid, which ends the job. So a child can report
//! what its branch has stored, as each of that branch could by itself.

use bcs_core::job::{NodeId, NodeSet};

/// The place of a process in the tree.
#[derive(Debug)]
pub(super) struct ProcessTree {
    /// The parent. The root has none, nor has a process beside it on its machine.
    parent: Option<usize>,
    children: Vec<Branch>,
    /// The child that leads to each party.
    ways: Vec<Option<usize>>,
    /// The nodes of this process, and of all below it.
    nodes: NodeSet,
}

/// A child, and all below it.
#[derive(Debug)]
struct Branch {
    child: usize,
    nodes: NodeSet,
}

/// Returns the parent of each party, by the machine of each.
fn parents(machines: &[usize], root: usize, fan_out: usize) -> Vec<Option<usize>> {
    let before = |party: usize| {
        let earlier = machines[..party].iter();
        earlier.filter(|&&of| of == machines[party]).count()
    };
    let all = 0..machines.len();
    let mut far: Vec<usize> = all.filter(|&of| machines[of] != machines[root]).collect();
    // The first process of each machine comes first, so that later ones find parents on many
    // machines.
    far.sort_by_key(|&party| before(party));
    let mut children = vec![0; machines.len()];
    let mut parents = vec![None; machines.len()];
    let mut placed = vec![root];
    for party in far {
        let takes = |of: &usize| children[*of] < fan_out && machines[*of] != machines[party];
        let parent = placed.iter().copied().find(takes).unwrap_or(root);
        children[parent] += 1;
        parents[party] = Some(parent);
        placed.push(party);
    }
    parents
}

impl ProcessTree {
    /// Makes the place of the party `me`, from the nodes of each party, the nodes of each machine,
    /// and the root.
    pub(super) fn new(
        parties: &[Vec<NodeId>],
        machines: &[NodeSet],
        root: usize,
        me: usize,
        fan_out: usize,
    ) -> Self {
        let machine = |of: &Vec<NodeId>| {
            let is_on = |machine: &NodeSet| machine.contains(of[0]);
            let machine = machines.iter().position(is_on);
            machine.expect("a process is on a machine")
        };
        let machines: Vec<usize> = parties.iter().map(machine).collect();
        let parents = parents(&machines, root, fan_out);
        let way = |party: usize| {
            let mut at = party;
            while let Some(parent) = parents[at] {
                if parent == me {
                    return Some(at);
                }
                at = parent;
            }
            None
        };
        let ways: Vec<Option<usize>> = (0..parties.len()).map(way).collect();
        let branch = |child| {
            let below = (0..parties.len()).filter(|&party| ways[party] == Some(child));
            let nodes = below.flat_map(|party| parties[party].iter().copied());
            let nodes = nodes.collect();
            Branch { child, nodes }
        };
        let children = (0..parties.len()).filter(|&party| parents[party] == Some(me));
        let children: Vec<Branch> = children.map(branch).collect();
        let ours: NodeSet = parties[me].iter().copied().collect();
        Self {
            parent: parents[me],
            nodes: children.iter().fold(ours, |all, it| all.or(&it.nodes)),
            children,
            ways,
        }
    }

    pub(super) fn parent(&self) -> Option<usize> {
        self.parent
    }

    /// Returns the number of children.
    pub(super) fn children(&self) -> usize {
        self.children.len()
    }

    /// Returns a child, by its place among them.
    pub(super) fn child(&self, place: usize) -> usize {
        self.children[place].child
    }

    /// Returns the child that leads to a party below this one.
    pub(super) fn child_towards(&self, party: usize) -> Option<usize> {
        self.ways.get(party).copied().flatten()
    }

    /// Returns whether all of these nodes are in the branch of a child.
    pub(super) fn has(&self, child: usize, nodes: &NodeSet) -> bool {
        let mut children = self.children.iter();
        let branch = children.find(|branch| branch.child == child);
        branch.is_some_and(|branch| branch.nodes.and(nodes) == *nodes)
    }

    /// Returns the nodes of this process and of all below it.
    pub(super) fn nodes(&self) -> &NodeSet {
        &self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::limits::FAN_OUT;
    use proptest::prelude::*;

    /// Makes a tree for each party, by its number.
    fn trees(machines: &[usize], root: usize, fan_out: usize) -> Vec<ProcessTree> {
        let node = NodeId::from_index;
        let parties: Vec<Vec<NodeId>> = (0..machines.len()).map(|it| vec![node(it)]).collect();
        let last = machines.iter().max().expect("there is a party");
        let on = |machine| {
            let all = 0..machines.len();
            all.filter(move |&party| machines[party] == machine)
        };
        let machines: Vec<NodeSet> = (0..=*last).map(|it| on(it).map(node).collect()).collect();
        let me = 0..parties.len();
        me.map(|me| ProcessTree::new(&parties, &machines, root, me, fan_out))
            .collect()
    }

    fn children(tree: &ProcessTree) -> Vec<usize> {
        (0..tree.children()).map(|it| tree.child(it)).collect()
    }

    #[test]
    fn few_processes_are_a_star() {
        let machines: Vec<usize> = (0..=FAN_OUT).collect();
        let trees = trees(&machines, 0, FAN_OUT);
        assert_eq!(children(&trees[0]), (1..=FAN_OUT).collect::<Vec<_>>());
        assert!(trees[1..].iter().all(|tree| tree.children() == 0));
    }

    /// The first process of each machine comes first. Only the root has no machine to avoid.
    #[test]
    fn processes_find_parents_on_other_machines() {
        let all: Vec<_> = trees(&[0, 0, 1, 1, 2, 2], 0, 1)
            .iter()
            .map(children)
            .collect();
        assert_eq!(all, [vec![2], vec![], vec![4], vec![5], vec![3], vec![]]);
    }

    #[test]
    fn machines_with_a_process_each_are_a_full_tree() {
        let trees = trees(&(0..7).collect::<Vec<_>>(), 0, 2);
        let all: Vec<_> = trees.iter().map(children).collect();
        let none = Vec::new;
        assert_eq!(all[..3], [vec![1, 2], vec![3, 4], vec![5, 6]]);
        assert_eq!(all[3..], [none(), none(), none(), none()]);
        assert_eq!(
            (trees[0].child_towards(5), trees[2].child_towards(5)),
            (Some(2), Some(5))
        );
        assert_eq!(
            (trees[1].child_towards(5), trees[5].child_towards(0)),
            (None, None)
        );
        let branch: NodeSet = [1, 3, 4].into_iter().map(NodeId).collect();
        assert!(trees[0].has(1, &branch) && !trees[0].has(2, &branch));
        assert!(trees[0].has(1, &NodeSet::only(NodeId(4))) && !trees[1].has(4, &branch));
        assert_eq!(*trees[1].nodes(), branch);
    }

    #[test]
    fn of_one_other_machine_all_are_children_of_the_root() {
        let trees = trees(&[0, 0, 1, 1, 1], 1, 1);
        assert_eq!(children(&trees[1]), [2, 3, 4]);
        assert_eq!((trees[0].parent(), trees[0].children()), (None, 0));
    }

    #[test]
    fn the_largest_job_has_three_levels() {
        let trees = trees(&(0..256).collect::<Vec<_>>(), 0, FAN_OUT);
        let mut at = 255;
        let mut levels = 0;
        while let Some(parent) = trees[at].parent() {
            at = parent;
            levels += 1;
        }
        assert_eq!(levels, 3);
        assert!(trees.iter().all(|tree| tree.children() <= FAN_OUT));
    }

    proptest! {
        /// Whichever machines they are on, all are reached, each by one path, over existing links.
        #[test]
        fn all_are_reached_over_links(
            machines in proptest::collection::vec(0_usize..5, 1..40),
            root in any::<prop::sample::Index>(),
            fan_out in 1_usize..5,
        ) {
            let root = root.index(machines.len());
            let trees = trees(&machines, root, fan_out);
            for party in 0..machines.len() {
                let is_far = machines[party] != machines[root];
                prop_assert_eq!(trees[party].parent().is_some(), is_far);
                prop_assert_eq!(trees[root].child_towards(party).is_some(), is_far);
                let mut at = root;
                let mut steps = 0;
                while is_far && at != party {
                    let next = trees[at].child_towards(party).expect("a way");
                    prop_assert!(machines[at] != machines[next]);
                    prop_assert_eq!(trees[next].parent(), Some(at));
                    prop_assert!(trees[at].has(next, &NodeSet::only(NodeId::from_index(party))));
                    at = next;
                    steps += 1;
                    prop_assert!(steps < machines.len());
                }
            }
            for (party, tree) in trees.iter().enumerate() {
                prop_assert!(party == root || tree.children() <= fan_out);
            }
        }
    }
}
