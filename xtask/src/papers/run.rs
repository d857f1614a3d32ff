//! A run of the whole document: how thorough it is, and how what takes turns is measured.

use anyhow::{Result, ensure};
use apps::bench::{Mode, Op, Options, Row, Size};

use crate::bootstrap::median;
use crate::contest::Side;
use crate::rounds::turns;
use crate::workspace::Workspace;

/// What sections measure with.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// What is measured.
    pub(super) workspace: &'a Workspace,
    /// Whether there are minutes rather than the better part of an hour.
    pub(super) quick: bool,
}

impl Run<'_> {
    /// One thing for a quick run, another for a whole one.
    pub(super) fn choose<T>(&self, quick: T, whole: T) -> T {
        match self.quick {
            true => quick,
            false => whole,
        }
    }

    /// How often what takes seconds is measured.
    pub(super) fn rounds(&self) -> usize {
        self.choose(1, 5)
    }

    /// The rows of `bench` with so many ranks, for each layout (options of `bcs run`), in microseconds.
    ///
    /// # Errors
    ///
    /// A job failed.
    pub(super) fn bench(
        &self,
        layouts: &[&str],
        ranks: usize,
        bench: &Bench<'_>,
    ) -> Result<Vec<Vec<Row>>> {
        let options = Options {
            ops: bench.ops.to_vec(),
            sizes: bench.sizes.iter().copied().map(Size).collect(),
            mode: vec![Mode::Untouched],
            row_ms: self.choose(20, 100),
            samples: 5,
        };
        let words = |layout: &&str| layout.split_whitespace().map(str::to_owned).collect();
        let sides: Vec<Side> = layouts.iter().map(words).map(Side::Ours).collect();
        let mut rows: Vec<Vec<Row>> = vec![Vec::new(); sides.len()];
        let times = medians(sides.len(), self.rounds(), |side| {
            let measured = sides[side].measure(self.workspace, ranks, &options)?;
            let times = measured.iter().map(|row| row.us).collect();
            rows[side] = measured;
            Ok(times)
        })?;
        for (rows, times) in rows.iter_mut().zip(times) {
            rows.iter_mut().zip(times).for_each(|(row, us)| row.us = us);
        }
        Ok(rows)
    }
}

/// What `bench` is asked for.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    /// Operations.
    pub(super) ops: &'a [Op],
    /// Sizes, in bytes.
    pub(super) sizes: &'a [usize],
}

/// Has `sides` sides measured in turns, `rounds` times, and gives the median of each of a side's figures.
///
/// # Errors
///
/// As of [`in_turns`].
pub(super) fn medians(
    sides: usize,
    rounds: usize,
    measure: impl FnMut(usize) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<f64>>> {
    let samples = in_turns(sides, rounds, measure)?;
    let figures = samples.into_iter().map(|rounds| {
        let count = rounds.first().map_or(0, Vec::len);
        let of = |figure: usize| rounds.iter().map(move |round| round[figure]);
        (0..count)
            .map(|figure| median(&of(figure).collect::<Vec<_>>()))
            .collect()
    });
    Ok(figures.collect())
}

/// What each side measured in each round.
///
/// # Errors
///
/// What `measure` fails with; a figure that is none.
pub(super) fn in_turns(
    sides: usize,
    rounds: usize,
    mut measure: impl FnMut(usize) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<Vec<f64>>>> {
    let mut samples = vec![Vec::with_capacity(rounds); sides];
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
        let samples = in_turns(2, 3, |side| {
            order.push(side);
            Ok(vec![side as f64, order.len() as f64])
        });
        assert_eq!(order, [0, 1, 1, 0, 1, 0]);
        assert_eq!(samples.unwrap()[1], [[1.0, 2.0], [1.0, 3.0], [1.0, 5.0]]);
        assert!(in_turns(1, 1, |_| Ok(vec![f64::NAN])).is_err());
        let mut figures = [4.0, 1.0, 3.0].into_iter();
        let medians = medians(1, 3, |_| Ok(figures.next().into_iter().collect()));
        assert_eq!(medians.unwrap(), [[3.0]]);
    }
}
