//! The deadlock detector: it queries node managers again and again for the wait states of their
//! ranks.
//!
//! A query is over when all node managers have answered; only then the next one begins. A rank that
//! is in the same call in two queries was there at the moment between them, when the second began.
//! So two such ranks were where they are *at the same time*, on whatever machines. This proves an
//! error, and no coincidence, if one rank is in the 5th collective of a communicator, a gather, and
//! the other one is in the 5th, too, and calls a scatter (MPI 5.0, 6.14). If no message ever
//! crosses between them, only this detector can find it.
//!
//! If no rank can ever go on ([`standstill`] has the proof), it reports who waits for whom
//! ([`wait_graph`]). While ranks move it queries some times a second. If none has moved in the last
//! query, the next two come soon, so a deadlock is reported within a second after the last rank has
//! blocked.
//!
//! | file | is |
//! |---|---|
//! | `mod.rs` | when to query, and the result of the answers |
//! | `standstill.rs` | the proof |
//! | `wait_graph.rs` | who waits for whom, and why nobody goes on |
//! | `text.rs`, `json.rs` | the same for a person, and for a program |
//! | `unblocked.rs` | ranks that the others may wait for, for a person |
//!
//! A state machine without sockets: time and answers come in, queries and findings go out.

mod json;
mod standstill;
#[cfg(test)]
mod tests;
mod text;
mod unblocked;
mod wait_graph;

pub use json::peer;
pub use unblocked::last_call;
pub use wait_graph::{DeadlockCause, RankState, Vertex, WaitGraph};

use bcs_core::job::NodeId;
use bcs_core::wait_state::{EnteredCollective, WaitState};
use node_manager::control::{UnblockedRank, WaitStateQuery, WaitStateReport};
use source_lines::{SourceLines, unresolved_site};
use standstill::{Standstill, StandstillProof};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// The time from the end of a query to the next, while ranks move. The next query finds a rank that
/// blocks just after this one, and the rest takes [`SOON`] twice.
const INTERVAL: Duration = Duration::from_millis(400);

/// The same time when no rank has moved in the last query.
const SOON: Duration = Duration::from_millis(100);

/// The time of a query before the end of the time limit, so that the final report is fresh.
const LAST_LOOK: Duration = Duration::from_millis(50);

/// The number of ranks that are named one by one.
const NAMED: usize = 16;

/// The finding of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetectorFinding {
    /// Ranks are in different collectives, which ends the job: a sentence, and who waits for whom.
    MismatchedCollectives(String, WaitGraph),
    /// No rank can ever go on.
    Deadlock(WaitGraph),
    /// No rank can, unless a program ends its loop of tests or probes by itself; and whether this
    /// has lasted for long.
    Livelock(WaitGraph, bool),
    /// No rank can, unless another thread of one does: a line for the user.
    Possible(String),
    /// Nothing moves, and a NIC holds work that a slice would advance. This is a fault of the
    /// runtime, with a line for the user.
    StalledNic(String),
}

/// A blocked rank.
#[derive(Clone, Debug)]
struct BlockedRank {
    node: NodeId,
    number: u64,
    whereabouts: WaitState,
}

/// The deadlock detector; see the module.
#[derive(Debug)]
pub struct DeadlockDetector {
    /// The answer of each node manager.
    answers: Vec<Option<WaitStateReport>>,
    look: WaitStateQuery,
    next: Option<Instant>,
    last: Option<Instant>,
    /// The blocked ranks of this query, and of the one before.
    blocked: BTreeMap<u32, BlockedRank>,
    before: BTreeMap<u32, BlockedRank>,
    /// Ranks that the query before the end of the job found not blocked.
    unblocked: BTreeMap<u32, UnblockedRank>,
    standstill: Standstill,
    /// The proof from the last query.
    proof: StandstillProof,
    /// Whether the user has got the report of a deadlock, and of a possible one: each is printed
    /// once.
    told: bool,
    told_possible: bool,
    /// The same of a livelock.
    told_livelock: bool,
}

impl DeadlockDetector {
    /// Makes a detector over this number of node managers, for a job that ends at `end` if not
    /// before.
    #[must_use]
    pub fn new(managers: usize, now: Instant, end: Option<Instant>) -> Self {
        Self {
            answers: vec![None; managers],
            look: WaitStateQuery {
                number: 0,
                closely: false,
                unblocked: false,
            },
            next: Some(now + INTERVAL),
            last: end.and_then(|end| end.checked_sub(LAST_LOOK)),
            blocked: BTreeMap::new(),
            before: BTreeMap::new(),
            unblocked: BTreeMap::new(),
            standstill: Standstill::default(),
            proof: StandstillProof::Moves,
            told: false,
            told_possible: false,
            told_livelock: false,
        }
    }

    /// Returns when to call [`ask`](Self::ask).
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let next = self.next?;
        Some(self.last.map_or(next, |last| next.min(last)))
    }

    /// Returns the next query for all node managers, if it is time.
    pub fn ask(&mut self, now: Instant) -> Option<WaitStateQuery> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        let is_last = self.last.is_some_and(|last| now >= last);
        if is_last {
            self.last = None;
        }
        Some(self.query(is_last))
    }

    /// Returns a query whose answers name all ranks, for a job that is about to be ended. Answers
    /// to an earlier one do not count any more.
    pub fn ask_at_the_end(&mut self) -> WaitStateQuery {
        self.last = None;
        self.query(true)
    }

    /// Returns whether all node managers have answered the last query.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.next.is_some()
    }

    fn query(&mut self, unblocked: bool) -> WaitStateQuery {
        self.next = None;
        self.look = WaitStateQuery {
            number: self.look.number.wrapping_add(1),
            closely: self.looks_closely(),
            unblocked,
        };
        self.answers.fill(None);
        self.unblocked.clear();
        self.before = std::mem::take(&mut self.blocked);
        self.look
    }

    /// Returns whether to examine threads, too: no rank has moved of late, and there may be
    /// something to report.
    fn looks_closely(&self) -> bool {
        match self.proof {
            StandstillProof::Moves => false,
            StandstillProof::OtherThreadRuns => self.standstill.is_due(),
            StandstillProof::Suspected
            | StandstillProof::Possible
            | StandstillProof::Livelock
            | StandstillProof::LastingLivelock
            | StandstillProof::Standstill => !self.told,
        }
    }

    /// Handles the answer of a node manager.
    pub fn handle_report(
        &mut self,
        manager: usize,
        seen: WaitStateReport,
        now: Instant,
    ) -> Option<DetectorFinding> {
        if seen.look != self.look.number || self.next.is_some() || self.answers[manager].is_some() {
            return None;
        }
        for sighting in &seen.blocked {
            // An invalid wait state affects only the rank that wrote it.
            if let Some(mut whereabouts) = WaitState::decode(&sighting.words) {
                let code = sighting.code.clone().map(unresolved_site);
                whereabouts.site = code.or(whereabouts.site);
                let started = sighting.started.clone().map(unresolved_site);
                whereabouts.started = started.or(whereabouts.started);
                for (title, place) in whereabouts.labels.iter_mut().zip(&sighting.made_at) {
                    title.site = place.clone().map(unresolved_site).or(title.site.take());
                }
                let blocked = BlockedRank {
                    node: sighting.node,
                    number: sighting.number,
                    whereabouts,
                };
                self.blocked.insert(sighting.rank, blocked);
            }
        }
        let unblocked = seen.unblocked.iter().map(|rank| (rank.rank, rank.clone()));
        self.unblocked.extend(unblocked);
        self.answers[manager] = Some(seen);
        let answers: Vec<WaitStateReport> = match self.answers.iter().all(Option::is_some) {
            true => self.answers.iter_mut().filter_map(Option::take).collect(),
            false => return None,
        };
        self.proof = self.standstill.judge(&answers, self.look.closely);
        let found = self
            .find_mismatch()
            .or_else(|| self.report_standstill(&answers));
        let soon = self.proof == StandstillProof::Suspected && !self.told;
        self.next = Some(now + if soon { SOON } else { INTERVAL });
        found
    }

    /// Returns the blocked ranks that have not moved between the last two queries.
    fn unmoved(&self) -> impl Iterator<Item = (u32, &BlockedRank)> {
        self.blocked.iter().filter_map(|(&rank, blocked)| {
            let before = self.before.get(&rank)?;
            let waits = before.number == blocked.number && !blocked.whereabouts.polls;
            waits.then_some((rank, blocked))
        })
    }

    fn find_mismatch(&self) -> Option<DetectorFinding> {
        let mut first: HashMap<(u32, u32, u32), (u32, &BlockedRank, EnteredCollective)> =
            HashMap::new();
        for (rank, blocked) in self.unmoved() {
            for &entered in &blocked.whereabouts.entered {
                let of = (entered.context, entered.group, entered.number);
                let &mut (other, at, called) = first.entry(of).or_insert((rank, blocked, entered));
                if called.contradicts(&entered) {
                    let what = format!(
                        "ranks wait for each other in different collectives: rank {other} on node \
                         {} is in {called}, and rank {rank} on node {} is in {entered}",
                        at.node, blocked.node
                    );
                    let what = blocked.whereabouts.with_labels(what, false);
                    let mut graph = self.graph(&[]);
                    graph.causes = vec![DeadlockCause::MismatchedCollectives(other, rank)];
                    return Some(DetectorFinding::MismatchedCollectives(what, graph));
                }
            }
        }
        None
    }

    /// Returns who waits for whom. The ranks that are gone are those in these answers.
    fn graph(&self, answers: &[WaitStateReport]) -> WaitGraph {
        let gone = answers.iter().flat_map(|seen| &seen.gone);
        let blocked = self.blocked.iter();
        let waits = blocked.map(|(&rank, it)| (rank, it.node, it.whereabouts.clone()));
        WaitGraph::new(waits, gone)
    }

    /// Reports once that nobody can go on.
    fn report_standstill(&mut self, answers: &[WaitStateReport]) -> Option<DetectorFinding> {
        if matches!(
            self.proof,
            StandstillProof::Possible
                | StandstillProof::Standstill
                | StandstillProof::Livelock
                | StandstillProof::LastingLivelock
        ) && let Some(held) = answers.iter().find_map(|seen| seen.forgotten.as_ref())
        {
            // A slice lets them go on, so the queries so far prove nothing.
            self.standstill = Standstill::default();
            self.proof = StandstillProof::Suspected;
            return Some(DetectorFinding::StalledNic(format!(
                "a fault of BCS-MPI: nothing moves, {held}, and nobody has asked for a slice; a slice \
                 is struck now, and the job goes on (please report this)"
            )));
        }
        match self.proof {
            StandstillProof::Moves
            | StandstillProof::Suspected
            | StandstillProof::OtherThreadRuns => {}
            StandstillProof::Possible if self.told_possible => {}
            StandstillProof::Standstill | StandstillProof::LastingLivelock if self.told => {}
            StandstillProof::Livelock if self.told_livelock => {}
            StandstillProof::Livelock => {
                self.told_livelock = true;
                return Some(DetectorFinding::Livelock(self.graph(answers), false));
            }
            StandstillProof::LastingLivelock => {
                (self.told, self.told_livelock) = (true, true);
                return Some(DetectorFinding::Livelock(self.graph(answers), true));
            }
            StandstillProof::Possible => {
                self.told_possible = true;
                return Some(DetectorFinding::Possible(
                    "a deadlock is possible: all ranks wait in calls, and all of their other \
                     threads sleep:"
                        .into(),
                ));
            }
            StandstillProof::Standstill => {
                self.told = true;
                return Some(DetectorFinding::Deadlock(self.graph(answers)));
            }
        }
        None
    }

    /// Describes where ranks are: first those that the others may wait for, then those that are
    /// blocked, a line each.
    #[must_use]
    pub fn lines(&self, source: &mut SourceLines) -> Vec<String> {
        // If no rank has called MPI_Init, this may be no MPI program.
        let ranks = self.unblocked.values();
        let is_mpi = !self.blocked.is_empty() || ranks.clone().any(|rank| rank.is_initialized);
        let ranks = ranks.filter(|_| is_mpi);
        let others = ranks.clone().count().saturating_sub(NAMED);
        let ranks = ranks.take(NAMED);
        let mut lines: Vec<String> = ranks
            .map(|rank| unblocked::describe(rank, source))
            .collect();
        if others > 0 {
            lines.push(format!("... and {others} others that do not wait"));
        }
        let line = |(rank, blocked): (&u32, &BlockedRank)| {
            let (node, mut told) = (blocked.node, blocked.whereabouts.clone());
            source.look_up_in(&mut told);
            told.with_labels(format!("rank {rank} on node {node} {told}"), true)
        };
        lines.extend(self.blocked.iter().take(NAMED).map(line));
        if self.blocked.len() > NAMED {
            lines.push(format!("... and {} others", self.blocked.len() - NAMED));
        }
        lines
    }
}
