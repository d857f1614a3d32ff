//! NICs with full tables and spent credits, and arrivals at the same time that must be put in
//! order.

use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{Payload, ReceiveKind, SendDescriptor};
use bcs_core::layout::Location;
use bcs_core::request::{RequestFailure, RequestId};
use bcs_nic::bounds::Bounds;
use bcs_nic::simulator::workbench::Workbench;
use std::sync::atomic::Ordering;

fn tags_received(bench: &Workbench, rank: u32, requests: &[RequestId]) -> Vec<i32> {
    let tag = |&request| bench.expect_completion(rank, request).tag;
    requests.iter().map(tag).collect()
}

/// Returns bounds with `envelopes` for a receiver, of which each of two nodes may have half.
fn pool(envelopes: usize) -> Bounds {
    Bounds {
        envelopes,
        ..Bounds::default()
    }
}

/// Sends that wait for credit and sends that wait for room in a block are in two queues: later
/// posts must not get between them.
#[test]
fn envelopes_of_a_pair_keep_their_order_when_credit_and_block_are_spent() {
    let bounds = Bounds {
        descriptors: 4,
        ..pool(8)
    };
    let mut bench = Workbench::new(4, 2, bounds);
    let blocks = [(2, 0..6), (3, 0..6), (2, 6..8)];
    for (to, tags) in blocks {
        for tag in tags {
            bench.send(0, to, tag, false);
        }
    }
    bench.run_slices(2);
    for tag in 8..12 {
        bench.send(0, 2, tag, false);
        bench.run_slices(1);
    }
    let at_2: Vec<_> = (0..12).map(|_| bench.receive(2, Some(0), None)).collect();
    let at_3: Vec<_> = (0..6).map(|_| bench.receive(3, Some(0), None)).collect();
    bench.run_slices(40);
    assert_eq!(tags_received(&bench, 2, &at_2), (0..12).collect::<Vec<_>>());
    assert_eq!(tags_received(&bench, 3, &at_3), (0..6).collect::<Vec<_>>());
    assert_eq!(bench.failures(), []);
}

/// Sends that waited for credit go before those that entered the queue of their node meanwhile.
#[test]
fn envelopes_that_waited_for_credit_go_before_those_that_wait_for_room() {
    let bounds = Bounds {
        descriptors: 1,
        ..pool(8)
    };
    let mut bench = Workbench::new(4, 2, bounds);
    for tag in 0..6 {
        bench.send(0, 2, tag, false);
    }
    bench.run_slices(8);
    // A block holds one envelope: these delay those for rank 2 behind them.
    for tag in 0..4 {
        bench.send(0, 3, tag, false);
    }
    for tag in 6..9 {
        bench.send(0, 2, tag, false);
    }
    let at_2: Vec<_> = (0..9).map(|_| bench.receive(2, Some(0), None)).collect();
    let at_3: Vec<_> = (0..4).map(|_| bench.receive(3, Some(0), None)).collect();
    bench.settle();
    assert_eq!(tags_received(&bench, 2, &at_2), (0..9).collect::<Vec<_>>());
    assert_eq!(tags_received(&bench, 3, &at_3), (0..4).collect::<Vec<_>>());
}

/// A rank that had received everything read its count of unexpected messages, and it was not zero.
#[test]
fn what_a_receive_took_is_kept_no_more_when_the_rank_is_told() {
    let mut bench = Workbench::new(2, 2, Bounds::default());
    let kept = |bench: &Workbench| bench.memory(1).unexpected().load(Ordering::Acquire);
    bench.send(0, 1, 7, false);
    bench.settle();
    assert_eq!(kept(&bench), 1);
    let request = bench.receive(1, Some(0), Some(7));
    bench.run(|bench| bench.completion(1, request).is_some());
    assert_eq!(kept(&bench), 0);
}

#[test]
fn credits_come_back_as_messages_are_received() {
    let mut bench = Workbench::new(2, 2, pool(8));
    for tag in 0..100 {
        bench.send(0, 1, tag, false);
    }
    let received: Vec<_> = (0..100).map(|_| bench.receive(1, None, None)).collect();
    bench.settle();
    let in_order: Vec<_> = (0..100).collect();
    assert_eq!(tags_received(&bench, 1, &received), in_order);
    assert_eq!(bench.failures(), []);
}

#[test]
fn nobody_holds_more_envelopes_of_a_node_than_its_share() {
    let mut bench = Workbench::new(4, 2, pool(8));
    for tag in 0..10 {
        bench.send(0, 2, tag, false);
        bench.send(1, 2, tag, false);
    }
    bench.run_slices(20);
    let unexpected = bench.memory(2).unexpected();
    assert_eq!(unexpected.load(Ordering::Relaxed), 4);
    // The node's own ranks have the other half.
    for tag in 0..10 {
        bench.send(3, 2, tag, false);
    }
    bench.run_slices(20);
    let unexpected = bench.memory(2).unexpected();
    assert_eq!(unexpected.load(Ordering::Relaxed), 8);
    assert_eq!(bench.failures(), []);
}

#[test]
fn a_receiver_that_is_full_of_what_it_does_not_want_ends_the_job_and_is_named() {
    let mut bench = Workbench::new(2, 2, pool(8));
    for tag in [1, 1, 1, 1, 9] {
        bench.send(0, 1, tag, false);
    }
    bench.run_slices(4);
    assert_eq!(bench.failures(), []);
    bench.receive(1, Some(0), Some(9));
    bench.run_slices(2);
    let [first, ..] = bench.failures() else {
        panic!("nobody noticed that nothing can move any more");
    };
    assert_eq!((first.node.0, first.rank()), (1, Some(1)));
    assert!(
        first.to_string().contains("rank 1 holds 4 messages"),
        "{first:?}"
    );
}

/// A matched probe takes a message out of the table that no receive of its rank matches.
#[test]
fn a_full_receiver_that_probes_for_what_it_holds_does_not_starve() {
    let mut bench = Workbench::new(2, 2, pool(8));
    for tag in [1, 1, 1, 1, 9] {
        bench.send(0, 1, tag, false);
    }
    bench.run_slices(4);
    let wanted = bench.receive(1, Some(0), Some(9));
    let extract = |bench: &mut Workbench| {
        bench.post_receive_kind(1, Some(0), Some(1), ReceiveKind::MatchedProbe)
    };
    let extracted: Vec<_> = (0..4).map(|_| extract(&mut bench)).collect();
    bench.run_slices(2);
    assert_eq!(bench.failures(), []);
    for message in extracted {
        assert_eq!(
            bench.expect_completion(1, message).failure,
            RequestFailure::None
        );
        let kind = ReceiveKind::MatchedReceive {
            message,
            into: Location::contiguous(4096),
            capacity: 64,
        };
        bench.post_receive_kind(1, None, None, kind);
    }
    bench.run_slices(4);
    assert_eq!(bench.expect_completion(1, wanted).tag, 9);
    assert_eq!(bench.failures(), []);
}

/// Sends without a completion have no requests, which would bound them.
#[test]
fn a_rank_that_floods_another_fills_its_own_ring_and_not_its_nic() {
    let bounds = Bounds {
        held: 16,
        ..pool(8)
    };
    let mut bench = Workbench::new(3, 2, bounds);
    for tag in 0..100 {
        bench.send(0, 2, tag, false);
    }
    bench.run_slices(30);
    let held = bench.memory(0).undelivered_sends().load(Ordering::Relaxed);
    assert_eq!(held, 16);
    // Another rank of its node is not delayed.
    bench.send(1, 0, 7, false);
    let other = bench.receive(0, Some(1), Some(7));
    bench.run_slices(3);
    assert_eq!(bench.expect_completion(0, other).tag, 7);
    // Nor is a strobe struck for sends that cannot move.
    bench.settle();
    let received: Vec<_> = (0..100).map(|_| bench.receive(2, Some(0), None)).collect();
    bench.settle();
    let in_order: Vec<_> = (0..100).collect();
    assert_eq!(tags_received(&bench, 2, &received), in_order);
    assert_eq!(bench.failures(), []);
}

#[test]
fn more_sends_end_at_once_than_a_completion_block_tells() {
    let bounds = Bounds {
        completions: 3,
        ..Bounds::default()
    };
    let mut bench = Workbench::new(2, 2, bounds);
    let sends: Vec<_> = (0..20).map(|tag| bench.send(0, 1, tag, true)).collect();
    bench.settle();
    let receives: Vec<_> = (0..20).map(|_| bench.receive(1, None, None)).collect();
    bench.settle();
    for (send, receive) in sends.into_iter().zip(receives) {
        assert_eq!(
            bench.expect_completion(0, send).failure,
            RequestFailure::None
        );
        assert_eq!(
            bench.expect_completion(1, receive).failure,
            RequestFailure::None
        );
    }
    assert_eq!(bench.failures(), []);
}

/// Every one of them ends a transfer whose last chunk was never scheduled.
#[test]
fn more_sends_fail_at_once_than_a_completion_block_tells() {
    use bcs_core::descriptor::{Payload, SendDescriptor};
    let bounds = Bounds {
        completions: 3,
        ..Bounds::default()
    };
    let mut bench = Workbench::new(2, 2, bounds);
    let mut sends = Vec::new();
    for tag in 0..20 {
        let request = bench.request(0);
        let send = SendDescriptor {
            request,
            needs_completion: true,
            context: 0,
            destination: 1,
            tag,
            len: 1 << 40,
            check_bits: CheckBits::NONE,
            payload: Payload::Memory(Location::contiguous(1 << 30)),
            one_sided: None,
        };
        bench.post_send(0, &send);
        let kind = ReceiveKind::Receive {
            into: Location::contiguous(4096),
            capacity: 1 << 40,
            shared: false,
        };
        sends.push((
            request,
            bench.post_receive_kind(1, Some(0), Some(tag), kind),
        ));
    }
    bench.settle();
    for (send, receive) in sends {
        assert_eq!(
            bench.expect_completion(0, send).failure,
            RequestFailure::BadAddress
        );
        assert_eq!(
            bench.expect_completion(1, receive).failure,
            RequestFailure::SenderMemory
        );
    }
    assert_eq!(bench.failures(), []);
}

#[test]
fn a_wildcard_takes_the_message_of_the_lower_rank_of_two_that_come_in_one_slice() {
    for first in [2, 3] {
        let mut bench = Workbench::new(4, 2, Bounds::default());
        let receives: Vec<_> = (0..2).map(|_| bench.receive(0, None, None)).collect();
        // The ranks of one node post, in any order.
        bench.send(first, 0, 5, false);
        bench.send(5 - first, 0, 5, false);
        bench.settle();
        let sources = receives
            .iter()
            .map(|&it| bench.expect_completion(0, it).source);
        assert_eq!(sources.collect::<Vec<_>>(), [2, 3]);
    }
}

/// Edge LONELY: the rank saw no envelope for it, and requests no slice.
#[test]
fn a_receive_that_is_posted_between_cut_and_publication_is_noticed() {
    let mut bench = Workbench::new(2, 2, Bounds::default());
    bench.send(0, 1, 5, false);
    bench.run(|bench| bench.cuts(1) == 1);
    assert_eq!(bench.memory(1).unexpected().load(Ordering::Relaxed), 0);
    let kind = ReceiveKind::Receive {
        into: Location::contiguous(4096),
        capacity: 64,
        shared: false,
    };
    let receive = bench.post_receive_kind(1, Some(0), Some(5), kind);
    bench.settle();
    assert_eq!(bench.expect_completion(1, receive).tag, 5);
}

fn cancel(bench: &mut Workbench, from: u32, to: u32, tag: i32, request: RequestId) {
    let cancel = SendDescriptor {
        request,
        needs_completion: false,
        context: 0,
        destination: to,
        tag,
        len: 0,
        check_bits: CheckBits::NONE,
        payload: Payload::Cancel,
        one_sided: None,
    };
    bench.post_send(from, &cancel);
}

/// The receiver requests nothing. All sends that wait there, for credit, or for room in a block are
/// cancelled all the same, and give their credit back.
#[test]
fn sends_are_cancelled_wherever_they_wait() {
    for (descriptors, after) in [(100, 0), (100, 20), (2, 0), (2, 3), (2, 40)] {
        let bounds = Bounds {
            descriptors,
            ..pool(8)
        };
        let mut bench = Workbench::new(4, 2, bounds);
        let mut sends = Vec::new();
        for tag in 0..12 {
            sends.push((2, tag, bench.send(0, 2, tag, true)));
            // Besides, there are sends on the sender's own node.
            sends.push((1, tag, bench.send(0, 1, tag, true)));
        }
        bench.run_slices(after);
        let (odd, even): (Vec<_>, Vec<_>) = sends.iter().partition(|(_, tag, _)| tag % 2 == 1);
        for &&(to, tag, request) in &odd {
            cancel(&mut bench, 0, to, tag, request);
        }
        bench.settle();
        for &&(_, tag, request) in &odd {
            let failure = bench.expect_completion(0, request).failure;
            assert_eq!(
                failure,
                RequestFailure::Cancelled,
                "tag {tag} after {after}"
            );
        }
        let at = |bench: &mut Workbench, to| -> Vec<RequestId> {
            (0..6).map(|_| bench.receive(to, Some(0), None)).collect()
        };
        let (at_2, at_1) = (at(&mut bench, 2), at(&mut bench, 1));
        bench.settle();
        let left: Vec<_> = (0..12).step_by(2).collect();
        assert_eq!(tags_received(&bench, 2, &at_2), left);
        assert_eq!(tags_received(&bench, 1, &at_1), left);
        for &&(_, _, request) in &even {
            assert_eq!(
                bench.expect_completion(0, request).failure,
                RequestFailure::None
            );
        }
        // All credit has come back: there is room for as many as before.
        let again: Vec<_> = (0..20).map(|tag| bench.send(0, 2, tag, true)).collect();
        let at_2: Vec<_> = (0..20).map(|_| bench.receive(2, None, None)).collect();
        bench.settle();
        assert_eq!(tags_received(&bench, 2, &at_2), (0..20).collect::<Vec<_>>());
        // A cancel that comes too late changes nothing.
        cancel(&mut bench, 0, 2, 3, again[3]);
        bench.settle();
        assert_eq!(
            bench.expect_completion(0, again[3]).failure,
            RequestFailure::None
        );
        assert_eq!(bench.table_leaks(), Vec::<String>::new());
        assert_eq!(bench.failures(), []);
    }
}

/// The order at the receiver's table may vary: the receive first, or the cancel.
#[test]
fn a_send_is_received_or_cancelled() {
    for far in [false, true] {
        for (receive_after, cancel_after) in [(0, 0), (0, 1), (1, 0), (2, 2), (3, 2), (2, 3)] {
            let mut bench = match far {
                true => Workbench::on_separate_hosts(2),
                false => Workbench::new(2, 2, Bounds::default()),
            };
            let send = bench.send(0, 1, 7, true);
            let mut receive = None;
            for slice in 0..=3 {
                if slice == receive_after {
                    receive = Some(bench.receive(1, Some(0), Some(7)));
                }
                if slice == cancel_after {
                    cancel(&mut bench, 0, 1, 7, send);
                }
                bench.demand();
                bench.run_slices(1);
            }
            bench.settle();
            let case = format!("far {far}, {receive_after} {cancel_after}");
            let received = receive.and_then(|receive| bench.completion(1, receive));
            match bench.expect_completion(0, send).failure {
                RequestFailure::Cancelled => assert_eq!(received, None, "{case}"),
                RequestFailure::None => assert!(received.is_some(), "{case}"),
                other => panic!("{case}: {other:?}"),
            }
        }
    }
}
