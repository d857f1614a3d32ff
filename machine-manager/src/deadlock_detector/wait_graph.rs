//! The graph of ranks that wait for each other in a job that cannot go on, and the causes.
//!
//! A vertex is a rank. An edge leads to a rank that is needed for a wait to end. A rank that waits
//! for all of several operations needs each; one that waits for any of them, or for a message from
//! any rank, needs one. It is known that nobody can go on ([`super::standstill`]); the graph only
//! explains why. So if the partners of a wait are not known (they did not fit, or a communicator is
//! not described), only an edge is missing.
//!
//! **Causes.** Ranks that wait for each other, directly or not, are a strongly connected component.
//! The deadlock begins in components from which no edge leads to another one. In each of these we
//! name a cycle, the shortest one of its lowest rank. A component of one rank that does not wait
//! for itself waits for ranks that are gone, or for no known rank. We also name every rank that
//! needs one that is gone.

use bcs_core::job::NodeId;
use bcs_core::wait_state::{
    CommunicatorProgress, EnteredCollective, MessagePeer, WaitReason, WaitState,
};
use node_manager::control::DepartedRank;
use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use source_lines::SourceLines;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most partners of a wait that are looked up. A message from any rank of a large job may come
/// from thousands, and a few of them explain the deadlock.
const PARTNERS: usize = 1_024;

/// The graph of ranks that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitGraph {
    /// All ranks of the job that were seen.
    pub ranks: BTreeMap<u32, Vertex>,
    /// The reasons why nobody goes on.
    pub causes: Vec<DeadlockCause>,
}

/// A rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Its node.
    pub node: NodeId,
    /// Its state.
    pub state: RankState,
}

/// The state of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankState {
    /// It waits.
    Waits {
        /// Its wait state.
        whereabouts: WaitState,
        /// Each of [`WaitState::waits`], with the ranks that are needed for it.
        edges: Vec<Edge>,
    },
    /// It has called MPI_Finalize, with this last wait state.
    Finalized(WaitState),
    /// Its process has ended without calling MPI_Init.
    Ended,
}

/// A wait of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The operation that it waits for.
    pub wait: WaitReason,
    /// The ranks that may complete it.
    pub partners: Vec<u32>,
    /// Whether it needs all of these, or one.
    pub all: bool,
}

/// A reason why nobody goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadlockCause {
    /// Each of these waits for the next, and the last for the first.
    Cycle(Vec<u32>),
    /// A rank waits for ranks that are gone.
    Gone {
        /// The one that waits.
        rank: u32,
        /// Those that send nothing any more.
        partners: Vec<u32>,
    },
    /// Two ranks are in the same collective by its number, and have called different ones.
    MismatchedCollectives(u32, u32),
    /// A rank waits for an operation that no known rank can complete.
    Nobody(u32),
    /// Two ranks have called different collectives of the communicator with this context: one took
    /// a message that was meant for the other's, and has gone on.
    DivergedCollectives {
        /// The communicator.
        context: u32,
        /// The first rank,
        one: u32,
        /// The first rank that has called another one.
        other: u32,
    },
}

impl WaitGraph {
    /// Makes the graph of ranks that wait and of those that are gone, in a job that cannot go on.
    pub fn new<'a>(
        waits: impl Iterator<Item = (u32, NodeId, WaitState)>,
        gone: impl Iterator<Item = &'a DepartedRank>,
    ) -> Self {
        let mut graph = Self::snapshot(waits, gone);
        graph.causes = graph.find_causes();
        graph
    }

    /// Replaces places that are addresses by lines.
    #[must_use]
    pub fn with_lines(mut self, source: &mut SourceLines) -> Self {
        for vertex in self.ranks.values_mut() {
            if let RankState::Waits { whereabouts, .. } = &mut vertex.state {
                source.look_up_in(whereabouts);
            }
        }
        self
    }

    /// Makes the same of a job that may go on, and so without causes.
    pub fn snapshot<'a>(
        waits: impl Iterator<Item = (u32, NodeId, WaitState)>,
        gone: impl Iterator<Item = &'a DepartedRank>,
    ) -> Self {
        let mut ranks: BTreeMap<u32, Vertex> = BTreeMap::new();
        for (rank, node, whereabouts) in waits {
            let edges = Vec::new();
            let state = RankState::Waits { whereabouts, edges };
            ranks.insert(rank, Vertex { node, state });
        }
        for gone in gone {
            let said = WaitState::decode(&gone.words).unwrap_or_default();
            let state = match gone.finalized {
                true => RankState::Finalized(said),
                false => RankState::Ended,
            };
            let node = gone.node;
            ranks.insert(gone.rank, Vertex { node, state });
        }
        let mut graph = Self {
            ranks,
            causes: Vec::new(),
        };
        let all: Vec<(u32, Vec<Edge>)> = graph
            .waiting()
            .map(|(rank, told)| (rank, graph.edges_of(rank, told)))
            .collect();
        for (rank, found) in all {
            if let Some(RankState::Waits { edges, .. }) =
                graph.ranks.get_mut(&rank).map(|vertex| &mut vertex.state)
            {
                *edges = found;
            }
        }
        graph
    }

    /// Returns the ranks that wait.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, &WaitState)> {
        self.ranks
            .iter()
            .filter_map(|(&rank, vertex)| match &vertex.state {
                RankState::Waits { whereabouts, .. } => Some((rank, whereabouts)),
                RankState::Finalized(_) | RankState::Ended => None,
            })
    }

    fn edges_of(&self, rank: u32, told: &WaitState) -> Vec<Edge> {
        let edge = |&wait: &WaitReason| {
            let (partners, all) = match wait {
                WaitReason::Receive(peer)
                | WaitReason::Probe(peer)
                | WaitReason::Send(peer)
                | WaitReason::WindowLock(peer)
                | WaitReason::WindowPost(peer)
                | WaitReason::WindowComplete(peer) => match peer.rank {
                    Some(partner) => (vec![partner], true),
                    None => (self.senders(rank, told, peer), false),
                },
                WaitReason::Collective(_) => {
                    let entered = told.collective(wait);
                    (
                        entered.map_or_else(Vec::new, |it| self.absent(told, it)),
                        true,
                    )
                }
                WaitReason::Request | WaitReason::Sends | WaitReason::Nic => (Vec::new(), true),
            };
            Edge {
                wait,
                partners,
                all,
            }
        };
        told.waits.iter().map(edge).collect()
    }

    /// Returns the ranks that may send a message to this one in a communicator: all others, if its
    /// members are not known.
    fn senders(&self, rank: u32, told: &WaitState, peer: MessagePeer) -> Vec<u32> {
        let of_context = |it: &&CommunicatorProgress| it.context == peer.context;
        let communicator = told.communicators.iter().find(of_context);
        let members = communicator.and_then(|it| it.members.ranks());
        let senders: Vec<u32> = match members {
            Some(members) => members.take(PARTNERS).collect(),
            None => self.ranks.keys().copied().take(PARTNERS).collect(),
        };
        let others = senders.into_iter().filter(|&other| other != rank);
        let others: Vec<u32> = others.collect();
        // A rank that is alone in its communicator waits for itself.
        if others.is_empty() {
            vec![rank]
        } else {
            others
        }
    }

    /// Returns the members of a communicator that have not entered a collective.
    fn absent(&self, told: &WaitState, entered: &EnteredCollective) -> Vec<u32> {
        let is_it =
            |it: &&CommunicatorProgress| (it.context, it.group) == (entered.context, entered.group);
        let communicator = told.communicators.iter().find(is_it);
        let known = communicator.and_then(|it| it.members.ranks());
        let members: Vec<u32> = match known {
            Some(members) => members.take(PARTNERS).collect(),
            // Take those that report it.
            None => {
                let ranks = self.ranks.iter();
                let members = ranks.filter(|(_, vertex)| {
                    vertex
                        .said()
                        .is_some_and(|it| it.communicators.iter().any(|it| is_it(&it)))
                });
                members.map(|(&rank, _)| rank).take(PARTNERS).collect()
            }
        };
        let has_entered = |rank: &u32| {
            let said = self.ranks.get(rank).and_then(Vertex::said);
            let Some(said) = said else { return false };
            match said.communicators.iter().find(is_it) {
                // Numbers wrap, and no rank is 2^31 collectives ahead of another.
                Some(it) => it.entered.wrapping_sub(entered.number).cast_signed() > 0,
                // It may have entered collectives that did not fit into its report.
                None => said.communicators.len() >= WaitState::COMMUNICATORS,
            }
        };
        let absent = members.into_iter().filter(|rank| !has_entered(rank));
        absent.collect()
    }

    /// Returns all ranks that a rank waits for.
    fn targets(&self, rank: u32) -> BTreeSet<u32> {
        let edges = self.ranks.get(&rank).map_or(&[][..], Vertex::edges);
        let partners = edges.iter().flat_map(|edge| edge.partners.iter());
        partners.copied().collect()
    }

    fn is_waiting(&self, rank: u32) -> bool {
        let vertex = self.ranks.get(&rank);
        vertex.is_some_and(|vertex| matches!(vertex.state, RankState::Waits { .. }))
    }

    /// Finds ranks that have entered the same number of collectives of a communicator, and not the
    /// same ones.
    fn different(&self) -> Option<DeadlockCause> {
        let mut first: BTreeMap<(u32, u32, u32), (u32, u32)> = BTreeMap::new();
        for (&rank, vertex) in &self.ranks {
            for it in vertex.said().iter().flat_map(|said| &said.communicators) {
                let of = (it.context, it.group, it.entered);
                let &mut (one, called) = first.entry(of).or_insert((rank, it.call_digest));
                if called != it.call_digest {
                    let (context, other) = (it.context, rank);
                    return Some(DeadlockCause::DivergedCollectives {
                        context,
                        one,
                        other,
                    });
                }
            }
        }
        None
    }

    fn find_causes(&self) -> Vec<DeadlockCause> {
        let mut causes: Vec<DeadlockCause> = self.different().into_iter().collect();
        let targets: BTreeMap<u32, Vec<u32>> = self
            .waiting()
            .map(|(rank, _)| {
                let targets = self.targets(rank).into_iter();
                (rank, targets.filter(|&to| self.is_waiting(to)).collect())
            })
            .collect();
        let mut named = BTreeSet::new();
        for component in components(&targets) {
            let leads_out = |rank: &u32| targets[rank].iter().any(|to| !component.contains(to));
            if component.iter().any(leads_out) {
                continue;
            }
            let Some(&first) = component.first() else {
                continue;
            };
            if let Some(cycle) = shortest_cycle(&targets, first) {
                causes.push(DeadlockCause::Cycle(cycle));
                continue;
            }
            named.insert(first);
            let partners: Vec<u32> = self.targets(first).into_iter().collect();
            causes.push(match partners.is_empty() {
                true => DeadlockCause::Nobody(first),
                false => DeadlockCause::Gone {
                    rank: first,
                    partners,
                },
            });
        }
        causes.extend(
            self.needs_gone()
                .filter(|(rank, _)| !named.contains(rank))
                .map(|(rank, partners)| DeadlockCause::Gone { rank, partners }),
        );
        causes
    }

    /// Returns the ranks that need one that is gone.
    fn needs_gone(&self) -> impl Iterator<Item = (u32, Vec<u32>)> {
        self.waiting().filter_map(|(rank, told)| {
            let edges = self.ranks.get(&rank)?.edges();
            let gone = |to: &u32| !self.is_waiting(*to);
            let needed = edges.iter().filter(|edge| match edge.all {
                true => true,
                false => edge.partners.iter().all(gone),
            });
            let all_gone = |edge: &&Edge| edge.partners.iter().any(gone);
            let dead: Vec<&Edge> = needed.filter(all_gone).collect();
            let enough = !told.for_any || dead.len() == edges.len();
            let partners: BTreeSet<u32> = dead
                .iter()
                .flat_map(|edge| edge.partners.iter().copied().filter(gone))
                .collect();
            (enough && !partners.is_empty()).then(|| (rank, partners.into_iter().collect()))
        })
    }
}

impl Vertex {
    /// Returns the wait state of the rank, or its last one.
    pub(super) fn said(&self) -> Option<&WaitState> {
        match &self.state {
            RankState::Waits { whereabouts, .. } | RankState::Finalized(whereabouts) => {
                Some(whereabouts)
            }
            RankState::Ended => None,
        }
    }

    fn edges(&self) -> &[Edge] {
        match &self.state {
            RankState::Waits { edges, .. } => edges,
            RankState::Finalized(_) | RankState::Ended => &[],
        }
    }
}

/// Returns the strongly connected components, each in the order of ranks: the sets of ranks that
/// reach each other. (Without recursion: a chain of waits may be as long as the job.)
fn components(targets: &BTreeMap<u32, Vec<u32>>) -> Vec<BTreeSet<u32>> {
    let mut graph: DiGraphMap<u32, ()> = DiGraphMap::new();
    for (&from, all) in targets {
        graph.add_node(from);
        graph.extend(all.iter().map(|&to| (from, to)));
    }
    let found = kosaraju_scc(&graph).into_iter();
    let mut components: Vec<BTreeSet<u32>> = found.map(BTreeSet::from_iter).collect();
    components.sort_by_key(|component| component.first().copied());
    components
}

/// Returns the shortest path from a rank back to itself.
fn shortest_cycle(targets: &BTreeMap<u32, Vec<u32>>, start: u32) -> Option<Vec<u32>> {
    let mut came_from: BTreeMap<u32, u32> = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(rank) = next.pop_front() {
        for &to in targets.get(&rank).into_iter().flatten() {
            if to == start {
                let mut cycle = vec![rank];
                while let Some(&before) = cycle.last().and_then(|last| came_from.get(last)) {
                    cycle.push(before);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if let std::collections::btree_map::Entry::Vacant(entry) = came_from.entry(to) {
                entry.insert(rank);
                next.push_back(to);
            }
        }
    }
    None
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
