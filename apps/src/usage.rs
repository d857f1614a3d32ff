//! Command lines of the programs: options as input, one line of error message as output.

use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use clap::Parser;
use clap::error::ErrorKind;

use crate::MessagePassing;

/// The exit code of a program with invalid arguments.
pub(crate) const USAGE: u8 = 2;

/// The exit code of a program that failed at its work.
pub(crate) const FAILURE: u8 = 1;

/// Parses a program's arguments, without its name.
///
/// All processes of a job have the same command line, so all get the same result. Only rank 0
/// prints an error; the others leave with the same exit code.
pub(crate) fn parse<P: Parser, M: MessagePassing>(
    mpi: &M,
    program: &str,
    arguments: &[String],
) -> Result<P, ExitCode> {
    let name = program.to_owned();
    P::try_parse_from(std::iter::once(&name).chain(arguments)).map_err(|error| {
        if matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        ) {
            if mpi.rank() == 0 {
                // If standard output is closed, there is nowhere to report that.
                let _ = error.print();
            }
            return ExitCode::SUCCESS;
        }
        refuse(mpi, program, one_line(&error.to_string()))
    })
}

/// Prints an error on rank 0, in one line that starts with the program's name.
pub(crate) fn complain<M: MessagePassing>(mpi: &M, program: &str, what: impl Display) {
    if mpi.rank() == 0 {
        // In one piece, for standard error has no buffer.
        let line = format!("{program}: {what}\n");
        eprint!("{line}");
    }
}

/// Prints what is wrong with the input of a program, and returns the exit code for that. All
/// processes call it.
///
/// No process leaves before the line is written: the first one that fails ends the job.
pub(crate) fn refuse<M: MessagePassing>(mpi: &M, program: &str, what: impl Display) -> ExitCode {
    complain(mpi, program, what);
    // If it fails, the job is ending, and the exit code says no more than it would.
    let _is_ending = mpi.barrier();
    ExitCode::from(USAGE)
}

/// Returns the exit code for the result of a program, and prints an error.
pub(crate) fn exit_code<M: MessagePassing>(
    mpi: &M,
    program: &str,
    result: Result<(), M::Error>,
) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(
                mpi,
                program,
                format_args!("failed to pass messages: {error}"),
            );
            ExitCode::from(FAILURE)
        }
    }
}

/// Reports that there are fewer than `least` ranks, and returns the exit code for that.
pub(crate) fn too_few_ranks<M: MessagePassing>(mpi: &M, program: &str, least: usize) -> ExitCode {
    let ranks = mpi.size();
    refuse(
        mpi,
        program,
        format_args!("{ranks} process is too few: start {least} or more"),
    )
}

/// A time on a command line, in seconds: more than 0 and at most a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub Duration);

/// The longest time that a program may be told to last.
const LONGEST: Duration = Duration::from_secs(86_400);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .ok()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|time| !time.is_zero() && *time <= LONGEST)
            .map(Self)
            .ok_or_else(|| "give a number of seconds, more than 0 and at most 86400".to_owned())
    }
}

/// Returns the parts of clap's message that state the error and the valid values, in one line.
fn one_line(message: &str) -> String {
    let lines: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .collect();
    let text = lines.join(" ");
    format!(
        "{}; --help lists the options",
        text.strip_prefix("error: ").unwrap_or(&text)
    )
}
