//! Node memory that two ranks have mapped.

use super::*;
use crate::limits::MAX_CONTEXTS;
use crate::request::RequestId;
use crate::smartmap::send_queue::{ENTRY_WORDS, QueueEntry};
use std::sync::atomic::Ordering;

#[test]
fn every_pair_has_a_queue_of_its_own() {
    let (fd, node) = NodeMemory::create(3).unwrap();
    let other = NodeMemory::map(&fd, 3).unwrap();
    let pairs = || (0..3_u32).flat_map(|from| (0..3_u32).map(move |to| (from, to)));
    let at = |place: u32| place as usize;
    for (from, to) in pairs() {
        let mut sender = node.sender(at(from), at(to));
        let payload = [u8::try_from(from * 3 + to).unwrap(); 5_000];
        let room = sender.reserve(payload.len()).unwrap();
        sender.fill(&room, 0, &payload);
        let words = [room.payload; ENTRY_WORDS - 1];
        let code = from * 3 + to;
        sender.publish(room, &QueueEntry { code, words });
    }
    for (from, to) in pairs() {
        let mut receiver = other.receiver(at(from), at(to));
        let entry = receiver.peek().unwrap();
        assert_eq!(entry.code, from * 3 + to);
        let mut payload = [0; 5_000];
        assert!(receiver.read(entry.words[0], 0, &mut payload));
        assert!(payload.iter().all(|&byte| u32::from(byte) == entry.code));
        receiver.take();
        assert_eq!(receiver.peek(), None);
    }
}

#[test]
fn a_transfer_ends_for_the_request_that_began_it() {
    let node = NodeMemory::private(2).unwrap();
    let transfer = RequestId {
        slot: 9,
        generation: 4,
    };
    assert_eq!(node.transfer_outcome(1, transfer), None);
    assert!(node.end_transfer(1, transfer, 3));
    assert_eq!(node.transfer_outcome(1, transfer), Some(3));
    assert_eq!(node.transfer_outcome(0, transfer), None);
    assert_eq!(
        [0, 1].map(|place| node.event_count(place).load(Ordering::Relaxed)),
        [0, 1]
    );
    let next = RequestId {
        generation: 5,
        ..transfer
    };
    assert_eq!(node.transfer_outcome(1, next), None);
    let rubbish = RequestId {
        slot: u32::MAX,
        generation: 0,
    };
    assert!(!node.end_transfer(1, rubbish, 0));
}

#[test]
fn every_rank_has_a_record_in_every_context() {
    let node = NodeMemory::private(3).unwrap();
    let contexts = [0, 1, u32::try_from(MAX_CONTEXTS).unwrap() - 1];
    let records = || (0..3).flat_map(|place| contexts.map(|context| (place, context)));
    for (place, context) in records() {
        let record = node.coll_info(place, context);
        let byte = u8::try_from(place * 10 + context as usize % 7).unwrap();
        record.contribute(1, &[byte; 4096]);
        record.enter(1, [u64::from(byte), 0], 0);
    }
    for (place, context) in records() {
        let record = node.coll_info(place, context);
        let mut bytes = [0; 4096];
        record.contribution(1, &mut bytes);
        let [called, _] = record.call(1);
        assert!(bytes.iter().all(|&byte| u64::from(byte) == called));
        assert_eq!(called, place as u64 * 10 + u64::from(context) % 7);
    }
}

#[test]
fn a_wish_for_room_is_taken_once() {
    let node = NodeMemory::private(2).unwrap();
    assert!(!node.take_space_request(0, 1));
    node.request_space(0, 1);
    assert!(!node.take_space_request(1, 0));
    assert!(node.take_space_request(0, 1));
    assert_eq!(
        node.event_count(0).load(Ordering::Relaxed),
        1,
        "it has to look again"
    );
    assert!(!node.take_space_request(0, 1));
}

#[test]
fn what_a_receiver_has_not_taken_is_known_to_the_sender_and_the_manager() {
    let node = NodeMemory::private(2).unwrap();
    let (mut sender, mut receiver) = (node.sender(0, 1), node.receiver(0, 1));
    for code in 7..10 {
        let room = sender.reserve(0).unwrap();
        let words = [u64::from(code); ENTRY_WORDS - 1];
        sender.publish(room, &QueueEntry { code, words });
    }
    assert!(receiver.peek().is_some());
    receiver.take();
    let untaken: Vec<(u64, u32)> = sender.untaken().map(|(at, it)| (at, it.code)).collect();
    assert_eq!(untaken, [(1, 8), (2, 9)]);
    assert_eq!((node.taken(0, 1), node.taken(1, 0)), (1, 0));
}
