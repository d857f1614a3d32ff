//! All members of a node in one thread, which take their steps in any order, compared with the data
//! that each pair of members has agreed on.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::flow::Flow;
use super::local_exchange::{GivenBlocks, LocalExchange, TakenBlocks};
use super::offered_block::{MAX_LAID_BYTES, MAX_MEMBERS};

use crate::data::{ByteRange, DataView, DataViews, EvenBlocks, Scratch};
use crate::steps::{LocalStep, Round};
use crate::transport::smartmap::SmartMap;
use crate::transport::smartmap::collective::stepping::{and_in_turns, step_members};
use crate::transport::smartmap::collective::tests::{FIRST, Node};
use crate::transport::smartmap::peer_memory::PeerMemory;
use crate::transport::smartmap::requests::LocalRequestId;
use crate::transport::{Blocking, PostedSend as Progress, RequestOutcome};
use bcs_core::layout::LayoutBuilder;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::{
    CalledCollective, ConflictingCall, EnteredCollective, MessageCollective as Kind,
};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// One call of all members.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: Kind,
    root: usize,
    /// Selects the lengths.
    length: usize,
    /// Blocks have lengths of their own.
    uneven: bool,
    /// The destination of the taken data: a row, data views, every second byte, or windows of a
    /// fold.
    takes: u8,
}

const LENGTHS: [usize; 8] = [0, 1, 8, 60, 800, 2_100, 4_096, 60_011];

impl Step {
    fn flow(self) -> Flow {
        let root = matches!(self.kind, Kind::Scatter | Kind::Gather).then_some(self.root);
        Flow::of(self.kind, root)
    }

    /// Returns whether all get the same data of a member.
    fn same(self) -> bool {
        !matches!(self.kind, Kind::Alltoall | Kind::Scatter)
    }

    fn len(self, from: usize, to: usize) -> usize {
        let to = if self.same() { 0 } else { to };
        let shift = if self.uneven { 3 * from + 5 * to } else { 0 };
        let len = LENGTHS[(self.length + shift) % LENGTHS.len()];
        if self.uneven { len + from } else { len }
    }

    fn block(self, from: usize, to: usize, seed: usize) -> Vec<u8> {
        let to = if self.same() { 0 } else { to };
        let byte = |at: usize| (at * 31 + from * 7 + to * 13 + seed * 3) % 251;
        let bytes = (0..self.len(from, to)).map(|at| u8::try_from(byte(at)).unwrap());
        bytes.collect()
    }

    fn called(self, members: &[u32]) -> CalledCollective {
        let root = matches!(self.kind, Kind::Scatter | Kind::Gather);
        CalledCollective::Messages(self.kind, root.then(|| members[self.root]))
    }
}

/// One call of one member, with its memory.
struct Posted {
    id: LocalRequestId,
    _out: Vec<u8>,
    _slot: Vec<u8>,
    /// By the members from which it takes.
    into: Vec<Vec<u8>>,
    /// Its own block.
    own: Vec<u8>,
    row: Vec<u8>,
}

fn address(bytes: &mut [u8]) -> u64 {
    bytes.as_mut_ptr().expose_provenance() as u64
}

/// Returns a data view of every second byte of a range.
fn every_second(address: u64, len: usize) -> DataView {
    let layout = LayoutBuilder::block(0, 1).finish(2);
    // SAFETY: tests keep their memory until the end.
    unsafe { DataView::new(address, len, Some(Arc::new(layout))) }
}

fn plain_at(address: u64, len: usize) -> ByteRange {
    // SAFETY: as above.
    unsafe { ByteRange::new(address, len) }
}

/// Returns the row of blocks that begins with this one.
fn row_of(first: ByteRange, distance: usize) -> EvenBlocks {
    // SAFETY: as above.
    unsafe { EvenBlocks::new(first, distance as i64) }
}

/// From the start of a block of a row to that of the next.
const GAP: usize = 5;

fn post(node: &mut Node, member: usize, step: Step, seed: usize) -> Posted {
    let (members, flow) = (node.members.clone(), step.flow());
    let size = members.len();
    let others = || (1..size).map(|step| (member + step) % size);
    let gives: Vec<usize> = others().filter(|&to| flow.passes(member, to)).collect();
    let takes: Vec<usize> = others().filter(|&from| flow.passes(from, member)).collect();
    // The given data, at equal distances.
    let distance = step.len(member, 0) + GAP;
    let mut out = Vec::new();
    let mut given = vec![ByteRange::EMPTY; size];
    let mut starts = vec![0; size];
    for (to, start) in starts.iter_mut().enumerate() {
        *start = out.len();
        out.extend(step.block(member, to, seed));
        out.resize(out.len() + GAP, 0xaa);
    }
    for &to in &gives {
        let start = address(&mut out) + starts[to] as u64;
        given[to] = plain_at(start, step.len(member, to));
    }
    let gives = match gives.first() {
        None => GivenBlocks::Nothing,
        Some(&to) if step.same() => GivenBlocks::Same(given[to]),
        Some(_) if step.uneven => GivenBlocks::Each(given.into()),
        Some(_) => {
            let first = plain_at(address(&mut out), step.len(member, 0));
            GivenBlocks::Row(row_of(first, distance))
        }
    };
    // The destination of the taken data.
    let pieces_apart = step.takes % 4 == 2;
    let spread = if pieces_apart { 2 } else { 1 };
    let into = |from: usize| vec![0xee; step.len(from, member) * spread];
    let mut into: Vec<Vec<u8>> = (0..size).map(into).collect();
    let mut slot = vec![0; 64 * 1024];
    let mut row = Vec::new();
    let mut receive = |from: usize| {
        let len = step.len(from, member);
        let address = address(&mut into[from]);
        let piece = if pieces_apart && len > 0 {
            every_second(address, len)
        } else {
            plain_at(address, len).into()
        };
        (members[from], piece)
    };
    let takes = match step.takes % 4 {
        0 if !step.uneven => {
            let len = step.len(0, 0);
            let distance = len + GAP;
            row = vec![0xee; distance * size];
            TakenBlocks::Each(DataViews::Row(row_of(
                plain_at(address(&mut row), len),
                distance,
            )))
        }
        3 => {
            // All in the same memory, one after the other.
            let round = |from: usize| {
                let (rank, to) = receive(from);
                let from = DataView::from(plain_at(address(&mut slot), to.len()));
                Round {
                    receives: vec![(rank, from.clone())],
                    then: vec![LocalStep::Copy { from, to }],
                }
            };
            TakenBlocks::Rounds(takes.iter().copied().map(round).collect())
        }
        _ => TakenBlocks::Rounds(VecDeque::from([Round {
            receives: takes.iter().map(|&from| receive(from)).collect(),
            then: Vec::new(),
        }])),
    };
    let called = step.called(&members);
    let mut own = vec![0xee; step.len(member, member)];
    let from = address(&mut out) + starts[member] as u64;
    let exchange = LocalExchange {
        called,
        gives,
        takes,
        own: Some((
            plain_at(from, own.len()),
            plain_at(address(&mut own), own.len()),
        )),
        scratch: Scratch::default(),
    };
    let id = enter(node, member, exchange);
    Posted {
        id,
        _out: out,
        _slot: slot,
        into,
        own,
        row,
    }
}

fn enter(node: &mut Node, member: usize, exchange: LocalExchange) -> LocalRequestId {
    let entered = EnteredCollective {
        context: 7,
        group: 1,
        number: 0,
        called: exchange.called,
    };
    let place = node.place(member);
    let group = node.groups[place].unwrap();
    let posted = node.ends[place].exchange(group, exchange, entered, Blocking::No);
    let Ok(Progress::Request(id)) = posted else {
        unreachable!("it is looked at later");
    };
    id
}

/// Returns whether a call is over, and checks its result.
fn check(node: &mut Node, member: usize, step: Step, seed: usize, posted: &Posted) -> bool {
    let place = node.place(member);
    let Some(outcome) = node.ends[place].take(posted.id) else {
        return false;
    };
    assert_eq!(outcome.failure, RequestFailure::None, "{step:?}");
    let own = step.block(member, member, seed);
    assert!(posted.own == own, "{step:?}: what {member} gives itself");
    for from in 0..node.members.len() {
        let passes = step.flow().passes(from, member);
        let (right, len) = (step.block(from, member, seed), step.len(from, member));
        let found = if posted.row.is_empty() {
            let spread = if step.takes % 4 == 2 { 2 } else { 1 };
            assert!(
                spread == 1
                    || posted.into[from]
                        .iter()
                        .skip(1)
                        .step_by(2)
                        .all(|&it| it == 0xee),
                "{step:?}: nothing between the pieces of member {member}"
            );
            posted.into[from].iter().copied().step_by(spread).collect()
        } else {
            let start = (len + GAP) * from;
            posted.row[start..start + len].to_vec()
        };
        let right = if passes { right } else { vec![0xee; len] };
        assert!(found == right, "{step:?}: what {member} has of {from}");
    }
    true
}

/// Runs the steps, with members that post and poll in the order of `choices`.
fn run(node: &mut Node, steps: &[Step], choices: &[(usize, u8)]) {
    step_members(
        node,
        steps.len(),
        and_in_turns(choices, 2),
        |node, member, next| post(node, member, steps[next], next),
        |node, member, number, one| check(node, member, steps[number], number, one),
        |_, _, _| Vec::new(),
    );
}

const KINDS: [Kind; 5] = [
    Kind::Alltoall,
    Kind::Gather,
    Kind::Scatter,
    Kind::Allgather,
    Kind::Scan,
];

fn members(ranks: usize, first: usize) -> Vec<u32> {
    let mut members: Vec<u32> = (FIRST..).take(ranks).collect();
    members.rotate_left(first.min(ranks - 1));
    members
}

proptest! {
    #[test]
    fn any_interleaving_brings_what_was_given(
        calls in prop::collection::vec(
            (0_usize..5, 0_usize..9, 0_usize..8, any::<bool>(), 0_u8..4), 1..5),
        choices in prop::collection::vec((0_usize..16, 0_u8..3), 0..150),
        ranks in 2_usize..10,
        first in 0_usize..3,
        closed: bool,
        counted: bool,
    ) {
        let peer_memory = if closed { PeerMemory::CLOSED } else { PeerMemory::open() };
        let members = members(ranks, first);
        let mut node = Node::new(ranks + 1, members, &peer_memory);
        node.count(counted);
        let step = |(kind, root, length, uneven, takes)| Step {
            kind: KINDS[kind],
            root: root % ranks,
            length,
            uneven,
            takes,
        };
        let steps: Vec<Step> = calls.into_iter().map(step).collect();
        run(&mut node, &steps, &choices);
    }
}

#[test]
fn all_kinds_and_lengths_among_all_numbers_of_members() {
    for (ranks, closed) in (2..10).flat_map(|ranks| [(ranks, false), (ranks, true)]) {
        let peer_memory = if closed {
            PeerMemory::CLOSED
        } else {
            PeerMemory::open()
        };
        let mut node = Node::new(ranks, members(ranks, 1), &peer_memory);
        for kind in KINDS {
            let step = |at: usize| Step {
                kind,
                root: at % ranks,
                length: at / 8,
                uneven: at % 8 < 4,
                takes: u8::try_from(at % 4).unwrap(),
            };
            let steps: Vec<Step> = (0..8 * LENGTHS.len()).map(step).collect();
            run(&mut node, &steps, &[]);
        }
    }
}

/// A member that gives all others the same needs no table, so it may have any number of them.
#[test]
fn gathers_and_allgathers_have_more_members_than_a_table_has_entries() {
    for kind in [Kind::Gather, Kind::Allgather] {
        assert!(kind.gives_the_same());
        let ranks = MAX_MEMBERS + 3;
        let mut node = Node::new(ranks, members(ranks, 2), &PeerMemory::open());
        let step = |length: usize| Step {
            kind,
            root: 5,
            length,
            uneven: length == 3,
            takes: 0,
        };
        run(&mut node, &[step(0), step(2), step(3)], &[]);
    }
}

fn plain(kind: Kind, length: usize) -> Step {
    Step {
        kind,
        root: 0,
        length,
        uneven: false,
        takes: 1,
    }
}

/// All members have posted. Now they poll until it is over.
fn outcomes(node: &mut Node, posted: &[Posted]) -> Vec<RequestOutcome> {
    for _ in 0..40 {
        node.ends.iter_mut().for_each(SmartMap::call);
    }
    let take = |(member, one): (usize, &Posted)| {
        let place = node.place(member);
        node.ends[place].take(one.id).expect("it is over")
    };
    posted.iter().enumerate().map(take).collect()
}

#[test]
fn members_that_do_not_call_the_same_exchange_are_all_told() {
    let mut node = Node::new(3, members(3, 1), &PeerMemory::open());
    for (usual, odd) in [
        (plain(Kind::Alltoall, 2), plain(Kind::Allgather, 2)),
        (plain(Kind::Alltoall, 7), plain(Kind::Scan, 1)),
        (
            plain(Kind::Gather, 7),
            Step {
                root: 1,
                ..plain(Kind::Gather, 7)
            },
        ),
    ] {
        let steps = [usual, odd, usual].into_iter().enumerate();
        let posted: Vec<Posted> = steps
            .map(|(member, step)| post(&mut node, member, step, 0))
            .collect();
        let found = outcomes(&mut node, &posted);
        for (member, outcome) in found.into_iter().enumerate() {
            assert_eq!(outcome.failure, RequestFailure::Mismatch);
            let (other, step) = if member == 1 { (0, usual) } else { (1, odd) };
            let right = ConflictingCall {
                rank: node.members[other],
                called: step.called(&node.members),
            };
            assert_eq!(ConflictingCall::unpack(outcome.len), Some(right));
        }
        // No state of it is left.
        run(&mut node, &[usual, odd], &[]);
    }
}

#[test]
fn a_length_that_is_not_expected_is_a_failure_of_who_takes_it_and_no_hang() {
    for (peer_memory, (given, expected)) in [PeerMemory::open(), PeerMemory::CLOSED]
        .into_iter()
        .flat_map(|peer_memory| {
            let lengths = [(2, 3), (3, 2), (7, 3), (3, 7), (0, 7), (7, 0)];
            lengths.map(|lengths| (peer_memory.clone(), lengths))
        })
    {
        let mut node = Node::new(3, members(3, 0), &peer_memory);
        let odd = plain(Kind::Alltoall, given);
        let usual = plain(Kind::Alltoall, expected);
        let posted = [usual, odd, usual].into_iter().enumerate();
        let posted: Vec<Posted> = posted
            .map(|(member, step)| post(&mut node, member, step, 0))
            .collect();
        let found = outcomes(&mut node, &posted);
        let (given, expected) = (LENGTHS[given], LENGTHS[expected]);
        for (member, outcome) in found.into_iter().enumerate() {
            let (came, wanted) = match member {
                1 => (expected, given),
                _ => (given, expected),
            };
            let failure = if came > wanted {
                RequestFailure::Truncated
            } else {
                RequestFailure::Mismatch
            };
            assert_eq!(outcome.failure, failure);
            assert_eq!(
                (outcome.len, outcome.expected),
                (came as u64, Some(wanted as u64))
            );
            assert!(member == 1 || outcome.source == node.members[1]);
        }
        run(&mut node, &[usual, usual], &[]);
    }
}

#[test]
fn an_address_that_is_rubbish_is_an_error_that_names_who_gave_it() {
    for uneven in [false, true] {
        let mut node = Node::new(3, members(3, 0), &PeerMemory::open());
        // More than fits in the record.
        let length = if uneven { 4 } else { 7 };
        let step = Step {
            uneven,
            ..plain(Kind::Alltoall, length)
        };
        let mut posted: Vec<Posted> = Vec::new();
        for member in [0, 2] {
            posted.push(post(&mut node, member, step, 0));
        }
        // The given data are not mapped.
        let given = |to: usize| plain_at(64, if to == 1 { 0 } else { step.len(1, to) });
        let gives = if uneven {
            GivenBlocks::Each((0..3).map(given).collect())
        } else {
            GivenBlocks::Row(row_of(plain_at(64, step.len(1, 0)), 0))
        };
        let exchange = LocalExchange {
            called: step.called(&node.members),
            gives,
            takes: TakenBlocks::NOTHING,
            own: None,
            scratch: Scratch::default(),
        };
        enter(&mut node, 1, exchange);
        for _ in 0..5 {
            node.ends.iter_mut().for_each(SmartMap::call);
        }
        for (member, one) in [0, 2].into_iter().zip(&posted) {
            let outcome = node.ends[member].take(one.id).unwrap();
            assert_eq!(outcome.failure, RequestFailure::MemberMemory);
            assert_eq!(outcome.len, u64::from(node.members[1]), "who is named");
        }
    }
}

/// The result is an error, or the end of the process that finds it, and nothing else, whatever
/// another member's record holds.
#[test]
fn heads_and_tables_of_rubbish_are_found() {
    let call = |members: &[u32]| plain(Kind::Alltoall, 2).called(members).pack();
    let mut ended = 0;
    for (nth, head) in (0_u64..6)
        .flat_map(|form| [0, 8, 16, 4_095, 4_096, 4_097, u64::MAX >> 16].map(|len| (form, len)))
        .flat_map(|(form, len)| [form | len << 16, form | 1 << 8 | len << 16])
        .enumerate()
    {
        let mut node = Node::new(2, members(2, 0), &PeerMemory::open());
        let one = post(&mut node, 0, plain(Kind::Alltoall, 2), 0);
        let info = node.ends[0].node.coll_info(1, 7);
        let rubbish = [u64::MAX - nth as u64, 0x00ff_ff00_ff00_1234, 3];
        info.publish_arguments(1, [head, rubbish[0], rubbish[1], rubbish[2]]);
        info.write_given(1, MAX_LAID_BYTES, 0, &[0xff; 64]);
        info.enter(1, [call(&node.members), 0], 0);
        info.publish_verdict(1, 1);
        info.advance(1, 3);
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..4 {
                node.ends[0].call();
            }
        }));
        let Err(why) = looked else {
            let outcome = node.ends[0].take(one.id).expect("no hang");
            let right = head & 0xff == 1 && head >> 16 == 8;
            assert_eq!(outcome.failure == RequestFailure::None, right, "{head:x}");
            continue;
        };
        let why = why.downcast::<String>().unwrap();
        assert!(
            why.contains("rank 11 is in a collective that there is not"),
            "{why}"
        );
        ended += 1;
    }
    assert!(ended > 20, "{ended}");
}

#[test]
fn short_ones_are_over_for_a_giver_before_anybody_has_read_them() {
    let mut node = Node::new(2, members(2, 0), &PeerMemory::open());
    for (length, over) in [(2, true), (7, false)] {
        let gather = plain(Kind::Gather, length);
        let posted: Vec<Posted> = (0..2)
            .map(|member| post(&mut node, member, gather, 0))
            .collect();
        // The root has entered and not looked again.
        node.ends[0].call();
        node.ends[1].call();
        node.ends[1].call();
        assert_eq!(node.ends[1].is_done(posted[1].id), over, "{length}");
        assert!(
            outcomes(&mut node, &posted)
                .iter()
                .all(|it| it.failure == RequestFailure::None)
        );
    }
}
