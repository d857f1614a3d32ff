//! The lookout: it asks node managers again and again where their ranks are.
//!
//! A look is over when all node managers have answered, and only then comes the next. A rank that
//! is in the same call in two looks was there at the moment in between when the second began; so
//! two such ranks were where they are *at the same time*, on whatever machines. That makes it an
//! error, and not only an odd coincidence, if one is in the 5th collective of a communicator, a
//! gather, and the other one is in the 5th, too, and calls it a scatter (MPI 5.0, 6.14). No message
//! may ever cross between them, so nobody else would find it.
//!
//! Where no rank can ever go on ([`standstill`] has the proof), it says who waits for whom ([`graph`]).
//! While somebody moves it looks some times a second; when nobody did in the last look, the next two come soon,
//! so it is said within a second of the last rank's blocking.
//!
//! | file | is |
//! |---|---|
//! | `mod.rs` | when to look, and what the answers come to |
//! | `standstill.rs` | the proof |
//! | `graph.rs` | who waits for whom, and why nobody goes on |
//! | `words.rs`, `json.rs` | the same for a person, and for a program |
//!
//! A state machine without sockets: time and answers come in, questions and findings go out.

mod json;
mod standstill;
#[cfg(test)]
mod tests;
mod text;
mod wait_graph;

pub use json::peer;
pub use wait_graph::{DeadlockCause, RankState, Vertex, WaitGraph};

use bcs_core::job::NodeId;
use bcs_core::wait_state::{EnteredCollective, WaitState};
use node_manager::control::{WaitStateQuery, WaitStateReport};
use source_lines::{SourceLines, unresolved_site};
use standstill::{Standstill, StandstillProof};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// From the end of a look to the next, while somebody moves: a rank that blocks just after a look is found
/// by the next one, and what follows takes [`SOON`] twice.
const INTERVAL: Duration = Duration::from_millis(400);

/// ... and when nobody did in the last one.
const SOON: Duration = Duration::from_millis(100);

/// A look at the end of the time limit, so that what is said then is fresh.
const LAST_LOOK: Duration = Duration::from_millis(50);

/// Ranks that are named one by one.
const NAMED: usize = 16;

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetectorFinding {
    /// Ranks are in different collectives, which ends the job: which; and who waits for whom.
    MismatchedCollectives(String, WaitGraph),
    /// No rank can ever go on.
    Deadlock(WaitGraph),
    /// No rank can, unless another thread of one does: a line for the user.
    Possible(String),
    /// Nothing moves, and a NIC holds work that a slice would move on: a fault of the runtime, and a line for the user.
    StalledNic(String),
}

/// A blocked rank.
#[derive(Clone, Debug)]
struct BlockedRank {
    node: NodeId,
    number: u64,
    whereabouts: WaitState,
}

/// See the module.
#[derive(Debug)]
pub struct DeadlockDetector {
    /// What each node manager has answered.
    answers: Vec<Option<WaitStateReport>>,
    look: WaitStateQuery,
    next: Option<Instant>,
    last: Option<Instant>,
    /// Blocked ranks: those of this look, and those of the one before.
    blocked: BTreeMap<u32, BlockedRank>,
    before: BTreeMap<u32, BlockedRank>,
    standstill: Standstill,
    /// What the last look proved.
    proof: StandstillProof,
    /// Whether the user knows of a deadlock, and that one was possible: each is said once.
    told: bool,
    told_possible: bool,
}

impl DeadlockDetector {
    /// A lookout over so many node managers, for a job that ends at `end` if not before.
    #[must_use]
    pub fn new(managers: usize, now: Instant, end: Option<Instant>) -> Self {
        Self {
            answers: vec![None; managers],
            look: WaitStateQuery {
                number: 0,
                closely: false,
            },
            next: Some(now + INTERVAL),
            last: end.and_then(|end| end.checked_sub(LAST_LOOK)),
            blocked: BTreeMap::new(),
            before: BTreeMap::new(),
            standstill: Standstill::default(),
            proof: StandstillProof::Moves,
            told: false,
            told_possible: false,
        }
    }

    /// When to call [`ask`](Self::ask).
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let next = self.next?;
        Some(self.last.map_or(next, |last| next.min(last)))
    }

    /// If it is time for a look, what all node managers are to be asked.
    pub fn ask(&mut self, now: Instant) -> Option<WaitStateQuery> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        if self.last.is_some_and(|last| now >= last) {
            self.last = None;
        }
        self.next = None;
        self.look = WaitStateQuery {
            number: self.look.number.wrapping_add(1),
            closely: self.looks_closely(),
        };
        self.answers.fill(None);
        self.before = std::mem::take(&mut self.blocked);
        Some(self.look)
    }

    /// Whether it is worth it: nobody has moved of late, and there is something to be said.
    fn looks_closely(&self) -> bool {
        match self.proof {
            StandstillProof::Moves => false,
            StandstillProof::OtherThreadRuns => self.standstill.is_due(),
            StandstillProof::Suspected
            | StandstillProof::Possible
            | StandstillProof::Standstill => !self.told,
        }
    }

    /// A node manager has answered.
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
            // What makes no sense is the rank's own affair.
            if let Some(mut whereabouts) = WaitState::decode(&sighting.words) {
                let code = sighting.code.clone().map(unresolved_site);
                whereabouts.site = code.or(whereabouts.site);
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

    /// Blocked ranks that have not moved between the last two looks.
    fn unmoved(&self) -> impl Iterator<Item = (u32, &BlockedRank)> {
        self.blocked.iter().filter_map(|(&rank, blocked)| {
            let before = self.before.get(&rank)?;
            (before.number == blocked.number).then_some((rank, blocked))
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

    /// Who waits for whom; of ranks that are gone, those in these answers.
    fn graph(&self, answers: &[WaitStateReport]) -> WaitGraph {
        let gone = answers.iter().flat_map(|seen| &seen.gone);
        let blocked = self.blocked.iter();
        let waits = blocked.map(|(&rank, it)| (rank, it.node, it.whereabouts.clone()));
        WaitGraph::new(waits, gone)
    }

    /// Says that nobody can go on, once.
    fn report_standstill(&mut self, answers: &[WaitStateReport]) -> Option<DetectorFinding> {
        if matches!(
            self.proof,
            StandstillProof::Possible | StandstillProof::Standstill
        ) && let Some(held) = answers.iter().find_map(|seen| seen.forgotten.as_ref())
        {
            // A slice lets them go on: what was seen so far proves nothing.
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
            StandstillProof::Standstill if self.told => {}
            StandstillProof::Possible => {
                self.told_possible = true;
                return Some(DetectorFinding::Possible(
                    "a deadlock is possible: all ranks wait in calls, and all of their other \
                     threads sleep"
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

    /// Where ranks are blocked, a line each.
    #[must_use]
    pub fn lines(&self, source: &mut SourceLines) -> Vec<String> {
        let line = |(rank, blocked): (&u32, &BlockedRank)| {
            let (node, mut told) = (blocked.node, blocked.whereabouts.clone());
            source.look_up_in(&mut told);
            told.with_labels(format!("rank {rank} on node {node} {told}"), true)
        };
        let mut lines: Vec<String> = self.blocked.iter().take(NAMED).map(line).collect();
        if self.blocked.len() > NAMED {
            lines.push(format!("... and {} others", self.blocked.len() - NAMED));
        }
        lines
    }
}
