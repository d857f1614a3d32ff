//! Parses the output of SWEEP3D.

mod layouts;

pub use layouts::{CommunicationStyle, Layouts};

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::process;

/// The published answers of the 50-cubed deck, in the layout in which SWEEP3D prints them.
pub const PUBLISHED_50: &str = include_str!("sweep3d/published-50.txt");

/// One line of the iteration monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iteration {
    /// Its number, from 1.
    pub its: u32,
    /// The largest relative change of the flux, as printed.
    pub err: String,
    /// Cells that needed a fix-up.
    pub fixs: u64,
}

/// The answers of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The iteration monitor.
    pub iterations: Vec<Iteration>,
    /// The balance quantities by name, in the printed order; leakages have a low and a high face.
    pub balance: Vec<(&'static str, f64)>,
}

/// The lines of the balance and the meaning of their numbers.
const BALANCE: [(&str, &[&str]); 5] = [
    ("External Source:", &["external source"]),
    ("Absorption:", &["absorption"]),
    ("I-leakages:", &["low I-leakage", "high I-leakage"]),
    ("J-leakages:", &["low J-leakage", "high J-leakage"]),
    ("K-leakages:", &["low K-leakage", "high K-leakage"]),
];

impl FromStr for Answers {
    type Err = anyhow::Error;

    /// Parses the whole output of a run; skips lines without answers.
    fn from_str(output: &str) -> Result<Self> {
        let mut answers = Self {
            iterations: Vec::new(),
            balance: Vec::new(),
        };
        for line in output.lines().map(str::trim) {
            let context = || format!("failed to read the line `{line}` of SWEEP3D");
            if let Some(iteration) = iteration(line).with_context(context)? {
                answers.iterations.push(iteration);
            }
            for (head, names) in BALANCE {
                let Some(rest) = line.strip_prefix(head) else {
                    continue;
                };
                let numbers: Vec<f64> = rest
                    .split_whitespace()
                    .map(number)
                    .collect::<Result<_>>()
                    .with_context(context)?;
                ensure!(
                    numbers.len() == names.len(),
                    "failed to read the line `{line}` of SWEEP3D"
                );
                answers.balance.extend(names.iter().copied().zip(numbers));
            }
        }
        ensure!(
            !answers.iterations.is_empty(),
            "SWEEP3D printed no iteration"
        );
        let expected: usize = BALANCE.iter().map(|(_, names)| names.len()).sum();
        ensure!(
            answers.balance.len() == expected,
            "SWEEP3D printed {} balance quantities, not {expected}",
            answers.balance.len()
        );
        Ok(answers)
    }
}

/// Parses `its =  N  err =  X   fixs =  M`; `None` for other lines.
fn iteration(line: &str) -> Result<Option<Iteration>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["its", "=", its, "err", "=", err, "fixs", "=", fixs] = words[..] else {
        ensure!(
            !line.starts_with("its"),
            "expected `its = N err = X fixs = M`"
        );
        return Ok(None);
    };
    number(err)?;
    Ok(Some(Iteration {
        its: its.parse()?,
        err: err.to_owned(),
        fixs: fixs.parse()?,
    }))
}

fn number(text: &str) -> Result<f64> {
    let number: f64 = text
        .parse()
        .with_context(|| format!("`{text}` is not a number"))?;
    ensure!(number.is_finite(), "`{text}` is not finite");
    Ok(number)
}

impl Answers {
    /// Returns the largest relative deviation of an err or a balance quantity from `published`, and
    /// where it is.
    ///
    /// # Errors
    ///
    /// Iterations or fix-ups differ: they have to be exact.
    pub fn deviation(&self, published: &Self) -> Result<(f64, String)> {
        ensure!(
            self.iterations.len() == published.iterations.len(),
            "{} iterations instead of {}",
            self.iterations.len(),
            published.iterations.len()
        );
        let mut largest = (0.0, "no difference".to_owned());
        let mut compare = |found: f64, expected: f64, name: String| {
            let deviation = (found - expected).abs() / expected.abs();
            if deviation > largest.0 {
                largest = (deviation, name);
            }
        };
        for (found, expected) in self.iterations.iter().zip(&published.iterations) {
            let its = expected.its;
            ensure!(
                found.its == its,
                "iteration {} stands where {its} should",
                found.its
            );
            ensure!(
                found.fixs == expected.fixs,
                "{} fix-ups in iteration {its} instead of {}",
                found.fixs,
                expected.fixs
            );
            compare(
                number(&found.err)?,
                number(&expected.err)?,
                format!("err of iteration {its}"),
            );
        }
        for ((name, found), (_, expected)) in self.balance.iter().zip(&published.balance) {
            compare(*found, *expected, (*name).to_owned());
        }
        Ok(largest)
    }
}

/// Seconds on an idle machine of two cores.
const LIMIT: Duration = Duration::from_secs(600);

/// The allowed deviation of balances: sums over ranks may be in another order.
const BALANCE_TOLERANCE: f64 = 1e-9;

/// Runs of one problem, which must all give the same answers.
#[derive(Debug, Default)]
pub struct Sweep3dReference {
    /// The answers of the first run.
    answers: Mutex<Option<Answers>>,
}

impl Sweep3dReference {
    /// Runs SWEEP3D once, and returns the solver's time in seconds.
    ///
    /// # Errors
    ///
    /// The run failed, or its answers differ from the first run's.
    pub fn solve(&self, command: &mut Command) -> Result<f64> {
        self.run(command).map(|(solver_s, _)| solver_s)
    }

    /// Does the same, and also returns the seconds of the whole command.
    fn run(&self, command: &mut Command) -> Result<(f64, f64)> {
        let finished = process::run(command, LIMIT)?.succeeded()?;
        let output = finished.stdout;
        let answers: Answers = output.parse()?;
        let mut first = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let first = first.get_or_insert_with(|| answers.clone());
        ensure!(
            answers.iterations == first.iterations,
            "the errs or fix-ups differ from those of the first run"
        );
        let (deviation, place) = answers.deviation(first)?;
        ensure!(
            deviation <= BALANCE_TOLERANCE,
            "{place} differs by {deviation:e} from the first run"
        );
        Ok((elapsed_s(&output)?, finished.wall.as_secs_f64()))
    }
}

/// A deck in a file, and the answers of its runs.
#[derive(Debug)]
pub struct Problem {
    /// The folder of the file, with room for others.
    pub dir: TempDir,
    solver: Sweep3dReference,
}

impl Problem {
    /// Writes the deck to a file.
    ///
    /// # Errors
    ///
    /// The file could not be written.
    pub fn new(deck: &str) -> Result<Self> {
        let dir = tempfile::tempdir().context("failed to make a directory for the deck")?;
        let solver = Sweep3dReference::default();
        let problem = Self { dir, solver };
        fs::write(problem.deck(), deck).context("failed to write a deck")?;
        Ok(problem)
    }

    fn deck(&self) -> PathBuf {
        self.dir.path().join("input")
    }

    /// Runs SWEEP3D once, and returns the solver's time in seconds. `command` ends with the
    /// program's name and options.
    ///
    /// # Errors
    ///
    /// As [`Sweep3dReference::solve`].
    pub fn solve(&self, command: &mut Command) -> Result<f64> {
        self.run(command).map(|(solver_s, _)| solver_s)
    }

    /// Runs like [`Problem::solve`], and also returns the seconds of the whole command.
    ///
    /// # Errors
    ///
    /// As [`Sweep3dReference::solve`].
    pub fn run(&self, command: &mut Command) -> Result<(f64, f64)> {
        self.solver.run(command.arg("--deck").arg(self.deck()))
    }
}

/// Returns the solver's time, from SWEEP3D's output.
fn elapsed_s(output: &str) -> Result<f64> {
    let rest = output
        .lines()
        .find_map(|line| line.trim().strip_prefix("Elapsed time was:"));
    let word = rest.and_then(|rest| rest.split_whitespace().next());
    number(word.context("SWEEP3D did not say how long it took")?)
}

/// Returns the process grid that fits `processes`: npe_i <= npe_j, as near to a square as possible.
#[must_use]
pub fn process_grid(processes: u32) -> (u32, u32) {
    let fits = |npe_i: &u32| processes.is_multiple_of(*npe_i) && npe_i * npe_i <= processes;
    let npe_i = (1..=processes).rev().find(fits).unwrap_or(1);
    (npe_i, processes / npe_i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_answers_are_whole() {
        let published: Answers = PUBLISHED_50.parse().unwrap();
        assert_eq!(published.iterations.len(), 12);
        assert_eq!(published.iterations[7].fixs, 12_000);
        assert_eq!(published.iterations[11].err, "0.261752203210804436E-03");
        assert_eq!(published.balance[0], ("external source", 4.096));
        assert_eq!(
            published.balance[7],
            ("high K-leakage", 0.125_419_421_915_668)
        );
        assert_eq!(
            published.deviation(&published).unwrap(),
            (0.0, "no difference".to_owned())
        );
    }

    #[test]
    fn the_largest_deviation_is_found_and_fix_ups_must_be_exact() {
        let published: Answers = PUBLISHED_50.parse().unwrap();
        let off = PUBLISHED_50.replace("0.125419419635145", "0.125419419635146");
        let (deviation, place) = off
            .parse::<Answers>()
            .unwrap()
            .deviation(&published)
            .unwrap();
        assert!(
            (7e-15..9e-15).contains(&deviation) && place.contains("leakage"),
            "{deviation}"
        );

        let off = PUBLISHED_50.replace("0.141234079272600122", "0.141234079472600122");
        let (deviation, place) = off
            .parse::<Answers>()
            .unwrap()
            .deviation(&published)
            .unwrap();
        assert!(
            deviation > 1e-9 && place == "err of iteration 5",
            "{deviation} {place}"
        );

        let off = PUBLISHED_50.replace("11712", "11713");
        let error = off
            .parse::<Answers>()
            .unwrap()
            .deviation(&published)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "11713 fix-ups in iteration 9 instead of 11712"
        );
    }

    #[test]
    fn output_that_is_not_whole_is_refused() {
        let refusal = |text: &str| format!("{:#}", text.parse::<Answers>().unwrap_err());
        assert!(refusal("").contains("no iteration"));
        assert!(refusal("its =  1  err =  NaN   fixs =  0").contains("not finite"));
        assert!(refusal("its =  1  err =  1.0").contains("expected `its"));
        let (monitor, _) = PUBLISHED_50.split_once("Absorption").unwrap();
        assert!(refusal(monitor).contains("1 balance quantities"));
        assert!(refusal(&PUBLISHED_50.replace("-0.125419419635145", "")).contains("leakages"));
    }

    #[test]
    fn process_grids_are_as_near_to_a_square_as_possible() {
        let fitted = [1, 2, 3, 4, 6, 12, 13, 64].map(process_grid);
        let expected = [
            (1, 1),
            (1, 2),
            (1, 3),
            (2, 2),
            (2, 3),
            (3, 4),
            (1, 13),
            (8, 8),
        ];
        assert_eq!(fitted, expected);
    }
}
