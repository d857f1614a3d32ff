//! `spin`: every rank computes for a while, and prints how much it computed.

use std::process::ExitCode;

use clap::Parser;

use crate::MessagePassing;
use crate::computation::{compute, processor_time};
use crate::usage::{Seconds, exit_code, parse};

/// The name in messages.
const PROGRAM: &str = "spin";

/// Compute without passing a message, and count the units of work done.
#[derive(Debug, Clone, Parser)]
#[command(name = PROGRAM)]
pub struct SpinOptions {
    /// How long, in seconds of wall time
    #[arg(long, default_value = "1")]
    pub seconds: Seconds,
}

/// Runs `spin` as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints `computing` when all have started. Then every rank prints
/// `rank R: U units of work in C s of processor time`.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    match parse(mpi, PROGRAM, arguments) {
        Ok(options) => exit_code(mpi, PROGRAM, run(mpi, &options)),
        Err(code) => code,
    }
}

/// Computes on every rank and prints as documented at [`command`].
///
/// # Errors
///
/// A barrier before or after failed.
pub fn run<M: MessagePassing>(mpi: &M, options: &SpinOptions) -> Result<(), M::Error> {
    mpi.barrier()?;
    if mpi.rank() == 0 {
        println!("computing");
    }
    compute_and_tell(mpi, options.seconds);
    mpi.barrier()
}

/// Computes, then prints this rank's line.
pub(crate) fn compute_and_tell<M: MessagePassing>(mpi: &M, seconds: Seconds) {
    let before = processor_time();
    let units = compute(seconds.0);
    let cpu = processor_time().saturating_sub(before);
    println!(
        "rank {}: {units} units of work in {:.6} s of processor time",
        mpi.rank(),
        cpu.as_secs_f64()
    );
}
