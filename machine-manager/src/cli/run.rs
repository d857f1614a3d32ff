//! The command line of `bcs run`: the one table of its options. `bcs.toml` and the variables know
//! them from here, too (`configuration.rs`).

use crate::at_finalize::Says;
use crate::cores::CoreList;
use crate::hosts::Fabric;
use crate::quantities::{
    Given, given, parse_assignment, parse_bandwidth, parse_cores, parse_count, parse_duration,
    parse_ports, parse_reduce, parse_size,
};
use bcs_core::job::{Collectives, Driver, Folding, Intranode, Road, Strobe};
use bcs_core::limits::DEFAULT_SOFT_REDUCE_ELEMENTS;
use bcs_fabric::udp::Crypto;
use clap::builder::ArgPredicate;
use clap::{Args, Parser, Subcommand, ValueEnum};
use mds::Selection;
use node_manager::limits::KILL_DELAY;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Ends `bcs run --help`. A test runs the examples.
const EXAMPLES: &str = "
Examples:
  bcs run -n 4 hello                              four processes on one node
  bcs run -n 8 --ppn 4 -l ./solver in.dat         two nodes, output labelled with the rank
  bcs run -n 1 ./master : -n 7 ./worker           two programs in one job
  bcs run -n 4 --wdir run1 --env A=1 ./solver     in a directory, with a variable
  bcs run -n 4 --timeout 10m --output-dir out x   in time, output in files

What MPICH's and Open MPI's launchers call an option works, too, or is answered with what to write.
Each option has a default that `bcs.toml` and variables can change: see `bcs config --help`.
Exit codes: see `bcs help exit-codes`.";

/// What `bcs run` can be asked.
#[derive(Debug, Args)]
#[command(
    override_usage = "bcs run [OPTIONS] PROGRAM [ARGS]... [: [-n N] [--wdir D] [--env K=V] PROGRAM [ARGS]...]...",
    disable_help_subcommand = true,
    disable_version_flag = true,
    version,
    arg_required_else_help = false,
    subcommand_value_name = "PROGRAM",
    after_help = crate::builtin::help() + EXAMPLES
)]
pub struct RunArgs {
    /// Print the version
    #[arg(long, action = clap::ArgAction::Version)]
    pub version: Option<bool>,
    /// All that may stand before the program.
    #[command(flatten)]
    pub options: RunOptions,
    /// The program and its arguments: nothing after its name is ours, but for a lone colon.
    #[command(subcommand)]
    pub program: ProgramArgs,
}

/// What each program of a job can be given.
#[derive(Clone, Debug, Args)]
pub struct ApplicationOptions {
    /// Number of ranks, each a process; --ranks and -np are the same
    #[arg(short = 'n', value_name = "N", default_value_t = 1, value_parser = parse_count,
          allow_negative_numbers = true)]
    pub ranks: usize,
    /// Run in this directory
    #[arg(long, value_name = "D")]
    pub wdir: Option<PathBuf>,
    /// Set an environment variable, or with K alone export that of `bcs run`; may be repeated
    #[arg(long, value_name = "K=V", value_parser = parse_assignment)]
    pub env: Vec<(String, String)>,
}

/// A program after a colon.
#[derive(Debug, Parser)]
#[command(
    disable_help_flag = true,
    disable_help_subcommand = true,
    subcommand_value_name = "PROGRAM"
)]
pub struct FurtherApplication {
    /// What is its own.
    #[command(flatten)]
    pub options: ApplicationOptions,
    /// As in [`RunArgs`].
    #[command(subcommand)]
    pub program: ProgramArgs,
}

/// The options of `bcs run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// What the first program is given.
    #[command(flatten)]
    pub application: ApplicationOptions,
    /// Number of nodes (emulated NICs) that share the ranks, consecutive ranks on one node
    /// [default: 1, or by --ppn]
    // A number of nodes from a file or variable is none for who asks for ranks per node; and the
    // other way round below.
    #[arg(long, value_name = "M", value_parser = parse_count, allow_negative_numbers = true,
          default_value_if("ppn", ArgPredicate::IsPresent, None))]
    pub nodes: Option<usize>,
    /// Ranks on each node; the last one may have fewer
    #[arg(long, value_name = "P", value_parser = parse_count, allow_negative_numbers = true,
          default_value_if("nodes", ArgPredicate::IsPresent, None))]
    pub ppn: Option<usize>,
    /// Where nodes are, and how they are joined.
    #[command(flatten)]
    pub far: FarOptions,
    /// Which cores a rank may use: all but those that OS threads of NICs are pinned to, or one of these
    /// each, in turn
    #[arg(long, value_name = "B", value_enum, default_value_t = BindName::None)]
    pub bind: BindName,
    /// Say on standard error which cores each rank may use, and where each OS thread of a NIC is pinned
    #[arg(long)]
    pub report_bindings: bool,
    /// Length of a time slice, 50us to 100ms; with elastic strobes the longest gap between two, with auto ones
    /// the longest slice
    #[arg(long, value_name = "D", default_value = "500us", value_parser = given(parse_duration))]
    pub time_slice: Given<Duration>,
    /// When slices are struck: on demand, or at every multiple of the time slice with work, of a length that is
    /// set or that follows the program
    #[arg(long, value_name = "S", value_enum, default_value_t = StrobeName::Elastic)]
    pub strobe: StrobeName,
    /// Which way messages take that stay on a node: at once, or in slices like all others
    #[arg(long, value_name = "W", value_enum, default_value_t = IntranodeName::Smartmap)]
    pub intranode: IntranodeName,
    /// Who does collectives of several nodes: the ranks of a node first, or the NICs alone
    #[arg(long, value_name = "C", value_enum, default_value_t = CollectivesName::Hierarchical)]
    pub collectives: CollectivesName,
    /// The best way of the bytes from one rank's memory to another's that may be taken, to measure the
    /// others
    #[arg(long, value_name = "R", value_enum, default_value_t = RoadName::Slots)]
    pub road: RoadName,
    /// Where the heap of a program is that does not put it there itself, as one in C: in the rank's slot, which
    /// the ranks of its node reach, or the program's own
    #[arg(long, value_name = "H", value_enum, default_value_t = HeapName::Slot)]
    pub heap: HeapName,
    /// Within a node: who folds long reductions
    #[arg(long, value_name = "F", value_enum, default_value_t = FoldingName::Threaded)]
    pub folding: FoldingName,
    /// Standard sends of at most so many bytes complete when they are posted, blocking ones within a
    /// node of 32 times as many; 0: none
    #[arg(long, value_name = "B", default_value = "4KiB", value_parser = given(parse_size))]
    pub eager_limit: Given<u64>,
    /// Bytes per second that may enter a node, as 2GB/s [default: measured]
    #[arg(long, value_name = "R", value_parser = given(parse_bandwidth))]
    pub link_bandwidth: Option<Given<u64>>,
    /// How NICs run.
    #[command(flatten)]
    pub nics: NicOptions,
    /// Reductions of at most LIMIT elements in software floating point (soft:LIMIT), or none (host)
    #[arg(long, value_name = "soft:LIMIT|host", value_parser = parse_reduce,
          default_value = format!("soft:{DEFAULT_SOFT_REDUCE_ELEMENTS}"))]
    pub reduce: u32,
    /// Who reads the standard input: a rank by its number, all, or none; of all, the slowest reader
    /// sets the pace
    #[arg(long, value_name = "WHO", default_value = "0", value_parser = InputName::parse)]
    pub stdin: InputName,
    /// Start this rank under a debugger, which reads the standard input instead
    #[arg(long, value_name = "RANK")]
    pub gdb: Option<u32>,
    /// The command of the debugger; the program and its arguments are added to it
    #[arg(long, value_name = "CMD", default_value = "gdb -q --args")]
    pub debugger: String,
    /// Label every line of output with its rank
    #[arg(short = 'l', long)]
    pub label: bool,
    /// Write what rank N writes to rank.N.out and rank.N.err in this directory, not to the terminal
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// End the job after so long, with exit code 124; a bare number is one of seconds
    #[arg(long, value_name = "D", value_parser = given(parse_duration))]
    pub timeout: Option<Given<Duration>>,
    /// What is done when no rank can ever go on: say who waits for whom, and end the job with exit
    /// code 123, or let it hang
    #[arg(long, value_name = "A", value_enum, default_value_t = DeadlockName::Abort)]
    pub on_deadlock: DeadlockName,
    /// Write who waits for whom into this file, as JSON, when no rank can ever go on; with --mds it
    /// is in deadlock.json there, too
    #[arg(long, value_name = "FILE")]
    pub deadlock_json: Option<PathBuf>,
    /// What is said, when the job has ended well, of what its program has left at MPI_Finalize: nothing; its
    /// errors, as messages that nobody has received or waited for; or also what was not freed
    #[arg(long, value_name = "W", value_enum, default_value_t = AtFinalizeName::Errors)]
    pub at_finalize: AtFinalizeName,
    /// Look at what takes time to look at, too: types that differ between a send and its receive, roots and arguments
    /// that differ between the calls of a collective, collectives that differ; and say which forked children call MPI
    #[arg(long)]
    pub checked: bool,
    /// From SIGTERM to SIGKILL, for the ranks of a job that ends badly
    #[arg(long, value_name = "D", value_parser = given(parse_duration),
          default_value = humantime::Duration::from(KILL_DELAY).to_string())]
    pub kill_delay: Given<Duration>,
    /// Record, and write dumps of all ranks and nodes into this directory: see `bcs mds --help`
    #[arg(long, value_name = "DIR")]
    pub mds: Option<PathBuf>,
    /// What to record: a list of `mmds` (ranks) and `emds` (NICs), or `none`, each with options: ranks=0-3+8,
    /// only=MPI_Send+MPI_Recv, metrics=sites+peers, digits=1-3, calls=N, messages=N of mmds;
    /// FIRST-LAST (slices), rows=N (the last slices), nodes=0+2 of emds: mmds:ranks=0,emds:7500-12500
    #[arg(long, value_name = "WHAT", default_value = "mmds,emds")]
    pub mds_record: Selection,
    /// Say on standard error what is started
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// Strike every slice, and all five microphases of it, needed or not: to measure what one costs
    #[arg(long, hide = true)]
    pub all_phases: bool,
}

/// Jobs on several machines.
#[derive(Clone, Debug, Args)]
pub struct FarOptions {
    /// The hosts on which nodes are, as a,b, or a:4,b:2 with how many ranks each takes: consecutive nodes on one;
    /// without --nodes and --ppn a node on each
    #[arg(long, value_name = "LIST")]
    pub hosts: Option<String>,
    /// The command that starts a program on a host, which it names where it says {host}, or last; the program
    /// `bcs` has the same path there
    #[arg(long, value_name = "CMD", default_value = "ssh -oBatchMode=yes")]
    pub launcher: String,
    /// How nodes are joined: by shared memory where they can, by that alone, or by the network (without --hosts:
    /// over the loopback of this machine)
    #[arg(long, value_name = "F", value_enum, default_value_t = FabricName::Auto)]
    pub fabric: FabricName,
    /// By which address each host is reached: an address, an interface or a network, as eth0 or 10.0.0.0/8
    /// [default: the first that is not of the loopback]
    #[arg(long, value_name = "I")]
    pub host_interface: Option<String>,
    /// The UDP ports from which each node manager takes one, as 4000-4999 [default: any]
    #[arg(long, value_name = "A-B", value_parser = parse_ports, default_value = "0-0", hide_default_value = true)]
    pub host_ports: (u16, u16),
    /// How datagrams are guarded: not at all, by a tag against strangers who send them, or against those who
    /// read them, too
    #[arg(long, value_name = "C", value_enum, default_value_t = CryptoName::Tag)]
    pub fabric_crypto: CryptoName,
    /// A node that is silent for so long is lost, and the job ends
    #[arg(long, value_name = "D", value_parser = given(parse_duration), default_value = "3s")]
    pub node_timeout: Given<Duration>,
}

/// `--fabric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FabricName {
    /// By shared memory where node managers can map it, else by the network.
    Auto,
    /// By shared memory.
    Shm,
    /// By the network.
    Udp,
}

impl From<FabricName> for Fabric {
    fn from(name: FabricName) -> Self {
        match name {
            FabricName::Auto => Self::Auto,
            FabricName::Shm => Self::Shm,
            FabricName::Udp => Self::Udp,
        }
    }
}

/// `--fabric-crypto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CryptoName {
    /// Not at all: to measure.
    None,
    /// By a tag.
    Tag,
    /// Encrypted, with a tag.
    Aead,
}

impl From<CryptoName> for Crypto {
    fn from(name: CryptoName) -> Self {
        match name {
            CryptoName::None => Self::None,
            CryptoName::Tag => Self::Tag,
            CryptoName::Aead => Self::Aead,
        }
    }
}

/// The OS threads of NICs. They are options of `bcs doctor`, too.
#[derive(Clone, Debug, Args)]
pub struct NicOptions {
    /// OS threads of a NIC: one for all, one each, one per NIC thread [default: by cores]
    #[arg(long, value_name = "L", value_enum)]
    pub nic_threads: Option<DriverName>,
    /// Pin OS threads of NICs to these cores, as 2-5,7, in this order and in turn [default: to the last
    /// ones, if there are cores for all]
    #[arg(long, value_name = "LIST", value_parser = parse_cores)]
    pub nic_cores: Option<CoreList>,
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
    /// As fixed, with slices from 50us to --time-slice, as the program needs them.
    Auto,
}

impl From<StrobeName> for Strobe {
    fn from(name: StrobeName) -> Self {
        match name {
            StrobeName::Fixed => Self::Fixed,
            StrobeName::Elastic => Self::Elastic,
            StrobeName::Auto => Self::Auto,
        }
    }
}

/// `--intranode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IntranodeName {
    /// Ranks reach each other's memory.
    Smartmap,
    /// Through the NIC, scheduled in slices.
    Nic,
}

impl From<IntranodeName> for Intranode {
    fn from(name: IntranodeName) -> Self {
        match name {
            IntranodeName::Smartmap => Self::Smartmap,
            IntranodeName::Nic => Self::Nic,
        }
    }
}

/// `--collectives`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CollectivesName {
    /// Ranks of a node among themselves, then one of them with its NIC.
    Hierarchical,
    /// The NICs alone.
    Nic,
}

impl From<CollectivesName> for Collectives {
    fn from(name: CollectivesName) -> Self {
        match name {
            CollectivesName::Hierarchical => Self::Hierarchical,
            CollectivesName::Nic => Self::Nic,
        }
    }
}

/// `--road`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoadName {
    /// Heaps that lie in slots are read and written where they are.
    Slots,
    /// The kernel copies (process_vm_readv).
    Kernel,
    /// Through memory that the ranks of a node share; between nodes the kernel copies.
    Queues,
}

impl From<RoadName> for Road {
    fn from(name: RoadName) -> Self {
        match name {
            RoadName::Slots => Self::Slots,
            RoadName::Kernel => Self::Kernel,
            RoadName::Queues => Self::Queues,
        }
    }
}

/// `--heap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeapName {
    /// A heap in the slot is preloaded into dynamic programs, but for set-user-id and sanitized ones.
    Slot,
    /// Nothing is preloaded.
    Own,
}

/// `--folding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FoldingName {
    /// Each rank a share of the elements.
    Threaded,
    /// The root all of them.
    Serial,
}

impl From<FoldingName> for Folding {
    fn from(name: FoldingName) -> Self {
        match name {
            FoldingName::Threaded => Self::Threaded,
            FoldingName::Serial => Self::Serial,
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

/// `--bind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BindName {
    /// Every rank may use every core.
    None,
    /// One core each.
    Core,
}

/// `--on-deadlock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeadlockName {
    /// Say so.
    Report,
    /// Say so and end the job.
    Abort,
}

/// `--at-finalize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AtFinalizeName {
    /// Nothing.
    Quiet,
    /// Errors.
    Errors,
    /// Handles that were not freed, too.
    All,
}

impl From<AtFinalizeName> for Says {
    fn from(name: AtFinalizeName) -> Self {
        match name {
            AtFinalizeName::Quiet => Self::Nothing,
            AtFinalizeName::Errors => Self::Errors,
            AtFinalizeName::All => Self::All,
        }
    }
}

/// `--stdin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputName {
    /// A rank.
    Rank(u32),
    /// Every rank.
    All,
    /// Nobody.
    None,
}

impl InputName {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            number => number
                .parse()
                .map(Self::Rank)
                .map_err(|_| "give the number of a rank, all, or none".into()),
        }
    }
}
