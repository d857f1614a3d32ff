//! How a row is measured: all ranks go through the loop equally often, as rank 0 decides.

use super::buffers::Buffers;
use super::loops::{self, Taken, window};
use super::options::{Case, Options};
use super::statistics::{Quartiles, Row};
use crate::BytePassing;

/// No row needs more operations in a sample.
const MOST_ITERATIONS: u64 = 100_000_000;

/// Measures a case, and gives its row to rank 0.
pub(super) fn row<M: BytePassing>(
    mpi: &M,
    case: Case,
    options: &Options,
) -> Result<Option<Row>, M::Error> {
    let mut buffers = Buffers::new(window(case, mpi.size()).extent());
    let sample_us = f64::from(options.row_ms) * 1e3 / f64::from(options.samples);
    let iterations = warm_up(mpi, case, &mut buffers, sample_us)?;
    let (mut us, mut cpu_percent) = (Vec::new(), Vec::new());
    for _ in 0..options.samples {
        let taken = sample(mpi, case, &mut buffers, iterations)?;
        us.push(taken.us);
        cpu_percent.push(taken.cpu_percent);
    }
    if mpi.rank() > 0 {
        return Ok(None);
    }
    let Quartiles { q1, median, q3 } = Quartiles::of(&us);
    let lag = case.op == super::Op::Lag;
    Ok(Some(Row {
        op: case.op,
        bytes: case.bytes,
        mode: case.mode,
        ranks: mpi.size(),
        us: median,
        q1,
        q3,
        iterations,
        cpu_percent: lag.then(|| Quartiles::of(&cpu_percent).median),
    }))
}

/// Goes through the loop twice as often each time until that lasts as long as a sample should, twice
/// in a row: once may be chance. Gives how often that is.
fn warm_up<M: BytePassing>(
    mpi: &M,
    case: Case,
    buffers: &mut Buffers,
    sample_us: f64,
) -> Result<u64, M::Error> {
    let (mut best_us, mut was_enough) = (f64::INFINITY, false);
    let mut iterations = 1;
    loop {
        let Taken { us, .. } = sample(mpi, case, buffers, iterations)?;
        best_us = best_us.min(us);
        let wanted = iterations_for(sample_us, best_us, case);
        let enough = wanted <= iterations;
        let ends = (enough && was_enough) || iterations >= MOST_ITERATIONS;
        was_enough = enough;
        // Everybody has the same figures, but what is decided must be the same for certain.
        let mut decision = [f64::from(ends), wanted as f64];
        mpi.bcast(&mut decision, 0)?;
        let [ends, wanted] = decision;
        if ends > 0.0 {
            return Ok(as_count(wanted));
        }
        iterations *= 2;
    }
}

/// How many iterations of a loop, whose operation takes `us`, fill `sample_us`.
fn iterations_for(sample_us: f64, us: f64, case: Case) -> u64 {
    let operations = loops::operations(case.op);
    as_count(sample_us / (us * operations))
}

/// A number from 1 to [`MOST_ITERATIONS`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between two small positive numbers"
)]
fn as_count(number: f64) -> u64 {
    number.clamp(1.0, MOST_ITERATIONS as f64) as u64
}

/// All begin together, and the slowest counts.
fn sample<M: BytePassing>(
    mpi: &M,
    case: Case,
    buffers: &mut Buffers,
    iterations: u64,
) -> Result<Taken, M::Error> {
    mpi.barrier()?;
    let taken = loops::run(mpi, case, buffers, iterations)?;
    let mut slowest = [taken.us, taken.cpu_percent];
    mpi.allreduce_max(&mut slowest)?;
    let [us, cpu_percent] = slowest;
    Ok(Taken { us, cpu_percent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Mode, Op};

    #[test]
    fn iterations_fill_a_sample_and_are_never_none() {
        let case = |op| Case {
            op,
            bytes: 8,
            mode: Mode::Untouched,
        };
        assert_eq!(iterations_for(1000.0, 0.5, case(Op::Barrier)), 2000);
        assert_eq!(iterations_for(1000.0, 0.5, case(Op::Latency)), 1000);
        assert_eq!(iterations_for(6400.0, 1.0, case(Op::Rate)), 100);
        assert_eq!(iterations_for(1000.0, 1e9, case(Op::Barrier)), 1);
        assert_eq!(
            iterations_for(1000.0, 0.0, case(Op::Barrier)),
            MOST_ITERATIONS
        );
    }
}
