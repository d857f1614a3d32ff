//! Records in the memory of a heap.

#[cfg(not(loom))]
use super::gates::GATES_APART;
#[cfg(not(loom))]
use super::steps::STEPS_BITS;
use super::*;
use crate::smartmap::send_queue::PayloadMemory;
use crate::smartmap::send_queue::tests::{Heap, heap};
use crate::sync::AtomicU64;
use std::sync::Arc;

impl RecordMemory for Arc<Heap> {
    fn words(&self) -> &[AtomicU64; RECORD_WORDS] {
        self.0.first_chunk().expect("it is of a record")
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        PayloadMemory::write(self, offset, bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        PayloadMemory::read(self, offset, bytes);
    }

    fn at(&self, _: usize, _: usize) -> std::ptr::NonNull<u8> {
        unreachable!("its bytes are atomics")
    }
}

pub(super) fn records(members: usize) -> Vec<CollInfo<Arc<Heap>>> {
    let record = |_| CollInfo::new(heap(RECORD_WORDS, RECORD_PAYLOAD_BYTES));
    (0..members).map(record).collect()
}

#[cfg(not(loom))]
#[test]
fn contributions_of_all_lengths_come_back() {
    let records = records(2);
    for (number, len) in (1..).zip([0, 1, 7, 8, 32, 95, 96, 97, 4096]) {
        for (seed, record) in (0..).zip(&records) {
            assert_eq!(record.presence(number), Presence::Awaited);
            let bytes: Vec<u8> = (0..len)
                .map(|at| u8::try_from((at + seed) % 256).unwrap())
                .collect();
            record.contribute(number, &bytes);
            record.enter(number, [number, seed as u64], 0);
            let mut found = vec![0; len];
            record.contribution(number, &mut found);
            assert!(found == bytes, "{len}");
            assert_eq!(record.presence(number), Presence::Present);
            assert_eq!(record.call(number), [number, seed as u64]);
        }
    }
}

#[cfg(not(loom))]
#[test]
fn what_is_laid_in_parts_comes_back_in_other_parts() {
    let record = &records(1)[0];
    for (number, total) in (1..).zip([1, 8, 23, 87, 88, 89, 4096]) {
        let bytes: Vec<u8> = (0..total)
            .map(|at| u8::try_from((at * 7 + total) % 251).unwrap())
            .collect();
        record.publish_arguments(number, [u64::MAX]);
        for (at, part) in bytes.chunks(5).enumerate() {
            record.write_given(number, total, 5 * at, part);
        }
        record.enter(number, [0; 2], 0);
        let mut found = vec![0; total];
        for (at, part) in found.chunks_mut(11).enumerate() {
            record.read_given(number, total, 11 * at, part);
        }
        assert!(found == bytes, "{total}");
        assert_eq!(
            record.arguments(number),
            [u64::MAX],
            "the head is as it was"
        );
    }
}

#[cfg(not(loom))]
#[test]
fn steps_are_those_of_a_collective() {
    let record = &records(1)[0];
    let last = (1 << (64 - STEPS_BITS)) + 5;
    for number in [1, 2, last] {
        assert_eq!((record.step(number), record.verdict(number)), (0, 0));
        record.publish_verdict(number, 2);
        record.advance(number, 9);
        assert_eq!((record.step(number), record.verdict(number)), (9, 2));
        assert_eq!(record.step(number + 1), 0);
    }
    record.listen(3, 1);
    assert!(!record.take_listener(4, 1) && !record.take_listener(3, 2));
    assert!(record.take_listener(3, 1) && !record.take_listener(3, 1));
    record.reset();
    assert_eq!(record.presence(1), Presence::Awaited);
}

#[cfg(not(loom))]
#[test]
fn a_digest_is_of_what_was_called_since_the_last_gate() {
    let record = &records(1)[0];
    let enter = |call: [u64; 2], odd: Option<u64>| {
        let mut digest = 0;
        let digests = (1..=2 * GATES_APART + 1).map(|number| {
            let [kind, bytes] = call;
            let kind = kind + u64::from(odd == Some(number));
            digest = record.enter(number, [kind, bytes], digest);
            assert_eq!(record.digest(number), digest);
            digest
        });
        digests.collect::<Vec<u64>>()
    };
    let usual = enter([7, 8], None);
    assert_eq!(usual, enter([7, 8], None));
    for odd in 1..=2 * GATES_APART {
        let found = enter([7, 8], Some(odd));
        for ((number, usual), found) in (1..).zip(&usual).zip(found) {
            let differs = number == odd || digested(number).contains(&odd);
            assert_eq!(*usual != found, differs, "{odd} at {number}");
        }
    }
    assert!((1..GATES_APART).all(|number| gate(number).is_none()));
    assert_eq!(gate(GATES_APART), None, "nobody enters 0");
    assert_eq!(gate(2 * GATES_APART), Some(GATES_APART));
    assert!(is_gate(GATES_APART) && digested(GATES_APART) == (1..GATES_APART));
    assert!(digested(GATES_APART + 1).is_empty());
}

#[cfg(not(loom))]
#[test]
fn a_stamp_that_no_member_would_write_is_rubbish() {
    let (record, areas) = (&records(1)[0], AREAS as u64);
    for (stamp, number, presence) in [
        (0, 1, Presence::Awaited),
        (5, 5 + areas, Presence::Awaited),
        (5, 5, Presence::Present),
        (5 + areas, 5, Presence::Rubbish),
        (5, 5 + 2 * areas, Presence::Rubbish),
    ] {
        record.enter(stamp, [0; 2], 0);
        assert_eq!(record.presence(number), presence, "{stamp} {number}");
    }
}
