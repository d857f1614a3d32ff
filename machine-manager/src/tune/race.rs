//! Finds the fastest of several settings with few runs.
//!
//! A race goes in rounds. In each round every setting that is still in the race runs once. The
//! order changes each time, so that a machine that gets slower or faster favours none. Settings
//! that are certainly slower drop out. The race is over when all settings left are as good as the
//! best, or when no runs are left. It knows no clock and no process: its owner requests the
//! [next](Race::next_setting) setting, runs it, and [records](Race::record_run) the time.
//!
//! There are two separate questions. *Is there a difference at all?* The fastest of twelve equal
//! settings always looks faster than the slowest. So all of them together have to look different
//! (ranks, at 1 %), or one has to be beyond any noise. Only then: *which is best?* Here a setting
//! drops out as soon as it is behind the best by more than noise makes of two equal ones.

use super::statistics::{equality_probability, median, noise, of_ratio};
use std::collections::VecDeque;

/// The least difference for which to change a setting. Settings that are certainly nearer to the
/// best than this are as good.
pub const WORTH: f64 = 0.02;

/// The probability of equal settings looking so different by chance.
const BY_CHANCE: f64 = 0.01;

/// The limit for dropping out, in standard deviations: behind by more than noise makes of two equal
/// settings.
const BEHIND: f64 = 2.6;

/// The limit in standard deviations of a single run, for the *fastest* run of a setting: this is no
/// noise.
const HOPELESS: f64 = 6.0;

/// The least number of runs for a median.
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

/// The result for a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The fastest.
    Best,
    /// It cannot be distinguished from the best, or is nearer to it than [`WORTH`].
    AsGood,
    /// It is certainly slower.
    Slower,
    /// A run of it has failed.
    Failed,
    /// The others are compared with it.
    Reference,
}

/// The result of a race.
#[derive(Clone, Debug, PartialEq)]
pub struct RaceResult {
    /// The result of each setting, in the order of their numbers.
    pub standings: Vec<Standing>,
    /// The fastest, if any has run without failing.
    pub best: Option<usize>,
    /// Whether the settings differ by more than noise makes and by enough to change one, or all but
    /// one fail.
    pub differ: bool,
    /// The relative standard deviation of runs with the same setting.
    pub noise: Option<f64>,
}

/// A race under way.
#[derive(Clone, Debug)]
pub struct Race {
    runners: Vec<Runner>,
    /// The settings that have still to run in this round.
    due: VecDeque<usize>,
    rounds: usize,
    runs_left: usize,
    differ: bool,
}

impl Race {
    /// Makes a race of this number of settings, with a reference after them if there is one, and at
    /// most `runs` runs.
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

    /// Returns the setting that runs next; `None` when the race is over.
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

    /// Returns how many more runs there are at most.
    #[must_use]
    pub fn runs_left(&self) -> usize {
        self.runs_left
    }

    /// Records a run of a setting.
    pub fn record_run(&mut self, setting: usize, seconds: f64) {
        self.runners[setting].seconds.push(seconds);
    }

    /// Records that a run of a setting has failed: it will not run again.
    pub fn failed(&mut self, setting: usize) {
        let runner = &mut self.runners[setting];
        runner.is_out = true;
        runner.has_failed = true;
    }

    /// Returns the run times of a setting so far.
    #[must_use]
    pub fn seconds(&self, setting: usize) -> &[f64] {
        &self.runners[setting].seconds
    }

    /// Returns the result so far.
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

    /// Returns all settings but the reference.
    fn settings(&self) -> impl Iterator<Item = (usize, &Runner)> + Clone {
        let all = self.runners.iter().enumerate();
        all.filter(|(_, runner)| !runner.is_reference)
    }

    fn contenders(&self) -> impl Iterator<Item = (usize, &Runner)> + Clone {
        self.settings().filter(|(_, runner)| !runner.is_out)
    }

    /// Returns the fastest setting in the race.
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

    /// Returns the order of the next round. Each setting is first equally often, and equally often
    /// before and after each other one.
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

    /// Drops settings that are certainly slower than the best.
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

    /// Returns whether another round would not help, or is not possible.
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

    /// Returns by which part of another setting's median a time of ours is greater.
    fn behind(&self, seconds: f64, best: &Self) -> f64 {
        match best.median() {
            Some(median) if seconds.is_finite() => (seconds / median).ln(),
            _ => 0.0,
        }
    }

    /// Returns by how much our median is greater, once there are enough runs for one.
    fn lag(&self, best: &Self) -> Option<f64> {
        let enough = self.seconds.len().min(best.seconds.len()) >= LEAST_RUNS;
        enough.then(|| self.behind(median(&self.seconds), best))
    }

    /// Returns the standard deviation of that difference.
    fn doubt(&self, best: &Self, noise: f64) -> f64 {
        of_ratio(noise, [self.seconds.len(), best.seconds.len()])
    }
}

#[cfg(test)]
mod tests;
