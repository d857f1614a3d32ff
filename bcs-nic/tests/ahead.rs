//! Collectives outside of the slice, between nodes on different hosts: cases that random programs
//! hit too seldom.

use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::{RequestFailure, RequestId};
use bcs_nic::simulator::workbench::Workbench;

const RANKS: u32 = 5;
const BARRIER: CollectiveKind = CollectiveKind::Barrier;
const SUM: CollectiveKind = CollectiveKind::Reduce {
    root: None,
    op: Op::Sum,
    datatype: Datatype::Int32,
};
/// Too long to go outside of the slice.
const LONG: usize = 4096;

/// Posts a rank's arrival at collective `sequence` of the world, with this length of data in
/// `memory`.
fn arrive(
    bench: &mut Workbench,
    rank: u32,
    sequence: u64,
    kind: CollectiveKind,
    (bytes, memory): (usize, &[u8]),
) -> RequestId {
    let request = bench.request(rank);
    let mut inline = [0; INLINE_BYTES];
    let is_inline = bytes <= INLINE_BYTES;
    if is_inline {
        inline[0] = u8::try_from(rank + 1).unwrap();
    }
    let address = memory.as_ptr() as u64;
    let collective = CollectiveDescriptor {
        request,
        context: 0,
        sequence,
        kind,
        bytes: bytes as u64,
        input: address,
        output: address,
        inline: is_inline.then_some(inline),
        for_node: false,
        unreadable_member: None,
    };
    bench.post_collective(rank, &collective);
    request
}

fn is_over(bench: &Workbench, requests: &[(u32, RequestId)]) -> bool {
    let mut requests = requests.iter();
    requests.all(|&(rank, request)| bench.completion(rank, request).is_some())
}

/// Returns the outcomes of requests, in the end.
fn come_to(bench: &mut Workbench, requests: &[(u32, RequestId)]) -> Vec<RequestFailure> {
    bench.run(|bench| is_over(bench, requests));
    let requests = requests.iter();
    let failure = |&(rank, request): &_| bench.expect_completion(rank, request).failure;
    requests.map(failure).collect()
}

#[test]
fn short_collectives_need_no_slice_and_come_out_right() {
    let mut bench = Workbench::on_separate_hosts(RANKS as usize);
    let kinds = [BARRIER, SUM, CollectiveKind::Broadcast { root: 3 }];
    for (sequence, kind) in (0..).zip(kinds.repeat(3)) {
        let bytes = if kind == BARRIER { 0 } else { 4 };
        let arrive = |rank| (rank, arrive(&mut bench, rank, sequence, kind, (bytes, &[])));
        let requests: Vec<_> = (0..RANKS).map(arrive).collect();
        let ended = come_to(&mut bench, &requests);
        assert_eq!(ended, [RequestFailure::None; RANKS as usize]);
        let result = match kind {
            SUM => vec![15, 0, 0, 0],
            CollectiveKind::Broadcast { root } => vec![u8::try_from(root + 1).unwrap(), 0, 0, 0],
            _ => Vec::new(),
        };
        for (rank, request) in requests {
            assert_eq!(
                bench.expect_completion(rank, request).inline_bytes(),
                result,
                "{kind:?}"
            );
        }
    }
    assert_eq!(bench.slices(), 0);
    assert!(bench.table_leaks().is_empty() && bench.failures().is_empty());
}

/// One rank calls something else, as the first or as the last one: all get the error, and can go
/// on.
#[test]
fn who_calls_something_else_is_told_wherever_it_is_in_the_tree() {
    let memory = vec![0; LONG];
    let long = CollectiveKind::Broadcast { root: 0 };
    let cases = [
        [(BARRIER, 0), (SUM, 4)],
        [(BARRIER, 0), (long, LONG)],
        [(long, LONG), (BARRIER, 0)],
    ];
    for [(kind, bytes), (other, other_bytes)] in cases {
        for odd in 0..RANKS {
            for first in 0..RANKS {
                let mut bench = Workbench::on_separate_hosts(RANKS as usize);
                let mut requests = Vec::new();
                for rank in (first..RANKS).chain(0..first) {
                    let (kind, bytes) = match rank == odd {
                        true => (other, other_bytes),
                        false => (kind, bytes),
                    };
                    let memory = (bytes, &memory[..]);
                    requests.push((rank, arrive(&mut bench, rank, 0, kind, memory)));
                    // Lets requested slices go by, and messages arrive.
                    pause(&mut bench);
                }
                let told = come_to(&mut bench, &requests);
                assert_eq!(
                    told,
                    [RequestFailure::Mismatch; RANKS as usize],
                    "{kind:?} {odd} {first}"
                );
                let next = |rank| (rank, arrive(&mut bench, rank, 1, BARRIER, (0, &[])));
                let next: Vec<_> = (0..RANKS).map(next).collect();
                assert_eq!(
                    come_to(&mut bench, &next),
                    [RequestFailure::None; RANKS as usize]
                );
            }
        }
    }
}

/// Lets some milliseconds go by.
fn pause(bench: &mut Workbench) {
    let until_ns = bench.now_ns() + 5_000_000;
    bench.run(|bench| bench.now_ns() >= until_ns || bench.is_silent());
}

/// A collective behind a long one waits for it, and nobody needs to request a slice.
#[test]
fn a_short_collective_behind_a_long_one_goes_when_that_is_over() {
    let kind = CollectiveKind::Broadcast { root: 1 };
    for last in 0..RANKS {
        let mut bench = Workbench::on_separate_hosts(RANKS as usize);
        let memory: Vec<Vec<u8>> = (0..RANKS)
            .map(|rank| vec![u8::try_from(rank).unwrap(); LONG])
            .collect();
        let mut requests = Vec::new();
        for rank in (0..RANKS).filter(|&rank| rank != last) {
            let memory = (LONG, &memory[rank as usize][..]);
            requests.push((rank, arrive(&mut bench, rank, 0, kind, memory)));
            requests.push((rank, arrive(&mut bench, rank, 1, BARRIER, (0, &[]))));
        }
        pause(&mut bench);
        let last_memory = (LONG, &memory[last as usize][..]);
        let broadcast = (last, arrive(&mut bench, last, 0, kind, last_memory));
        assert_eq!(come_to(&mut bench, &[broadcast]), [RequestFailure::None]);
        pause(&mut bench);
        let slices = bench.slices();
        requests.push((last, arrive(&mut bench, last, 1, BARRIER, (0, &[]))));
        let ended = come_to(&mut bench, &requests);
        assert!(ended.iter().all(|failure| *failure == RequestFailure::None));
        assert_eq!(bench.slices(), slices, "the barrier needs none");
        for rank in 0..RANKS {
            let bytes = bench.read(rank, memory[rank as usize].as_ptr() as u64, 8);
            assert_eq!(bytes, [1; 8], "rank {rank}");
        }
    }
}

/// All but one rank have arrived at two long ones. When the first is over, each node requests the
/// slice in which it publishes its arrival at the second. The simulator objects to a NIC that holds
/// what only a slice can advance, and has requested none.
#[test]
fn a_node_says_that_it_is_at_a_second_long_collective_though_others_are_not() {
    let kind = CollectiveKind::Broadcast { root: 1 };
    for last in 0..RANKS {
        let mut bench = Workbench::on_separate_hosts(RANKS as usize);
        let memory = vec![7; LONG];
        let mut requests = Vec::new();
        for rank in (0..RANKS).filter(|&rank| rank != last) {
            for sequence in 0..2 {
                let request = arrive(&mut bench, rank, sequence, kind, (LONG, &memory));
                requests.push((rank, request));
            }
        }
        pause(&mut bench);
        for sequence in 0..2 {
            let request = arrive(&mut bench, last, sequence, kind, (LONG, &memory));
            assert_eq!(
                come_to(&mut bench, &[(last, request)]),
                [RequestFailure::None]
            );
            pause(&mut bench);
        }
        let ended = come_to(&mut bench, &requests);
        assert!(ended.iter().all(|failure| *failure == RequestFailure::None));
    }
}

/// A slice has taken the arrivals at a long one before the short one in front of it was over. Its
/// members have requested that slice, and request no more: the node that has ended the short one
/// requests the next.
#[test]
fn a_long_collective_behind_a_short_one_gets_its_slice_when_that_is_over() {
    for last in 0..RANKS {
        let mut bench = Workbench::on_separate_hosts(RANKS as usize);
        let memory: Vec<Vec<u8>> = (0..RANKS)
            .map(|rank| vec![u8::try_from(rank).unwrap(); LONG])
            .collect();
        let kind = CollectiveKind::Broadcast { root: 1 };
        let mut requests = Vec::new();
        for rank in 0..RANKS {
            if rank != last {
                requests.push((rank, arrive(&mut bench, rank, 0, BARRIER, (0, &[]))));
            }
            let memory = (LONG, &memory[rank as usize][..]);
            requests.push((rank, arrive(&mut bench, rank, 1, kind, memory)));
        }
        pause(&mut bench);
        requests.push((last, arrive(&mut bench, last, 0, BARRIER, (0, &[]))));
        let ended = come_to(&mut bench, &requests);
        assert!(ended.iter().all(|failure| *failure == RequestFailure::None));
        for rank in 0..RANKS {
            let bytes = bench.read(rank, memory[rank as usize].as_ptr() as u64, 8);
            assert_eq!(bytes, [1; 8], "rank {rank}");
        }
    }
}
