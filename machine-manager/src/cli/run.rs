//! The command line of `bcs run`: the one table of its options. `bcs.toml` and the variables know
//! them from here, too (`configuration.rs`).

use super::choices::{
    AtFinalizeName, BindName, CollectivesName, CopyMethodName, CryptoName, DeadlockName,
    FabricName, FoldingName, HeapName, IntranodeName, NicThreadingName, StrobeName,
};
use crate::cores::CoreList;
use crate::quantities::{
    GivenQuantity, given, parse_assignment, parse_bandwidth, parse_cores, parse_count,
    parse_degree, parse_duration, parse_ports, parse_reduce, parse_size,
};
use bcs_core::limits::DEFAULT_SOFT_REDUCE_ELEMENTS;
use clap::builder::ArgPredicate;
use clap::{Args, Parser, Subcommand};
use mds::Selection;
use node_manager::limits::KILL_DELAY;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Ends `bcs run --help` and `bcs run --help-all`. A test runs the examples.
const EXAMPLES: &str = "
Examples:
  bcs run -n 4 hello                              four processes on one node
  bcs run -n 8 --ppn 4 -l ./solver in.dat         two nodes, output labelled with the rank
  bcs run -n 1 ./master : -n 7 ./worker           two programs in one job
  bcs run -n 4 --wdir run1 --env A=1 ./solver     in a directory, with a variable
  bcs run -n 4 --timeout 10m --output-dir out x   in time, output in files

What MPICH's and Open MPI's launchers call an option works, too, or is answered with what to write.
Each option has a default that `bcs.toml` and variables can change: see `bcs config --help`.
More options: `bcs run --help-all`. Exit codes: `bcs help exit-codes`.";

/// The arguments of `bcs run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "bcs run [OPTIONS] PROGRAM [ARGS]... [: [-n N] [--wdir D] [--env K=V] PROGRAM [ARGS]...]...",
    disable_help_subcommand = true,
    disable_version_flag = true,
    disable_help_flag = true,
    version,
    arg_required_else_help = false,
    subcommand_value_name = "PROGRAM",
    after_help = crate::builtin::help() + EXAMPLES
)]
pub struct RunArgs {
    /// Print the version
    #[arg(long, action = clap::ArgAction::Version)]
    pub version: Option<bool>,
    /// Print the options that most jobs need
    #[arg(long, action = clap::ArgAction::HelpShort)]
    pub help: Option<bool>,
    /// Print all options, with their values
    #[arg(long, action = clap::ArgAction::HelpLong)]
    pub help_all: Option<bool>,
    /// All that may stand before the program.
    #[command(flatten)]
    pub options: RunOptions,
    /// The program and its arguments: nothing after its name is ours, but for a lone colon.
    #[command(subcommand)]
    pub program: ProgramArgs,
}

/// The options that each program of a job can have.
#[derive(Clone, Debug, Args)]
pub struct ApplicationOptions {
    /// Number of ranks; --ranks and -np mean the same [default: 1, or the tasks that Slurm allots]
    ///
    /// Each rank is a process.
    #[arg(short = 'n', value_name = "N", value_parser = parse_count,
          allow_negative_numbers = true, help_heading = "Job")]
    pub ranks: Option<usize>,
    /// Run the program in this directory
    #[arg(long, value_name = "D", help_heading = "Job")]
    pub wdir: Option<PathBuf>,
    /// Set an environment variable; K alone exports that of `bcs run`
    ///
    /// The option may be repeated.
    #[arg(long, value_name = "K=V", value_parser = parse_assignment, help_heading = "Job")]
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
    /// The options of this program.
    #[command(flatten)]
    pub options: ApplicationOptions,
    /// As in [`RunArgs`].
    #[command(subcommand)]
    pub program: ProgramArgs,
}

/// The options of `bcs run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// The options of the first program.
    #[command(flatten)]
    pub application: ApplicationOptions,
    /// Number of nodes; consecutive ranks share a node [default: 1, or by --ppn]
    ///
    /// Nodes are emulated: each has a NIC of its own.
    // If the user gives ranks per node, a number of nodes from a file or variable does not count;
    // and the other way round below.
    #[arg(long, value_name = "M", value_parser = parse_count, allow_negative_numbers = true,
          default_value_if("ppn", ArgPredicate::IsPresent, None), help_heading = "Placement")]
    pub nodes: Option<usize>,
    /// Number of ranks on each node
    ///
    /// The last node may have fewer.
    #[arg(long, value_name = "P", value_parser = parse_count, allow_negative_numbers = true,
          default_value_if("nodes", ArgPredicate::IsPresent, None), help_heading = "Placement")]
    pub ppn: Option<usize>,
    /// Places for ranks, with those that MPI_Comm_spawn starts [default: 64 more than -n]
    ///
    /// Each rank that is started later takes a place of its own. The program gets the number as
    /// MPI_UNIVERSE_SIZE, which is not set without this option. A job of more than 64 ranks, and
    /// one with --mds, has no further places by default.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true,
          help_heading = "Placement")]
    pub universe_size: Option<usize>,
    /// Where nodes are, and how they are joined.
    #[command(flatten)]
    pub far: HostOptions,
    /// Cores of a rank: `none` (any core) or `core` (one each)
    ///
    /// Cores to which OS threads of NICs are pinned are left out.
    #[arg(long, value_name = "B", value_enum, default_value_t = BindName::None, help_heading = "Placement")]
    pub bind: BindName,
    /// Print the cores of each rank and of each OS thread of a NIC
    ///
    /// The report goes to standard error.
    #[arg(long, help_heading = "Placement")]
    pub report_bindings: bool,
    /// Length of a time slice, 50us to 100ms
    ///
    /// With elastic strobes this is the longest gap between two slices, with auto strobes the
    /// longest slice.
    #[arg(long, value_name = "D", default_value = "500us", value_parser = given(parse_duration), help_heading = "Slices")]
    pub time_slice: GivenQuantity<Duration>,
    /// Start of slices: `elastic`, `fixed` or `auto`
    ///
    /// Elastic slices start when a rank waits for one. Fixed and auto slices start by the clock,
    /// auto ones with a length that follows the program.
    #[arg(long, value_name = "S", value_enum, default_value_t = StrobeName::Elastic, help_heading = "Slices")]
    pub strobe: StrobeName,
    /// Messages within a node: `smartmap` or `nic`
    ///
    /// By SMARTMAP a message is copied at once. By the NIC it waits for a slice, as messages
    /// between nodes do.
    #[arg(long, value_name = "W", value_enum, default_value_t = IntranodeName::Smartmap, help_heading = "Communication")]
    pub intranode: IntranodeName,
    /// Collectives over nodes: `hierarchical` or `nic`
    ///
    /// Hierarchical ones are done within each node first.
    #[arg(long, value_name = "C", value_enum, default_value_t = CollectivesName::Hierarchical, help_heading = "Communication")]
    pub collectives: CollectivesName,
    /// Fastest method that may be used to copy between the memories of two ranks
    ///
    /// A slower one is chosen to measure it.
    #[arg(long, value_name = "M", value_enum, default_value_t = CopyMethodName::Slots, help_heading = "Communication", hide_short_help = true)]
    pub copy_method: CopyMethodName,
    /// Heap of a C program: `slot` lets other ranks read it, `own` is the C library's
    ///
    /// A Rust program chooses its heap itself.
    #[arg(long, value_name = "H", value_enum, default_value_t = HeapName::Slot, help_heading = "Communication", hide_short_help = true)]
    pub heap: HeapName,
    /// Long reductions within a node: `threaded` shares the elements, `serial` does not
    #[arg(long, value_name = "F", value_enum, default_value_t = FoldingName::Threaded, help_heading = "Communication", hide_short_help = true)]
    pub folding: FoldingName,
    /// Standard sends of at most this length complete at once
    ///
    /// Blocking sends within a node do so up to 32 times this length. With 0 none does.
    #[arg(long, value_name = "B", default_value = "4KiB", value_parser = given(parse_size), help_heading = "Communication", hide_short_help = true)]
    pub eager_limit: GivenQuantity<u64>,
    /// Bytes per second that may enter a node, as 2GB/s [default: measured]
    #[arg(long, value_name = "R", value_parser = given(parse_bandwidth), help_heading = "Communication", hide_short_help = true)]
    pub link_bandwidth: Option<GivenQuantity<u64>>,
    /// How NICs run.
    #[command(flatten)]
    pub nics: NicOptions,
    /// Short reductions in software floating point: up to LIMIT elements, or not at all (host)
    #[arg(long, value_name = "soft:LIMIT|host", value_parser = parse_reduce,
          default_value = format!("soft:{DEFAULT_SOFT_REDUCE_ELEMENTS}"), help_heading = "Communication", hide_short_help = true)]
    pub reduce: u32,
    /// Rank that reads the standard input, or `all`, or `none`
    ///
    /// If all ranks read, the slowest one sets the pace.
    #[arg(long, value_name = "WHO", default_value = "0", value_parser = InputName::parse, help_heading = "Job")]
    pub stdin: InputName,
    /// Start this rank under a debugger, which reads the standard input
    #[arg(long, value_name = "RANK", help_heading = "Debugging")]
    pub gdb: Option<u32>,
    /// Command of the debugger; the program and its arguments are added
    #[arg(
        long,
        value_name = "CMD",
        default_value = "gdb -q --args",
        help_heading = "Debugging",
        hide_short_help = true
    )]
    pub debugger: String,
    /// Put the rank in front of each line of output
    #[arg(short = 'l', long, help_heading = "Job")]
    pub label: bool,
    /// Write the output of rank N to rank.N.out and rank.N.err in DIR
    #[arg(long, value_name = "DIR", help_heading = "Job")]
    pub output_dir: Option<PathBuf>,
    /// End the job after this time, with exit code 124
    ///
    /// A bare number is one of seconds.
    #[arg(long, value_name = "D", value_parser = given(parse_duration), help_heading = "Job")]
    pub timeout: Option<GivenQuantity<Duration>>,
    /// In a deadlock `abort` the job (code 123) or `report`
    ///
    /// The text says which rank waits for which.
    #[arg(long, value_name = "A", value_enum, default_value_t = DeadlockName::Abort, help_heading = "Debugging")]
    pub on_deadlock: DeadlockName,
    /// Write a deadlock into this file, as JSON
    ///
    /// With --mds it is also in deadlock.json there.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Debugging",
        hide_short_help = true
    )]
    pub deadlock_json: Option<PathBuf>,
    /// Report leftovers at the end: `quiet`, `errors` or `all`
    ///
    /// Errors are messages that no rank received and requests that no rank waited for. With `all`
    /// objects that were not freed are reported, too. The default is `errors`, and `all` with
    /// --checked.
    #[arg(long, value_name = "W", value_enum, help_heading = "Debugging")]
    pub at_finalize: Option<AtFinalizeName>,
    /// Check types, roots and arguments of matching calls, which takes time
    ///
    /// A message must have the type of its receive, and the calls of a collective must agree.
    /// No call may use memory of a pending operation, and the program may not write a send buffer
    /// before the send is complete. Forked children that call MPI are named.
    #[arg(long, help_heading = "Debugging")]
    pub checked: bool,
    /// Time from SIGTERM to SIGKILL for the ranks of a job that ends badly
    #[arg(long, value_name = "D", value_parser = given(parse_duration),
          default_value = humantime::Duration::from(KILL_DELAY).to_string(), help_heading = "Job", hide_short_help = true)]
    pub kill_delay: GivenQuantity<Duration>,
    /// Record, and write dumps into this directory; see `bcs mds --help`
    ///
    /// There are dumps of all ranks and NICs.
    #[arg(long, value_name = "DIR", help_heading = "Monitoring")]
    pub mds: Option<PathBuf>,
    /// Data to record: a list of `mmds` (ranks) and `emds` (NICs), or `none`
    ///
    /// Options of mmds: ranks=0-3+8, only=MPI_Send+MPI_Recv, metrics=sites+peers, digits=1-3,
    /// calls=N, messages=N. Options of emds: FIRST-LAST (slices), rows=N (the last slices),
    /// nodes=0+2. An example is mmds:ranks=0,emds:7500-12500.
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "mmds,emds",
        help_heading = "Monitoring",
        hide_short_help = true
    )]
    pub mds_record: Selection,
    /// Print on standard error what is started
    #[arg(short = 'v', long, help_heading = "Job")]
    pub verbose: bool,
    /// Strike every slice, and all five microphases of it, needed or not: to measure what one costs
    #[arg(long, hide = true)]
    pub all_phases: bool,
}

/// Jobs on several machines.
#[derive(Clone, Debug, Args)]
pub struct HostOptions {
    /// Hosts of the nodes: a,b or a:4,b:2 with numbers of ranks, or n[01-16] [default: this
    /// machine, or the nodes that Slurm allots]
    ///
    /// Consecutive nodes are on one host. Without --nodes and --ppn each host has one node.
    #[arg(long, value_name = "LIST", help_heading = "Hosts")]
    pub hosts: Option<String>,
    /// Command that starts a program on a host [default: ssh -oBatchMode=yes, or srun on the nodes
    /// that Slurm allots]
    ///
    /// The name of the host takes the place of {host}, or comes last. The program `bcs` has the
    /// same path on all hosts.
    #[arg(long, value_name = "CMD", help_heading = "Hosts")]
    pub launcher: Option<String>,
    /// Connection of nodes: `auto`, `shm` (memory) or `udp`
    ///
    /// Without --hosts the network is the loopback of this machine.
    #[arg(long, value_name = "F", value_enum, default_value_t = FabricName::Auto, help_heading = "Hosts")]
    pub fabric: FabricName,
    /// Address, interface or network of the hosts, as eth0 or 10.0.0.0/8 [default: the first that
    /// is not of the loopback]
    #[arg(long, value_name = "I", help_heading = "Hosts", hide_short_help = true)]
    pub host_interface: Option<String>,
    /// UDP ports of which each node manager takes one, as 4000-4999 [default: any]
    #[arg(long, value_name = "A-B", value_parser = parse_ports, default_value = "0-0", hide_default_value = true, help_heading = "Hosts", hide_short_help = true)]
    pub host_ports: (u16, u16),
    /// Protection of datagrams: `none`, `tag` (against forgery) or `aead` (encrypted, too)
    #[arg(long, value_name = "C", value_enum, default_value_t = CryptoName::Tag, help_heading = "Hosts", hide_short_help = true)]
    pub fabric_crypto: CryptoName,
    /// Number of node managers that one process starts, of which each may start others [default:
    /// at least 16, and more above 4096 nodes]
    ///
    /// Up to this number `bcs run` starts all of them. With more hosts than that, hosts start each
    /// other, so each must be able to log in to the others.
    #[arg(long, value_name = "K", value_parser = parse_degree, allow_negative_numbers = true, help_heading = "Hosts", hide_short_help = true)]
    pub launch_degree: Option<usize>,
    /// Time that each start of a node manager takes in addition: to measure the launch tree
    #[arg(long, value_name = "D", value_parser = given(parse_duration), default_value = "0s", hide = true)]
    pub launch_cost: GivenQuantity<Duration>,
    /// A node that is silent for this time is lost, and the job ends
    #[arg(long, value_name = "D", value_parser = given(parse_duration), default_value = "3s", help_heading = "Hosts", hide_short_help = true)]
    pub node_timeout: GivenQuantity<Duration>,
}

/// The OS threads of NICs. They are options of `bcs doctor`, too.
#[derive(Clone, Debug, Args)]
pub struct NicOptions {
    /// OS threads of a NIC: one for all nodes, one for each, or one for each NIC thread [default:
    /// by cores]
    #[arg(
        long,
        value_name = "L",
        value_enum,
        help_heading = "Communication",
        hide_short_help = true
    )]
    pub nic_threads: Option<NicThreadingName>,
    /// Cores to which OS threads of NICs are pinned, as 2-5,7 [default: the last ones, if there are
    /// enough]
    ///
    /// They are used in this order, and in turn if they are too few.
    #[arg(long, value_name = "LIST", value_parser = parse_cores, help_heading = "Communication", hide_short_help = true)]
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

/// The options of `bcs run` alone, for those who look at them rather than parse them.
#[must_use]
pub fn run_options() -> clap::Command {
    RunOptions::augment_args(clap::Command::new("bcs run"))
}
