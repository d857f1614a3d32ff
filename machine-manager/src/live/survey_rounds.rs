//! Rounds of surveys of node managers, to answer clients: a state machine without sockets or clock.
//!
//! One round is under way at a time. A question that comes meanwhile is answered by the next round,
//! so that each answer was found after its question. A round is over when all node managers in it
//! have answered, or at its timeout: then the others are *silent*. A node manager that owes an
//! answer gets no further query until it has given it. So however many questions come, at most one
//! answer of each is in flight.

use node_manager::survey::SurveyPart;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The time for node managers: less than the second within which a thousand ranks have to be
/// reported.
const PATIENCE: Duration = Duration::from_millis(800);

/// The state of the rounds; see the module.
#[derive(Debug)]
pub struct SurveyRounds {
    /// The number of the last round.
    number: u32,
    /// Whether another one is wanted.
    is_wanted: bool,
    round: Option<Round>,
    /// Node managers that have not answered their last query.
    owing: BTreeSet<usize>,
    managers: usize,
}

#[derive(Debug)]
struct Round {
    until: Instant,
    missing: BTreeSet<usize>,
    silent: BTreeSet<usize>,
    parts: Vec<SurveyPart>,
}

/// The result of a round.
#[derive(Debug, PartialEq, Eq)]
pub struct SurveyResult {
    /// The number of the round.
    pub number: u32,
    /// The answers.
    pub parts: Vec<SurveyPart>,
    /// Node managers that have not answered, or not all.
    pub silent: Vec<usize>,
}

impl SurveyRounds {
    /// Makes the rounds of this number of node managers.
    #[must_use]
    pub fn new(managers: usize) -> Self {
        Self {
            number: 0,
            is_wanted: false,
            round: None,
            owing: BTreeSet::new(),
            managers,
        }
    }

    /// Requests a survey. Returns the number of the round that will answer it.
    pub fn want(&mut self) -> u32 {
        self.is_wanted = true;
        self.number.wrapping_add(1)
    }

    /// Begins a round, if one is wanted and none is under way. Returns its number, and the node
    /// managers to query.
    pub fn begin(&mut self, now: Instant) -> Option<(u32, Vec<usize>)> {
        if !self.is_wanted || self.round.is_some() {
            return None;
        }
        self.is_wanted = false;
        self.number = self.number.wrapping_add(1);
        let all = 0..self.managers;
        let (silent, missing): (BTreeSet<usize>, _) =
            all.partition(|manager| self.owing.contains(manager));
        self.owing.extend(&missing);
        let asked = missing.iter().copied().collect();
        self.round = Some(Round {
            until: now + PATIENCE,
            missing,
            silent,
            parts: Vec::new(),
        });
        Some((self.number, asked))
    }

    /// Handles a part of a node manager's answer.
    pub fn heard(&mut self, manager: usize, part: SurveyPart) {
        if part.is_last {
            self.owing.remove(&manager);
        }
        let Some(round) = &mut self.round else { return };
        if part.number != self.number || !round.missing.contains(&manager) {
            return;
        }
        if part.is_last {
            round.missing.remove(&manager);
        }
        round.parts.push(part);
    }

    /// Handles the end of a node manager, which answers no more.
    pub fn gone(&mut self, manager: usize) {
        self.owing.insert(manager);
        if let Some(round) = &mut self.round
            && round.missing.remove(&manager)
        {
            round.silent.insert(manager);
        }
    }

    /// Returns when to call [`over`](Self::over) in any case.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.round.as_ref().map(|round| round.until)
    }

    /// Returns the result of the round, if it is over.
    pub fn over(&mut self, now: Instant) -> Option<SurveyResult> {
        let is_over = |round: &mut Round| round.missing.is_empty() || now >= round.until;
        let round = self.round.take_if(is_over)?;
        Some(SurveyResult {
            number: self.number,
            parts: round.parts,
            silent: round.silent.union(&round.missing).copied().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32, is_last: bool, slice: u64) -> SurveyPart {
        SurveyPart {
            number,
            is_last,
            slice,
            ..SurveyPart::default()
        }
    }

    fn slices(found: &SurveyResult) -> Vec<u64> {
        found.parts.iter().map(|part| part.slice).collect()
    }

    #[test]
    fn a_round_is_over_when_all_have_said_all() {
        let now = Instant::now();
        let mut inquiry = SurveyRounds::new(2);
        assert_eq!(inquiry.begin(now), None, "nobody wants one");
        assert_eq!(inquiry.want(), 1);
        assert_eq!(inquiry.begin(now), Some((1, vec![0, 1])));
        inquiry.heard(1, part(1, true, 10));
        inquiry.heard(0, part(1, false, 20));
        assert_eq!(inquiry.over(now), None);
        inquiry.heard(0, part(1, true, 21));
        let found = inquiry.over(now).unwrap();
        assert_eq!((found.number, slices(&found)), (1, vec![10, 20, 21]));
        assert!(found.silent.is_empty() && inquiry.due().is_none());
    }

    #[test]
    fn who_asks_during_a_round_gets_what_the_next_one_finds() {
        let now = Instant::now();
        let mut inquiry = SurveyRounds::new(1);
        let _first = inquiry.want();
        assert_eq!(inquiry.begin(now), Some((1, vec![0])));
        assert_eq!((inquiry.want(), inquiry.want()), (2, 2));
        assert_eq!(inquiry.begin(now), None, "one is under way");
        inquiry.heard(0, part(1, true, 1));
        assert_eq!(inquiry.over(now).unwrap().number, 1);
        assert_eq!(inquiry.begin(now), Some((2, vec![0])));
    }

    #[test]
    fn a_node_manager_that_owes_an_answer_is_asked_no_more_until_it_has_given_it() {
        let now = Instant::now();
        let mut inquiry = SurveyRounds::new(2);
        inquiry.want();
        inquiry.begin(now);
        inquiry.heard(0, part(1, true, 1));
        inquiry.heard(1, part(1, false, 2));
        let late = inquiry.due().unwrap();
        assert_eq!(inquiry.over(late - Duration::from_nanos(1)), None);
        let found = inquiry.over(late).unwrap();
        assert_eq!((slices(&found), &found.silent[..]), (vec![1, 2], &[1][..]));
        inquiry.want();
        assert_eq!(inquiry.begin(late), Some((2, vec![0])));
        inquiry.heard(1, part(1, true, 3));
        inquiry.heard(0, part(2, true, 4));
        let found = inquiry.over(late).unwrap();
        assert_eq!((slices(&found), &found.silent[..]), (vec![4], &[1][..]));
        inquiry.want();
        assert_eq!(inquiry.begin(late), Some((3, vec![0, 1])));
    }

    #[test]
    fn nobody_waits_for_one_that_is_gone() {
        let now = Instant::now();
        let mut inquiry = SurveyRounds::new(2);
        inquiry.want();
        inquiry.begin(now);
        inquiry.gone(0);
        inquiry.heard(1, part(1, true, 1));
        assert_eq!(inquiry.over(now).unwrap().silent, [0]);
        inquiry.want();
        assert_eq!(inquiry.begin(now), Some((2, vec![1])));
        inquiry.gone(1);
        assert_eq!(inquiry.over(now).unwrap().silent, [0, 1]);
    }
}
