//! The command line.

mod bench;
mod choices;
pub mod command_line;
mod complaints;
pub mod foreign_options;
mod live;
mod mds;
pub mod option_name;
mod run;
pub mod run_arguments;
mod tune;

pub use bench::BenchArgs;
pub use choices::{BindName, DeadlockName, FabricName, HeapName, NicThreadingName, StrobeName};
pub use complaints::complaint;
pub use live::{KillArgs, PsArgs, StateArgs, TopArgs};
pub use mds::{
    ExportArgs, ExportFormat, MatrixTransport, MdsArgs, MdsCommand, MdsTopic, SlicesArgs,
};
pub use run::{
    ApplicationOptions, FurtherApplication, HostOptions, InputName, NicOptions, ProgramArgs,
    RunArgs, RunOptions, run_options,
};
pub use tune::{ReferenceOptions, Trials, TuneArgs};

use crate::names_of_run::NAMES_OF_RUN;
use crate::quantities::parse_duration;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
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
    Run(Box<RunArgs>),
    /// Time messages and collectives: a table, and files for programs and papers
    Bench(Box<BenchArgs>),
    /// Find the time slice with which a program runs fastest
    Tune(Box<TuneArgs>),
    /// Simulate a cluster in virtual time, with faults, under checkers
    Sim(SimArgs),
    /// Print the options of `bcs run` as they are in effect, and where each came from
    #[command(long_about = CONFIGURATION_HELP, override_usage = "bcs config [OPTIONS]")]
    Config(Box<RunOptions>),
    /// Look at what the Monitoring and Debugging System recorded, or at a running job
    Mds(MdsArgs),
    /// List the jobs of this user that run on this machine; root's lists those of all users
    Ps(PsArgs),
    /// Say what all ranks of a running job do now, what they wait for, and what they have pending
    State(StateArgs),
    /// End a running job in order, and wait until it is gone
    Kill(KillArgs),
    /// Say what this machine allows, and what the runtime will do therefore
    #[command(long_about = crate::doctor::HELP)]
    Doctor(DoctorArgs),
    /// Print a script that completes command lines of `bcs` in a shell
    Completions {
        /// The shell
        #[arg(value_name = "SHELL", value_enum)]
        shell: clap_complete::Shell,
        /// The name of the command, which may be one of those of `bcs run`
        #[arg(value_name = "COMMAND", default_value = "bcs", value_parser = names())]
        command: String,
    },
    /// Write the manual pages of `bcs`, its subcommands and its other names into a directory
    Man {
        /// The directory
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Explain the exit codes of `bcs run`
    #[command(long_about = crate::exit_code::TABLE)]
    ExitCodes,
}

/// Names under which the binary may be called.
fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(["bcs"].into_iter().chain(NAMES_OF_RUN))
}

/// The arguments of `bcs sim`.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// Run bcs-mpi itself: ranks are threads that run random programs of MPI, on 1 to 4 nodes
    #[arg(long)]
    pub mpi: bool,
    /// Network that joins the nodes
    #[arg(long, value_enum, value_name = "FABRIC", default_value_t = SimulatedFabric::Sim)]
    pub fabric: SimulatedFabric,
    /// Number of nodes [default: 2 to 16, by the seed]
    #[arg(long, value_name = "N", conflicts_with = "mpi")]
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
    /// Run the seeds in this process: one of those that `--mpi` starts for some of them
    #[arg(long, hide = true, requires = "mpi")]
    pub worker: bool,
}

/// `--fabric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulatedFabric {
    /// Transfers that take time, and fail whole.
    Sim,
    /// The links of jobs on several machines, on a network that loses datagrams.
    Udp,
}

/// `--faults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum FaultName {
    /// Every kind.
    All,
    /// No fault.
    None,
    /// Transfers fail whole, or datagrams are lost.
    Lose,
    /// Transfers or datagrams are late.
    Delay,
    /// Transfers of different pairs overtake each other, or datagrams of one.
    Reorder,
    /// Nodes are slow.
    Slow,
    /// Nodes die (with --fabric sim, as the one before).
    Crash,
    /// Datagrams come twice (with --fabric udp, as the next).
    Repeat,
    /// No datagram comes for a while.
    Cut,
    /// A rank gives memory that cannot be read.
    Unreadable,
    /// A rank gives memory that cannot be written.
    Unwritable,
    /// A rank dies at some step (with --mpi, as all that follow).
    Die,
    /// Memory goes away in the middle of an operation.
    Vanish,
    /// The kernel refuses to copy between ranks.
    Refuse,
    /// More is posted than a ring holds.
    FullRing,
    /// Threads of a rank call at once.
    Threads,
    /// Tables, blocks and credits of the NICs are small.
    SmallTables,
}

/// The help text of `bcs config`.
const CONFIGURATION_HELP: &str = "\
Print the options of `bcs run` as they are in effect, and where each came from.

An option is looked up in this order:
  1. the command line:  bcs run --time-slice 1ms
  2. a variable:        export BCS_TIME_SLICE=1ms
     (for --timeout, MPIEXEC_TIMEOUT too: a number of seconds, as with other libraries)
  3. a file:            time-slice = \"1ms\"
     bcs.toml in the working directory, then $XDG_CONFIG_HOME/bcs/bcs.toml (~/.config/bcs/bcs.toml)
  4. the built-in default

What this command prints is itself a valid bcs.toml.";

/// The arguments of `bcs doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The time slice for which timers are tried
    #[arg(long, value_name = "D", default_value = "500us", value_parser = parse_duration)]
    pub time_slice: Duration,
    /// The OS threads of NICs that are placed.
    #[command(flatten)]
    pub nics: NicOptions,
}
