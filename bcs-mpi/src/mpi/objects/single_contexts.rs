//! The numbers of communicators of one rank.
//!
//! They need no agreement: messages of such a communicator go from its rank to itself, and its
//! collectives go nowhere. So any number will do that this rank does not use otherwise. They lie
//! above all [ids](super::context_ids) that ranks agree on.
//!
//! There are 2^28 - 2,049 of them, and a program that duplicates `MPI_COMM_SELF` again and again
//! uses all of them in minutes. So numbers are used again, but never while the last communicator of
//! a number lives, which is as long as a handle or a request of it. Numbers that were freed last
//! are used last.

use super::context_ids::PART_MESSAGES;
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::lockstep;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;

/// The number of `MPI_COMM_SELF`, which exists as long as its process.
#[expect(clippy::cast_possible_truncation, reason = "a small constant")]
pub(in crate::mpi) const ITSELF: u32 = MAX_CONTEXTS as u32;

/// The numbers of all others.
const NUMBERS: Range<u32> = ITSELF + 1..PART_MESSAGES;

/// Returns whether a communicator of this number was made for one rank.
pub(in crate::mpi) fn is_made_for_one(context: u32) -> bool {
    NUMBERS.contains(&context)
}

/// Which numbers are in use.
#[derive(Debug)]
pub(in crate::mpi) struct SingleContexts(Mutex<UsedContexts>);

#[derive(Debug)]
struct UsedContexts {
    /// The search for the next number begins here.
    next: u32,
    live: HashSet<u32>,
}

impl Default for SingleContexts {
    fn default() -> Self {
        Self(Mutex::new(UsedContexts {
            next: NUMBERS.start,
            live: HashSet::new(),
        }))
    }
}

impl SingleContexts {
    /// Takes a number that no live communicator of this rank has; `None` if all are in use.
    pub(in crate::mpi) fn take(&self) -> Option<u32> {
        let UsedContexts { next, live } = &mut *lockstep::lock(&self.0);
        if live.len() == NUMBERS.len() {
            return None;
        }
        loop {
            let number = *next;
            *next = if number + 1 < NUMBERS.end {
                number + 1
            } else {
                NUMBERS.start
            };
            if live.insert(number) {
                return Some(number);
            }
        }
    }

    /// Gives back the number of a context. Other contexts are ignored.
    pub(in crate::mpi) fn give_back(&self, context: u32) {
        if NUMBERS.contains(&context) {
            lockstep::lock(&self.0).live.remove(&context);
        }
    }

    /// Makes the next number the one that is this far before the last.
    #[cfg(test)]
    pub(crate) fn begin_before_the_end(&self, numbers: u32) {
        lockstep::lock(&self.0).next = NUMBERS.end - numbers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_use_is_passed_over_when_they_come_round() {
        let singles = SingleContexts::default();
        let first = singles.take().unwrap();
        let second = singles.take().unwrap();
        assert_eq!((first, second), (NUMBERS.start, NUMBERS.start + 1));
        singles.give_back(second);
        singles.give_back(ITSELF);
        singles.begin_before_the_end(2);
        let taken: Vec<_> = (0..4).map_while(|_| singles.take()).collect();
        let (end, start) = (NUMBERS.end, NUMBERS.start);
        assert_eq!(taken, [end - 2, end - 1, start + 1, start + 2]);
    }
}
