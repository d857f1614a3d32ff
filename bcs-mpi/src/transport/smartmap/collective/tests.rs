//! All members of a node in one thread, which take their steps in any order, compared with a
//! sequential program.

use super::communicator::LocalCommunicator;
use super::stepping::{and_in_turns, step_members};
use crate::transport::smartmap::SmartMap;
use crate::transport::smartmap::peer_memory::PeerMemory;
use bcs_core::descriptor::{CollectiveKind, NicCollectiveCall};
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::{AREAS, PAYLOAD_BYTES};
use proptest::prelude::*;
use std::sync::atomic::Ordering;

mod node;

use node::check;
pub(super) use node::{FIRST, LENGTHS, Node, Posted, Step, data, step, sum, wants};

/// Runs the steps, with members that post and poll in the order of `choices` ([`choice`]).
fn run(node: &mut Node, steps: &[Step], choices: &[(usize, u8)]) {
    step_members(
        node,
        steps.len(),
        and_in_turns(choices, 2),
        |node, member, next| node.post(member, steps[next], next),
        |node, member, number, one| check(node, member, steps[number], number, one),
        |_, _, _| Vec::new(),
    );
}

proptest! {
    #[test]
    fn any_interleaving_gives_what_a_sequential_program_does(
        calls in prop::collection::vec((0_u8..4, 0_usize..8, 0_usize..9, any::<bool>()), 1..7),
        choices in prop::collection::vec((0_usize..16, 0_u8..3), 0..150),
        ranks in 2_usize..6,
        first in 0_usize..3,
        memory in 0..4,
        serial: bool,
        counted: bool,
        divided: bool,
    ) {
        let peer_memory = match memory {
            0 => PeerMemory::CLOSED,
            1 => PeerMemory::open(),
            _ => PeerMemory::here(usize::MAX),
        };
        // Some of the ranks, not in their order.
        let mut members: Vec<u32> = (FIRST..).take(ranks).collect();
        members.rotate_left(first.min(ranks - 1));
        let mut node = Node::new(ranks + 1, members.clone(), &peer_memory);
        if memory == 3 {
            // Some reach the memory of others that cannot reach theirs.
            for (places, end) in node.ends.iter_mut().enumerate() {
                end.peer_memory = PeerMemory::here(2 * places);
            }
        }
        node.fold_serially(serial);
        node.count(counted);
        node.divide(divided);
        let steps: Vec<Step> = calls
            .into_iter()
            .map(|(kind, root, length, in_place)| step(kind, root, length, in_place, &members))
            .collect();
        run(&mut node, &steps, &choices);
    }
}

/// Returns short steps, in which the givers go on at once.
fn short(kind: u8, root: usize, length: usize, members: &[u32]) -> Step {
    const SHORT: usize = 5;
    step(kind, root, length % SHORT, false, members)
}

proptest! {
    #[test]
    fn givers_of_short_ones_go_on_at_once_and_overwrite_nothing(
        calls in prop::collection::vec((0_u8..8, 0_usize..3, 0_usize..5), 20..70),
        choices in prop::collection::vec((0_usize..16, 0_u8..3), 0..600),
        ranks in 2_usize..5,
        counted: bool,
        divided: bool,
    ) {
        let members: Vec<u32> = (FIRST..).take(ranks).collect();
        let mut node = Node::new(ranks, members.clone(), &PeerMemory::open());
        node.count(counted);
        node.divide(divided);
        // Rooted ones are the more interesting.
        let kind = |kind: u8| if kind < 4 { kind } else { 1 + kind % 2 };
        let steps: Vec<Step> = calls
            .into_iter()
            .map(|(of, root, length)| short(kind(of), root, length, &members))
            .collect();
        run(&mut node, &steps, &choices);
    }

    /// One member calls something else once. Each member gets one report, at the latest when all
    /// wait for all.
    #[test]
    fn members_that_do_not_call_the_same_are_each_told_once(
        calls in prop::collection::vec((0_u8..4, 0_usize..3, 0_usize..6), 1..40),
        (astray, at, odd) in (0_usize..4, 0_usize..40, (0_u8..4, 0_usize..3, 0_usize..6)),
        choices in prop::collection::vec((0_usize..16, 0_u8..3), 0..400),
        ranks in 2_usize..5,
        counted: bool,
        divided: bool,
    ) {
        let members: Vec<u32> = (FIRST..).take(ranks).collect();
        let mut node = Node::new(ranks, members.clone(), &PeerMemory::open());
        node.count(counted);
        node.divide(divided);
        let of = |(kind, root, length)| step(kind, root, length, false, &members);
        let mut steps: Vec<Step> = calls.into_iter().map(of).collect();
        let (astray, at, odd) = (astray % ranks, at % steps.len(), of(odd));
        let differs = (odd.kind, odd.bytes) != (steps[at].kind, steps[at].bytes);
        steps.push(of((0, 0, 0)));
        let called = |member, number| if (member, number) == (astray, at) { odd } else { steps[number] };
        let mut told = vec![0; ranks];
        step_members(
            &mut node,
            steps.len(),
            and_in_turns(&choices, 2),
            |node, member, next| node.post(member, called(member, next), next),
            |node, member, number, one| {
                let Some(outcome) = node.take(member, one) else {
                    return false;
                };
                match outcome.failure {
                    RequestFailure::None => {}
                    RequestFailure::Mismatch => assert_eq!(number, at, "that is the one"),
                    RequestFailure::EarlierMismatch => assert!(number > at, "{number} is later than {at}"),
                    other => panic!("{other:?}"),
                }
                if outcome.failure != RequestFailure::None {
                    told[member] += 1;
                    let said = NicCollectiveCall::unpack(outcome.len).unwrap();
                    let place = members.iter().position(|&rank| rank == said.rank).unwrap();
                    let (here, mine) = (called(place, at), called(member, at));
                    assert_eq!((said.kind, said.bytes), (here.kind, here.bytes as u64));
                    assert_ne!((said.kind, said.bytes), (mine.kind, mine.bytes as u64));
                }
                true
            },
            |_, _, _| Vec::new(),
        );
        prop_assert_eq!(told, vec![usize::from(differs); ranks]);
    }
}

#[test]
fn members_that_do_not_call_the_same_are_all_told() {
    let members = vec![FIRST + 1, FIRST, FIRST + 2];
    let mut node = Node::new(3, members, &PeerMemory::open());
    let of = |kind, bytes| Step {
        kind,
        bytes,
        in_place: false,
    };
    for (odd, usual) in [
        (of(CollectiveKind::Barrier, 0), of(sum(None), 8)),
        (of(sum(None), 80_000), of(sum(None), 8)),
        (of(sum(Some(FIRST)), 80_000), of(sum(None), 80_000)),
        (
            of(CollectiveKind::Broadcast { root: FIRST }, (5 << 20) + 1),
            of(CollectiveKind::Broadcast { root: FIRST }, 5 << 20),
        ),
    ] {
        let posted = [usual, odd, usual].map(|step| step).into_iter().enumerate();
        let posted: Vec<Posted> = posted
            .map(|(member, step)| node.post(member, step, 0))
            .collect();
        for _ in 0..2 {
            node.ends.iter_mut().for_each(SmartMap::call);
        }
        for (member, one) in posted.iter().enumerate() {
            let outcome = node.take(member, one).unwrap();
            assert_eq!(outcome.failure, RequestFailure::Mismatch);
            let said = NicCollectiveCall::unpack(outcome.len).unwrap();
            // The first two differ: each side gets the call of the other.
            let other = if member == 1 { 0 } else { 1 };
            let step = if member == 1 { usual } else { odd };
            assert_eq!((said.rank, said.kind), (node.members[other], step.kind));
        }
        // No state of it is left.
        run(&mut node, &[usual, usual], &[]);
    }
}

/// With many members, all get the result that one member folds, and a root folds the contributions.
#[test]
fn many_members_do_what_few_do() {
    let members: Vec<u32> = (FIRST..FIRST + 40).rev().collect();
    let mut node = Node::new(40, members.clone(), &PeerMemory::open());
    let steps = (0..60_u8).map(|at| {
        step(
            at,
            usize::from(at) * 7,
            usize::from(at) / 4,
            at % 8 < 4,
            &members,
        )
    });
    run(&mut node, &steps.collect::<Vec<Step>>(), &[]);
    let groups = |end: &SmartMap| {
        end.communicators.groups[0]
            .as_ref()
            .and_then(LocalCommunicator::here)
            .map(|queue| queue.group.is_counted())
    };
    assert_eq!(groups(&node.ends[0]), Some(true));
}

#[test]
fn a_context_that_is_opened_again_begins_anew() {
    let members = vec![FIRST, FIRST + 1];
    let mut node = Node::new(2, members.clone(), &PeerMemory::open());
    for round in 0..6 {
        node.count(round % 2 > 0);
        run(
            &mut node,
            &[step(3, 0, round + 1, false, &members); 7][..=round],
            &[],
        );
        for place in 0..2 {
            let end = &mut node.ends[place];
            end.close_group(node.groups[place].unwrap());
            node.groups[place] = end.open_group(7, members.iter().copied(), false);
        }
    }
}

#[test]
fn memory_that_is_not_there_is_a_failure_for_all_who_need_it() {
    let members = vec![FIRST, FIRST + 1, FIRST + 2];
    for kind in [
        sum(None),
        sum(Some(FIRST)),
        CollectiveKind::Broadcast { root: FIRST + 1 },
    ] {
        let mut node = Node::new(3, members.clone(), &PeerMemory::open());
        let one = Step {
            kind,
            bytes: 100_000,
            in_place: false,
        };
        let posted: Vec<Posted> = (0..3).map(|member| node.post(member, one, 0)).collect();
        // All enter; then the memory of one turns out to be elsewhere.
        let number = 1;
        for place in 0..3 {
            if place != 1 {
                node.ends[place].call();
            }
        }
        let communicator = node.ends[1].communicators.groups[0].as_mut().unwrap();
        let queue = communicator.here_mut().unwrap();
        let info = queue.group.own().clone();
        node.ends[1].call();
        let [_, output, open] = info.arguments::<3>(number);
        info.publish_arguments(number, [64, output, open]);
        for _ in 0..5 {
            node.ends.iter_mut().for_each(SmartMap::call);
        }
        for (member, one) in posted.iter().enumerate() {
            let outcome = node.take(member, one).unwrap();
            let root_reads = matches!(kind, CollectiveKind::Broadcast { .. }) && member == 1;
            assert_ne!(
                outcome.failure,
                RequestFailure::None,
                "{kind:?} {member} {root_reads}"
            );
        }
    }
}

#[test]
fn a_rank_that_listens_is_told_once_a_phase_is_over() {
    let members = vec![FIRST, FIRST + 1, FIRST + 2];
    for counted in [false, true] {
        let mut node = Node::new(3, members.clone(), &PeerMemory::open());
        node.count(counted);
        let barrier = step(0, 0, 0, false, &members);
        let memory = node.ends[0].node.clone();
        let news = |place| memory.event_count(place).load(Ordering::Relaxed);
        for round in 1..4 {
            let posted: Vec<Posted> = (0..3).map(|member| node.post(member, barrier, 0)).collect();
            node.ends[0].call();
            node.ends[1].advance_collectives(false);
            assert_eq!(
                [0, 1].map(news),
                [round - 1, 0],
                "they wait for the third one"
            );
            node.ends[2].call();
            assert_eq!(
                [0, 1].map(news),
                [round, 0],
                "who looks by itself is not told"
            );
            node.ends.iter_mut().for_each(SmartMap::call);
            for (member, one) in posted.iter().enumerate() {
                assert!(node.take(member, one).is_some());
            }
        }
    }
}

#[test]
fn who_waits_for_the_root_of_a_short_broadcast_is_told_when_that_enters() {
    let members = vec![FIRST, FIRST + 1, FIRST + 2];
    for counted in [false, true] {
        let mut node = Node::new(3, members.clone(), &PeerMemory::open());
        node.count(counted);
        let broadcast = step(1, 0, 1, false, &members);
        let memory = node.ends[0].node.clone();
        let news = |place| memory.event_count(place).load(Ordering::Relaxed);
        let early = node.post(2, broadcast, 0);
        node.ends[2].call();
        let root = node.post(0, broadcast, 0);
        node.ends[0].call();
        assert!(
            check(&mut node, 0, broadcast, 0, &root),
            "it waits for nobody"
        );
        assert_eq!([0, 1, 2].map(news), [0, 0, 1]);
        node.ends[2].call();
        assert!(
            check(&mut node, 2, broadcast, 0, &early),
            "member 1 has not come"
        );
    }
}

#[test]
fn who_waits_for_the_root_alone_is_told_at_once_that_it_has_called_something_else() {
    let members = vec![FIRST, FIRST + 1, FIRST + 2];
    let mut node = Node::new(3, members.clone(), &PeerMemory::open());
    let [shorter, longer] = [1, 2].map(|length| step(1, 0, length, false, &members));
    assert!(shorter.bytes < longer.bytes && longer.bytes <= PAYLOAD_BYTES);
    node.post(0, shorter, 0);
    let odd = node.post(1, longer, 0);
    node.ends.iter_mut().for_each(SmartMap::call);
    let outcome = node.take(1, &odd).expect("it does not wait for member 2");
    assert_eq!(outcome.failure, RequestFailure::Mismatch);
    assert!(
        odd.output.iter().all(|&byte| byte == 0xee),
        "nothing was taken"
    );
}

/// It would sleep for ever if it took that for the event that it waits for.
#[test]
fn who_waits_for_all_and_is_told_too_early_listens_again() {
    let members = vec![FIRST, FIRST + 1, FIRST + 2];
    let mut node = Node::new(3, members.clone(), &PeerMemory::open());
    let [broadcast, barrier] = [1, 0].map(|kind| step(kind, 0, usize::from(kind), false, &members));
    let memory = node.ends[0].node.clone();
    let news = || memory.event_count(2).load(Ordering::Relaxed);
    let astray = node.post(2, barrier, 0);
    node.ends[2].call();
    for (member, told) in [(0, 1), (1, 2)] {
        node.post(member, broadcast, 0);
        node.ends[member].call();
        assert_eq!(news(), told);
        node.ends[2].call();
    }
    let outcome = node.take(2, &astray).unwrap();
    assert_eq!(outcome.failure, RequestFailure::Mismatch);
}

#[test]
#[should_panic(expected = "rank 11 is in a collective that there is not")]
fn a_rank_whose_record_is_rubbish_is_named() {
    let members = vec![FIRST, FIRST + 1];
    let mut node = Node::new(2, members.clone(), &PeerMemory::open());
    node.post(0, step(0, 0, 0, false, &members), 0);
    let info = node.ends[0].node.coll_info(1, 7);
    info.enter(1 + AREAS as u64, [0; 2], 0);
    node.ends[0].call();
}

/// They have signed in a record that any rank may write, and not entered.
#[test]
#[should_panic(expected = "is in a collective that there is not")]
fn many_members_of_whom_one_has_not_entered_are_not_released() {
    let members = vec![FIRST, FIRST + 1, FIRST + 2];
    let mut node = Node::new(3, members.clone(), &PeerMemory::open());
    node.count(true);
    node.post(0, step(0, 0, 0, false, &members), 0);
    let tally = node.ends[0].node.coll_info(0, 7);
    assert!(!tally.sign(1, 3), "in the name of nobody");
    node.ends[0].progress();
    node.post(1, step(0, 0, 0, false, &members), 0);
    node.ends[1].progress();
}
