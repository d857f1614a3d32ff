//! Collective info: by which the ranks of one node do collectives in each other's memory (SMARTMAP;
//! collectives paper, section IV, `coll_info_t`).
//!
//! A rank has one record for each context that it is a member of. It alone writes there, and all
//! members read. So there is no atomic read-modify-write in a collective, and no line that many write.
//!
//! ```text
//! areas       stamp │ what was called │ digest │ a short contribution, or where a long one is
//! step        how far the rank is in the collective, for long ones
//! outcome     what came of a collective of several nodes
//! listening   it does not look by itself any more: whoever ends a phase tells it
//! tally       of the first of many members: how many have entered, and that all have ([`tally`])
//! payloads    contributions that do not fit their area
//! ```
//!
//! In an *exchange*, where each member gives something else to each, the first of the arguments is a *head*
//! that says how what is given lies: in the record, after the head or in the payload, or where it is.
//!
//! Collectives of a context have *numbers*, from 1. All members enter them in this order, one at a time.
//! Number `n` uses area `n` mod [`AREAS`], and its stamp is `n`: a reader that finds it finds the whole
//! contribution, of up to 32 bytes in that very line.
//!
//! **Gates.** A member may go on before all have entered, if it needs nothing of them: the root of a short
//! broadcast, and who contributes to a short reduction to another. But numbers that are multiples of a third of
//! the areas are gates: before it enters one, it waits until all have entered the gate before; then they have
//! finished all numbers before that. So members are less than two thirds of the areas apart, nobody looks any
//! more at the areas that come next, and a stamp is of this number, of the one that had the area before, or
//! rubbish.
//!
//! **Digest.** Who goes on at once does not see whether all have called the same. So each number has a digest
//! of what its member has called since the last gate, and whoever waits for all, or at a gate, compares
//! those. If they differ, what members have called between two gates is all still there: that is what the last
//! third is for.
//!
//! **Communicators that span nodes.** The members of one node do a part of a collective here, and one of
//! them, the *leader*, the rest with its NIC. Then it tells the others the *outcome*.
//!
//! What is here is an allegation of another rank: it is copied out and then looked at.
//!
//! Happens-before, named on both sides:
//! - **ENTERED**: the `Release` store of an area's stamp publishes the area and its payload to the
//!   `Acquire` load of it. It also returns the areas of the collectives before to their writers: a
//!   member has read them before it enters the next one.
//! - **STEP**: the `Release` store of a step or verdict publishes what the member has done to memory up to
//!   that step, and that it has read what it had to, to the `Acquire` load of it.
//! - **LISTEN**: a member that says that it listens passes a SeqCst fence and looks once more; one that
//!   does not, passes one when it sees that all have come. Either way, the fence is after what it has
//!   published itself. Whoever sees that all have come tells those who listen. So the member whose
//!   fence is the last sees, after it, what all have published and who listened by then; and who
//!   listens later sees for itself. A listener's word is taken by one of those who would tell it.
//!   Who does not wait for all passes its fence when it has entered, and looks then. Who gathers a reduction,
//!   and is waited for by nobody that has called the same, needs one at gates only.

mod gates;
mod tally;

use crate::smartmap::prefetch;
use crate::sync::{AtomicU64, Ordering, full_fence};
use gates::digest;
pub use gates::{digested, gate, gate_before, is_gate};
pub use tally::Release;

/// Contributions that are kept at the same time. (loom tries fewer, since it tries everything.)
pub const AREAS: usize = if cfg!(loom) { 3 } else { 16 };

/// Words of an area: two cache lines, which are fetched as a pair.
const AREA_WORDS: usize = 16;

/// Of them, the number that was entered, what was called, and a digest of what was before.
const STAMP: usize = 0;
const CALL: usize = 1;
const DIGEST: usize = 3;
const ARGUMENTS: usize = 4;

/// Words that say where long contributions are.
pub const ARGUMENT_WORDS: usize = AREA_WORDS - ARGUMENTS;

/// Bytes of a contribution that lies in its area.
pub const INLINE_BYTES: usize = ARGUMENT_WORDS * 8;

/// Bytes of what is given that lie in the area, after their head.
pub const AFTER_HEAD_BYTES: usize = INLINE_BYTES - 8;

/// Bytes of a contribution that lies beside it.
pub const PAYLOAD_BYTES: usize = 4096;

const STEP: usize = AREAS * AREA_WORDS;
const VERDICT: usize = STEP + 1;
/// In the line of the step, too.
const OUTCOME: usize = STEP + 2;
const LISTENING: usize = STEP + AREA_WORDS;

/// Of the tally: how many have entered each of the last numbers, and that all have.
const COUNTS: usize = LISTENING + AREA_WORDS;
const RELEASES: usize = COUNTS + AREA_WORDS;

/// Words of a record.
pub const RECORD_WORDS: usize = RELEASES + AREA_WORDS;

/// Bytes of the payload of a record.
pub const RECORD_PAYLOAD_BYTES: usize = AREAS * PAYLOAD_BYTES;

/// A step is below this: its word has the number of the collective above it.
const STEPS_BITS: u32 = 8;

/// Memory that holds a record.
pub trait Record {
    /// Its words.
    fn words(&self) -> &[AtomicU64; RECORD_WORDS];
    /// Writes bytes at this offset of its payload.
    fn write(&self, offset: usize, bytes: &[u8]);
    /// Copies bytes from this offset of its payload.
    fn read(&self, offset: usize, bytes: &mut [u8]);
}

/// A member's record.
#[derive(Clone, Debug)]
pub struct CollInfo<R>(R);

/// The words that say what a member has entered.
type Area = [AtomicU64; AREA_WORDS];

/// Whether a member has entered a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Not yet.
    Awaited,
    /// It has.
    There,
    /// The record says what no member would.
    Rubbish,
}

/// What the stamp of an area says of a number that has it.
#[inline]
fn presence_of(stamp: u64, number: u64) -> Presence {
    match number.wrapping_sub(stamp) {
        0 => Presence::There,
        before if before == AREAS as u64 => Presence::Awaited,
        _ if stamp == 0 => Presence::Awaited,
        _ => Presence::Rubbish,
    }
}

/// Which of the areas.
#[inline]
fn place(number: u64) -> usize {
    usize::try_from(number % AREAS as u64).expect("small")
}

fn payload(number: u64) -> usize {
    place(number) * PAYLOAD_BYTES
}

/// Steps of later collectives are greater, also when numbers wrap.
fn step_word(number: u64, step: u8) -> u64 {
    number << STEPS_BITS | u64::from(step)
}

impl<R: Record> CollInfo<R> {
    /// The record that is there.
    pub fn new(record: R) -> Self {
        Self(record)
    }

    #[inline]
    fn area(&self, number: u64) -> &Area {
        let (areas, _) = self.0.words().as_chunks();
        &areas[place(number)]
    }

    #[inline]
    fn word(&self, word: usize) -> &AtomicU64 {
        &self.0.words()[word]
    }

    /// Owner: the context is opened, and its next collective is number 1. No member may look yet.
    pub fn reset(&self) {
        let stamps = (0..AREAS).map(|place| place * AREA_WORDS);
        let tally = (COUNTS..COUNTS + AREAS).chain(RELEASES..RELEASES + AREAS);
        for word in stamps.chain(tally).chain([STEP, VERDICT, LISTENING]) {
            self.word(word).store(0, Ordering::Relaxed);
        }
    }

    /// Owner, before it enters: what it contributes, of at most [`PAYLOAD_BYTES`].
    #[inline]
    pub fn contribute(&self, number: u64, bytes: &[u8]) {
        if bytes.len() > INLINE_BYTES {
            return self.0.write(payload(number), bytes);
        }
        let words = &self.area(number)[ARGUMENTS..];
        let (eights, rest) = bytes.as_chunks::<8>();
        for (word, &eight) in words.iter().zip(eights) {
            word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            words[eights.len()].store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
    }

    /// Owner, before it enters: where what it contributes is.
    pub fn say<const N: usize>(&self, number: u64, arguments: [u64; N]) {
        const { assert!(N <= ARGUMENT_WORDS) };
        let words = &self.area(number)[ARGUMENTS..];
        for (word, argument) in words.iter().zip(arguments) {
            word.store(argument, Ordering::Relaxed);
        }
    }

    /// Owner, before it enters: some of `total` bytes that it gives, at most [`PAYLOAD_BYTES`], of which
    /// these are those from `at` on.
    pub fn lay(&self, number: u64, total: usize, at: usize, bytes: &[u8]) {
        if total > AFTER_HEAD_BYTES {
            return self.0.write(payload(number) + at, bytes);
        }
        let words = &self.area(number)[ARGUMENTS + 1..];
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let (word, within) = (&words[at / 8], at % 8);
            let (now, rest) = bytes.split_at(bytes.len().min(8 - within));
            let mut whole = [0; 8];
            if now.len() < 8 {
                whole = word.load(Ordering::Relaxed).to_le_bytes();
            }
            whole[within..within + now.len()].copy_from_slice(now);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
            (at, bytes) = (at + now.len(), rest);
        }
    }

    /// Owner: enters a collective, with what it has called. `before` is the digest of the number before; this
    /// one's is given back.
    #[inline]
    pub fn enter(&self, number: u64, call: [u64; 2], before: u64) -> u64 {
        let area = self.area(number);
        let digest = digest(number, before, call);
        area[CALL].store(call[0], Ordering::Relaxed);
        area[CALL + 1].store(call[1], Ordering::Relaxed);
        area[DIGEST].store(digest, Ordering::Relaxed);
        // ENTERED: publishes the area and its payload, and returns those of all before.
        area[STAMP].store(number, Ordering::Release);
        digest
    }

    /// Owner: will enter this one soon. Its lines are fetched now.
    #[inline]
    pub fn prepare(&self, number: u64) {
        prefetch::to_write(self.area(number));
    }

    /// Of an owner who is likely to be ahead: what it contributes next is fetched now.
    #[inline]
    pub fn expect(&self, number: u64) {
        prefetch::to_read(self.area(number.wrapping_add(1)));
    }

    /// Whether the owner has entered a collective, which the caller has not finished.
    #[must_use]
    #[inline]
    pub fn presence(&self, number: u64) -> Presence {
        // ENTERED: the area is visible, and those before may be written again.
        let stamp = self.area(number)[STAMP].load(Ordering::Acquire);
        presence_of(stamp, number)
    }

    /// What the owner has called, in a collective that it has entered.
    #[must_use]
    #[inline]
    pub fn call(&self, number: u64) -> [u64; 2] {
        let area = self.area(number);
        [CALL, CALL + 1].map(|word| area[word].load(Ordering::Relaxed))
    }

    /// What the owner has called since the last gate, in a collective that it has entered: members with the
    /// same digest have called the same.
    #[must_use]
    #[inline]
    pub fn digest(&self, number: u64) -> u64 {
        self.area(number)[DIGEST].load(Ordering::Relaxed)
    }

    /// What the owner contributes to a collective that it has entered.
    #[inline]
    pub fn contribution(&self, number: u64, bytes: &mut [u8]) {
        if bytes.len() > INLINE_BYTES {
            return self.0.read(payload(number), bytes);
        }
        let words = &self.area(number)[ARGUMENTS..];
        let (eights, rest) = bytes.as_chunks_mut::<8>();
        for (word, eight) in words.iter().zip(&mut *eights) {
            *eight = word.load(Ordering::Relaxed).to_le_bytes();
        }
        if !rest.is_empty() {
            let last = words[eights.len()].load(Ordering::Relaxed).to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Where it is.
    #[must_use]
    pub fn said<const N: usize>(&self, number: u64) -> [u64; N] {
        const { assert!(N <= ARGUMENT_WORDS) };
        let words = &self.area(number)[ARGUMENTS..];
        std::array::from_fn(|index| words[index].load(Ordering::Relaxed))
    }

    /// Some of the bytes that the owner gives, as [`lay`](Self::lay) was told of them.
    ///
    /// # Panics
    /// If they are not among `total`.
    pub fn laid(&self, number: u64, total: usize, at: usize, bytes: &mut [u8]) {
        assert!(total <= PAYLOAD_BYTES && at <= total && bytes.len() <= total - at);
        if total > AFTER_HEAD_BYTES {
            return self.0.read(payload(number) + at, bytes);
        }
        let words = &self.area(number)[ARGUMENTS + 1..];
        let mut at = at;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let (word, within) = (&words[at / 8], at % 8);
            let len = bytes.len().min(8 - within);
            let (now, rest) = bytes.split_at_mut(len);
            let whole = word.load(Ordering::Relaxed).to_le_bytes();
            now.copy_from_slice(&whole[within..within + len]);
            (at, bytes) = (at + len, rest);
        }
    }

    /// Owner: has come so far in a collective that it has entered.
    pub fn advance(&self, number: u64, step: u8) {
        // STEP: what was done up to here is visible, and what was read may be written.
        self.word(STEP)
            .store(step_word(number, step), Ordering::Release);
    }

    /// How far the owner is in a collective that it has entered and the caller has not finished; 0 is
    /// the beginning.
    #[must_use]
    pub fn step(&self, number: u64) -> u8 {
        self.of_this(STEP, number)
    }

    /// Owner, before the step that tells it: what came of a collective.
    pub fn say_outcome(&self, outcome: [u64; 2]) {
        self.word(OUTCOME).store(outcome[0], Ordering::Relaxed);
        self.word(OUTCOME + 1).store(outcome[1], Ordering::Relaxed);
    }

    /// What came of a collective of which the owner has come to the step that tells it, and which the
    /// caller has not finished.
    #[must_use]
    pub fn outcome(&self) -> [u64; 2] {
        [OUTCOME, OUTCOME + 1].map(|word| self.word(word).load(Ordering::Relaxed))
    }

    /// Owner: what it thinks of a collective that it has entered. It stays while steps go on.
    pub fn judge(&self, number: u64, verdict: u8) {
        // STEP
        self.word(VERDICT)
            .store(step_word(number, verdict), Ordering::Release);
    }

    /// What the owner thinks of a collective; 0 if that is not known yet.
    #[must_use]
    pub fn verdict(&self, number: u64) -> u8 {
        self.of_this(VERDICT, number)
    }

    fn of_this(&self, word: usize, number: u64) -> u8 {
        // STEP
        let step = self.word(word).load(Ordering::Acquire);
        let here = step >> STEPS_BITS == step_word(number, 0) >> STEPS_BITS;
        if here { step.to_le_bytes()[0] } else { 0 }
    }

    /// Owner: from now on it is told when this phase of this collective is over. It has to look once
    /// more.
    pub fn listen(&self, number: u64, phase: u8) {
        self.word(LISTENING)
            .store(step_word(number, phase), Ordering::Relaxed);
        full_fence(); // LISTEN
    }

    /// Owner: whether nobody has told it yet.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.word(LISTENING).load(Ordering::Relaxed) != 0
    }

    /// Owner: it looks by itself again.
    pub fn stop_listening(&self) {
        self.word(LISTENING).store(0, Ordering::Relaxed);
    }

    /// Between what a member has published and its look at who listens.
    pub fn published() {
        full_fence(); // LISTEN
    }

    /// Whether the owner waits to be told of this phase.
    #[must_use]
    pub fn listens_for(&self, number: u64, phase: u8) -> bool {
        self.word(LISTENING).load(Ordering::Relaxed) == step_word(number, phase)
    }

    /// Whether the owner waits to be told that this phase is over. It is the caller who tells it.
    #[must_use]
    pub fn take_listener(&self, number: u64, phase: u8) -> bool {
        let listens = step_word(number, phase);
        let word = self.word(LISTENING);
        word.load(Ordering::Relaxed) == listens
            && word
                .compare_exchange(listens, 0, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

const _: () = assert!(INLINE_BYTES <= PAYLOAD_BYTES && RECORD_WORDS.is_multiple_of(AREA_WORDS));

#[cfg(test)]
mod tests {
    #[cfg(not(loom))]
    use super::gates::GATES_APART;
    use super::*;
    use crate::smartmap::send_queue::Payload;
    use crate::smartmap::send_queue::tests::{Heap, heap};
    use std::sync::Arc;

    impl Record for Arc<Heap> {
        fn words(&self) -> &[AtomicU64; RECORD_WORDS] {
            self.0.first_chunk().expect("it is of a record")
        }

        fn write(&self, offset: usize, bytes: &[u8]) {
            Payload::write(self, offset, bytes);
        }

        fn read(&self, offset: usize, bytes: &mut [u8]) {
            Payload::read(self, offset, bytes);
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
                assert_eq!(record.presence(number), Presence::There);
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
            record.say(number, [u64::MAX]);
            for (at, part) in bytes.chunks(5).enumerate() {
                record.lay(number, total, 5 * at, part);
            }
            record.enter(number, [0; 2], 0);
            let mut found = vec![0; total];
            for (at, part) in found.chunks_mut(11).enumerate() {
                record.laid(number, total, 11 * at, part);
            }
            assert!(found == bytes, "{total}");
            assert_eq!(record.said(number), [u64::MAX], "the head is as it was");
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn steps_are_those_of_a_collective() {
        let record = &records(1)[0];
        let last = (1 << (64 - STEPS_BITS)) + 5;
        for number in [1, 2, last] {
            assert_eq!((record.step(number), record.verdict(number)), (0, 0));
            record.judge(number, 2);
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
            (5, 5, Presence::There),
            (5 + areas, 5, Presence::Rubbish),
            (5, 5 + 2 * areas, Presence::Rubbish),
        ] {
            record.enter(stamp, [0; 2], 0);
            assert_eq!(record.presence(number), presence, "{stamp} {number}");
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::tests::records;
    use super::*;
    use crate::smartmap::send_queue::tests::Heap;
    use crate::sync::AtomicU64;
    use std::sync::Arc;

    type Info = CollInfo<Arc<Heap>>;

    fn gather(records: &[Info], me: usize, number: u64, len: usize) {
        let mine = u8::try_from(10 * number).unwrap() + u8::try_from(me).unwrap();
        records[me].contribute(number, &vec![mine; len]);
        records[me].enter(number, [number, 0], 0);
        let other = 1 - me;
        while records[other].presence(number) != Presence::There {
            loom::thread::yield_now();
        }
        let mut found = vec![0; len];
        records[other].contribution(number, &mut found);
        let right = u8::try_from(10 * number).unwrap() + u8::try_from(other).unwrap();
        assert!(found.iter().all(|&byte| byte == right), "whole");
        assert_eq!(records[other].call(number), [number, 0]);
    }

    /// Payload of collective 3 is written where that of 1 was: two areas are enough, and ENTERED carries
    /// both ways.
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

    /// One only gives, the other only takes: the giver is held back by the gates alone.
    #[test]
    fn who_goes_on_at_once_overwrites_nothing_that_is_still_read() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let records = Arc::new(records(2));
            let takers = records.clone();
            let has_entered = |record: &Info, number| {
                while record.presence(number) != Presence::There {
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
        let there = |record: &Info| record.presence(1) == Presence::There;
        records.iter().all(there)
    }

    /// Tells whoever listens but this one.
    fn tell(records: &[Info], me: usize, news: &[AtomicU64]) {
        for (member, record) in records.iter().enumerate() {
            if member != me && record.take_listener(1, 1) {
                news[member].fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Any of the members may be the last to enter. Each looks once, and then either tells the others or
    /// listens: nobody is left asleep.
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
                        Info::published();
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
}
