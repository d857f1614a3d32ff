//! The errors that NICs report when a rank names memory that is not there: two ranks on each of two
//! nodes, and the outcome for each of them.

use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind};
use bcs_core::job::Settings;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::{Completion, RequestId};
use bcs_nic::bounds::Bounds;
use bcs_nic::simulator::workbench::Workbench;

const BYTES: u64 = 800;
const HERE: u64 = 4096;
/// The address from which a part of the data is beyond a rank's memory.
const NOWHERE: u64 = Workbench::MEMORY_BYTES as u64 - 100;
const SUM: CollectiveKind = CollectiveKind::Reduce {
    root: None,
    op: Op::Sum,
    datatype: Datatype::Double,
};

fn bench() -> Workbench {
    Workbench::new(4, 2, Bounds::default())
}

/// Returns the outcomes of the ranks, where those in `bad` have their input, or their output,
/// nowhere.
fn outcomes(kind: CollectiveKind, bad: [Option<u32>; 2]) -> Vec<Completion> {
    let mut bench = bench();
    let requests: Vec<RequestId> = (0..4)
        .map(|rank| {
            let at = bad.map(|bad| if bad == Some(rank) { NOWHERE } else { HERE });
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
    let ended = (0..).zip(&requests);
    ended
        .map(|(rank, &request)| bench.expect_completion(rank, request))
        .collect()
}

/// Its contribution was zeros in the sum of the others, who got a success.
#[test]
fn a_contribution_that_cannot_be_read_is_an_error_at_all_members() {
    for bad in 0..4 {
        let told = outcomes(SUM, [Some(bad), None]);
        assert_eq!(told, [Completion::member_memory(bad); 4]);
    }
}

/// The other nodes, and all slices with them, waited for its data for ever.
#[test]
fn a_broadcast_whose_root_cannot_be_read_ends_at_all_members() {
    for root in 0..4 {
        let told = outcomes(CollectiveKind::Broadcast { root }, [Some(root), None]);
        assert_eq!(told, [Completion::member_memory(root); 4]);
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error_on_its_node_and_none_elsewhere() {
    for kind in [SUM, CollectiveKind::Broadcast { root: 0 }] {
        let spoilt = Completion::member_memory(3);
        let whole = Completion::done();
        let told = outcomes(kind, [None, Some(3)]);
        assert_eq!(told, [whole, whole, spoilt, spoilt]);
    }
}

/// An operation of several slices: a node that could not write the first steps still has data for
/// others.
#[test]
fn a_result_that_cannot_be_written_is_an_error_at_all_who_have_yet_to_get_something() {
    let settings = Settings {
        link_bandwidth: 100_000_000,
        ..Settings::default()
    };
    let mut bench = Workbench::with_settings(4, 2, Bounds::default(), settings);
    let requests: Vec<RequestId> = (0..4)
        .map(|rank| {
            let output = if rank == 3 { NOWHERE } else { 512 * 1024 };
            bench.arrive(rank, SUM, 200_000, [HERE, output])
        })
        .collect();
    bench.settle();
    for (rank, &request) in (0..).zip(&requests) {
        let told = bench.expect_completion(rank, request);
        assert_eq!(told, Completion::member_memory(3), "rank {rank}");
    }
}

/// The rank that arrives for its node names the rank whose memory is missing for its fold.
#[test]
fn what_a_leader_could_not_fold_is_no_part_of_the_sum() {
    let mut bench = bench();
    let requests = [0, 2].map(|leader| {
        let request = bench.request(leader);
        let arrival = CollectiveDescriptor {
            request,
            context: 0,
            sequence: 0,
            kind: SUM,
            bytes: BYTES,
            input: HERE,
            output: HERE,
            inline: None,
            for_node: true,
            unreadable_member: (leader == 2).then_some(3),
        };
        bench.post_collective(leader, &arrival);
        (leader, request)
    });
    bench.settle();
    for (leader, request) in requests {
        let told = bench.expect_completion(leader, request);
        assert_eq!(told, Completion::member_memory(3), "leader {leader}");
    }
}
