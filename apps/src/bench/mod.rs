//! `bench`: measures messages and collectives, at sizes from nothing to megabytes.
//!
//! Rank 0 prints a line of JSON for each operation, size and mode ([`BenchRow`]). `bcs bench` makes
//! a table of these lines. `apps/c/bench.c` is the same program in C, for other implementations. It
//! has the same options, loops, statistics and rows, so every change here must be made there, too.
//!
//! | module | contains |
//! |---|---|
//! | [`options`] | the rows that the user requests |
//! | `loops` | the timed loops |
//! | `buffers` | the memory of the messages |
//! | `measuring` | the number of samples, and the clock |
//! | [`statistics`] | the printed figures |

mod buffers;
mod loops;
mod measuring;
pub mod options;
pub mod statistics;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::BytePassing;
use crate::usage::{FAILURE, complain, exit_code, parse, refuse, too_few_ranks};

pub use measuring::{Effort, time_loop};
pub use options::{BenchCase, BenchOperation, BenchOptions, BufferMode, ByteSize};
pub use statistics::{BenchRow, Quartiles};

/// The name in messages.
const PROGRAM: &str = "bench";

/// Time messages and collectives; a line of JSON for each.
#[derive(Debug, Clone, Parser)]
#[command(name = PROGRAM)]
struct CommandLine {
    #[command(flatten)]
    options: BenchOptions,
}

/// Runs `bench` as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints the rows as they are measured. Exit codes are 0, 2 if the arguments or the number
/// of processes are wrong, 1 if the run failed.
pub fn command<M: BytePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let CommandLine { options } = match parse(mpi, PROGRAM, arguments) {
        Ok(line) => line,
        Err(code) => return code,
    };
    if mpi.size() < 2 {
        return too_few_ranks(mpi, PROGRAM, 2);
    }
    if options.cases().is_empty() {
        let what = "nothing to measure: none of --ops takes one of --sizes";
        return refuse(mpi, PROGRAM, what);
    }
    let mut written = Ok(());
    let result = run(mpi, &options, |row| {
        // The other ranks do not know of the error, so the run continues to its end.
        if written.is_ok() {
            written = print(&row);
        }
    });
    if let Err(error) = written {
        complain(mpi, PROGRAM, format_args!("failed to write a row: {error}"));
        return ExitCode::from(FAILURE);
    }
    exit_code(mpi, PROGRAM, result)
}

/// Measures all requested rows; rank 0 prints them.
///
/// # Errors
///
/// A message or a collective failed.
pub fn run<M: BytePassing>(
    mpi: &M,
    options: &BenchOptions,
    mut tell: impl FnMut(BenchRow),
) -> Result<(), M::Error> {
    for case in options.cases() {
        measuring::row(mpi, case, options)?
            .into_iter()
            .for_each(&mut tell);
    }
    Ok(())
}

fn print(row: &BenchRow) -> io::Result<()> {
    let line = serde_json::to_string(row)?;
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}
