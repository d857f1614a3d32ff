//! Counts of what was reported about the runs of the suite.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::header::ExpectedRun;
use crate::verdict::CheckOutcome;

/// The report about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reported {
    Nothing,
    /// The job failed without a message of `bcs` or of the library.
    Unexplained,
    WithoutLine,
    /// With a rank, and with a line that the head of the program names.
    WithLine,
    /// The job ran into the time limit.
    Hangs,
}

/// The counts of a class of mistakes.
#[derive(Debug, Clone, Copy, Default)]
struct ClassCounts {
    runs: u32,
    reported: u32,
    /// Runs that were reported and whose heads name a line.
    lined: u32,
    with_line: u32,
    hang: u32,
}

impl ClassCounts {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.reported += other.reported;
        self.lined += other.lined;
        self.with_line += other.with_line;
        self.hang += other.hang;
    }
}

/// The counts of a set of programs, by class. Right runs are the class `""`.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<String, ClassCounts>);

impl Tally {
    /// Counts a run that stands for `weight` runs.
    pub(super) fn count(&mut self, run: &ExpectedRun, reported: Reported, weight: u32) {
        let class = run.mistake.clone().unwrap_or_default();
        let is_reported = matches!(reported, Reported::WithLine | Reported::WithoutLine)
            || run.mistake.is_none() && reported == Reported::Unexplained;
        let one = |it: bool| if it { weight } else { 0 };
        self.0.entry(class).or_default().add(ClassCounts {
            runs: weight,
            reported: one(is_reported),
            lined: one(is_reported && !run.lines.is_empty()),
            with_line: one(reported == Reported::WithLine),
            hang: one(reported == Reported::Hangs),
        });
    }

    /// Returns a line for each class.
    pub(super) fn table(&self, name: &str) -> String {
        let mut text = String::new();
        for (class, it) in &self.0 {
            let class = if class.is_empty() { "right" } else { class };
            let _ = writeln!(
                text,
                "{name}: {class:22} {} runs, {} reported, {} of {} with the line, {} hang",
                it.runs, it.reported, it.with_line, it.lined, it.hang
            );
        }
        text
    }

    /// Compares the shares with their bars. Returns `None` if there were no runs.
    pub(super) fn outcome(
        &self,
        name: &str,
        reported: Option<f64>,
        placed: Option<f64>,
    ) -> Option<CheckOutcome> {
        let (mut wrong, mut right) = (ClassCounts::default(), ClassCounts::default());
        for (class, counts) in &self.0 {
            match class.is_empty() {
                true => right.add(*counts),
                false => wrong.add(*counts),
            }
        }
        if wrong.runs + right.runs == 0 {
            return None;
        }
        let share = |part: u32, all: u32| 100.0 * f64::from(part) / f64::from(all.max(1));
        let told = share(wrong.reported, wrong.runs);
        let lined = share(wrong.with_line, wrong.lined);
        let hang = wrong.hang + right.hang;
        let held = reported.is_none_or(|bar| told >= bar)
            && placed.is_none_or(|bar| lined >= bar)
            && (right.reported, hang) == (0, 0);
        let figure = format!(
            "{name}: {told:.1} % of {} wrong runs reported, {lined:.1} % of {} with rank and line; \
             {} alarms in {} right runs; {hang} hang",
            wrong.runs, wrong.lined, right.reported, right.runs
        );
        let at_least = |bar: Option<f64>| bar.map_or("any".to_owned(), |bar| format!("{bar} %"));
        let bar = format!(
            "at least {}, {} with rank and line, no alarm, no hang",
            at_least(reported),
            at_least(placed)
        );
        Some(CheckOutcome::exact(held, figure, bar))
    }
}

/// Returns what the log says about a run.
pub(super) fn log_entry(file: &str, run: &ExpectedRun, reported: Reported, said: &str) -> String {
    let expected = run.mistake.as_deref().unwrap_or("OK");
    let unbuffered = if run.is_unbuffered { " unbuffered" } else { "" };
    let mut text = format!("== {file}{unbuffered}: {expected}: {reported:?}\n");
    for line in said.lines().take(20) {
        let _ = writeln!(text, "   {line}");
    }
    text
}
