//! `pingpong`: messages to and fro between ranks 0 and 1, timed.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::MessagePassing;
use crate::usage::{FAILURE, complain, parse, refuse};

/// The name in messages.
const PROGRAM: &str = "pingpong";

/// Tag of both directions.
const TAG: i32 = 7;

/// Time messages to and fro between ranks 0 and 1; other ranks watch.
#[derive(Debug, Clone, Parser)]
#[command(name = PROGRAM)]
pub struct PingPongOptions {
    /// Size of a message, a multiple of 8
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=1 << 30))]
    pub bytes: u32,

    /// Round trips that are timed
    #[arg(long, default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub iterations: u32,

    /// Round trips before those
    #[arg(long, default_value_t = 100)]
    pub warmup: u32,
}

/// Sorted half round trips, the shortest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    half_round_trips: Vec<Duration>,
}

impl Statistics {
    fn new(mut half_round_trips: Vec<Duration>) -> Statistics {
        half_round_trips.sort_unstable();
        Statistics { half_round_trips }
    }

    /// Returns the half round trip that a share of `per_mille` thousandths does not exceed: 0 gives
    /// the shortest, 500 the median, 1000 the longest.
    pub fn quantile(&self, per_mille: usize) -> Duration {
        let last = self.half_round_trips.len().saturating_sub(1);
        self.half_round_trips
            .get(last * per_mille.min(1000) / 1000)
            .copied()
            .unwrap_or_default()
    }

    /// Returns the mean half round trip.
    pub fn mean(&self) -> Duration {
        let count = u32::try_from(self.half_round_trips.len())
            .unwrap_or(u32::MAX)
            .max(1);
        self.half_round_trips.iter().sum::<Duration>() / count
    }
}

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum PingPongError {
    /// The job has no second process.
    #[error("{0} process cannot play: start 2 or more")]
    Alone(usize),
    /// The size is not a whole number of doubles.
    #[error("--bytes is {0}, not a multiple of 8: give {below} or {above}",
        below = .0 / 8 * 8, above = .0 / 8 * 8 + 8)]
    Bytes(u32),
    /// An element came back different from what was sent.
    #[error("round trip {round}: element {index} came back as {found}, not {sent}")]
    Corrupt {
        /// The round trip, from 0, warm-up included.
        round: u32,
        /// The index of the element in the message.
        index: usize,
        /// The value that rank 0 sent.
        sent: f64,
        /// The value that came back.
        found: f64,
    },
    /// A message was not passed.
    #[error("failed to pass messages: {0}")]
    MessagePassing(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Runs `pingpong` as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints the statistics. Exit codes are 0, 2 if the arguments or the number of processes
/// are wrong, 1 if the run failed.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let options: PingPongOptions = match parse(mpi, PROGRAM, arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    let error = match run(mpi, &options) {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(statistics)) => match print(&mut io::stdout(), &options, &statistics) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => {
                complain(
                    mpi,
                    PROGRAM,
                    format_args!("failed to write the statistics: {error}"),
                );
                return ExitCode::from(FAILURE);
            }
        },
        Err(error) => error,
    };
    if matches!(error, PingPongError::Alone(_) | PingPongError::Bytes(_)) {
        return refuse(mpi, PROGRAM, &error);
    }
    complain(mpi, PROGRAM, &error);
    ExitCode::from(FAILURE)
}

/// Runs the round trips; rank 0 gets the statistics. It checks the content of every returned
/// message.
pub fn run<M: MessagePassing>(
    mpi: &M,
    options: &PingPongOptions,
) -> Result<Option<Statistics>, PingPongError> {
    if mpi.size() < 2 {
        return Err(PingPongError::Alone(mpi.size()));
    }
    if !options.bytes.is_multiple_of(8) {
        return Err(PingPongError::Bytes(options.bytes));
    }
    let failed = |error: M::Error| PingPongError::MessagePassing(Box::new(error));
    let elements = options.bytes as usize / 8;
    let rounds = options.warmup.saturating_add(options.iterations);
    mpi.barrier().map_err(failed)?;
    let mut times = Vec::new();
    let mut ping = vec![0.0; elements];
    let mut pong = vec![0.0; elements];
    for round in 0..rounds {
        match mpi.rank() {
            0 => {
                // The content changes every time, so that a stale message is detected.
                for (index, element) in ping.iter_mut().enumerate() {
                    *element = f64::from(round) + f64::from(u32::try_from(index).unwrap_or(0));
                }
                let start = Instant::now();
                mpi.send(&ping, 1, TAG).map_err(failed)?;
                mpi.recv(&mut pong, 1, TAG).map_err(failed)?;
                let time = start.elapsed() / 2;
                if let Some(index) = ping
                    .iter()
                    .zip(&pong)
                    .position(|(sent, found)| sent != found)
                {
                    let (sent, found) = (ping[index], pong[index]);
                    return Err(PingPongError::Corrupt {
                        round,
                        index,
                        sent,
                        found,
                    });
                }
                if round >= options.warmup {
                    times.push(time);
                }
            }
            1 => {
                mpi.recv(&mut pong, 0, TAG).map_err(failed)?;
                mpi.send(&pong, 0, TAG).map_err(failed)?;
            }
            _ => break,
        }
    }
    mpi.barrier().map_err(failed)?;
    Ok((mpi.rank() == 0).then(|| Statistics::new(times)))
}

fn print(
    out: &mut dyn Write,
    options: &PingPongOptions,
    statistics: &Statistics,
) -> io::Result<()> {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    writeln!(
        out,
        "{} bytes, {} round trips; half a round trip in us:",
        options.bytes, options.iterations
    )?;
    for (name, time) in [
        ("min", statistics.quantile(0)),
        ("median", statistics.quantile(500)),
        ("mean", statistics.mean()),
        ("p99", statistics.quantile(990)),
        ("max", statistics.quantile(1000)),
    ] {
        writeln!(out, "  {name:<6} {:>12.3}", us(time))?;
    }
    if options.bytes == 0 {
        return Ok(());
    }
    let megabytes_per_s = f64::from(options.bytes) / us(statistics.quantile(500)).max(1e-3);
    let decimals = if megabytes_per_s < 10.0 { 4 } else { 1 };
    writeln!(out, "  at the median {megabytes_per_s:.decimals$} MB/s")
}
