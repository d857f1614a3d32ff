//! The tally: a count by which many members find that all have entered, without polling each other.
//!
//! A few members poll each other's stamps, one line each. With many members that would be too many
//! lines. So each *signs* in the record of the first member when it has entered. The last one to
//! sign checks for all whether they have called the same, and *releases* them. So a member does two
//! steps for each collective, however many members there are, and the last one some steps for each
//! member.
//!
//! ```text
//! enter (stamp) ──► sign ── not the last ──► is it released?
//!                     └──── the last: compare, fold ──► release ──► notify listeners
//! ```
//!
//! This is the one place of a collective with an atomic read-modify-write. The paper advises
//! against them, and for few members that is right.
//!
//! Counts and releases have areas like everything else of a record. They are free again in time for
//! the same reason: a member that signs for number `n` + [`AREAS`] knows that all have entered a
//! gate after `n`.
//!
//! Happens-before, named on both sides:
//! - **SIGNED**: a member's addition publishes its area to the last one's addition, since all
//!   additions to a count are one chain. The `Release` store of a release passes that on to the
//!   `Acquire` load of it.

use super::presence::{Presence, presence_of};
use super::record::{AREA_WORDS, AREAS, COUNTS, CollInfo, RELEASES, RecordMemory, place};
use crate::sync::Ordering;

/// The result of the last member's check, and the work it has done for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TallyRelease {
    /// All members have called the same since the last gate.
    pub agreed: bool,
    /// The member whose record holds the result in the place of its contribution, if the last
    /// member folded.
    pub folded_by: Option<u16>,
}

/// Below the number of a collective, the word holds the member that has folded, if any, and whether
/// all agreed.
const AGREED: u64 = 1 << 16;
const NUMBER: u32 = 17;
const NOBODY: u16 = u16::MAX;

impl<R: RecordMemory> CollInfo<R> {
    /// Signs for a member that has entered, in the record of the first. Returns whether it is the
    /// last of all `members` to sign. The last one has to [`release`](Self::release) them.
    #[must_use]
    pub fn sign(&self, number: u64, members: usize) -> bool {
        let count = self.word(COUNTS + place(number));
        // SIGNED
        let before = count.fetch_add(1, Ordering::AcqRel);
        let last = before.wrapping_add(1) >= members as u64;
        if last {
            // Resets the count for the next number that has this area.
            count.store(0, Ordering::Relaxed);
        }
        last
    }

    /// Last member: releases all members, because all have entered.
    pub fn release(&self, number: u64, release: TallyRelease) {
        let word = u64::from(release.folded_by.unwrap_or(NOBODY))
            | if release.agreed { AGREED } else { 0 }
            | number << NUMBER;
        // SIGNED
        self.word(RELEASES + place(number))
            .store(word, Ordering::Release);
    }

    /// Returns whether all have entered a collective, by the record of the first member.
    #[must_use]
    #[inline]
    pub fn presence_of_all(&self, number: u64) -> Presence {
        // SIGNED
        let word = self.word(RELEASES + place(number)).load(Ordering::Acquire);
        // The word has 47 bits of its number, which give its distance from this number and so all
        // bits.
        let distance = number.wrapping_sub(word >> NUMBER) << NUMBER >> NUMBER;
        presence_of(number.wrapping_sub(distance), number)
    }

    /// Returns what the last member found when all had entered.
    #[must_use]
    pub fn released(&self, number: u64) -> TallyRelease {
        let word = self.word(RELEASES + place(number)).load(Ordering::Relaxed);
        let [low, high, ..] = word.to_le_bytes();
        let folded_by = u16::from_le_bytes([low, high]);
        TallyRelease {
            agreed: word & AGREED != 0,
            folded_by: Some(folded_by).filter(|&member| member != NOBODY),
        }
    }
}

const _: () = assert!(AREAS <= AREA_WORDS);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::tests::records;
    use super::*;

    #[test]
    fn the_last_to_sign_releases_all() {
        all_are_released(1);
    }

    /// A release of a later number used to count as invalid.
    #[test]
    fn numbers_beyond_47_bits_are_released() {
        let wrap = 1_u64 << (u64::BITS - NUMBER);
        all_are_released(wrap - AREAS as u64 - 3);
    }

    fn all_are_released(first: u64) {
        let record = &records(1)[0];
        for number in first..first + 3 * AREAS as u64 {
            assert_eq!(record.presence_of_all(number), Presence::Awaited);
            let last: Vec<bool> = (0..40).map(|_| record.sign(number, 40)).collect();
            assert!(last.iter().position(|&last| last) == Some(39), "{number}");
            let release = TallyRelease {
                agreed: number % 3 == 0,
                folded_by: (number % 2 == 0).then_some(u16::try_from(number % 999).unwrap()),
            };
            record.release(number, release);
            assert_eq!(record.presence_of_all(number), Presence::Present);
            assert_eq!(record.released(number), release);
        }
        assert_eq!(record.presence_of_all(1), Presence::Rubbish);
        record.reset();
        assert_eq!(record.presence_of_all(1), Presence::Awaited);
    }

    #[test]
    fn a_count_that_is_rubbish_releases_too_early_and_not_never() {
        let record = &records(1)[0];
        record
            .word(COUNTS + 1)
            .store(u64::MAX - 3, Ordering::Relaxed);
        assert!(record.sign(1, 40));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::tests::records;
    use super::super::{INLINE_BYTES, gate};
    use super::*;
    use crate::smartmap::send_queue::tests::Heap;
    use crate::sync::AtomicU64;
    use std::sync::Arc;

    type Info = CollInfo<Arc<Heap>>;
    const LEN: usize = INLINE_BYTES + 1;

    fn wait_for_all(tally: &Info, number: u64) {
        while tally.presence_of_all(number) != Presence::Present {
            loom::thread::yield_now();
        }
    }

    fn enter(records: &[Info], me: usize, number: u64) {
        if let Some(gate) = gate(number) {
            wait_for_all(&records[0], gate);
        }
        let mine = u8::try_from(10 * number).unwrap() + u8::try_from(me).unwrap();
        records[me].contribute(number, &[mine; LEN]);
        records[me].enter(number, [0; 2], 0);
        if !records[0].sign(number, records.len()) {
            return;
        }
        // All contributions are visible, and no other member reads them: the sum may take their
        // place.
        let mut sum = 0;
        for (member, record) in (0..).zip(records) {
            let mut found = [0; LEN];
            record.contribution(number, &mut found);
            let right = u8::try_from(10 * number).unwrap() + member;
            assert_eq!(found, [right; LEN], "whole");
            sum += right;
        }
        records[me].contribute(number, &[sum; LEN]);
        let release = TallyRelease {
            agreed: true,
            folded_by: u16::try_from(me).ok(),
        };
        records[0].release(number, release);
    }

    /// Two members fold four times with three areas. The last one's result is visible to the other
    /// one, and areas, counts and releases are free again in time.
    #[test]
    fn what_the_last_has_folded_is_whole_and_areas_are_free_in_time() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let records = Arc::new(records(2));
            let take_part = |me: usize| {
                let records = records.clone();
                move || {
                    for number in 1..=4_u64 {
                        enter(&records, me, number);
                        wait_for_all(&records[0], number);
                        let by = records[0].released(number).folded_by.unwrap();
                        let mut found = [0; LEN];
                        records[usize::from(by)].contribution(number, &mut found);
                        let right = u8::try_from(20 * number + 1).unwrap();
                        assert_eq!(found, [right; LEN], "whole");
                    }
                }
            };
            let other = loom::thread::spawn(take_part(1));
            take_part(0)();
            other.join().unwrap();
        });
    }

    /// The last member to sign notifies the listeners; a member that listens later sees that all
    /// have come.
    #[test]
    fn whoever_listens_is_told_by_the_last_to_sign() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let records = Arc::new(records(3));
            let news = Arc::new([0, 1, 2].map(|_| AtomicU64::new(0)));
            let take_part = |me: usize| {
                let (records, news) = (records.clone(), news.clone());
                move || {
                    records[me].enter(1, [0; 2], 0);
                    if records[0].sign(1, 3) {
                        let release = TallyRelease {
                            agreed: true,
                            folded_by: None,
                        };
                        records[0].release(1, release);
                        Info::fence_before_listeners();
                        for (member, record) in records.iter().enumerate() {
                            if member != me && record.take_listener(1, 1) {
                                news[member].fetch_add(1, Ordering::AcqRel);
                            }
                        }
                        return true;
                    }
                    records[me].listen(1, 1);
                    records[0].presence_of_all(1) == Presence::Present
                }
            };
            let others = [1, 2].map(|me| loom::thread::spawn(take_part(me)));
            let seen = take_part(0)();
            let [one, two] = others.map(|thread| thread.join().unwrap());
            for (member, seen) in [seen, one, two].into_iter().enumerate() {
                let told = news[member].load(Ordering::Acquire) > 0;
                assert!(seen || told, "{member} is asleep for ever");
            }
        });
    }
}
