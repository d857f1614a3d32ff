//! Opening, using and closing contexts, in orders in which no program does it, and more contexts
//! than there is room for.

use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind};
use bcs_core::job::Settings;
use bcs_core::request::{RequestFailure, RequestId};
use bcs_nic::bounds::Bounds;
use bcs_nic::simulator::workbench::Workbench;

const BARRIER: CollectiveKind = CollectiveKind::Barrier;
const CLOSE: CollectiveKind = CollectiveKind::CloseContext;

/// Returns the outcomes of the requests, by rank from 0.
fn came_to(bench: &Workbench, requests: &[RequestId]) -> Vec<RequestFailure> {
    let ended = |(rank, &request)| bench.expect_completion(rank, request).failure;
    (0..).zip(requests).map(ended).collect()
}

/// All ranks do the same, and then everything that follows from it is over.
fn all(
    bench: &mut Workbench,
    ranks: u32,
    what: impl Fn(&mut Workbench, u32) -> RequestId,
) -> Vec<RequestFailure> {
    let requests: Vec<_> = (0..ranks).map(|rank| what(bench, rank)).collect();
    bench.settle();
    came_to(bench, &requests)
}

/// This was a panic of the NIC thread, which nobody noticed.
#[test]
fn a_context_that_is_used_in_the_cut_in_which_it_is_opened_is_that_ranks_error() {
    for members in [[0, 1], [1, 0]] {
        let mut bench = Workbench::new(2, 2, Bounds::default());
        let opened = bench.open(0, 5, &members);
        let early = bench.call(0, 5, 0, BARRIER);
        bench.run_slices(3);
        assert_eq!(
            bench.expect_completion(0, early).failure,
            RequestFailure::BadDescriptor
        );
        // No other rank suffers from it, and the context can be used.
        let other = bench.open(1, 5, &members);
        bench.settle();
        assert_eq!(came_to(&bench, &[opened, other]), [RequestFailure::None; 2]);
        let barrier = |bench: &mut Workbench, rank| bench.call(rank, 5, 0, BARRIER);
        assert_eq!(all(&mut bench, 2, barrier), [RequestFailure::None; 2]);
        assert_eq!(bench.failures(), []);
    }
}

/// Opens all contexts for which a table of this size has room, besides the world's.
fn fill(bench: &mut Workbench, contexts: u32, members: &[u32]) {
    for context in 1..contexts {
        for &rank in members {
            let opened = bench.open(rank, context, members);
            bench.run_slices(2);
            if rank == members[members.len() - 1] {
                assert_eq!(
                    bench.expect_completion(rank, opened).failure,
                    RequestFailure::None,
                    "{context} of {contexts}"
                );
            }
        }
    }
}

#[test]
fn the_table_holds_what_is_promised_and_who_comes_then_is_told_like_all_its_members() {
    let bounds = Bounds {
        contexts: 8,
        ..Bounds::default()
    };
    for members in [[0, 1, 2], [2, 1, 0]] {
        let mut bench = Workbench::new(3, 2, bounds);
        fill(&mut bench, 8, &members);
        let open = |bench: &mut Workbench, rank| bench.open(rank, 8, &members);
        assert_eq!(all(&mut bench, 3, open), [RequestFailure::TableFull; 3]);
        // The order of the ranks makes no difference, and then it is over: the NIC does not try
        // again.
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut told = [RequestId::default(); 3];
            for rank in order {
                told[rank as usize] = bench.open(rank, 8, &members);
                bench.run_slices(2);
                bench.settle();
            }
            let told = came_to(&bench, &told);
            assert_eq!(told, [RequestFailure::TableFull; 3], "{order:?}");
        }
        let world = |bench: &mut Workbench, rank| bench.call(rank, 0, 0, BARRIER);
        assert_eq!(all(&mut bench, 3, world), [RequestFailure::None; 3]);
        // Once there is room a context can be opened again.
        let close = |bench: &mut Workbench, rank| bench.call(rank, 3, 0, CLOSE);
        assert_eq!(all(&mut bench, 3, close), [RequestFailure::None; 3]);
        assert_eq!(all(&mut bench, 3, open), [RequestFailure::None; 3]);
        let barrier = |bench: &mut Workbench, rank| bench.call(rank, 8, 0, BARRIER);
        assert_eq!(all(&mut bench, 3, barrier), [RequestFailure::None; 3]);
        assert_eq!(bench.failures(), []);
    }
}

/// A slot is one for all nodes, but different slots may be free on them.
#[test]
fn slots_are_looked_for_wherever_there_may_be_one() {
    let bounds = Bounds {
        contexts: 9,
        ..Bounds::default()
    };
    // Ranks 0, 1, 2 are on nodes of their own: pairs take slots in turn, until no more can be
    // promised.
    let mut bench = Workbench::new(3, 3, bounds);
    let pairs = [[0, 1], [1, 2], [2, 0]];
    for context in 1..9 {
        let pair = pairs[context as usize % 3];
        let requests = pair.map(|rank| bench.open(rank, context, &pair));
        bench.settle();
        for (rank, request) in pair.into_iter().zip(requests) {
            assert_eq!(
                bench.expect_completion(rank, request).failure,
                RequestFailure::None,
                "{context}"
            );
        }
    }
    let open = |bench: &mut Workbench, rank| bench.open(rank, 20, &[2, 0, 1]);
    assert_eq!(all(&mut bench, 3, open), [RequestFailure::TableFull; 3]);
    assert_eq!(bench.failures(), []);
}

/// Two masters act at once, whose groups overlap.
#[test]
fn two_contexts_are_refused_at_once_and_all_members_of_both_are_told() {
    let bounds = Bounds {
        contexts: 4,
        ..Bounds::default()
    };
    let mut bench = Workbench::new(3, 3, bounds);
    fill(&mut bench, 4, &[0, 1, 2]);
    let (first, second) = ([0, 1, 2], [2, 1]);
    let at_first = first.map(|rank| bench.open(rank, 10, &first));
    let at_second = second.map(|rank| bench.open(rank, 11, &second));
    bench.settle();
    assert_eq!(came_to(&bench, &at_first), [RequestFailure::TableFull; 3]);
    for (rank, request) in second.into_iter().zip(at_second) {
        assert_eq!(
            bench.expect_completion(rank, request).failure,
            RequestFailure::TableFull
        );
    }
    assert_eq!(bench.failures(), []);
}

/// Each is an error of the rank that posts it, and of no other.
#[test]
fn openings_and_closings_in_a_wrong_order_are_refused() {
    let mut bench = Workbench::new(3, 2, Bounds::default());
    let members = [0, 1, 2];
    let wrong = |bench: &mut Workbench, rank, request| {
        bench.run_slices(3);
        let failure = bench.expect_completion(rank, request).failure;
        assert_eq!(failure, RequestFailure::BadDescriptor);
    };
    let never_opened = bench.call(0, 5, 0, CLOSE);
    wrong(&mut bench, 0, never_opened);
    let worlds = bench.call(0, 0, 0, CLOSE);
    wrong(&mut bench, 0, worlds);
    let worlds = bench.open(0, 0, &[0, 1]);
    wrong(&mut bench, 0, worlds);
    let worlds = bench.open(1, 0, &[1, 2]);
    wrong(&mut bench, 1, worlds);
    let strangers = bench.open(0, 5, &[1, 2]);
    wrong(&mut bench, 0, strangers);
    // It is closed in the cut in which it is opened: its members would wait for it.
    let opened = bench.open(2, 5, &members);
    let early = bench.call(2, 5, 0, CLOSE);
    wrong(&mut bench, 2, early);
    let twice = bench.open(2, 5, &members);
    wrong(&mut bench, 2, twice);
    let others = bench.open(0, 5, &[0, 2]);
    let with_others = [0, 1].map(|rank| bench.open(rank, 5, &members));
    bench.run_slices(3);
    // The rank that came first determines the members.
    assert_eq!(
        bench.expect_completion(0, others).failure,
        RequestFailure::None
    );
    assert_eq!(
        bench.expect_completion(0, with_others[0]).failure,
        RequestFailure::BadDescriptor
    );
    assert_eq!(
        bench.expect_completion(1, with_others[1]).failure,
        RequestFailure::BadDescriptor
    );
    assert_eq!(
        bench.expect_completion(2, opened).failure,
        RequestFailure::None
    );
    let world = |bench: &mut Workbench, rank| bench.call(rank, 0, 0, BARRIER);
    assert_eq!(all(&mut bench, 3, world), [RequestFailure::None; 3]);
    assert_eq!(bench.failures(), []);
}

/// Another context would get the slot while other nodes still test and grant by it.
#[test]
fn a_context_is_not_closed_while_its_collective_is_under_way() {
    let mut bench = Workbench::new(2, 2, Bounds::default());
    let open = |bench: &mut Workbench, rank| bench.open(rank, 5, &[0, 1]);
    assert_eq!(all(&mut bench, 2, open), [RequestFailure::None; 2]);
    let barrier = bench.call(0, 5, 0, BARRIER);
    bench.run_slices(3);
    let early = bench.call(0, 5, 1, CLOSE);
    bench.run_slices(3);
    assert_eq!(
        bench.expect_completion(0, early).failure,
        RequestFailure::BadDescriptor
    );
    let other = bench.call(1, 5, 0, BARRIER);
    bench.settle();
    assert_eq!(
        came_to(&bench, &[barrier, other]),
        [RequestFailure::None; 2]
    );
    let close = |bench: &mut Workbench, rank| bench.call(rank, 5, 1, CLOSE);
    assert_eq!(all(&mut bench, 2, close), [RequestFailure::None; 2]);
    assert_eq!(bench.failures(), []);
}

/// Nodes that got different members have different trees: they would wait for each other in the
/// middle of a slice.
#[test]
fn members_that_disagree_about_who_they_are_do_not_go_together() {
    use bcs_core::reduction::{Datatype, Op};
    let mut bench = Workbench::new(3, 3, Bounds::default());
    let reduce = CollectiveKind::Reduce {
        root: None,
        op: Op::Sum,
        datatype: Datatype::Int32,
    };
    bench.open(0, 5, &[0, 1]);
    bench.open(1, 5, &[0, 1, 2]);
    bench.open(2, 5, &[0, 1, 2]);
    bench.run_slices(4);
    let requests: Vec<_> = (0..3).map(|rank| bench.add(rank, 5, 0, reduce)).collect();
    bench.run_slices(8);
    for rank in [0, 1] {
        let failure = bench
            .expect_completion(rank, requests[rank as usize])
            .failure;
        assert_eq!(failure, RequestFailure::Mismatch, "rank {rank}");
    }
    assert_eq!(bench.failures(), []);
}

/// A collective that had begun, and got no tokens in a later slice because others took them,
/// requested no further slice. If these others were then over, it waited for ever.
#[test]
fn collectives_that_take_tokens_from_each_other_all_end() {
    let settings = Settings {
        link_bandwidth: 100_000_000,
        ..Settings::default()
    };
    // The data that all tokens of a slice bring, once to four times.
    for (slices, others) in (1..=4).flat_map(|one| (1..=4).map(move |other| (one, other))) {
        let mut bench = Workbench::with_settings(2, 2, Bounds::default(), settings.clone());
        let opened = [0, 1].map(|rank| bench.open(rank, 5, &[0, 1]));
        bench.settle();
        assert_eq!(came_to(&bench, &opened), [RequestFailure::None; 2]);
        let mut requests = Vec::new();
        for (context, slices) in [(0, slices), (5, others)] {
            for rank in [0, 1] {
                let request = bench.request(rank);
                bench.post_collective(
                    rank,
                    &CollectiveDescriptor {
                        request,
                        context,
                        sequence: 0,
                        kind: CollectiveKind::Broadcast { root: 0 },
                        bytes: slices * 24 * 1024,
                        input: 4096,
                        output: 4096 + u64::from(context) * 100_000,
                        inline: None,
                        for_node: false,
                        unreadable_member: None,
                    },
                );
                requests.push((rank, request));
            }
        }
        bench.settle();
        for (rank, request) in requests {
            let came_to = bench.completion(rank, request);
            let came_to = came_to.map(|completion| completion.failure);
            assert_eq!(
                came_to,
                Some(RequestFailure::None),
                "{slices} and {others} slices"
            );
        }
    }
}

/// Nodes publish the number of their collective in 40 bits of a variable, and the master grants in
/// 30 bits of another one. After that many, a node that was late was taken for one that had called
/// something else.
#[test]
fn collectives_are_known_when_their_numbers_come_round() {
    let broadcast = CollectiveKind::Broadcast { root: 0 };
    for wrap in [1 << 30, 1 << 40] {
        let bounds = Bounds {
            first_collective: wrap - 3,
            ..Bounds::default()
        };
        for late in [0, 1] {
            let mut bench = Workbench::new(2, 2, bounds);
            for sequence in wrap - 3..wrap + 3 {
                let first = bench.call(1 - late, 0, sequence, BARRIER);
                bench.run_slices(3);
                assert_eq!(bench.completion(1 - late, first), None, "{sequence}");
                let last = bench.call(late, 0, sequence, BARRIER);
                bench.settle();
                let ended = [(1 - late, first), (late, last)];
                let ended =
                    ended.map(|(rank, request)| bench.expect_completion(rank, request).failure);
                assert_eq!(ended, [RequestFailure::None; 2], "{sequence}");
            }
            // A rank that calls something else gets the error.
            let first = bench.call(1 - late, 0, wrap + 3, BARRIER);
            let other = bench.call(late, 0, wrap + 3, broadcast);
            bench.settle();
            let ended = [(1 - late, first), (late, other)];
            let ended = ended.map(|(rank, request)| bench.expect_completion(rank, request).failure);
            assert_eq!(ended, [RequestFailure::Mismatch; 2]);
            assert_eq!(bench.failures(), []);
        }
    }
}
