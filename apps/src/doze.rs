//! `doze`: a job in which nothing happens for a while.

use std::process::ExitCode;

use clap::Parser;

use crate::MessagePassing;
use crate::computation::sleep;
use crate::usage::{Seconds, exit_code, parse};

/// The name in messages.
const PROGRAM: &str = "doze";

/// The tag of the message that ends it.
const TAG: i32 = 11;

/// Sleep on the ranks of even numbers, and wait for their message on the others.
#[derive(Debug, Clone, Parser)]
#[command(name = PROGRAM)]
pub struct DozeOptions {
    /// How long, in seconds
    #[arg(long, default_value = "1")]
    pub seconds: Seconds,
}

/// Runs `doze` as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints `dozing` when all have started, and `awake` when its sleep is over.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    match parse(mpi, PROGRAM, arguments) {
        Ok(options) => exit_code(mpi, PROGRAM, run(mpi, &options)),
        Err(code) => code,
    }
}

/// Sleeps on even ranks, which then send to the next rank; that rank waits for the message in a
/// receive. A last rank without a partner only sleeps.
///
/// # Errors
///
/// A message or a barrier failed.
pub fn run<M: MessagePassing>(mpi: &M, options: &DozeOptions) -> Result<(), M::Error> {
    let rank = mpi.rank();
    mpi.barrier()?;
    if rank == 0 {
        println!("dozing");
    }
    if rank % 2 == 1 {
        mpi.recv(&mut [0.0], rank - 1, TAG)?;
    } else {
        sleep(options.seconds.0);
        if rank == 0 {
            println!("awake");
        }
        if rank + 1 < mpi.size() {
            mpi.send(&[1.0], rank + 1, TAG)?;
        }
    }
    mpi.barrier()
}
