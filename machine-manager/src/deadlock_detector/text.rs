//! The graph for a person: a line for each rank, beginning with those of the causes, and then the
//! causes.

use super::wait_graph::{DeadlockCause, RankState, Vertex, WaitGraph};
use super::{NAMED, wait_graph};
use bcs_core::wait_state::{ContextName, MessagePeer, WaitReason, WaitState};
use std::collections::BTreeSet;

impl WaitGraph {
    /// Returns a line for each rank and cause.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let named: BTreeSet<u32> = self.causes.iter().flat_map(DeadlockCause::ranks).collect();
        let others = self
            .ranks
            .keys()
            .copied()
            .filter(|rank| !named.contains(rank));
        let all: Vec<u32> = named.iter().copied().chain(others).collect();
        let told = all.iter().take(NAMED);
        let head = match self.polls() {
            true => "possible livelock: all ranks only wait or poll, and nothing more can come:",
            false => "no rank of this job can ever go on:",
        };
        let mut lines = vec![head.to_owned()];
        lines.extend(told.filter_map(|rank| Some(line(*rank, self.ranks.get(rank)?))));
        if all.len() > NAMED {
            lines.push(format!("  ... and {} others", all.len() - NAMED));
        }
        lines
    }

    /// Returns the places of the ranks of the causes, as an addition to a sentence: " (rank 0 at
    /// ring.c:20, rank 1 at ring.c:30)".
    #[must_use]
    pub fn places_text(&self) -> String {
        let ranks: BTreeSet<u32> = self.causes.iter().flat_map(DeadlockCause::ranks).collect();
        let at = ranks.iter().filter_map(|rank| {
            let RankState::Waits { whereabouts, .. } = &self.ranks.get(rank)?.state else {
                return None;
            };
            Some(format!("rank {rank} at {}", whereabouts.site.as_ref()?))
        });
        match at.collect::<Vec<_>>() {
            at if at.is_empty() => String::new(),
            at => format!(" ({})", at.join(", ")),
        }
    }

    /// Returns the reason, as a sentence without an end.
    #[must_use]
    pub fn reason(&self) -> String {
        let Some(first) = self.causes.first() else {
            return "no rank can ever go on".to_owned();
        };
        let more = match self.causes.len() {
            1 => String::new(),
            causes => format!(" (and {} more)", causes - 1),
        };
        let claim = match self.polls() {
            true => "no rank can go on, unless one ends its loop of tests or probes by itself",
            false => "no rank can ever go on",
        };
        format!("{claim}: {}{more}", first.words(self))
    }

    /// Returns whether a rank polls.
    fn polls(&self) -> bool {
        self.ranks.values().any(|vertex| {
            matches!(&vertex.state, RankState::Waits { whereabouts, .. } if whereabouts.polls)
        })
    }
}

fn line(rank: u32, vertex: &Vertex) -> String {
    format!("  rank {rank} on node {} {}", vertex.node, vertex.words())
}

impl Vertex {
    /// Describes what the rank does, without its name, in a job that cannot go on.
    fn words(&self) -> String {
        self.words_with(&|absent| format!("which {} not entered", have(absent)))
    }

    /// Describes it in a job that may go on: ranks that do not wait have not recorded what they
    /// have entered.
    #[must_use]
    pub fn words_at_a_moment(&self) -> String {
        self.words_with(&|absent| match absent {
            [one] => format!("where rank {one} is not seen"),
            many => format!("where {} are not seen", list(many)),
        })
    }

    fn words_with(&self, absence: &dyn Fn(&[u32]) -> String) -> String {
        match &self.state {
            RankState::Ended => "has ended".to_owned(),
            RankState::Finalized(_) => "has called MPI_Finalize".to_owned(),
            RankState::Waits { whereabouts, edges } => {
                whereabouts.with_labels(waits(whereabouts, edges, absence), true)
            }
        }
    }
}

fn waits(
    told: &WaitState,
    edges: &[wait_graph::Edge],
    absence: &dyn Fn(&[u32]) -> String,
) -> String {
    let mut line = told.to_string();
    let absent = edges
        .iter()
        .filter(|edge| matches!(edge.wait, WaitReason::Collective(_)));
    for wait_graph::Edge { partners, .. } in absent.filter(|edge| !edge.partners.is_empty()) {
        line += &format!(", {}", absence(partners));
    }
    let instead = told.unmatched.iter().filter(|unmatched| {
        let is_it = |peer: &MessagePeer| {
            (peer.context, peer.rank) == (unmatched.context, unmatched.rank)
                && peer.tag.is_none_or(|tag| Some(tag) == unmatched.tag)
        };
        !told
            .waits
            .iter()
            .any(|wait| matches!(wait, WaitReason::Receive(peer) if is_it(peer)))
    });
    for message in instead {
        line += &format!("; a message from {message} has come, and is not received");
    }
    line
}

fn have(ranks: &[u32]) -> String {
    match ranks {
        [one] => format!("rank {one} has"),
        many => format!("{} have", list(many)),
    }
}

/// Formats a list: "ranks 1, 2 and 3"
fn list(ranks: &[u32]) -> String {
    const LISTED: usize = 8;
    match ranks {
        [] => "nobody".to_owned(),
        [one] => format!("rank {one}"),
        many if many.len() > LISTED => {
            let some: Vec<String> = many[..LISTED].iter().map(u32::to_string).collect();
            format!("ranks {} and {} more", some.join(", "), many.len() - LISTED)
        }
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(u32::to_string).collect();
            format!("ranks {} and {last}", first.join(", "))
        }
    }
}

impl DeadlockCause {
    /// Returns the ranks of this cause.
    #[must_use]
    pub fn ranks(&self) -> Vec<u32> {
        match self {
            Self::Cycle(ranks) => ranks.clone(),
            Self::Gone { rank, partners } => [*rank].iter().chain(partners).copied().collect(),
            Self::MismatchedCollectives(one, other)
            | Self::DivergedCollectives { one, other, .. } => vec![*one, *other],
            Self::Nobody(rank) => vec![*rank],
        }
    }

    fn words(&self, graph: &WaitGraph) -> String {
        match self {
            Self::Cycle(ranks) => match ranks[..] {
                [alone] => format!("rank {alone} waits for itself"),
                [one, other] => format!("ranks {one} and {other} wait for each other"),
                _ => {
                    let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
                    format!(
                        "ranks {} wait in a circle, each for the next",
                        ranks.join(", ")
                    )
                }
            },
            Self::Gone { rank, partners } => {
                let finalized = |rank: &u32| {
                    let vertex = graph.ranks.get(rank);
                    vertex.is_some_and(|vertex| matches!(vertex.state, RankState::Finalized(_)))
                };
                let how = match partners.iter().all(finalized) {
                    true => "called MPI_Finalize",
                    false => "ended",
                };
                let have = if partners.len() == 1 { "has" } else { "have" };
                format!(
                    "rank {rank} waits for {}, which {have} {how}",
                    list(partners)
                )
            }
            Self::MismatchedCollectives(one, other) => {
                format!("ranks {one} and {other} are in different collectives")
            }
            Self::DivergedCollectives {
                context,
                one,
                other,
            } => {
                let name = ContextName(*context);
                let text =
                    format!("ranks {one} and {other} have called different collectives of {name}");
                let said = [one, other]
                    .into_iter()
                    .filter_map(|rank| graph.ranks.get(rank)?.said());
                said.fold(text, |text, said| said.with_labels(text, true))
            }
            Self::Nobody(rank) => format!("rank {rank} waits for what nobody can bring"),
        }
    }
}
