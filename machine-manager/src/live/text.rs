//! A snapshot for a person, with one line for ranks that do the same; and for a program.

use super::client::printable;
use super::question::JobFacts;
use super::snapshot::{Activity, JobSnapshot, RankSnapshot};
use crate::deadlock_detector;
use bcs_core::job::NodeId;
use bcs_core::wait_state::{MessagePeer, WaitReason};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The most pending operations that are named for a person.
const SAID: usize = 4;

/// The most ranges of numbers on a line.
const RANGES: usize = 16;

impl JobFacts {
    /// Formats its age.
    #[must_use]
    pub fn age(&self) -> String {
        let age = Duration::from_millis(self.age_ms);
        let rounded = match age.as_secs() {
            0 => age,
            seconds => Duration::from_secs(seconds),
        };
        humantime::format_duration(rounded).to_string()
    }

    /// Returns its command line.
    #[must_use]
    pub fn command_line(&self) -> String {
        printable(&self.command.join(" "))
    }

    /// Returns it as a JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "job": self.id,
            "pid": self.pid,
            "user": self.user,
            "nodes": self.nodes,
            "ranks": self.ranks,
            "age_ms": self.age_ms,
            "ending": self.is_ending,
            "recorded": self.is_recorded,
            "command": self.command,
        })
    }
}

impl JobSnapshot {
    /// Returns the lines of `bcs state`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut groups: BTreeMap<String, (u32, Vec<(u32, NodeId)>)> = BTreeMap::new();
        for (&number, rank) in &self.ranks {
            let words = format!("{}{}", rank.what(), rank.beside());
            let group = groups.entry(words).or_insert((number, Vec::new()));
            group.1.push((number, rank.node));
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, (first, _))| *first);
        let mut lines = vec![self.head(), self.sum()];
        lines.extend(groups.iter().map(|(words, (_, ranks))| line(ranks, words)));
        if !self.silent.is_empty() {
            let nodes = self.silent.iter().map(|node| u32::from(node.0)).collect();
            lines.push(format!("  node {}: no answer", ranges(&nodes)));
        }
        lines
    }

    /// Describes the job.
    #[must_use]
    pub fn head(&self) -> String {
        let job = &self.job;
        format!(
            "job {}, {} on {}, for {}{}: {}",
            job.id,
            count(job.ranks, "rank"),
            count(job.nodes, "node"),
            job.age(),
            if job.is_ending { ", is ending" } else { "" },
            job.command_line()
        )
    }

    /// Counts the ranks by what they do.
    #[must_use]
    pub fn sum(&self) -> String {
        let mut counts: BTreeMap<Activity, usize> = BTreeMap::new();
        for rank in self.ranks.values() {
            *counts.entry(rank.activity).or_default() += 1;
        }
        let counts = counts.iter();
        let counts: Vec<String> = counts
            .map(|(activity, count)| format!("{count} {}", activity.word()))
            .collect();
        let slice = match self.slice {
            0 => "no slice so far".to_owned(),
            slice => format!("slice {slice}"),
        };
        format!(
            "bcs run is process {}; {slice}; ranks: {}",
            self.job.pid,
            counts.join(", ")
        )
    }

    /// Returns `bcs-state`, version 1 (docs/live.md).
    #[must_use]
    pub fn json(&self) -> Value {
        let silent = self.silent.iter().map(|node| node.0);
        let ranks = self.ranks.iter().map(|(number, rank)| rank.json(*number));
        json!({
            "format": "bcs-state",
            "version": 1,
            "job": self.job.json(),
            "at_ns": self.at_ns,
            "slice": self.slice,
            "ranks": ranks.collect::<Vec<_>>(),
            "silent_nodes": silent.collect::<Vec<_>>(),
        })
    }
}

fn line(ranks: &[(u32, NodeId)], words: &str) -> String {
    if let [(rank, node)] = ranks {
        return format!("  rank {rank} on node {node} {words}");
    }
    let nodes: BTreeSet<u32> = ranks.iter().map(|(_, node)| u32::from(node.0)).collect();
    let ranks = ranks.iter().map(|(rank, _)| *rank).collect();
    let plural = if nodes.len() == 1 { "" } else { "s" };
    format!(
        "  ranks {} on node{plural} {}: each {words}",
        ranges(&ranks),
        ranges(&nodes)
    )
}

/// Formats ranges: "0-3, 7"
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let more = ranges.len().saturating_sub(RANGES);
    let said = ranges.iter().take(RANGES).map(|(first, last)| match first {
        _ if first == last => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    let said = said.collect::<Vec<_>>().join(", ");
    match more {
        0 => said,
        _ => format!("{said}, and others"),
    }
}

/// Formats a count: "1 rank", "2 ranks"
#[must_use]
pub fn count(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

impl Activity {
    /// Returns it as one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waits => "waiting",
            Self::Calls => "in a call",
            Self::Computes => "computing",
            Self::Stopped => "stopped",
            Self::Starts => "starting",
            Self::Finalized => "finalized",
            Self::Ended => "ended",
        }
    }

    /// Returns it as one word in JSON; a deadlock report has the same words.
    fn name(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Calls => "calls",
            Self::Computes => "computes",
            Self::Stopped => "stopped",
            Self::Starts => "starts",
            Self::Finalized => "finalized",
            Self::Ended => "ended",
        }
    }
}

impl RankSnapshot {
    /// Describes what it does: "computes", "waits for a message from rank 1 with tag 5 in
    /// MPI_COMM_WORLD".
    #[must_use]
    pub fn what(&self) -> String {
        let said = self
            .vertex
            .as_ref()
            .map(deadlock_detector::Vertex::words_at_a_moment);
        match (self.activity, said) {
            (Activity::Stopped, Some(said)) => format!("is stopped, and {said}"),
            (_, Some(said)) => said,
            (Activity::Calls, None) => self.call(),
            (Activity::Stopped, None) => format!("is stopped{}", self.last_call()),
            (Activity::Starts, None) => "has not called MPI_Init".to_owned(),
            (Activity::Finalized, None) => "has called MPI_Finalize".to_owned(),
            (Activity::Ended, None) => "has ended".to_owned(),
            (Activity::Computes | Activity::Waits, None) => {
                format!("computes{}", self.last_call())
            }
        }
    }

    fn last_call(&self) -> String {
        let site = self.last_call.as_ref();
        site.map_or_else(String::new, deadlock_detector::last_call)
    }

    fn call(&self) -> String {
        let recorded = self.recorded.as_ref();
        let call = recorded.and_then(|it| Some((it.call?, &it.place)));
        match call {
            None => format!("computes{}", self.last_call()),
            Some((call, place)) if place.is_empty() => format!("is in {}", call.name()),
            Some((call, place)) => format!("is in {} ({})", call.name(), printable(place)),
        }
    }

    /// Describes its other pending operations, as the end of a sentence.
    fn beside(&self) -> String {
        let mut words = String::new();
        let said: Vec<String> = self.pending.iter().take(SAID).map(posted).collect();
        let more = self.pending.len().saturating_sub(SAID) + self.more as usize;
        if !said.is_empty() || more > 0 {
            words += &format!("; pending: {}", said.join(", "));
            words += &match (said.len(), more) {
                (_, 0) => String::new(),
                (0, more) => format!("{more} requests"),
                (_, more) => format!(", and {more} more"),
            };
        }
        for peer in self.unmatched.iter().take(SAID) {
            words += &format!("; a message from {peer} has come, and is not received");
        }
        words
    }

    fn json(&self, number: u32) -> Value {
        let mut value = json!({
            "rank": number,
            "node": self.node.0,
            "pid": self.pid,
            "pending": self.pending.iter().map(pending_json).collect::<Vec<_>>(),
            "pending_more": self.more,
            "come": self.unmatched.iter().map(deadlock_detector::peer).collect::<Vec<_>>(),
            "completions": self.completions,
        });
        let said = self.vertex.as_ref().map(deadlock_detector::Vertex::json);
        if let (Value::Object(to), Some(Value::Object(said))) = (&mut value, said) {
            to.extend(said);
        }
        value["state"] = self.activity.name().into();
        if let Some(site) = &self.last_call {
            value["last_call"] = site.to_string().into();
        }
        if let Some(recorded) = &self.recorded {
            value["recorded"] = json!({
                "calls": recorded.calls,
                "messages": recorded.messages,
                "run_ns": recorded.run_ns,
                "in_mpi_ns": recorded.in_mpi_ns,
                "call": recorded.call.map(|call| call.name()),
                "place": recorded.place,
            });
        }
        value
    }
}

fn posted(wait: &WaitReason) -> String {
    match wait {
        WaitReason::Receive(from) => format!("a receive from {from}"),
        WaitReason::Probe(from) => format!("a probe for {from}"),
        WaitReason::Send(to) => format!("a send to {to}"),
        WaitReason::Collective(_) => "a collective".to_owned(),
        WaitReason::WindowLock(_) | WaitReason::WindowPost(_) | WaitReason::WindowComplete(_) => {
            "an epoch of a window".to_owned()
        }
        WaitReason::Request | WaitReason::Sends | WaitReason::Nic => "a request".to_owned(),
    }
}

fn pending_json(wait: &WaitReason) -> Value {
    let (call, peer): (_, Option<&MessagePeer>) = match wait {
        WaitReason::Receive(from) => ("receive", Some(from)),
        WaitReason::Probe(from) => ("probe", Some(from)),
        WaitReason::Send(to) => ("send", Some(to)),
        WaitReason::Collective(_) => ("collective", None),
        WaitReason::WindowLock(at) => ("lock", Some(at)),
        WaitReason::WindowPost(of) => ("post", Some(of)),
        WaitReason::WindowComplete(of) => ("complete", Some(of)),
        WaitReason::Request | WaitReason::Sends | WaitReason::Nic => ("request", None),
    };
    let mut value = peer.map_or_else(|| json!({}), deadlock_detector::peer);
    value["call"] = call.into();
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::client::JobAnswer;
    use bcs_core::wait_state::WaitState;
    use node_manager::survey::{Progress, RankSurvey, SurveyPart};
    use source_lines::SourceLines;

    fn peer(rank: u32, tag: i32) -> MessagePeer {
        MessagePeer {
            context: 0,
            rank: Some(rank),
            tag: Some(tag),
        }
    }

    fn rank(
        rank: u32,
        progress: Progress,
        waits: Vec<WaitReason>,
        pending: Vec<WaitReason>,
    ) -> RankSurvey {
        let said = |waits: Vec<WaitReason>| WaitState {
            waits,
            ..WaitState::default()
        };
        RankSurvey {
            rank,
            node: NodeId(u16::try_from(rank / 2).unwrap()),
            pid: 7,
            progress,
            words: said(waits).encode(),
            code: None,
            last_call: None,
            pending: said(pending).encode(),
            completions: 0,
            recorded: None,
        }
    }

    fn told(ranks: Vec<RankSurvey>) -> Vec<String> {
        let part = SurveyPart {
            ranks,
            ..SurveyPart::default()
        };
        let answered = JobAnswer {
            parts: vec![part],
            ..JobAnswer::default()
        };
        JobSnapshot::of(answered, &mut SourceLines::default())
            .lines()
            .split_off(2)
    }

    #[test]
    fn ranks_that_do_the_same_share_a_line() {
        let wait = vec![WaitReason::Receive(peer(1, 5))];
        let ranks = [0, 2, 3, 5].map(|at| rank(at, Progress::Running, wait.clone(), Vec::new()));
        let mut ranks = ranks.to_vec();
        ranks.push(rank(1, Progress::Running, Vec::new(), Vec::new()));
        ranks.push(rank(4, Progress::Stopped, Vec::new(), Vec::new()));
        assert_eq!(
            told(ranks),
            [
                "  ranks 0, 2-3, 5 on nodes 0-2: each waits for a message from rank 1 with tag 5 in \
                 MPI_COMM_WORLD",
                "  rank 1 on node 0 computes",
                "  rank 4 on node 2 is stopped",
            ]
        );
    }

    #[test]
    fn what_is_waited_for_is_not_pending_beside_that() {
        let receive = WaitReason::Receive(peer(1, 5));
        let pending = vec![receive, WaitReason::Send(peer(3, 6)), receive];
        let ranks = vec![rank(0, Progress::Running, vec![receive], pending)];
        let waits =
            "  rank 0 on node 0 waits for a message from rank 1 with tag 5 in MPI_COMM_WORLD";
        let beside = "a send to rank 3 with tag 6 in MPI_COMM_WORLD, a receive from rank 1 with tag 5 in \
                      MPI_COMM_WORLD";
        assert_eq!(told(ranks), [format!("{waits}; pending: {beside}")]);
        let sends = vec![WaitReason::Send(peer(3, 6)); 6];
        let lines = told(vec![rank(0, Progress::Running, Vec::new(), sends)]);
        assert!(lines[0].ends_with(", and 2 more"), "{lines:?}");
    }

    #[test]
    fn many_ranges_are_not_all_named() {
        let odd: BTreeSet<u32> = (0..100).map(|nth| 2 * nth + 1).collect();
        let words = ranges(&odd);
        assert!(words.starts_with("1, 3, 5, ") && words.ends_with("31, and others"));
        assert_eq!(
            ranges(&[u32::MAX - 1, u32::MAX].into()),
            "4294967294-4294967295"
        );
    }

    #[test]
    fn what_would_move_a_cursor_is_not_printed() {
        let facts = JobFacts {
            command: vec!["a\x1b[2J".into(), "b\n".into()],
            ..JobFacts::default()
        };
        assert_eq!(facts.command_line(), "a\u{fffd}[2J b\u{fffd}");
    }

    #[test]
    fn words_that_make_no_sense_are_a_rank_that_computes() {
        let mut rubbish = rank(0, Progress::Running, Vec::new(), Vec::new());
        rubbish.words = vec![u64::MAX; 300];
        rubbish.pending = vec![u64::MAX; 3];
        assert_eq!(told(vec![rubbish]), ["  rank 0 on node 0 computes"]);
    }
}
