//! The command lines of what looks at running jobs from outside, and ends them.

use crate::quantities::parse_duration;
use clap::Args;
use std::time::Duration;

/// The arguments of `bcs ps`.
#[derive(Debug, Args)]
pub struct PsArgs {
    /// As JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `bcs state`.
#[derive(Debug, Args)]
#[command(after_help = "\
A rank that waits is named with what it waits for, whichever road that would take; ranks that do the
same share a line. Pending is what a rank has posted at its NIC beside that. Exit codes: 0; 1 if a
node has not answered; 2 if there is no such job, or it has ended; 125 if it does not answer.")]
pub struct StateArgs {
    /// The job's id, or the process of its `bcs run`, as `bcs ps` lists them [default: the only
    /// job]
    #[arg(value_name = "JOB")]
    pub job: Option<String>,
    /// As JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `bcs kill`.
#[derive(Debug, Args)]
#[command(after_help = "\
The job ends as if its `bcs run` had received SIGTERM, with the exit code of that (143). Exit codes:
0 when it is gone; 2 if there is no such job; 125 if it may not be ended.")]
pub struct KillArgs {
    /// The job's id, or the process of its `bcs run`, as `bcs ps` lists them
    #[arg(value_name = "JOB")]
    pub job: String,
    /// At once: without the time that ranks have to end by themselves (`--kill-delay`)
    #[arg(long)]
    pub now: bool,
}

/// The arguments of `bcs mds top`.
#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal it is a view that changes: arrows and page keys scroll, q and Ctrl-C leave. Elsewhere a
table is printed at each look. Shares of time and rates are those since the look before, the first
ones since the job began. MPI, calls and messages take a job that records (`bcs run --mds`).")]
pub struct TopArgs {
    /// The job's id, or the process of its `bcs run`, as `bcs ps` lists them [default: the only
    /// job]
    #[arg(value_name = "JOB")]
    pub job: Option<String>,
    /// From look to look, 100ms to 1h
    #[arg(long, value_name = "D", default_value = "1s", value_parser = parse_interval)]
    pub interval: Duration,
    /// How many looks [default: until the job ends]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
}

/// A look asks all node managers: ten times in a second costs a job nothing that can be measured.
fn parse_interval(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(100)..=Duration::from_hours(1);
    let interval = parse_duration(text)?;
    match range.contains(&interval) {
        true => Ok(interval),
        false => Err("out of range: choose an interval from 100ms to 1h".into()),
    }
}
