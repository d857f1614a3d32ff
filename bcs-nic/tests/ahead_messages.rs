//! Messages outside of the slice, between nodes on different hosts: long ones, eager ones, and
//! those that fail.

use bcs_core::descriptor::{Payload, ReceiveKind};
use bcs_core::job::Settings;
use bcs_core::layout::Location;
use bcs_core::request::{RequestFailure, RequestId};
use bcs_nic::simulator::workbench::Workbench;

/// More than one budget of these tests, and not a multiple of anything.
const LONG: usize = 1_000_003;
/// An address where no rank has memory.
const NOWHERE: u64 = 4096;

fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at * 31 + seed).to_le_bytes()[0])
        .collect()
}

/// Returns bytes in memory of the sender.
fn lying(bytes: &[u8]) -> (Payload, u64) {
    let location = Location::contiguous(bytes.as_ptr() as u64);
    (Payload::Memory(location), bytes.len() as u64)
}

fn receive(
    bench: &mut Workbench,
    rank: u32,
    source: Option<u32>,
    tag: Option<i32>,
    into: &mut [u8],
) -> RequestId {
    receive_at(
        bench,
        rank,
        (source, tag),
        into.as_mut_ptr() as u64,
        into.len(),
    )
}

fn receive_at(
    bench: &mut Workbench,
    rank: u32,
    (source, tag): (Option<u32>, Option<i32>),
    address: u64,
    len: usize,
) -> RequestId {
    let kind = ReceiveKind::Receive {
        into: Location::contiguous(address),
        capacity: len as u64,
        shared: false,
    };
    bench.post_receive_kind(rank, source, tag, kind)
}

fn all_over(bench: &mut Workbench, requests: &[(u32, RequestId)]) -> Vec<RequestFailure> {
    let is_over = |bench: &Workbench| {
        let mut requests = requests.iter();
        requests.all(|&(rank, request)| bench.completion(rank, request).is_some())
    };
    bench.run(is_over);
    let requests = requests.iter();
    let failure = |&(rank, request): &_| bench.expect_completion(rank, request).failure;
    requests.map(failure).collect()
}

/// Checks that some time later nothing is left of the completed operations.
fn is_clean(bench: &mut Workbench) {
    let until_ns = bench.now_ns() + 20_000_000;
    bench.run(|bench| bench.now_ns() >= until_ns);
    assert!(bench.table_leaks().is_empty(), "{:?}", bench.table_leaks());
    assert!(bench.failures().is_empty(), "{:?}", bench.failures());
}

#[test]
fn no_message_from_a_named_source_needs_a_slice() {
    let mut bench = Workbench::on_separate_hosts(2);
    let (long, eager) = (pattern(1, LONG), pattern(2, 3000));
    let (mut of_long, mut of_eager) = (vec![0; LONG], vec![0; 3000]);
    let payload = bench.payload(0, 7, &eager);
    let requests = [
        (1, receive(&mut bench, 1, Some(0), Some(1), &mut of_long)),
        (1, receive(&mut bench, 1, Some(0), Some(2), &mut of_eager)),
        (1, receive(&mut bench, 1, Some(0), Some(3), &mut [])),
        (0, bench.send_from(0, 1, 1, lying(&long))),
        (0, bench.send_from(0, 1, 2, (payload, 3000))),
        (0, bench.send_from(0, 1, 3, (Payload::Inline([0; 64]), 0))),
    ];
    assert_eq!(all_over(&mut bench, &requests), [RequestFailure::None; 6]);
    assert_eq!((of_long, of_eager), (long, eager));
    assert_eq!(bench.slices(), 0);
    is_clean(&mut bench);
}

/// The receive of the long one was posted first, and the short one has all its bytes before the
/// long one.
#[test]
fn a_short_message_does_not_take_the_receive_of_a_long_one() {
    let mut bench = Workbench::on_separate_hosts(2);
    let (long, short) = (pattern(3, LONG), pattern(4, 9));
    let (mut first, mut second) = (vec![0; LONG], vec![0; LONG]);
    let requests = [
        (1, receive(&mut bench, 1, Some(0), None, &mut first)),
        (1, receive(&mut bench, 1, Some(0), None, &mut second)),
        (0, bench.send_from(0, 1, 5, lying(&long))),
        (0, bench.send_from(0, 1, 5, lying(&short))),
    ];
    assert_eq!(all_over(&mut bench, &requests), [RequestFailure::None; 4]);
    let [one, other] = [0, 1].map(|at| bench.expect_completion(1, requests[at].1).len);
    assert_eq!([one, other], [LONG as u64, 9]);
    assert_eq!((&first[..], &second[..9]), (&long[..], &short[..]));
    is_clean(&mut bench);
}

/// The slice in which it meets its receive is struck, and then it needs no other.
#[test]
fn what_anybody_may_have_sent_waits_for_its_slice() {
    let mut bench = Workbench::on_separate_hosts(3);
    let sent = [pattern(5, LONG), pattern(6, LONG)];
    let mut came = [vec![0; LONG], vec![0; LONG]];
    let [one, other] = &mut came;
    let mut requests = vec![
        (2, receive(&mut bench, 2, None, None, one)),
        (2, receive(&mut bench, 2, None, None, other)),
    ];
    for (rank, bytes) in (0..).zip(&sent) {
        requests.push((rank, bench.send_from(rank, 2, 0, lying(bytes))));
    }
    bench.demand();
    assert_eq!(all_over(&mut bench, &requests), [RequestFailure::None; 4]);
    assert!(bench.slices() > 0);
    came.sort_unstable();
    let mut sent = sent;
    sent.sort_unstable();
    assert_eq!(came, sent);
    is_clean(&mut bench);
}

#[test]
fn memory_that_is_not_there_is_told_once_and_what_follows_comes() {
    let mut bench = Workbench::on_separate_hosts(2);
    let sent = pattern(7, LONG);
    let mut came = vec![0; LONG];
    let nowhere = (Payload::Memory(Location::contiguous(NOWHERE)), LONG as u64);
    let requests = [
        (1, receive(&mut bench, 1, Some(0), Some(0), &mut came)),
        (0, bench.send_from(0, 1, 0, nowhere)),
        (
            1,
            receive_at(&mut bench, 1, (Some(0), Some(1)), NOWHERE, LONG),
        ),
        (0, bench.send_from(0, 1, 1, lying(&sent))),
    ];
    let told = all_over(&mut bench, &requests);
    let of_the_reader = [RequestFailure::SenderMemory, RequestFailure::BadAddress];
    let of_the_writer = [RequestFailure::BadAddress, RequestFailure::None];
    assert_eq!(told, [of_the_reader, of_the_writer].concat());
    let next = [
        (1, receive(&mut bench, 1, Some(0), Some(2), &mut came)),
        (0, bench.send_from(0, 1, 2, lying(&sent))),
    ];
    assert_eq!(all_over(&mut bench, &next), [RequestFailure::None; 2]);
    assert_eq!(came, sent);
    is_clean(&mut bench);
}

#[test]
fn eager_bytes_that_are_too_long_for_their_receive_are_cut() {
    let mut bench = Workbench::on_separate_hosts(2);
    for round in 0..3 {
        // The payload slot is the same each time: unrequested bytes of one message must not be
        // taken for the next.
        let payload = bench.payload(0, 1, &pattern(round, 500));
        let mut came = [0; 200];
        let capacity = if round == 0 { 0 } else { 200 };
        let requests = [
            (
                1,
                receive(&mut bench, 1, Some(0), None, &mut came[..capacity]),
            ),
            (0, bench.send_from(0, 1, 0, (payload, 500))),
        ];
        let told = all_over(&mut bench, &requests);
        assert_eq!(
            told,
            [RequestFailure::Truncated, RequestFailure::None],
            "round {round}"
        );
        assert_eq!(came[..capacity], pattern(round, 500)[..capacity]);
    }
    is_clean(&mut bench);
}

/// Pairs take turns outside of the slice, too, and a short message does not wait until a long one
/// has come.
#[test]
fn what_is_more_than_a_budget_comes_in_pieces_and_starves_nobody() {
    let settings = Settings {
        link_bandwidth: 200_000_000,
        ..Settings::default()
    };
    assert!(LONG as u64 > 2 * settings.budget());
    let mut bench = Workbench::on_separate_hosts_with(3, settings);
    let (long, short) = (pattern(8, 4 * LONG), pattern(9, 5000));
    let (mut of_long, mut of_short) = (vec![0; 4 * LONG], vec![0; 5000]);
    let first = [
        (2, receive(&mut bench, 2, Some(0), None, &mut of_long)),
        (0, bench.send_from(0, 2, 0, lying(&long))),
    ];
    let then = [
        (2, receive(&mut bench, 2, Some(1), None, &mut of_short)),
        (1, bench.send_from(1, 2, 0, lying(&short))),
    ];
    assert_eq!(all_over(&mut bench, &then), [RequestFailure::None; 2]);
    assert_eq!(of_short, short);
    assert_eq!(
        bench.completion(2, first[0].1),
        None,
        "it is 16 budgets long"
    );
    assert_eq!(all_over(&mut bench, &first), [RequestFailure::None; 2]);
    assert_eq!(of_long, long);
    is_clean(&mut bench);
}

/// The receiver knows that it has come, from a message that was sent after it.
#[test]
fn who_cancels_a_receive_whose_message_is_there_gets_it() {
    let mut bench = Workbench::on_separate_hosts(2);
    let (first, last) = (pattern(10, 40), pattern(11, 40));
    let (mut of_first, mut of_last) = (vec![0; 40], vec![0; 40]);
    let requests = [
        (1, receive(&mut bench, 1, Some(0), Some(2), &mut of_last)),
        (0, bench.send_from(0, 1, 1, lying(&first))),
        (0, bench.send_from(0, 1, 2, lying(&last))),
    ];
    assert_eq!(all_over(&mut bench, &requests[..1]), [RequestFailure::None]);
    let receives = receive(&mut bench, 1, Some(0), Some(1), &mut of_first);
    let cancel = bench.post_receive_kind(1, None, None, ReceiveKind::Cancel(receives));
    bench.demand();
    let requests = [(1, receives), (1, cancel), requests[1], requests[2]];
    assert_eq!(all_over(&mut bench, &requests), [RequestFailure::None; 4]);
    assert_eq!((of_first, of_last), (first, last));
    is_clean(&mut bench);
}

/// Bytes that came along and were not wanted must not be taken for the next message of their slot,
/// which does not come along.
#[test]
fn bytes_that_nobody_wanted_are_not_those_of_the_next_message() {
    const MANY: u32 = 270;
    let mut bench = Workbench::on_separate_hosts(2);
    let unwanted = bench.payload(0, 1, &pattern(1, 4000));
    let first = [
        (1, receive(&mut bench, 1, Some(0), Some(0), &mut [])),
        (0, bench.send_from(0, 1, 0, (unwanted, 4000))),
    ];
    let told = all_over(&mut bench, &first);
    assert_eq!(told, [RequestFailure::Truncated, RequestFailure::None]);
    // As many messages as may come along wait for their receives.
    for slot in 2..MANY {
        let payload = bench.payload(0, slot, &pattern(2, 4000));
        let _waits = bench.send_from(0, 1, 1, (payload, 4000));
    }
    assert!(u64::from(MANY - 2) * 4000 > bcs_core::limits::MAX_UNRECEIVED_EAGER_BYTES);
    let wanted = pattern(3, 4000);
    let payload = bench.payload(0, 1, &wanted);
    let mut came = vec![0; 4000];
    let next = [
        (1, receive(&mut bench, 1, Some(0), Some(2), &mut came)),
        (0, bench.send_from(0, 1, 2, (payload, 4000))),
    ];
    assert_eq!(all_over(&mut bench, &next), [RequestFailure::None; 2]);
    assert!(came == wanted, "the bytes are of another message");
}
