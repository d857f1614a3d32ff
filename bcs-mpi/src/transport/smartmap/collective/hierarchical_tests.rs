//! The members of a node in collectives of several nodes: in one thread, in any order, with a NIC
//! that answers at any time.

use super::nic_order::NicOrder;
use super::stepping::{and_in_turns, choice, step_members};
use super::tests::{FIRST, LENGTHS, Node, Posted, Step, data, step, sum, wants};
use crate::data::{gather, scatter};
use crate::transport::smartmap::SmartMap;
use crate::transport::smartmap::peer_memory::PeerMemory;
use crate::transport::{PostedSend as Progress, RequestOutcome};
use bcs_core::descriptor::{CollectiveKind, NicCollectiveCall};
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use bcs_core::request::RequestFailure;
use proptest::prelude::*;

/// The rank on another node. Its node contributes the data of a member of this number.
const FAR: u32 = FIRST + 100;
const FAR_MEMBER: usize = 50;

/// The NICs, and the other nodes, which are never late.
struct Nics {
    steps: Vec<Step>,
    /// Orders of members without an answer.
    orders: Vec<(usize, NicOrder)>,
    /// Posts that members have left to them, by their number.
    left: Vec<Vec<usize>>,
}

/// Returns the node's contributions, folded in the order of the communicator.
fn folded(step: Step, members: &[u32], seed: usize) -> Vec<u8> {
    let CollectiveKind::Reduce { op, datatype, .. } = step.kind else {
        unreachable!("it is a reduction");
    };
    let mut all = (0..members.len()).map(|member| data(step, member, seed));
    let first = all.next().unwrap();
    all.fold(first, |mut left, right| {
        combine(op, datatype, ArithmeticPath::Soft, &mut left, &right).unwrap();
        left
    })
}

/// Returns the result of a member that wants one.
fn right(step: Step, members: &[u32], seed: usize) -> Vec<u8> {
    match step.kind {
        CollectiveKind::Broadcast { root } => {
            let here = members.iter().position(|&rank| rank == root);
            data(step, here.unwrap_or(FAR_MEMBER), seed)
        }
        CollectiveKind::Reduce { op, datatype, .. } => {
            let mut result = folded(step, members, seed);
            let far = data(step, FAR_MEMBER, seed);
            combine(op, datatype, ArithmeticPath::Soft, &mut result, &far).unwrap();
            result
        }
        _ => Vec::new(),
    }
}

impl Nics {
    fn new(steps: Vec<Step>) -> Self {
        let left = vec![Vec::new(); steps.len()];
        Self {
            steps,
            orders: Vec::new(),
            left,
        }
    }

    /// Takes the order of a member for its NIC.
    fn take(&mut self, node: &mut Node, member: usize) {
        let place = node.place(member);
        while let Some(order) = node.ends[place].take_order() {
            self.orders.push((member, order));
        }
    }

    /// Answers one of the orders. Returns the members that get the answer.
    fn answer(&mut self, node: &mut Node, choice: usize) -> Vec<usize> {
        if self.orders.is_empty() {
            return Vec::new();
        }
        let (member, order) = self.orders.swap_remove(choice % self.orders.len());
        assert_eq!(order.number.context, 7);
        let number = usize::try_from(order.number.sequence).unwrap();
        if !order.for_node {
            let left = &mut self.left[number];
            left.push(member);
            if left.len() < node.members.len() {
                return Vec::new();
            }
            let left = std::mem::take(left);
            for &member in &left {
                let mut outcome = RequestOutcome {
                    failure: RequestFailure::Mismatch,
                    ..RequestOutcome::default()
                };
                outcome.len = 77;
                let place = node.place(member);
                node.ends[place].answered(order.number.group, outcome);
            }
            return left;
        }
        let (step, part) = (self.steps[number], order.part);
        assert_eq!((part.kind, part.bytes), (step.kind, step.bytes));
        if let (CollectiveKind::Reduce { .. }, Some(input)) = (step.kind, part.input) {
            let mut found = vec![0; part.bytes];
            gather(&input.into(), 0, &mut found);
            assert!(found == folded(step, &node.members, number), "{step:?}");
        }
        if !part.output.is_empty() {
            let right = right(step, &node.members, number);
            scatter(&part.output.into(), 0, &right);
        }
        let place = node.place(member);
        node.ends[place].answered(order.number.group, RequestOutcome::default());
        vec![member]
    }
}

fn post(node: &mut Node, member: usize, step: Step, number: usize) -> Posted {
    node.post_as(member, step, number, |end, group, part, entered| {
        end.hierarchical(group, part, entered, number as u64)
            .map(Progress::Request)
    })
}

/// Runs the members' calls in the order of `choices`. `calls` returns the call of each.
fn run(
    node: &mut Node,
    steps: &[Step],
    calls: impl Fn(usize, usize) -> Step,
    choices: &[(usize, u8)],
    check: impl Fn(&Node, usize, usize, &Posted, RequestOutcome),
) {
    let mut nics = Nics::new(steps.to_vec());
    step_members(
        node,
        steps.len(),
        and_in_turns(choices, 3),
        |node, member, next| post(node, member, calls(member, next), next),
        |node, member, number, one| {
            let outcome = node.take(member, one);
            outcome
                .inspect(|&outcome| check(node, member, number, one, outcome))
                .is_some()
        },
        |node, member, (choice, what)| {
            let mut answered = Vec::new();
            if what > choice::SLEEPS {
                answered = nics.answer(node, choice);
            }
            nics.take(node, member);
            answered
        },
    );
}

fn is_right(
    node: &Node,
    member: usize,
    step: Step,
    number: usize,
    one: &Posted,
    outcome: RequestOutcome,
) {
    assert_eq!(outcome.failure, RequestFailure::None, "{step:?}");
    if wants(step.kind, node.members[member]) {
        let broadcasts = matches!(step.kind, CollectiveKind::Broadcast { .. });
        let found = if step.in_place && !broadcasts {
            &one.input
        } else {
            &one.output
        };
        let right = right(step, &node.members, number);
        assert!(*found == right, "{step:?} of member {member}");
    }
}

proptest! {
    #[test]
    fn any_interleaving_gives_what_a_sequential_program_does(
        calls in prop::collection::vec((0_u8..4, 0_usize..8, 0_usize..9, any::<bool>()), 1..7),
        choices in prop::collection::vec((0_usize..16, 0_u8..4), 0..150),
        ranks in 2_usize..6,
        first in 0_usize..3,
        closed: bool,
        counted: bool,
    ) {
        let peer_memory = if closed { PeerMemory::CLOSED } else { PeerMemory::open() };
        // Some of the ranks, not in their order; a root may be elsewhere.
        let mut members: Vec<u32> = (FIRST..).take(ranks).collect();
        members.rotate_left(first.min(ranks - 1));
        let mut roots = members.clone();
        roots.push(FAR);
        let mut node = Node::with_others(ranks + 1, members, &peer_memory);
        node.count(counted);
        let steps: Vec<Step> = calls
            .into_iter()
            .map(|(kind, root, length, in_place)| step(kind, root, length, in_place, &roots))
            .collect();
        run(&mut node, &steps, |_, number| steps[number], &choices, |node, member, number, one, outcome| {
            is_right(node, member, steps[number], number, one, outcome);
        });
    }

    /// Some calls are not the same at all members. These are left to the NICs, and the others go
    /// on.
    #[test]
    fn what_members_do_not_agree_about_is_left_to_the_nics(
        odd in prop::collection::vec((0_usize..8, 0_usize..9, 0_u8..4, 0_usize..5), 1..25),
        choices in prop::collection::vec((0_usize..16, 0_u8..4), 0..150),
        ranks in 2_usize..5,
        usual in 0_u8..4,
        length in 0_usize..9,
        counted: bool,
    ) {
        let members: Vec<u32> = (FIRST..).take(ranks).collect();
        let mut node = Node::with_others(ranks, members.clone(), &PeerMemory::open());
        node.count(counted);
        let mut roots = members.clone();
        roots.push(FAR);
        let usual = step(usual, 1, length, false, &roots);
        let steps = vec![usual; odd.len()];
        let calls = |member: usize, number: usize| match odd[number] {
            (astray, other, kind, root) if astray == member => {
                step(kind, root, other, false, &roots)
            }
            _ => usual,
        };
        let called = |step: Step| (step.kind, step.bytes);
        run(&mut node, &steps, calls, &choices, |node, member, number, one, outcome| {
            let mut all = (0..ranks).map(|member| called(calls(member, number)));
            if all.all(|one| one == called(usual)) {
                is_right(node, member, usual, number, one, outcome);
            } else {
                assert_eq!((outcome.failure, outcome.len), (RequestFailure::Mismatch, 77));
            }
        });
    }
}

/// All members get the mismatch that the NICs report.
#[test]
fn failures_of_the_nics_are_told_to_all() {
    let members = vec![FIRST + 2, FIRST, FIRST + 1];
    let said = NicCollectiveCall {
        rank: FAR,
        kind: CollectiveKind::Barrier,
        bytes: 0,
    };
    let failed = RequestOutcome {
        failure: RequestFailure::Mismatch,
        len: said.pack(),
        ..RequestOutcome::default()
    };
    for kind in [sum(None), sum(Some(FIRST)), sum(Some(FAR))] {
        for bytes in LENGTHS.into_iter().filter(|bytes| bytes % 8 == 0) {
            let mut node = Node::with_others(3, members.clone(), &PeerMemory::open());
            let one = Step {
                kind,
                bytes,
                in_place: false,
            };
            let posted: Vec<Posted> = (0..3)
                .map(|member| post(&mut node, member, one, 0))
                .collect();
            for _ in 0..6 {
                for place in 0..3 {
                    node.ends[place].call();
                    while let Some(order) = node.ends[place].take_order() {
                        node.ends[place].answered(order.number.group, failed);
                    }
                }
            }
            for (member, one) in posted.iter().enumerate() {
                let outcome = node.take(member, one).unwrap();
                assert_eq!((outcome.failure, outcome.len), (failed.failure, failed.len));
            }
        }
    }
}

/// In a short one, each member but the leader is woken once, and the leader when the last one
/// enters.
#[test]
fn a_short_one_wakes_each_member_once() {
    let members = vec![FIRST, FIRST + 1, FIRST + 2];
    let mut node = Node::with_others(3, members, &PeerMemory::open());
    let memory = node.ends[0].node.clone();
    let news = || {
        [0, 1, 2].map(|place| {
            memory
                .event_count(place)
                .load(std::sync::atomic::Ordering::Relaxed)
        })
    };
    let one = Step {
        kind: sum(None),
        bytes: 8,
        in_place: false,
    };
    let posted: Vec<Posted> = (0..3)
        .map(|member| post(&mut node, member, one, 0))
        .collect();
    node.ends[0].call();
    node.ends[1].call();
    assert_eq!(news(), [0, 0, 0]);
    node.ends[2].call();
    assert_eq!(news(), [1, 0, 0], "the leader goes on");
    node.ends[0].call();
    let order = node.ends[0].take_order().unwrap();
    assert!(order.for_node);
    node.ends[0].answered(order.number.group, RequestOutcome::default());
    node.ends[0].call();
    assert_eq!(news(), [1, 1, 1], "and tells the others");
    node.ends.iter_mut().for_each(SmartMap::call);
    for (member, one) in posted.iter().enumerate() {
        assert_eq!(
            node.take(member, one).unwrap().failure,
            RequestFailure::None
        );
    }
    assert_eq!(news(), [1, 1, 1]);
}
