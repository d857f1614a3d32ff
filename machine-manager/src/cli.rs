//! The command line.

use crate::quantities::{parse_bandwidth, parse_count, parse_duration, parse_reduce, parse_size};
use bcs_core::job::{Driver, Strobe};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// BCS-MPI: an MPI runtime in which the whole cluster marches to one beat.
#[derive(Debug, Parser)]
#[command(name = "bcs", version, arg_required_else_help = true)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program as a job of communicating ranks
    Run(RunArgs),
    /// Simulate a cluster in virtual time, with faults, under checkers
    Sim(SimArgs),
    /// Look at what the Monitoring and Debugging System recorded
    Mds(MdsArgs),
    /// What the exit codes of `bcs run` mean
    #[command(long_about = crate::exit_code::TABLE)]
    ExitCodes,
}

/// What `bcs run` can be asked.
#[derive(Debug, Args)]
#[command(
    override_usage = "bcs run [OPTIONS] PROGRAM [ARGS]...",
    disable_help_subcommand = true,
    arg_required_else_help = false,
    subcommand_value_name = "PROGRAM",
    after_help = crate::builtin::help()
)]
pub struct RunArgs {
    /// Number of ranks, each a process
    #[arg(short = 'n', value_name = "N", default_value_t = 1, value_parser = parse_count,
          allow_negative_numbers = true)]
    pub ranks: usize,
    /// Number of nodes (emulated NICs) that share the ranks, consecutive ranks on one node
    #[arg(long, value_name = "M", default_value_t = 1, value_parser = parse_count,
          allow_negative_numbers = true)]
    pub nodes: usize,
    /// Length of a time slice, 50us to 100ms; with elastic strobes the longest gap between two
    #[arg(long, value_name = "D", default_value = "500us", value_parser = parse_duration)]
    pub time_slice: Duration,
    /// When slices are struck: on demand, or at every multiple of the time slice with work
    #[arg(long, value_name = "S", value_enum, default_value_t = StrobeName::Elastic)]
    pub strobe: StrobeName,
    /// Standard sends of at most so many bytes complete when they are posted; 0: none
    #[arg(long, value_name = "B", default_value = "4KiB", value_parser = parse_size)]
    pub eager_limit: u64,
    /// Bytes per second that may enter a node, as 2GB/s [default: measured]
    #[arg(long, value_name = "R", value_parser = parse_bandwidth)]
    pub link_bandwidth: Option<u64>,
    /// OS threads of a NIC: one for all, one each, one per NIC thread [default: by cores]
    #[arg(long, value_name = "L", value_enum)]
    pub nic_threads: Option<DriverName>,
    /// Reductions of at most LIMIT elements in software floating point (soft:LIMIT), or none (host)
    #[arg(long, value_name = "soft:LIMIT|host", default_value = "soft:256",
          value_parser = parse_reduce)]
    pub reduce: u32,
    /// Label every line of output with its rank
    #[arg(short = 'l')]
    pub label: bool,
    /// End the job after so long, with exit code 124
    #[arg(long, value_name = "D", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Record, and write one JSON file per rank and node into this directory
    #[arg(long, value_name = "DIR")]
    pub mds: Option<PathBuf>,
    /// Say on standard error what is started
    #[arg(short = 'v')]
    pub verbose: bool,
    /// Strike every slice, and all five microphases of it, needed or not: to measure what one costs
    #[arg(long, hide = true)]
    pub all_phases: bool,
    /// The program and its arguments: nothing after its name is ours.
    #[command(subcommand)]
    pub program: ProgramArgs,
}

/// What `bcs sim` can be asked.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// Number of nodes [default: 2 to 16, by the seed]
    #[arg(long, value_name = "N")]
    pub nodes: Option<usize>,
    /// The seed, which fixes everything
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// How many seeds to run, from the given one on
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub seeds: u64,
    /// Kinds of faults; each seed has each of them with probability one half
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "KINDS",
        default_value = "all"
    )]
    pub faults: Vec<FaultName>,
    /// Run every seed twice and compare the trace hashes
    #[arg(long)]
    pub twice: bool,
}

/// `--faults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FaultName {
    /// Every kind.
    All,
    /// No fault.
    None,
    /// Transfers fail whole.
    Lose,
    /// Transfers are late.
    Delay,
    /// Transfers of different pairs overtake each other.
    Reorder,
    /// Nodes are slow.
    Slow,
    /// Nodes die.
    Crash,
}

/// What `bcs mds` can be asked.
#[derive(Debug, Args)]
pub struct MdsArgs {
    /// What to do with the recordings.
    #[command(subcommand)]
    pub command: MdsCommand,
}

/// Subcommands of `bcs mds`.
#[derive(Debug, Subcommand)]
pub enum MdsCommand {
    /// Print per-primitive statistics and what the nodes did
    Report {
        /// The directory that `bcs run --mds` wrote
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Of one rank only
        #[arg(long, value_name = "R")]
        rank: Option<u32>,
    },
}

/// The program with its arguments.
///
/// To clap it is an unknown subcommand: that is how clap passes everything after a name on as it
/// is, even what looks like an option of ours.
#[derive(Debug, Subcommand)]
pub enum ProgramArgs {
    /// Name or path, then arguments.
    #[command(external_subcommand)]
    Line(Vec<OsString>),
}

/// `--strobe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrobeName {
    /// At every multiple of the time slice at which there is work.
    Fixed,
    /// When somebody waits for it.
    Elastic,
}

impl From<StrobeName> for Strobe {
    fn from(name: StrobeName) -> Self {
        match name {
            StrobeName::Fixed => Self::Fixed,
            StrobeName::Elastic => Self::Elastic,
        }
    }
}

/// `--nic-threads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverName {
    /// One OS thread for all NICs of this machine.
    Shared,
    /// One OS thread per NIC.
    Coprocessor,
    /// One OS thread per NIC thread.
    Dedicated,
}

impl From<DriverName> for Driver {
    fn from(name: DriverName) -> Self {
        match name {
            DriverName::Shared => Self::Shared,
            DriverName::Coprocessor => Self::Coprocessor,
            DriverName::Dedicated => Self::Dedicated,
        }
    }
}

/// A complaint of clap in one line: what is wrong, and where to look.
#[must_use]
pub fn one_line(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ErrorKind};
    if error.kind() == ErrorKind::MissingSubcommand {
        return "no program is named: say what to run, as in `bcs run -n 4 hello`".into();
    }
    let text = error.render().to_string();
    let what = text.split("\n\n").next().unwrap_or_default();
    let what: Vec<&str> = what.split_whitespace().collect();
    let what = what.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    let hint = match error.get(ContextKind::InvalidSubcommand) {
        Some(_) => "`bcs help`",
        None => "`bcs run --help`",
    };
    format!("{what}; see {hint}")
}
