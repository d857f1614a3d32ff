//! ENTERED and LISTEN under loom.

use super::tests::records;
use super::*;
use crate::smartmap::send_queue::tests::Heap;
use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;

type Info = CollInfo<Arc<Heap>>;

fn gather(records: &[Info], me: usize, number: u64, len: usize) {
    let mine = u8::try_from(10 * number).unwrap() + u8::try_from(me).unwrap();
    records[me].contribute(number, &vec![mine; len]);
    records[me].enter(number, [number, 0], 0);
    let other = 1 - me;
    while records[other].presence(number) != Presence::Present {
        loom::thread::yield_now();
    }
    let mut found = vec![0; len];
    records[other].contribution(number, &mut found);
    let right = u8::try_from(10 * number).unwrap() + u8::try_from(other).unwrap();
    assert!(found.iter().all(|&byte| byte == right), "whole");
    assert_eq!(records[other].call(number), [number, 0]);
}

/// Each sees the complete data of the other: ENTERED works in both directions.
#[test]
fn contributions_are_whole_and_areas_are_free_in_time() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let records = Arc::new(records(2));
        let others = records.clone();
        let other = loom::thread::spawn(move || {
            for number in 1..=3 {
                gather(&others, 1, number, INLINE_BYTES + 1);
            }
        });
        for number in 1..=3 {
            gather(&records, 0, number, INLINE_BYTES + 1);
        }
        other.join().unwrap();
    });
}

/// One member only gives, the other only takes: only the gates hold back the giver.
#[test]
fn who_goes_on_at_once_overwrites_nothing_that_is_still_read() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let records = Arc::new(records(2));
        let takers = records.clone();
        let has_entered = |record: &Info, number| {
            while record.presence(number) != Presence::Present {
                loom::thread::yield_now();
            }
        };
        let taker = loom::thread::spawn(move || {
            for number in 1..=4_u8 {
                let (giver, number) = (&takers[0], u64::from(number));
                gate(number)
                    .into_iter()
                    .for_each(|gate| has_entered(giver, gate));
                takers[1].enter(number, [0; 2], 0);
                has_entered(giver, number);
                let mut found = [0; INLINE_BYTES + 1];
                giver.contribution(number, &mut found);
                assert_eq!(found.map(u64::from), [number; INLINE_BYTES + 1], "whole");
            }
        });
        for number in 1..=4_u8 {
            if let Some(gate) = gate(u64::from(number)) {
                has_entered(&records[1], gate);
            }
            records[0].contribute(u64::from(number), &[number; INLINE_BYTES + 1]);
            records[0].enter(u64::from(number), [0; 2], 0);
        }
        taker.join().unwrap();
    });
}

fn all(records: &[Info]) -> bool {
    let there = |record: &Info| record.presence(1) == Presence::Present;
    records.iter().all(there)
}

/// Notifies all listeners but this member.
fn tell(records: &[Info], me: usize, news: &[AtomicU64]) {
    for (member, record) in records.iter().enumerate() {
        if member != me && record.take_listener(1, 1) {
            news[member].fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Any of the members may be the last to enter. Each polls once, and then either notifies the
/// others or listens: no member stays asleep.
#[test]
fn whoever_listens_is_told_that_all_are_there() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let records = Arc::new(records(3));
        let news = Arc::new([0, 1, 2].map(|_| AtomicU64::new(0)));
        let enter = |me: usize| {
            let (records, news) = (records.clone(), news.clone());
            move || {
                records[me].enter(1, [0; 2], 0);
                if all(&records) {
                    Info::fence_before_listeners();
                    tell(&records, me, &*news);
                    return true;
                }
                records[me].listen(1, 1);
                let seen = all(&records);
                if seen {
                    tell(&records, me, &*news);
                }
                seen
            }
        };
        let entering = [loom::thread::spawn(enter(1)), loom::thread::spawn(enter(2))];
        let seen = enter(0)();
        let [one, two] = entering.map(|thread| thread.join().unwrap());
        for (member, seen) in [seen, one, two].into_iter().enumerate() {
            let told = news[member].load(Ordering::Acquire) > 0;
            assert!(seen || told, "{member} is asleep for ever");
        }
    });
}
