//! Measures a row: all ranks run the loop the same number of times, which rank 0 decides.

use super::buffers::Buffers;
use super::loops::{self, LoopTime, window};
use super::options::{BenchCase, BenchOptions};
use super::statistics::{BenchRow, Quartiles};
use crate::{BytePassing, MessagePassing};

/// An upper limit for the iterations of a sample; no row needs more.
const MOST_ITERATIONS: u64 = 100_000_000;

/// Measures a case, and returns its row on rank 0.
pub(super) fn row<M: BytePassing>(
    mpi: &M,
    case: BenchCase,
    options: &BenchOptions,
) -> Result<Option<BenchRow>, M::Error> {
    let mut buffers = Buffers::new(window(case, mpi.size()).extent());
    let effort = Effort {
        row_ms: options.row_ms,
        samples: options.samples,
    };
    let operations = loops::operations(case.op);
    let measured = measure(mpi, effort, operations, |iterations| {
        loops::run(mpi, case, &mut buffers, iterations)
    })?;
    if mpi.rank() > 0 {
        return Ok(None);
    }
    let quartiles = |of: fn(&LoopTime) -> f64| {
        let samples: Vec<f64> = measured.samples.iter().map(of).collect();
        Quartiles::of(&samples)
    };
    let Quartiles { q1, median, q3 } = quartiles(|taken| taken.us);
    let lag = case.op == super::BenchOperation::Lag;
    Ok(Some(BenchRow {
        op: case.op,
        bytes: case.bytes,
        mode: case.mode,
        ranks: mpi.size(),
        us: median,
        q1,
        q3,
        iterations: measured.iterations,
        cpu_percent: lag.then(|| quartiles(|taken| taken.cpu_percent).median),
    }))
}

/// Measures a program's own loop in the way of `bench`. `run` runs the loop the given number of
/// times on all ranks, and returns the microseconds of one iteration on its rank; the slowest rank
/// counts. All ranks get the same samples.
///
/// # Errors
///
/// `run` fails, or a message of the measurement does.
pub fn time_loop<M: MessagePassing>(
    mpi: &M,
    effort: Effort,
    mut run: impl FnMut(u64) -> Result<f64, M::Error>,
) -> Result<Quartiles, M::Error> {
    let measured = measure(mpi, effort, 1.0, |iterations| {
        let cpu_percent = 0.0;
        run(iterations).map(|us| LoopTime { us, cpu_percent })
    })?;
    let us: Vec<f64> = measured.samples.iter().map(|taken| taken.us).collect();
    Ok(Quartiles::of(&us))
}

/// The duration of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// All samples together, in milliseconds; warming up comes on top.
    pub row_ms: u32,
    /// The number of samples.
    pub samples: u32,
}

struct LoopSamples {
    /// The iterations of a sample.
    iterations: u64,
    samples: Vec<LoopTime>,
}

/// Measures a loop. One iteration of it takes `operations` times the time that `run` returns.
fn measure<M: MessagePassing>(
    mpi: &M,
    effort: Effort,
    operations: f64,
    mut run: impl FnMut(u64) -> Result<LoopTime, M::Error>,
) -> Result<LoopSamples, M::Error> {
    let sample_us = f64::from(effort.row_ms) * 1e3 / f64::from(effort.samples);
    let iterations = warm_up(mpi, operations, sample_us, &mut run)?;
    let samples = (0..effort.samples).map(|_| sample(mpi, iterations, &mut run));
    Ok(LoopSamples {
        iterations,
        samples: samples.collect::<Result<_, _>>()?,
    })
}

/// Doubles the number of iterations until the loop lasts as long as a sample should, twice in a
/// row, because once may be chance. Returns that number.
fn warm_up<M: MessagePassing>(
    mpi: &M,
    operations: f64,
    sample_us: f64,
    run: &mut impl FnMut(u64) -> Result<LoopTime, M::Error>,
) -> Result<u64, M::Error> {
    let (mut best_us, mut was_enough) = (f64::INFINITY, false);
    let mut iterations = 1;
    loop {
        let LoopTime { us, .. } = sample(mpi, iterations, run)?;
        best_us = best_us.min(us);
        let wanted = iterations_for(sample_us, best_us, operations);
        let enough = wanted <= iterations;
        let ends = (enough && was_enough) || iterations >= MOST_ITERATIONS;
        was_enough = enough;
        // All ranks have the same figures, but the broadcast guarantees that they decide the same.
        let mut decision = [f64::from(ends), wanted as f64];
        mpi.bcast(&mut decision, 0)?;
        let [ends, wanted] = decision;
        if ends > 0.0 {
            return Ok(as_count(wanted));
        }
        iterations *= 2;
    }
}

/// Returns how many iterations of a loop fill `sample_us`, when its operation takes `us`.
fn iterations_for(sample_us: f64, us: f64, operations: f64) -> u64 {
    as_count(sample_us / (us * operations))
}

/// Converts to an integer from 1 to [`MOST_ITERATIONS`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between two small positive numbers"
)]
fn as_count(number: f64) -> u64 {
    number.clamp(1.0, MOST_ITERATIONS as f64) as u64
}

/// Measures a sample: all ranks begin together, and the slowest counts.
fn sample<M: MessagePassing>(
    mpi: &M,
    iterations: u64,
    run: &mut impl FnMut(u64) -> Result<LoopTime, M::Error>,
) -> Result<LoopTime, M::Error> {
    mpi.barrier()?;
    let taken = run(iterations)?;
    let mut slowest = [taken.us, taken.cpu_percent];
    mpi.allreduce_max(&mut slowest)?;
    let [us, cpu_percent] = slowest;
    Ok(LoopTime { us, cpu_percent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BenchOperation;

    #[test]
    fn iterations_fill_a_sample_and_are_never_none() {
        let of = loops::operations;
        assert_eq!(
            iterations_for(1000.0, 0.5, of(BenchOperation::Barrier)),
            2000
        );
        assert_eq!(
            iterations_for(1000.0, 0.5, of(BenchOperation::Latency)),
            1000
        );
        assert_eq!(iterations_for(6400.0, 1.0, of(BenchOperation::Rate)), 100);
        assert_eq!(iterations_for(1000.0, 1e9, of(BenchOperation::Barrier)), 1);
        let at_once = iterations_for(1000.0, 0.0, of(BenchOperation::Barrier));
        assert_eq!(at_once, MOST_ITERATIONS);
    }
}
