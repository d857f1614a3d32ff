//! A run of the whole document: its thoroughness, and measurements in turns.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apps::bench::{BenchOperation, BenchOptions, BufferMode, ByteSize};
use serde::Deserialize;

use crate::bootstrap::median;
use crate::process;
use crate::rounds::turns;
use crate::workspace::Workspace;

/// The environment of the sections' measurements.
#[derive(Debug)]
pub(super) struct PaperRun<'a> {
    /// The measured checkout.
    pub(super) workspace: &'a Workspace,
    /// Whether the run may take only minutes, and not most of an hour.
    pub(super) quick: bool,
}

impl PaperRun<'_> {
    /// Returns one value for a quick run, and another for a whole run.
    pub(super) fn choose<T>(&self, quick: T, whole: T) -> T {
        match self.quick {
            true => quick,
            false => whole,
        }
    }

    /// Returns the number of rounds of measurements that take seconds.
    pub(super) fn rounds(&self) -> usize {
        self.choose(1, 5)
    }

    /// Measures all sides in turns with this number of ranks. Returns the times of each side for
    /// every operation and size.
    ///
    /// # Errors
    ///
    /// A job failed.
    pub(super) fn time(
        &self,
        sides: &[MeasuredSide<'_>],
        ranks: usize,
        sizes: &[usize],
    ) -> Result<Vec<Vec<OperationTime>>> {
        let loops = self.workspace.fixture_program("paper_loops")?;
        let mut rows = vec![Vec::new(); sides.len()];
        let times = medians(sides.len(), self.rounds(), |side| {
            let measured = self.measure(&sides[side], ranks, sizes, &loops)?;
            let times = measured.iter().map(|row| row.us).collect();
            rows[side] = measured;
            Ok(times)
        })?;
        for (rows, times) in rows.iter_mut().zip(times) {
            rows.iter_mut().zip(times).for_each(|(row, us)| row.us = us);
        }
        Ok(rows)
    }

    fn measure(
        &self,
        side: &MeasuredSide<'_>,
        ranks: usize,
        sizes: &[usize],
        loops: &Path,
    ) -> Result<Vec<OperationTime>> {
        let (row_ms, samples) = (self.choose(20, 100), 5);
        let mut command = self.workspace.bcs(["run", "-n", &ranks.to_string()])?;
        command.args(side.layout.split_whitespace());
        match side.what {
            BenchProgram::Bench(ops) => {
                let options = BenchOptions {
                    ops: ops.to_vec(),
                    sizes: sizes.iter().copied().map(ByteSize).collect(),
                    mode: vec![BufferMode::Untouched],
                    row_ms,
                    samples,
                };
                command.arg("bench").args(options.words());
            }
            BenchProgram::Loops(ops) => {
                let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
                command.arg(loops).args([ops.join(","), sizes.join(",")]);
                command.args([row_ms, samples].map(|number| number.to_string()));
            }
        }
        let said = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        let lines = said.lines().filter(|line| line.starts_with('{'));
        let rows: Vec<OperationTime> = lines
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .context("a program wrote a broken row")?;
        ensure!(!rows.is_empty(), "{} measured nothing", side.name);
        Ok(rows)
    }
}

/// The limit that ends a job that hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// A side of a measurement in turns.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredSide<'a> {
    /// The name of its curves.
    pub(super) name: &'a str,
    /// Options of `bcs run`.
    pub(super) layout: &'a str,
    /// The program that it runs.
    pub(super) what: BenchProgram<'a>,
}

/// A program and its operations.
#[derive(Debug, Clone, Copy)]
pub(super) enum BenchProgram<'a> {
    /// `bench`.
    Bench(&'a [BenchOperation]),
    /// The fixture `paper_loops`.
    Loops(&'a [&'a str]),
}

/// The time of an operation at a size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct OperationTime {
    /// The name in the program's output.
    pub(super) op: String,
    /// The size of a message.
    pub(super) bytes: usize,
    /// The time in microseconds.
    pub(super) us: f64,
}

/// Measures `sides` sides in turns, `rounds` times. Returns the median of each of a side's figures.
///
/// # Errors
///
/// As [`measure_in_turns`].
pub(super) fn medians(
    sides: usize,
    rounds: usize,
    measure: impl FnMut(usize) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<f64>>> {
    let samples = measure_in_turns(sides, rounds, measure)?;
    let figures = samples.into_iter().map(|rounds| {
        let count = rounds.first().map_or(0, Vec::len);
        let of = |figure: usize| rounds.iter().map(move |round| round[figure]);
        (0..count)
            .map(|figure| median(&of(figure).collect::<Vec<_>>()))
            .collect()
    });
    Ok(figures.collect())
}

/// Returns the measurements of each side in each round. One more measurement, the first of all,
/// warms up and does not count.
///
/// # Errors
///
/// `measure` fails, or returns an invalid figure.
pub(super) fn measure_in_turns(
    sides: usize,
    rounds: usize,
    mut measure: impl FnMut(usize) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<Vec<f64>>>> {
    let mut samples = vec![Vec::with_capacity(rounds); sides];
    measure(0)?;
    for round in 0..rounds {
        for side in turns(sides, round) {
            let figures = measure(side)?;
            let finite = figures.iter().all(|figure| figure.is_finite());
            ensure!(finite, "failed to measure: {figures:?}");
            samples[side].push(figures);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_and_medians_are_those_of_each_figure() {
        let mut order = Vec::new();
        let samples = measure_in_turns(2, 3, |side| {
            order.push(side);
            Ok(vec![side as f64, order.len() as f64])
        });
        assert_eq!(order, [0, 0, 1, 1, 0, 1, 0]);
        assert_eq!(samples.unwrap()[1], [[1.0, 3.0], [1.0, 4.0], [1.0, 6.0]]);
        assert!(measure_in_turns(1, 1, |_| Ok(vec![f64::NAN])).is_err());
        let mut figures = [9.0, 4.0, 1.0, 3.0].into_iter();
        let medians = medians(1, 3, |_| Ok(figures.next().into_iter().collect()));
        assert_eq!(medians.unwrap(), [[3.0]]);
    }
}
