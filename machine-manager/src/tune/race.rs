//! Which of several settings is the fastest, by as few runs as it takes.
//!
//! A race goes in rounds, in each of which every setting that is still in it runs once, in another order each time, so
//! that a machine that gets slower or faster favours none. Settings that are certainly slower drop out; the race is over
//! when what is left is as good as the best, or when no runs are left. It knows no clock and no process: whoever holds
//! it asks for the [next](Race::next_setting) setting, runs it, and [tells](Race::record_run).
//!
//! Two questions are kept apart. *Is there a difference at all?* The fastest of twelve equal settings always looks
//! faster than the slowest, so all of them together have to look different (ranks, at 1 %), or one has to be beyond
//! any noise. Only then: *which is best?*, where a setting is given up as soon as it is behind the best by more than
//! noise makes of two that are equal.

use super::statistics::{equality_probability, median, noise, of_ratio};
use std::collections::VecDeque;

/// A difference that is worth a setting. Settings that are certainly nearer to the best than this are as good.
pub const WORTH: f64 = 0.02;

/// Settings look so different by chance once in a hundred times.
const BY_CHANCE: f64 = 0.01;

/// In standard deviations: behind by more than noise makes of two settings that are equal.
const BEHIND: f64 = 2.6;

/// In standard deviations of a single run, for the *fastest* run of a setting: no noise.
const HOPELESS: f64 = 6.0;

/// Fewer runs of a setting have no median.
pub const LEAST_RUNS: usize = 3;

/// A setting in the race.
#[derive(Clone, Debug, Default)]
struct Runner {
    seconds: Vec<f64>,
    /// It has failed, or is certainly slower.
    is_out: bool,
    has_failed: bool,
    /// It runs as long as the race goes on, and cannot win.
    is_reference: bool,
}

/// What is known of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The fastest.
    Best,
    /// It cannot be told from the best, or is nearer to it than [`WORTH`].
    AsGood,
    /// Certainly slower.
    Slower,
    /// A run of it has failed.
    Failed,
    /// What the others are compared with.
    Reference,
}

/// What a race has found.
#[derive(Clone, Debug, PartialEq)]
pub struct RaceResult {
    /// Of each setting, in the order of their numbers.
    pub standings: Vec<Standing>,
    /// The fastest, if any has run without failing.
    pub best: Option<usize>,
    /// Whether the settings differ by what noise does not make, and by what is worth a setting; or all but one fail.
    pub differ: bool,
    /// By how much of itself one run differs from another of the same setting (a standard deviation).
    pub noise: Option<f64>,
}

/// A race under way.
#[derive(Clone, Debug)]
pub struct Race {
    runners: Vec<Runner>,
    /// Who has still to run in this round.
    due: VecDeque<usize>,
    rounds: usize,
    runs_left: usize,
    differ: bool,
}

impl Race {
    /// A race of so many settings, and of a reference behind them if there is one, with at most so many runs.
    #[must_use]
    pub fn new(settings: usize, has_reference: bool, runs: usize) -> Self {
        let mut runners = vec![Runner::default(); settings];
        runners.extend(has_reference.then(|| Runner {
            is_reference: true,
            ..Runner::default()
        }));
        Self {
            runners,
            due: VecDeque::new(),
            rounds: 0,
            runs_left: runs,
            differ: false,
        }
    }

    /// The setting that runs next; none when the race is over.
    pub fn next_setting(&mut self) -> Option<usize> {
        if self.due.is_empty() {
            self.judge();
            if self.is_over() {
                return None;
            }
            self.due = self.order().into();
            self.rounds += 1;
        }
        self.runs_left = self.runs_left.checked_sub(1)?;
        self.due.pop_front()
    }

    /// How many runs there will be at most from here.
    #[must_use]
    pub fn runs_left(&self) -> usize {
        self.runs_left
    }

    /// A setting has run.
    pub fn record_run(&mut self, setting: usize, seconds: f64) {
        self.runners[setting].seconds.push(seconds);
    }

    /// A run of a setting has failed: it will not run again.
    pub fn failed(&mut self, setting: usize) {
        let runner = &mut self.runners[setting];
        runner.is_out = true;
        runner.has_failed = true;
    }

    /// What a setting has taken so far.
    #[must_use]
    pub fn seconds(&self, setting: usize) -> &[f64] {
        &self.runners[setting].seconds
    }

    /// What is known now.
    #[must_use]
    pub fn finding(&self) -> RaceResult {
        let noise = self.noise();
        let best = self.best();
        let standing = |(number, runner): (usize, &Runner)| match runner {
            _ if runner.has_failed => Standing::Failed,
            _ if runner.is_reference => Standing::Reference,
            _ if Some(number) == best => Standing::Best,
            _ if runner.is_out => Standing::Slower,
            _ => Standing::AsGood,
        };
        let medians = self.settings().filter(|(_, runner)| !runner.has_failed);
        let medians: Vec<f64> = medians.filter_map(|(_, runner)| runner.median()).collect();
        let is_last = medians.len() == 1 && self.settings().count() > 1;
        let slowest = medians.iter().copied().fold(0.0, f64::max);
        let fastest = medians.iter().copied().fold(f64::INFINITY, f64::min);
        RaceResult {
            standings: self.runners.iter().enumerate().map(standing).collect(),
            best,
            differ: is_last || self.differ && (slowest / fastest).ln() > WORTH,
            noise,
        }
    }

    /// All but the reference.
    fn settings(&self) -> impl Iterator<Item = (usize, &Runner)> + Clone {
        let all = self.runners.iter().enumerate();
        all.filter(|(_, runner)| !runner.is_reference)
    }

    fn contenders(&self) -> impl Iterator<Item = (usize, &Runner)> + Clone {
        self.settings().filter(|(_, runner)| !runner.is_out)
    }

    /// The fastest of those that are in the race.
    fn best(&self) -> Option<usize> {
        let ran = self
            .contenders()
            .filter_map(|(number, runner)| Some((runner.median()?, number)));
        let best = ran.min_by(|one, other| one.0.total_cmp(&other.0))?;
        Some(best.1)
    }

    fn noise(&self) -> Option<f64> {
        let all: Vec<&[f64]> = self.runners.iter().map(|one| &*one.seconds).collect();
        noise(&all)
    }

    /// Who runs in the next round, and when: each is first as often as others, and as often before another as after it.
    fn order(&self) -> Vec<usize> {
        let in_it = |(_, runner): &(usize, &Runner)| !runner.is_out;
        let all = self.runners.iter().enumerate();
        let mut order: Vec<usize> = all.filter(in_it).map(|(number, _)| number).collect();
        let count = order.len().max(1);
        order.rotate_left(self.rounds / 2 % count);
        if self.rounds % 2 == 1 {
            order.reverse();
        }
        order
    }

    /// Drops whoever is certainly slower than the best.
    fn judge(&mut self) {
        let (Some(best), Some(noise)) = (self.best(), self.noise()) else {
            return;
        };
        let best = &self.runners[best];
        let hopeless = |runner: &Runner| {
            let fastest = runner.seconds.iter().copied().fold(f64::INFINITY, f64::min);
            runner.behind(fastest, best) > WORTH.max(HOPELESS * noise)
        };
        let mut slower: Vec<bool> = self.runners.iter().map(hopeless).collect();
        let groups: Vec<&[f64]> = self.contenders().map(|(_, one)| &*one.seconds).collect();
        self.differ |= equality_probability(&groups) < BY_CHANCE
            || self.settings().any(|(number, _)| slower[number]);
        if self.differ {
            for (runner, slower) in self.runners.iter().zip(&mut slower) {
                *slower |= runner
                    .lag(best)
                    .is_some_and(|lag| lag > BEHIND * runner.doubt(best, noise));
            }
        }
        for (runner, slower) in self.runners.iter_mut().zip(slower) {
            runner.is_out |= slower && !runner.is_reference;
        }
    }

    /// Whether another round would be of no use, or is not to be had.
    fn is_over(&self) -> bool {
        let Some(best) = self.best() else {
            return self.rounds > 0;
        };
        let best = &self.runners[best];
        let noise = self.noise().unwrap_or(f64::INFINITY);
        let as_good = |runner: &Runner| {
            let lag = runner.lag(best);
            lag.is_some_and(|lag| lag + BEHIND * runner.doubt(best, noise) < WORTH)
        };
        let is_best = |runner: &Runner| std::ptr::eq(runner, best);
        let is_clear = best.seconds.len() >= LEAST_RUNS
            && self
                .contenders()
                .all(|(_, one)| is_best(one) || as_good(one));
        is_clear || self.order().len() > self.runs_left
    }
}

impl Runner {
    fn median(&self) -> Option<f64> {
        (!self.seconds.is_empty()).then(|| median(&self.seconds))
    }

    /// By how much of it some time of ours is greater than the median of another.
    fn behind(&self, seconds: f64, best: &Self) -> f64 {
        match best.median() {
            Some(median) if seconds.is_finite() => (seconds / median).ln(),
            _ => 0.0,
        }
    }

    /// By how much our median is greater, once there are enough runs for one.
    fn lag(&self, best: &Self) -> Option<f64> {
        let enough = self.seconds.len().min(best.seconds.len()) >= LEAST_RUNS;
        enough.then(|| self.behind(median(&self.seconds), best))
    }

    /// How far off that may be: a standard deviation.
    fn doubt(&self, best: &Self, noise: f64) -> f64 {
        of_ratio(noise, [self.seconds.len(), best.seconds.len()])
    }
}

#[cfg(test)]
mod tests;
