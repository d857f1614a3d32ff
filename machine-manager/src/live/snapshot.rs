//! A snapshot of the activities of all ranks of a job.
//!
//! It combines what node managers have found one after the other, while ranks go on. So, unlike the
//! deadlock detector, it proves nothing: the wait states of two ranks may not have been true at the
//! same time.

use super::client::JobAnswer;
use super::question::JobFacts;
use crate::deadlock_detector::{Vertex, WaitGraph};
use bcs_core::job::NodeId;
use bcs_core::wait_state::{MessagePeer, Site, WaitReason, WaitState};
use mds::mmds::RecorderSnapshot;
use node_manager::control::DepartedRank;
use node_manager::survey::{Progress, RankSurvey};
use source_lines::{SourceLines, unresolved_site};
use std::collections::BTreeMap;

/// A snapshot of a job; see the module.
#[derive(Debug)]
pub struct JobSnapshot {
    /// The job.
    pub job: JobFacts,
    /// Its time, by the clock of the machine.
    pub at_ns: u64,
    /// The slice that was last struck.
    pub slice: u64,
    /// Its ranks.
    pub ranks: BTreeMap<u32, RankSnapshot>,
    /// Nodes that have not reported what their ranks do.
    pub silent: Vec<NodeId>,
}

/// A rank.
#[derive(Debug)]
pub struct RankSnapshot {
    /// Its node.
    pub node: NodeId,
    /// Its process.
    pub pid: i32,
    /// Its activity.
    pub activity: Activity,
    /// Its wait state, or the last one, if it has recorded one.
    pub vertex: Option<Vertex>,
    /// Its unmatched operations, except those that it waits for.
    pub pending: Vec<WaitReason>,
    /// The number of further ones.
    pub more: u32,
    /// Messages that have come and that it has not received, as far as its NIC knows.
    pub unmatched: Vec<MessagePeer>,
    /// The number of its requests that its NIC has completed.
    pub completions: u64,
    /// The contents of its recorder, if it records.
    pub recorded: Option<RecorderSnapshot>,
    /// Where it has last called MPI, if it does not wait and that is known.
    pub last_call: Option<Site>,
}

/// The activity of a rank, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// It sleeps in a call.
    Waits,
    /// It is in a call that waits, and is awake, as far as its recorder knows.
    Calls,
    /// It is in no call, or in one that does not sleep.
    Computes,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has not called MPI_Init.
    Starts,
    /// It has called MPI_Finalize.
    Finalized,
    /// Its process has ended.
    Ended,
}

impl JobSnapshot {
    /// Makes the snapshot of an answer, with lines where places are addresses.
    #[must_use]
    pub fn of(answered: JobAnswer, source: &mut SourceLines) -> Self {
        let parts = answered.parts;
        let at_ns = parts.iter().map(|part| part.at_ns).min();
        let slice = parts.iter().map(|part| part.slice).max();
        let found: BTreeMap<u32, RankSurvey> = parts
            .into_iter()
            .flat_map(|part| part.ranks)
            .map(|found| (found.rank, found))
            .collect();
        let mut graph = graph(&found).with_lines(source);
        let rank = |(rank, found): (u32, RankSurvey)| {
            let last_call = found.last_call.as_ref();
            let last_call = last_call.map(|place| source.site_of_place(place));
            let snapshot = RankSnapshot::of(found, graph.ranks.remove(&rank), last_call);
            (rank, snapshot)
        };
        Self {
            job: answered.facts,
            at_ns: at_ns.unwrap_or(0),
            slice: slice.unwrap_or(0),
            ranks: found.into_iter().map(rank).collect(),
            silent: answered.silent,
        }
    }
}

fn graph(found: &BTreeMap<u32, RankSurvey>) -> WaitGraph {
    let waits = found.values().filter_map(|found| {
        let said = WaitState::decode(&found.words).filter(|said| !said.waits.is_empty());
        let mut said = said?;
        let code = found.code.clone().map(unresolved_site);
        said.site = code.or(said.site);
        Some((found.rank, found.node, said))
    });
    let gone = found.values().filter_map(|found| {
        let finalized = found.progress == Progress::Finalized;
        (finalized || found.progress == Progress::Ended).then(|| DepartedRank {
            rank: found.rank,
            node: found.node,
            finalized,
            words: Vec::new(),
        })
    });
    let gone: Vec<DepartedRank> = gone.collect();
    WaitGraph::snapshot(waits, gone.iter())
}

impl RankSnapshot {
    fn of(found: RankSurvey, vertex: Option<Vertex>, last_call: Option<Site>) -> Self {
        let pending = WaitState::decode(&found.pending).unwrap_or_default();
        let said = WaitState::decode(&found.words).unwrap_or_default();
        let is_said = |peer: &MessagePeer| said.unmatched.contains(peer);
        let unmatched = pending.unmatched.into_iter();
        let unmatched = unmatched.filter(|peer| !is_said(peer)).collect();
        let calls = found.recorded.as_ref().is_some_and(|it| it.call.is_some());
        let activity = match found.progress {
            Progress::Running if !said.waits.is_empty() => Activity::Waits,
            Progress::Running if calls => Activity::Calls,
            Progress::Running => Activity::Computes,
            Progress::Stopped => Activity::Stopped,
            Progress::Started => Activity::Starts,
            Progress::Finalized => Activity::Finalized,
            Progress::Ended => Activity::Ended,
        };
        Self {
            node: found.node,
            pid: found.pid,
            activity,
            vertex,
            pending: beside(pending.waits, said.waits),
            more: pending.more,
            unmatched,
            completions: found.completions,
            recorded: found.recorded,
            last_call,
        }
    }
}

/// Returns the pending operations without those that the rank waits for, each of which is pending
/// once.
fn beside(mut pending: Vec<WaitReason>, waits: Vec<WaitReason>) -> Vec<WaitReason> {
    for wait in waits {
        if let Some(at) = pending.iter().position(|pending| *pending == wait) {
            pending.remove(at);
        }
    }
    pending
}
