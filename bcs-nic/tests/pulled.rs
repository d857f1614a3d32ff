//! Long collectives, whose data NICs pull from memory to memory: six ranks on three nodes, or four
//! on two.

use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::Settings;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::{Completion, RequestId};
use bcs_nic::bounds::Bounds;
use bcs_nic::simulator::workbench::Workbench;

const LEN: usize = 100_000;
const BYTES: u64 = LEN as u64;
const INPUT: u64 = 4096;
const OUTPUT: u64 = 512 * 1024;
/// The address from which a part of the data is beyond a rank's memory.
const NOWHERE: u64 = Workbench::MEMORY_BYTES as u64 - BYTES / 2;

const BROADCAST: CollectiveKind = CollectiveKind::Broadcast { root: 3 };
const TO_ONE: CollectiveKind = sum(Some(3));
const TO_ALL: CollectiveKind = sum(None);

const fn sum(root: Option<u32>) -> CollectiveKind {
    CollectiveKind::Reduce {
        root,
        op: Op::Sum,
        datatype: Datatype::Int32,
    }
}

/// Returns the contribution of a rank: numbers, in a fixed pattern.
fn given(rank: u32) -> Vec<u8> {
    (rank + 1).to_le_bytes().repeat(LEN / 4)
}

/// Posts the arrivals of all ranks.
fn all_arrive(bench: &mut Workbench, ranks: u32, kind: CollectiveKind) -> Vec<RequestId> {
    (0..ranks)
        .map(|rank| {
            bench.write(rank, INPUT, &given(rank));
            bench.arrive(rank, kind, BYTES, [INPUT, OUTPUT])
        })
        .collect()
}

/// Returns the result that a rank must get, if it gets one.
fn wanted(rank: u32, ranks: u32, kind: CollectiveKind) -> Option<Vec<u8>> {
    match kind {
        CollectiveKind::Broadcast { root } => (root != rank).then(|| given(root)),
        CollectiveKind::Reduce { root, .. } => {
            let total: u32 = (1..=ranks).sum();
            let result = total.to_le_bytes().repeat(LEN / 4);
            root.is_none_or(|root| root == rank).then_some(result)
        }
        _ => None,
    }
}

#[test]
fn what_the_budget_allows_moves_in_one_slice() {
    for kind in [BROADCAST, TO_ONE, TO_ALL] {
        let mut bench = Workbench::new(6, 3, Bounds::default());
        let before = bench.slices();
        let requests = all_arrive(&mut bench, 6, kind);
        bench.run(|bench| bench.completion(0, requests[0]).is_some());
        assert_eq!(bench.slices(), before + 1, "{kind:?}");
        bench.settle();
        for (rank, &request) in (0..).zip(&requests) {
            assert_eq!(bench.expect_completion(rank, request), Completion::done());
            if let Some(wanted) = wanted(rank, 6, kind) {
                assert!(bench.read(rank, OUTPUT, wanted.len()) == wanted, "{kind:?}");
            }
        }
        assert_eq!(bench.table_leaks(), Vec::<String>::new());
    }
}

/// A budget that takes many slices: each moves what it may, and nothing twice.
#[test]
fn what_takes_many_slices_comes_whole() {
    for kind in [BROADCAST, TO_ONE, TO_ALL] {
        let settings = Settings {
            link_bandwidth: 40_000_000,
            ..Settings::default()
        };
        let mut bench = Workbench::with_settings(6, 3, Bounds::default(), settings);
        let requests = all_arrive(&mut bench, 6, kind);
        bench.settle();
        assert!(bench.slices() > 4, "{kind:?}: {} slices", bench.slices());
        for (rank, &request) in (0..).zip(&requests) {
            assert_eq!(bench.expect_completion(rank, request), Completion::done());
            if let Some(wanted) = wanted(rank, 6, kind) {
                assert!(bench.read(rank, OUTPUT, wanted.len()) == wanted, "{kind:?}");
            }
        }
    }
}

/// As soon as a rank is notified that a collective is over, its memory is its own again, even if
/// others are still in it.
#[test]
fn whose_request_is_complete_may_write_its_memory() {
    for kind in [BROADCAST, TO_ONE, TO_ALL] {
        for eager in 0..6 {
            let mut bench = Workbench::new(6, 3, Bounds::default());
            let requests = all_arrive(&mut bench, 6, kind);
            bench.run(|bench| bench.completion(eager, requests[eager as usize]).is_some());
            if let Some(wanted) = wanted(eager, 6, kind) {
                let got = bench.read(eager, OUTPUT, wanted.len());
                assert!(got == wanted, "{kind:?}: rank {eager} is told too early");
            }
            for at in [INPUT, OUTPUT] {
                bench.write(eager, at, &[0xee; LEN]);
            }
            bench.settle();
            for rank in (0..6).filter(|&rank| rank != eager) {
                let request = requests[rank as usize];
                assert_eq!(bench.expect_completion(rank, request), Completion::done());
                if let Some(wanted) = wanted(rank, 6, kind) {
                    let got = bench.read(rank, OUTPUT, wanted.len());
                    assert!(
                        got == wanted,
                        "{kind:?}: rank {rank} read rank {eager}'s rubbish"
                    );
                }
            }
        }
    }
}

/// Returns the outcomes of four ranks, where those in `bad` have their input, or their output,
/// nowhere.
fn outcomes(kind: CollectiveKind, bad: [Option<u32>; 2]) -> Vec<Completion> {
    let mut bench = Workbench::new(4, 2, Bounds::default());
    let requests: Vec<RequestId> = (0..4)
        .map(|rank| {
            let at = [(bad[0], INPUT), (bad[1], OUTPUT)];
            let at = at.map(|(bad, there)| if bad == Some(rank) { NOWHERE } else { there });
            bench.arrive(rank, kind, BYTES, at)
        })
        .collect();
    bench.settle();
    let next: Vec<RequestId> = (0..4)
        .map(|rank| bench.call(rank, 0, 1, CollectiveKind::Barrier))
        .collect();
    bench.settle();
    for (rank, &next) in (0..).zip(&next) {
        assert_eq!(
            bench.expect_completion(rank, next),
            Completion::done(),
            "rank {rank}"
        );
    }
    assert_eq!(bench.table_leaks(), Vec::<String>::new());
    let ended = (0..).zip(&requests);
    ended
        .map(|(rank, &request)| bench.expect_completion(rank, request))
        .collect()
}

#[test]
fn a_contribution_that_cannot_be_read_is_an_error_at_all_members() {
    for bad in 0..4 {
        for kind in [TO_ONE, TO_ALL] {
            let told = outcomes(kind, [Some(bad), None]);
            assert_eq!(told, [Completion::member_memory(bad); 4], "{kind:?}");
        }
    }
    let told = outcomes(BROADCAST, [Some(3), None]);
    assert_eq!(told, [Completion::member_memory(3); 4]);
}

/// The members on its node get the error, and the nodes that have read its memory or wait for the
/// data made there.
#[test]
fn a_result_that_cannot_be_written_is_an_error_at_all_members_of_a_reduction() {
    for bad in 0..4 {
        let told = outcomes(TO_ALL, [None, Some(bad)]);
        assert_eq!(told, [Completion::member_memory(bad); 4]);
    }
    let told = outcomes(TO_ONE, [None, Some(3)]);
    assert_eq!(told, [Completion::member_memory(3); 4]);
}

#[test]
fn a_broadcast_that_cannot_be_written_is_an_error_on_that_node_and_on_the_root_s() {
    let whole = Completion::done();
    let spoilt = Completion::member_memory(1);
    // The node of rank 1 notifies that of the root, rank 3, on which rank 2 is, too.
    assert_eq!(outcomes(BROADCAST, [None, Some(1)]), [spoilt; 4]);
    let spoilt = Completion::member_memory(2);
    let told = outcomes(BROADCAST, [None, Some(2)]);
    assert_eq!(told, [whole, whole, spoilt, spoilt]);
}
