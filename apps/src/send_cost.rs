//! `send-cost`: measures a blocking send whose receive is already posted.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::MessagePassing;
use crate::computation::compute;
use crate::usage::{exit_code, parse, too_few_ranks};

/// The name in messages.
const PROGRAM: &str = "send-cost";

/// The tag of its messages.
const TAG: i32 = 13;

/// The longest computation before a send, in slices. It makes the moment of a send uniformly random
/// within its slice.
const LONGEST_COMPUTATION_SLICES: f64 = 4.0;

/// Time blocking 8-byte sends from rank 0 to rank 1, posted at random moments of a slice.
#[derive(Debug, Clone, Parser)]
#[command(name = PROGRAM)]
pub struct SendCostOptions {
    /// Sends that are timed
    #[arg(long, default_value_t = 2000,
        value_parser = clap::value_parser!(u32).range(1..=500_000))]
    pub samples: u32,

    /// Sends before those
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=500_000))]
    pub warmup: u32,

    /// Length of the job's time slice: before each send rank 0 computes for 0 to 4 of it
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub slice_us: u32,

    /// Seed of the random moments
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Runs `send-cost` as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints `mean send call: T us over N calls`.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let options: SendCostOptions = match parse(mpi, PROGRAM, arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    if mpi.size() < 2 {
        return too_few_ranks(mpi, PROGRAM, 2);
    }
    let told = run(mpi, &options).map(|mean| {
        if let Some(mean) = mean {
            let mean_us = mean.as_secs_f64() * 1e6;
            println!(
                "mean send call: {mean_us:.3} us over {} calls",
                options.samples
            );
        }
    });
    exit_code(mpi, PROGRAM, told)
}

/// Posts all receives on rank 1; then rank 0 computes and sends by turns. Rank 0 gets the mean
/// duration of a send call; ranks from 2 on do nothing. The job must have at least two ranks.
///
/// # Errors
///
/// A message or a barrier failed.
pub fn run<M: MessagePassing>(
    mpi: &M,
    options: &SendCostOptions,
) -> Result<Option<Duration>, M::Error> {
    let sends = options.warmup + options.samples;
    let receives = (0..if mpi.rank() == 1 { sends } else { 0 })
        .map(|_| mpi.irecv(vec![0.0], 0, TAG))
        .collect::<Result<Vec<_>, _>>()?;
    mpi.barrier()?;
    let mut total = Duration::ZERO;
    if mpi.rank() == 0 {
        let longest =
            Duration::from_micros(u64::from(options.slice_us)).mul_f64(LONGEST_COMPUTATION_SLICES);
        let mut moments = RandomMoments(options.seed);
        for send in 0..sends {
            compute(longest.mul_f64(moments.next()));
            let start = Instant::now();
            mpi.send(&[f64::from(send)], 1, TAG)?;
            if send >= options.warmup {
                total += start.elapsed();
            }
        }
    }
    for receive in receives {
        mpi.wait(receive)?;
    }
    mpi.barrier()?;
    Ok((mpi.rank() == 0).then(|| total / options.samples))
}

/// Uniform numbers from 0 to 1 by SplitMix64: good enough to be independent of the phase of a
/// slice.
struct RandomMoments(u64);

impl RandomMoments {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        let high = u32::try_from(bits >> 32).unwrap_or(u32::MAX);
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::RandomMoments;

    #[test]
    fn moments_are_spread_evenly_between_0_and_1() {
        let mut moments = RandomMoments(1);
        let drawn: Vec<f64> = (0..100_000).map(|_| moments.next()).collect();
        assert!(drawn.iter().all(|moment| (0.0..1.0).contains(moment)));
        let mean = drawn.iter().sum::<f64>() / 100_000.0;
        let early = drawn.iter().filter(|moment| **moment < 0.25).count();
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        assert!((24_300..25_700).contains(&early), "{early}");
    }
}
