//! Graphs of ranks with given wait states.

use super::*;
use bcs_core::wait_state::{CalledCollective, MemberRange, MessageCollective};

fn peer(rank: Option<u32>, tag: i32) -> MessagePeer {
    MessagePeer {
        context: 0,
        rank,
        tag: Some(tag),
    }
}

fn world(entered: u32, size: u32) -> CommunicatorProgress {
    CommunicatorProgress {
        context: 0,
        group: 0,
        entered,
        call_digest: 0,
        members: MemberRange::of(0..size),
    }
}

fn receives(from: impl IntoIterator<Item = Option<u32>>, any: bool) -> WaitState {
    let waits = from
        .into_iter()
        .map(|from| WaitReason::Receive(peer(from, 1)));
    WaitState {
        for_any: any,
        waits: waits.collect(),
        communicators: vec![world(0, 4)],
        ..WaitState::default()
    }
}

fn in_barrier(number: u32) -> WaitState {
    let entered = EnteredCollective {
        context: 0,
        group: 0,
        number,
        called: CalledCollective::Messages(MessageCollective::Alltoall, None),
    };
    WaitState {
        waits: vec![WaitReason::Collective(Some(0))],
        entered: vec![entered],
        communicators: vec![world(number + 1, 4)],
        ..WaitState::default()
    }
}

fn graph(waits: &[(u32, WaitState)], finalized: &[(u32, WaitState)]) -> WaitGraph {
    let waits = waits
        .iter()
        .map(|(rank, told)| (*rank, NodeId(0), told.clone()));
    let gone: Vec<DepartedRank> = finalized
        .iter()
        .map(|(rank, told)| DepartedRank {
            rank: *rank,
            node: NodeId(0),
            finalized: true,
            words: told.encode(),
        })
        .collect();
    WaitGraph::new(waits, gone.iter())
}

fn from(rank: u32) -> WaitState {
    receives([Some(rank)], false)
}

#[test]
fn ranks_that_wait_for_each_other_are_a_cycle() {
    let graph = graph(
        &[(0, from(1)), (1, from(2)), (2, from(1)), (3, from(0))],
        &[],
    );
    assert_eq!(graph.causes, [DeadlockCause::Cycle(vec![1, 2])]);
    assert!(
        graph
            .reason()
            .ends_with("ranks 1 and 2 wait for each other")
    );
}

#[test]
fn a_rank_that_waits_for_itself_is_one_too() {
    let graph = graph(&[(0, from(0)), (1, from(0))], &[]);
    assert_eq!(graph.causes, [DeadlockCause::Cycle(vec![0])]);
}

/// A message for one collective was taken by another one, whose caller is gone.
#[test]
fn ranks_that_have_called_different_collectives_are_named_first() {
    let said = |called| {
        let mut said = in_barrier(4);
        said.communicators[0].call_digest = called;
        said
    };
    let last = WaitState {
        waits: Vec::new(),
        entered: Vec::new(),
        ..said(9)
    };
    let (context, one, other) = (0, 0, 2);
    let all = graph(&[(0, said(7)), (1, said(7))], &[(2, last)]);
    let different = DeadlockCause::DivergedCollectives {
        context,
        one,
        other,
    };
    assert_eq!(all.causes[0], different);
    let words = "ranks 0 and 2 have called different collectives of MPI_COMM_WORLD";
    assert!(all.reason().contains(words), "{}", all.reason());
}

#[test]
fn two_cycles_are_two_causes() {
    let graph = graph(
        &[(0, from(1)), (1, from(0)), (2, from(3)), (3, from(2))],
        &[],
    );
    let expected = [
        DeadlockCause::Cycle(vec![0, 1]),
        DeadlockCause::Cycle(vec![2, 3]),
    ];
    assert_eq!(graph.causes, expected);
    assert!(graph.reason().ends_with("(and 1 more)"));
}

#[test]
fn a_partner_that_is_gone_is_named() {
    let finalized = WaitState {
        communicators: vec![world(0, 4)],
        ..WaitState::default()
    };
    let one = graph(&[(0, from(2)), (1, from(0))], &[(2, finalized.clone())]);
    let (rank, partners) = (0, vec![2]);
    assert_eq!(one.causes, [DeadlockCause::Gone { rank, partners }]);
    assert!(
        one.reason()
            .ends_with("rank 0 waits for rank 2, which has called MPI_Finalize")
    );
    // Also beside a cycle that blocks it as much.
    let all = receives([Some(1), Some(2)], false);
    let both = graph(&[(0, all), (1, from(0))], &[(2, finalized.clone())]);
    let (rank, partners) = (0, vec![2]);
    let gone = DeadlockCause::Gone { rank, partners };
    assert_eq!(both.causes, [DeadlockCause::Cycle(vec![0, 1]), gone]);
    // A rank that waits for any of several needs only one.
    let any = receives([Some(1), Some(2)], true);
    let any = graph(&[(0, any), (1, from(0))], &[(2, finalized)]);
    assert_eq!(any.causes, [DeadlockCause::Cycle(vec![0, 1])]);
}

#[test]
fn a_message_from_any_rank_may_come_from_each_other() {
    let anybody = receives([None], false);
    let graph = graph(&[0, 1, 2, 3].map(|rank| (rank, anybody.clone())), &[]);
    let RankState::Waits { edges, .. } = &graph.ranks[&1].state else {
        panic!("it waits");
    };
    assert_eq!(
        (&edges[0].partners[..], edges[0].all),
        (&[0, 2, 3][..], false)
    );
    assert_eq!(graph.causes, [DeadlockCause::Cycle(vec![0, 1])]);
}

#[test]
fn members_that_have_not_entered_a_collective_are_waited_for() {
    let mut ahead = from(0);
    ahead.communicators = vec![world(6, 4)];
    let mut behind = from(0);
    behind.communicators = vec![world(5, 4)];
    let ranks = [
        (0, in_barrier(5)),
        (1, ahead),
        (2, behind),
        (3, in_barrier(5)),
    ];
    let graph = graph(&ranks, &[]);
    let RankState::Waits { edges, .. } = &graph.ranks[&0].state else {
        panic!("it waits");
    };
    assert_eq!((&edges[0].partners[..], edges[0].all), (&[2][..], true));
    assert_eq!(graph.causes, [DeadlockCause::Cycle(vec![0, 2])]);
    let said = graph.lines();
    assert!(
        said[1].ends_with(", which rank 2 has not entered"),
        "{said:?}"
    );
}

/// The chain of waits is as long as the job.
#[test]
fn a_long_chain_is_no_recursion() {
    let last = 20_000;
    let chain: Vec<_> = (0..last).map(|rank| (rank, from(rank + 1))).collect();
    let finalized = WaitState::default();
    let graph = graph(&chain, &[(last, finalized)]);
    let (rank, partners) = (last - 1, vec![last]);
    assert_eq!(graph.causes, [DeadlockCause::Gone { rank, partners }]);
}
