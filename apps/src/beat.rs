//! `beat`: two ranks exchange a message in every slice while the others compute.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::MessagePassing;
use crate::computation::{compute, sleep};
use crate::spin::compute_and_tell;
use crate::usage::{Seconds, exit_code, parse, too_few_ranks};

/// The name in messages.
const PROGRAM: &str = "beat";

/// The tag of its messages.
const TAG: i32 = 17;

/// Exchanges in flight. With fixed strobes, data posted after strobe k are exchanged after strobe k
/// + 1 and released at strobe k + 2. Two exchanges in flight are therefore one in every slice.
const IN_FLIGHT: u32 = 2;

/// Exchanges in flight while the exchanging ranks compute, too: enough that they never wait for an
/// exchange.
const IN_FLIGHT_COMPUTING: u32 = 64;

/// Exchange 8 bytes between the first and the last rank all the time, and compute on the others.
#[derive(Debug, Clone, Parser)]
#[command(name = PROGRAM)]
pub struct BeatOptions {
    /// How long, in seconds of wall time
    #[arg(long, default_value = "1")]
    pub seconds: Seconds,

    /// Do not exchange: the first and the last rank sleep. This is the program to compare with
    #[arg(long, conflicts_with = "every_us")]
    pub asleep: bool,

    /// The first and the last rank compute, too, and post an exchange every US microseconds
    /// instead of as soon as one is over
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub every_us: Option<u32>,
}

/// Runs `beat` as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints `computing` when all have started and `exchanges: N` at its end; the ranks that
/// compute print what those of `spin` do.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let options: BeatOptions = match parse(mpi, PROGRAM, arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    if mpi.size() < 2 {
        return too_few_ranks(mpi, PROGRAM, 2);
    }
    let told = run(mpi, &options).map(|exchanges| {
        if let (0, Some(exchanges)) = (mpi.rank(), exchanges) {
            println!("exchanges: {exchanges}");
        }
    });
    exit_code(mpi, PROGRAM, told)
}

/// Exchanges, computes or sleeps, according to the part of this rank. The exchanging ranks get the
/// number of exchanges. The job must have at least two ranks.
///
/// # Errors
///
/// A message or a barrier failed.
pub fn run<M: MessagePassing>(mpi: &M, options: &BeatOptions) -> Result<Option<u32>, M::Error> {
    let last = mpi.size() - 1;
    mpi.barrier()?;
    if mpi.rank() == 0 {
        println!("computing");
    }
    let exchanges = match mpi.rank() {
        rank if rank != 0 && rank != last => {
            compute_and_tell(mpi, options.seconds);
            None
        }
        _ if options.asleep => {
            sleep(options.seconds.0);
            None
        }
        0 => Some(exchange(mpi, options, last)?),
        _ => Some(exchange(mpi, options, 0)?),
    };
    mpi.barrier()?;
    Ok(exchanges)
}

/// Exchanges with `partner` until rank 0 finds that the time is over.
///
/// Both ranks post ahead, so they must agree on the number of exchanges. Every message of rank 0
/// holds this total, or 0 while it is unknown. Rank 0 decides on the total `in_flight` exchanges
/// ahead. The partner is never further ahead than that, so it learns the total in time.
fn exchange<M: MessagePassing>(
    mpi: &M,
    options: &BeatOptions,
    partner: usize,
) -> Result<u32, M::Error> {
    let decides = mpi.rank() == 0;
    let (in_flight, computation) = match options.every_us {
        Some(us) => (IN_FLIGHT_COMPUTING, Duration::from_micros(u64::from(us))),
        None => (IN_FLIGHT, Duration::ZERO),
    };
    let start = Instant::now();
    let mut pending = VecDeque::new();
    let mut total = None;
    let (mut posted, mut done) = (0_u32, 0_u32);
    loop {
        while posted - done < in_flight && total.is_none_or(|total| posted < total) {
            if !computation.is_zero() {
                compute(computation);
            }
            if decides && total.is_none() && start.elapsed() >= options.seconds.0 {
                total = Some(posted + in_flight);
            }
            let says = total.map_or(0.0, f64::from);
            let receive = mpi.irecv(vec![0.0], partner, TAG)?;
            let send = mpi.isend(vec![says], partner, TAG)?;
            pending.push_back((receive, send));
            posted += 1;
        }
        let Some((receive, send)) = pending.pop_front() else {
            return Ok(posted);
        };
        let heard = mpi.wait(receive)?;
        mpi.wait(send)?;
        done += 1;
        if !decides && heard[0] > 0.0 {
            total = Some(whole(heard[0]));
        }
    }
}

/// Returns the number that rank 0 sent: doubles hold every u32 exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rank 0 sent a u32"
)]
fn whole(number: f64) -> u32 {
    number as u32
}
