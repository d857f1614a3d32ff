//! Which tags parts have.
//!
//! A part is told from others of its sender and communicator by its tag alone, which has 32 bits. So
//! no two messages in parts may have a tag in common as long as a part of either is on its way.
//!
//! - The lower half is the sender's. It gives out each tag once. Nothing has to be agreed on, and a
//!   part may be sent before its receiver has started.
//! - These are spent in a minute by a program that does nothing but make messages of a million parts.
//!   From then on the *receiver* chooses, in the upper half. It alone knows when all parts of its last
//!   message with these tags have come: when its request is gone. So it gives out no tag that is in use,
//!   and the others again and again. The sender asks by its offer, and sends no part before the answer,
//!   which comes when the receiver has started.
//!
//! An answer has a tag, too, which the sender says in its offer. It is no other answer's until the
//! answer has come.

use bcs_core::lockstep;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Tags of each half.
const HALF: u32 = 1 << 31;

/// The tags that a process gives out.
#[derive(Debug, Default)]
pub(in crate::mpi) struct PartTags(Mutex<AllocatedTags>);

#[derive(Debug, Default)]
struct AllocatedTags {
    /// The first that this sender has never used.
    next: u32,
    /// Those that this receiver has chosen.
    chosen: Ranges,
    /// Those of answers that have not come.
    answers: Ranges,
}

/// Disjoint ranges of numbers below [`HALF`]: their ends, by their starts.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u32, u32>);

impl Ranges {
    /// So many numbers side by side that are in none of these ranges, from now on one of them.
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
    /// The first of so many tags that were never used, if there are as many.
    pub(in crate::mpi) fn never_used(&self, count: usize) -> Option<u64> {
        let count = u32::try_from(count).ok()?;
        let mut given = lockstep::lock(&self.0);
        let first = given.next;
        given.next = first.checked_add(count).filter(|&next| next <= HALF)?;
        Some(first.into())
    }

    /// The first of so many tags that no other message in parts has that this process receives.
    pub(in crate::mpi) fn choose(&self, count: usize) -> Option<u64> {
        let count = u32::try_from(count.max(1)).ok()?;
        let start = lockstep::lock(&self.0).chosen.take(count)?;
        Some(u64::from(HALF + start))
    }

    /// All parts have come that were to come with these tags.
    pub(in crate::mpi) fn unchoose(&self, first: u64) {
        if let Some(start) = number(first).checked_sub(HALF) {
            lockstep::lock(&self.0).chosen.give_back(start);
        }
    }

    /// A number for an answer.
    pub(in crate::mpi) fn answer(&self) -> Option<u64> {
        lockstep::lock(&self.0).answers.take(1).map(u64::from)
    }

    /// The answer has come, or nobody has asked.
    pub(in crate::mpi) fn answered(&self, answer: u64) {
        lockstep::lock(&self.0).answers.give_back(number(answer));
    }

    /// This sender has used all tags but so many.
    #[cfg(test)]
    pub(in crate::mpi) fn leave(&self, tags: u32) {
        lockstep::lock(&self.0).next = HALF - tags;
    }
}

fn number(of: u64) -> u32 {
    bcs_core::request::low(of)
}

/// The tag of a part. What a sender says is the first is looked at no further: its parts come or do not.
pub(in crate::mpi) fn tag_of(first: u64, part: usize) -> i32 {
    number(first.wrapping_add(part as u64)).cast_signed()
}

/// The tag of an answer. Those of offers are not negative.
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
        // Not chosen here.
        tags.unchoose(0);
        assert_eq!(tags.choose((1 << 31) - 22), Some(third + 7));
        let answer = tags.answer().unwrap();
        assert_ne!(tags.answer(), Some(answer));
        tags.answered(answer);
        assert_eq!(tags.answer(), Some(answer));
    }
}
