//! Reports the leaks of a program at MPI_Finalize, after the end of a job that has ended well.
//!
//! Errors of the program are messages that nobody has received, receives and collectives that are
//! not complete, requests that nobody has waited for (11.2.2), messages that were longer than their
//! buffers, and ranks that have called different collectives and gone on. Objects that were only
//! not freed are common, and reported only if the user requests it.

mod entry;
mod objects;
mod places;

use bcs_core::job::NodeId;
use bcs_core::wait_state::{
    CommunicatorLabel, ContextName, Leak, LeakReport, MessagePeer, Site, WaitState,
};
use entry::{LeakEntry, communicator, describe};
use node_manager::control::RankFinalReport;
use places::LeakPlaces;
use source_lines::{SourceLines, unresolved_site};
use std::collections::{BTreeMap, BTreeSet};

/// The most lines that are printed.
const LINES: usize = 16;

/// The most ranks that a line names. Up to this number each rank has a line of its own.
const RANKS: usize = 4;

/// The kinds of leaks that are reported (`--at-finalize`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeakVerbosity {
    /// Nothing.
    Nothing,
    /// Errors only.
    Errors,
    /// All.
    All,
}

/// The leaks of the ranks.
#[derive(Debug)]
pub struct LeakReporter {
    says: LeakVerbosity,
    ends: Vec<RankFinalReport>,
}

/// Lines of one group become a single line if they are many. In the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LeakGroup {
    code: u8,
    context: u32,
    detail: i64,
}

/// How many collectives of a communicator a rank has entered, and a digest of them.
type CollectiveProgress = (u32, u32);

impl LeakReporter {
    /// Makes an empty reporter.
    #[must_use]
    pub fn new(says: LeakVerbosity) -> Self {
        Self {
            says,
            ends: Vec::new(),
        }
    }

    /// Adds the report of a rank that has ended.
    pub fn add_report(&mut self, end: RankFinalReport) {
        if self.says > LeakVerbosity::Nothing {
            self.ends.push(end);
        }
    }

    /// Returns the lines of the report.
    #[must_use]
    pub fn lines(&self, source: &mut SourceLines) -> Vec<String> {
        let mut places = LeakPlaces::of(&self.ends, source);
        let astray = self.diverged_communicators();
        let known: BTreeSet<u32> = astray.keys().map(|&(context, _)| context).collect();
        let mut all: Vec<String> = astray
            .iter()
            .map(|(&(context, _), ways)| different(context, ways))
            .collect();
        let mut kinds: BTreeMap<LeakGroup, Vec<LeakEntry>> = BTreeMap::new();
        let mut more = 0_u64;
        for end in &self.ends {
            // An invalid report affects only the rank that sent it.
            let left = LeakReport::decode(&end.left).unwrap_or_default();
            for &(thing, count) in &left.leaks {
                let (rank, node) = (end.rank, end.node);
                let entry = LeakEntry {
                    rank,
                    node,
                    thing,
                    count,
                };
                if let Some(kind) = self.kind(thing, &known) {
                    kinds.entry(kind).or_default().push(entry);
                }
            }
            more = more.saturating_add(left.more);
        }
        for entries in kinds.values() {
            if matches!(
                entries[..],
                [
                    LeakEntry {
                        thing: Leak::Communicator(_) | Leak::Object(_),
                        ..
                    },
                    ..
                ]
            ) {
                all.extend(objects::lines(entries, &mut places));
                continue;
            }
            match entries.len() {
                0..=RANKS => {
                    let each = entries.iter();
                    all.extend(each.map(|entry| line(&[*entry]) + &places.words(&[*entry])));
                }
                _ => all.push(line(entries) + &places.words(entries)),
            }
        }
        if more > 0 && !all.is_empty() {
            all.push(format!("  ... and {more} other things"));
        }
        for mut title in self.titles() {
            title.site.iter_mut().for_each(|site| source.look_up(site));
            all.iter_mut()
                .for_each(|line| *line = title.put_into(line, true));
        }
        if all.len() > LINES {
            let others = all.len() - LINES;
            all.truncate(LINES);
            all.push(format!("  ... and {others} lines of this kind"));
        }
        if !all.is_empty() {
            all.insert(
                0,
                "what the program has left at MPI_Finalize (of which --at-finalize quiet says nothing):"
                    .into(),
            );
        }
        all
    }

    /// Returns the labels of communicators whose ranks all report the same one: groups without a
    /// rank in common may have the same context.
    fn titles(&self) -> Vec<CommunicatorLabel> {
        let mut titles: BTreeMap<u32, Vec<CommunicatorLabel>> = BTreeMap::new();
        let said = self.ends.iter().flat_map(|end| {
            let labels = WaitState::decode(&end.last).map_or_else(Vec::new, |last| last.labels);
            labels.into_iter().map(move |label| (end, label))
        });
        for (end, mut title) in said {
            if let Some(Site::Address(address)) = title.site {
                let mut code = end.code.iter();
                let place = code.find_map(|(it, place)| (*it == address).then_some(place));
                title.site = place.cloned().map(unresolved_site);
            }
            let known = titles.entry(title.context).or_default();
            if !known.iter().any(|it| it.text() == title.text()) {
                known.push(title);
            }
        }
        let clear = titles.into_values().filter(|known| known.len() == 1);
        clear.flatten().collect()
    }

    /// Returns the group in which a leak is reported, or `None` if it is not reported. In the
    /// communicators of `known`, ranks have called different collectives.
    fn kind(&self, thing: Leak, known: &BTreeSet<u32>) -> Option<LeakGroup> {
        let of_peer = |code, peer: MessagePeer| LeakGroup {
            code,
            context: peer.context,
            detail: peer.tag.map_or(-1, i64::from),
        };
        let plain = |code, context, detail| LeakGroup {
            code,
            context,
            detail,
        };
        let (says, kind) = match thing {
            Leak::Message(peer) if peer.is_of_program() => {
                (LeakVerbosity::Errors, of_peer(0, peer))
            }
            Leak::Message(peer) => {
                let context = communicator(peer);
                if !peer.is_of_collective() || known.contains(&context) {
                    return None;
                }
                (LeakVerbosity::Errors, plain(4, context, 0))
            }
            Leak::Receive(peer) => (LeakVerbosity::Errors, of_peer(1, peer)),
            Leak::Truncated(peer) => (LeakVerbosity::Errors, of_peer(2, peer)),
            Leak::Collective(it) => {
                let number = i64::from(it.number);
                (LeakVerbosity::Errors, plain(3, it.context, number))
            }
            Leak::Request => (LeakVerbosity::Errors, plain(5, 0, 0)),
            Leak::Communicator(context) => (LeakVerbosity::All, plain(6, context, 0)),
            Leak::Object(object) => (LeakVerbosity::All, plain(7, 0, object as i64)),
        };
        (says <= self.says).then_some(kind)
    }

    /// Returns the communicators whose ranks have called different collectives, with the first rank
    /// of each variant.
    fn diverged_communicators(
        &self,
    ) -> BTreeMap<(u32, u32), BTreeMap<CollectiveProgress, (u32, NodeId)>> {
        let mut all: BTreeMap<(u32, u32), BTreeMap<CollectiveProgress, (u32, NodeId)>> =
            BTreeMap::new();
        for end in &self.ends {
            let last = WaitState::decode(&end.last).unwrap_or_default();
            for it in last.communicators {
                let ways = all.entry((it.context, it.group)).or_default();
                let way = (it.entered, it.call_digest);
                let first = ways.entry(way).or_insert((end.rank, end.node));
                *first = (*first).min((end.rank, end.node));
            }
        }
        all.retain(|_, ways| ways.len() > 1);
        all
    }
}

fn different(context: u32, ways: &BTreeMap<CollectiveProgress, (u32, NodeId)>) -> String {
    let name = ContextName(context);
    let mut ways = ways.iter();
    let (first, second) = (ways.next(), ways.next());
    let (Some((one, at)), Some((other, there))) = (first, second) else {
        return format!("  ranks have called different collectives of {name}");
    };
    let rank = |(rank, node): (u32, NodeId)| format!("rank {rank} on node {node}");
    let (at, there) = (rank(*at), rank(*there));
    match one.0 == other.0 {
        true => format!(
            "  {at} and {there} have called different collectives of {name}, and gone on ({} each)",
            one.0
        ),
        false => format!(
            "  {at} has called {} collectives of {name}, and {there} {}",
            one.0, other.0
        ),
    }
}

/// Describes these leaks, which are of one group.
fn line(entries: &[LeakEntry]) -> String {
    let who = match entries {
        [LeakEntry { rank, node, .. }] => format!("rank {rank} on node {node} has"),
        many => {
            let named = many.iter().take(RANKS).map(|entry| entry.rank.to_string());
            let named: Vec<String> = named.collect();
            let (count, rest) = (many.len(), many.len() - named.len());
            format!("{count} ranks ({} and {rest} more) have", named.join(", "))
        }
    };
    let count = entries.iter().map(|entry| u64::from(entry.count)).sum();
    format!("  {who} {}", describe(entries, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::wait_state::{
        COLLECTIVE_MESSAGES, CalledCollective, CommunicatorProgress, EnteredCollective,
        LeakedObject, MemberRange, MessageCollective, PostedOperation, Site, SourceLine,
    };

    fn peer(rank: u32, tag: i32) -> MessagePeer {
        MessagePeer {
            context: 0,
            rank: Some(rank),
            tag: Some(tag),
        }
    }

    fn world(entered: u32, called: u32) -> CommunicatorProgress {
        CommunicatorProgress {
            context: 0,
            group: 0,
            entered,
            call_digest: called,
            members: MemberRange::of(0..8),
        }
    }

    fn end(rank: u32, things: &[(Leak, u32)], world: CommunicatorProgress) -> RankFinalReport {
        let mut left = LeakReport::default();
        for &(thing, count) in things {
            left.add(thing, count);
        }
        let last = WaitState {
            communicators: vec![world],
            ..WaitState::default()
        };
        RankFinalReport {
            rank,
            node: NodeId(u16::try_from(rank / 4).unwrap()),
            left: left.encode(),
            last: last.encode(),
            code: Vec::new(),
        }
    }

    fn lines(says: LeakVerbosity, ends: impl IntoIterator<Item = RankFinalReport>) -> Vec<String> {
        let mut all = LeakReporter::new(says);
        ends.into_iter().for_each(|end| all.add_report(end));
        all.lines(&mut SourceLines::default())
    }

    #[test]
    fn errors_are_said_and_what_is_common_only_to_who_asks() {
        let things = [
            (Leak::Message(peer(0, 7)), 2),
            (Leak::Receive(peer(2, 1)), 1),
            (Leak::Truncated(peer(3, 1)), 1),
            (Leak::Request, 1),
            (Leak::Communicator(5), 1),
            (Leak::Object(LeakedObject::Operation), 3),
        ];
        let ends = || [end(5, &things, world(3, 0)), end(6, &[], world(3, 0))];
        assert!(lines(LeakVerbosity::Nothing, ends()).is_empty());
        let errors = lines(LeakVerbosity::Errors, ends());
        let expected = [
            "  rank 5 on node 1 has not received 2 messages from rank 0 with tag 7 in MPI_COMM_WORLD",
            "  rank 5 on node 1 has a receive that is not over: from rank 2 with tag 1 in MPI_COMM_WORLD",
            "  rank 5 on node 1 has received a message that had no room in the buffer: from rank 3 with tag 1 in MPI_COMM_WORLD",
            "  rank 5 on node 1 has not waited for, tested or freed a request that is done",
        ];
        assert_eq!(errors[1..], expected);
        let all = lines(LeakVerbosity::All, ends());
        assert_eq!(all[1..5], expected);
        assert_eq!(
            all[5],
            "  rank 5 on node 1 has not freed the communicator with context 5"
        );
        assert_eq!(all[6], "  rank 5 on node 1 has not freed 3 operations");
        assert!(lines(LeakVerbosity::All, [end(0, &[], world(3, 0))]).is_empty());
    }

    /// The places of messages are those of their senders, other places are the rank's own.
    #[test]
    fn places_are_said_of_what_is_left() {
        let things = [(Leak::Message(peer(0, 7)), 2), (Leak::Request, 1)];
        let mut receiver = end(5, &things, world(3, 0));
        let mut sender = end(0, &[], world(3, 0));
        let line = |file, line| Site::Line(SourceLine::new(file, line));
        let mut left = LeakReport::decode(&receiver.left).unwrap();
        left.add_place(PostedOperation::Request, Site::Address(0x1234));
        left.add_place(PostedOperation::Receive(peer(0, 7)), line("main.c", 3));
        receiver.left = left.encode();
        let place = "/home/me/ring+0x11b9".parse().unwrap();
        receiver.code = vec![(0x1234, place)];
        let (mut left, context) = (LeakReport::default(), 0);
        for (tag, number) in [(7, 20), (8, 30), (7, 44)] {
            left.add_place(
                PostedOperation::Sent { context, tag },
                line("main.c", number),
            );
        }
        sender.left = left.encode();
        let all = lines(LeakVerbosity::Errors, [sender, receiver]);
        assert!(
            all[1].ends_with(", sent at main.c:20 or main.c:44"),
            "{all:?}"
        );
        assert!(
            all[2].ends_with(", posted at /home/me/ring+0x11b9"),
            "{all:?}"
        );
    }

    #[test]
    fn what_many_ranks_have_left_is_one_line() {
        let of = |rank| end(rank, &[(Leak::Message(peer(rank ^ 1, 7)), 2)], world(0, 0));
        let all = lines(LeakVerbosity::Errors, (0..64).map(of));
        let expected = "  64 ranks (0, 1, 2, 3 and 60 more) have not received 128 messages from \
                        several ranks with tag 7 in MPI_COMM_WORLD";
        assert_eq!(all[1..], [expected]);
    }

    #[test]
    fn there_is_an_end_to_the_lines() {
        let of = |rank: u32| {
            let tag = i32::try_from(rank).unwrap();
            end(rank, &[(Leak::Message(peer(0, tag)), 1)], world(0, 0))
        };
        let all = lines(LeakVerbosity::Errors, (0..100).map(of));
        assert_eq!(all.len(), 1 + LINES + 1);
        assert_eq!(all[LINES + 1], "  ... and 84 lines of this kind");
    }

    /// It explains the messages that were left by it.
    #[test]
    fn ranks_that_have_called_different_collectives_are_named() {
        let stray = MessagePeer {
            context: COLLECTIVE_MESSAGES,
            ..peer(0, 2)
        };
        let strays = [(Leak::Message(stray), 1)];
        let alone = lines(LeakVerbosity::Errors, [end(1, &strays, world(2, 9))]);
        assert!(alone[1].contains("not taken part"), "{alone:?}");
        let fewer = [end(0, &[], world(3, 9)), end(1, &strays, world(2, 9))];
        let fewer = lines(LeakVerbosity::Errors, fewer);
        let expected =
            "  rank 1 on node 0 has called 2 collectives of MPI_COMM_WORLD, and rank 0 on node 0 3";
        assert_eq!(fewer[1..], [expected]);
        let others = [end(0, &[], world(3, 9)), end(1, &[], world(3, 8))];
        let others = lines(LeakVerbosity::Errors, others);
        assert!(
            others[1].contains("different collectives of MPI_COMM_WORLD"),
            "{others:?}"
        );
        assert_eq!(others.len(), 2);
    }

    #[test]
    fn a_collective_that_is_not_over_is_an_error() {
        let entered = EnteredCollective {
            context: 0,
            group: 0,
            number: 4,
            called: CalledCollective::Messages(MessageCollective::Gather, Some(2)),
        };
        let all = lines(
            LeakVerbosity::Errors,
            [end(0, &[(Leak::Collective(entered), 1)], world(5, 1))],
        );
        let expected = "  rank 0 on node 0 has begun a gather to rank 2 (collective 5 of MPI_COMM_WORLD), \
                        which is not over";
        assert_eq!(all[1..], [expected]);
    }

    #[test]
    fn rubbish_is_silent() {
        let rubbish = RankFinalReport {
            rank: 0,
            node: NodeId(0),
            left: vec![u64::MAX; 7],
            last: vec![u64::MAX; 3],
            code: Vec::new(),
        };
        assert!(lines(LeakVerbosity::All, [rubbish]).is_empty());
    }
}
