//! Which tags parts have.
//!
//! Only its tag, which has 32 bits, tells a part from others of its sender and communicator. So no
//! two partitioned messages may have a tag in common as long as a part of either is in flight.
//!
//! - The lower half belongs to the sender, which gives out each tag once. No agreement is needed,
//!   and a part may be sent before its receiver has started.
//! - A program that does nothing but make messages of a million parts uses up these tags in a
//!   minute. From then on the *receiver* chooses, in the upper half. It alone knows when all parts
//!   of its last message with these tags have come: when its request is gone. So it gives out no
//!   tag that is in use, and the others again and again. The sender requests tags by its offer, and
//!   sends no part before the answer, which comes when the receiver has started.
//!
//! An answer has a tag, too, which the sender's offer contains. No other answer has that tag until
//! this answer has come.

use bcs_core::lockstep;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The number of tags in each half.
const HALF: u32 = 1 << 31;

/// The tags that a process gives out.
#[derive(Debug, Default)]
pub(in crate::mpi) struct PartTags(Mutex<AllocatedTags>);

#[derive(Debug, Default)]
struct AllocatedTags {
    /// The first that this sender has never used.
    next: u32,
    /// The tags that this receiver has chosen.
    chosen: Ranges,
    /// The tags of answers that have not come.
    answers: Ranges,
}

/// Disjoint ranges of numbers below [`HALF`]: their ends, by their starts.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u32, u32>);

impl Ranges {
    /// Takes this number of consecutive numbers that are in none of these ranges.
    fn take(&mut self, count: u32) -> Option<u32> {
        let mut start = 0_u32;
        for (&used, &end) in &self.0 {
            if used - start >= count {
                break;
            }
            start = end;
        }
        let end = start.checked_add(count).filter(|&end| end <= HALF)?;
        self.0.insert(start, end);
        Some(start)
    }

    fn give_back(&mut self, start: u32) {
        self.0.remove(&start);
    }
}

impl PartTags {
    /// Returns the first of `count` tags that were never used, if there are as many.
    pub(in crate::mpi) fn never_used(&self, count: usize) -> Option<u64> {
        let count = u32::try_from(count).ok()?;
        let mut given = lockstep::lock(&self.0);
        let first = given.next;
        given.next = first.checked_add(count).filter(|&next| next <= HALF)?;
        Some(first.into())
    }

    /// Returns the first of `count` tags that no other partitioned message to this process has.
    pub(in crate::mpi) fn choose(&self, count: usize) -> Option<u64> {
        let count = u32::try_from(count.max(1)).ok()?;
        let start = lockstep::lock(&self.0).chosen.take(count)?;
        Some(u64::from(HALF + start))
    }

    /// Frees tags whose parts have all come.
    pub(in crate::mpi) fn unchoose(&self, first: u64) {
        if let Some(start) = number(first).checked_sub(HALF) {
            lockstep::lock(&self.0).chosen.give_back(start);
        }
    }

    /// Takes a number for an answer.
    pub(in crate::mpi) fn answer(&self) -> Option<u64> {
        lockstep::lock(&self.0).answers.take(1).map(u64::from)
    }

    /// Frees the number of an answer that has come, or that was never requested.
    pub(in crate::mpi) fn answered(&self, answer: u64) {
        lockstep::lock(&self.0).answers.give_back(number(answer));
    }

    /// Pretends that this sender has used all tags but this number.
    #[cfg(test)]
    pub(in crate::mpi) fn leave(&self, tags: u32) {
        lockstep::lock(&self.0).next = HALF - tags;
    }
}

fn number(of: u64) -> u32 {
    bcs_core::request::low(of)
}

/// Returns the tag of a part. The first tag that a sender reports is not checked further: its parts
/// come or do not.
pub(in crate::mpi) fn tag_of(first: u64, part: usize) -> i32 {
    number(first.wrapping_add(part as u64)).cast_signed()
}

/// Returns the tag of an answer. The tags of offers are not negative.
pub(in crate::mpi) fn tag_of_answer(answer: u64) -> i32 {
    (number(answer) | HALF).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_gives_out_each_tag_once() {
        let tags = PartTags::default();
        assert_eq!(tags.never_used(4), Some(0));
        assert_eq!(tags.never_used(1 << 30), Some(4));
        assert_eq!(tags.never_used(1 << 30), None);
        let rest = (1 << 30) - 4;
        assert_eq!(tags.never_used(rest), Some((1 << 30) + 4));
        assert_eq!(
            (tags.never_used(1), tags.never_used(0)),
            (None, Some(1 << 31))
        );
        assert_eq!(tag_of((1 << 31) - 1, 0), i32::MAX);
    }

    #[test]
    fn a_receiver_gives_out_what_is_not_in_use() {
        let tags = PartTags::default();
        let first = tags.choose(10).unwrap();
        let second = tags.choose(5).unwrap();
        let third = tags.choose(1).unwrap();
        assert_eq!(
            (tag_of(first, 0), tag_of(second, 4)),
            (i32::MIN, i32::MIN + 14)
        );
        tags.unchoose(second);
        assert_eq!(tags.choose(6), Some(third + 1), "what is free is too short");
        assert_eq!(tags.choose(3), Some(second));
        assert_eq!(tags.choose(2), Some(second + 3));
        assert_eq!(
            tags.choose((1 << 31) - 20),
            None,
            "not as many are side by side"
        );
        // These tags were not chosen here.
        tags.unchoose(0);
        assert_eq!(tags.choose((1 << 31) - 22), Some(third + 7));
        let answer = tags.answer().unwrap();
        assert_ne!(tags.answer(), Some(answer));
        tags.answered(answer);
        assert_eq!(tags.answer(), Some(answer));
    }
}
