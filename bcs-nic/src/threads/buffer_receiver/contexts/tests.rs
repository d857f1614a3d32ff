//! Which arrivals may coexist at a collective. The simulator checks what follows from those that
//! may.

use super::early_tree_messages::EarlyTreeMessages;
use super::{NicCommunicator, NicGroup};
use crate::blocks::{CollectiveTreeMessage, TreeDirection};
use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind};
use bcs_core::job::{NodeId, Placement};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestId;

/// Ranks 0 to 2 are here, 3 to 5 on another node.
fn communicator() -> NicCommunicator {
    let placement = Placement::block(6, 2).unwrap();
    let group = NicGroup::new(vec![4, 2, 0, 3, 1, 5], &placement).unwrap();
    let mut communicator = NicCommunicator::new(0, group, vec![2, 0, 1], 0);
    communicator.slot = Some(0);
    communicator
}

fn arrival(sequence: u64, kind: CollectiveKind, for_node: bool) -> CollectiveDescriptor {
    CollectiveDescriptor {
        request: RequestId {
            slot: 1,
            generation: 1,
        },
        context: 0,
        sequence,
        kind,
        bytes: 0,
        input: 0,
        output: 0,
        inline: None,
        for_node,
        unreadable_member: None,
    }
}

#[test]
fn a_node_arrives_by_its_members_or_by_one_of_them_and_not_by_both() {
    let kind = CollectiveKind::Barrier;
    for first_for_node in [false, true] {
        let mut communicator = communicator();
        let first = arrival(7, kind, first_for_node);
        assert!(communicator.may_arrive(0, &first));
        communicator.arrivals.insert(7, vec![(0, first)]);
        for rank in [0, 1, 2] {
            assert!(!communicator.may_arrive(rank, &arrival(7, kind, true)));
            let own = communicator.may_arrive(rank, &arrival(7, kind, false));
            assert_eq!(own, !first_for_node && rank != 0);
            // Other collectives of this context, earlier and later ones, do not affect it.
            assert!(communicator.may_arrive(rank, &arrival(6, kind, true)));
            assert!(communicator.may_arrive(rank, &arrival(8, kind, false)));
        }
    }
}

#[test]
fn a_root_is_stood_for_by_nobody_else() {
    let communicator = communicator();
    let (op, datatype) = (Op::Sum, Datatype::Int32);
    for root in 0..6 {
        let reduce = CollectiveKind::Reduce {
            root: Some(root),
            op,
            datatype,
        };
        for kind in [reduce, CollectiveKind::Broadcast { root }] {
            for rank in 0..3 {
                let may = communicator.may_arrive(rank, &arrival(0, kind, true));
                assert_eq!(may, root >= 3 || rank == root, "{rank} for {root}");
                assert!(communicator.may_arrive(rank, &arrival(0, kind, false)));
            }
        }
    }
}

fn part(life: u16, sequence: u64, value: u8) -> CollectiveTreeMessage {
    CollectiveTreeMessage {
        context: (0, 5),
        life,
        sequence,
        way: TreeDirection::Up,
        signature: 1,
        content: Ok(vec![value]),
    }
}

/// A child's report about a collective that went by slices may come when its context is closed
/// here.
#[test]
fn what_was_said_of_a_context_is_not_taken_for_what_is_said_of_the_next_one_of_its_id() {
    let (key, child) = ((0, 5), NodeId(1));
    for [late, now] in [[1, 2], [u16::MAX, 0]] {
        let mut heard = EarlyTreeMessages::default();
        heard.add(child, part(late, 3, 1));
        heard.add(child, part(now, 2, 2));
        let mut take = |sequence| heard.take((key, now, sequence), TreeDirection::Up, &[child]);
        assert_eq!(take(3), None);
        assert_eq!(take(2), Some(vec![part(now, 2, 2)]));
        heard.add(child, part(now, 3, 3));
        heard.forget_all_but(key, now, 3);
        let named = |life, sequence| (key, life, sequence);
        assert_eq!(
            heard.take(named(late, 3), TreeDirection::Up, &[child]),
            None
        );
        let next = heard.take(named(now, 3), TreeDirection::Up, &[child]);
        assert_eq!(next, Some(vec![part(now, 3, 3)]));
    }
}
