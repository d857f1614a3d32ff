//! The command line of `bcs mds`.

use super::live::TopArgs;
use clap::{Args, Subcommand, ValueEnum};
use mds_reports::trace::Moment;
use std::path::PathBuf;

/// Ends `bcs mds --help`.
const EXAMPLES: &str = "
Examples:
  bcs run -n 4 --nodes 2 --mds run1 ./solver    record a run
  bcs mds report run1                           why it was slow, and what it did
  bcs mds hist run1 MPI_Waitall                 how long its waits were
  bcs mds slices run1 --plot gaps.svg           the gaps between slices, as Figure 5.3 of the paper
  bcs mds blame run1                            who waited for whom, and why
  bcs mds compare run1 run2                     what is different since
  bcs mds html run1 -o run1.html                for a browser
  bcs mds export run1 --format chrome-trace -o run1.json.gz  for https://ui.perfetto.dev
  bcs mds top                                   what the job that runs now does

What of a directory cannot be read is said, the rest is shown, and the exit code is 1.";

/// The arguments of `bcs mds`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MdsArgs {
    /// What to do with the recordings.
    #[command(subcommand)]
    pub command: MdsTopic,
}

/// The subcommands of `bcs mds`.
#[derive(Debug, Subcommand)]
pub enum MdsTopic {
    /// A run that was recorded.
    #[command(flatten)]
    Recorded(MdsCommand),
    /// Show what a running job does, again and again
    Top(TopArgs),
}

/// Subcommands of `bcs mds` about a run that was recorded.
#[derive(Debug, Subcommand)]
pub enum MdsCommand {
    /// Print why the job was slow, and what ranks and nodes did
    Report {
        /// The directory that `bcs run --mds` wrote
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Only this rank
        #[arg(long, value_name = "R", conflicts_with = "json")]
        rank: Option<u32>,
        /// All figures as JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Draw the distribution of a metric
    Hist {
        /// The directory that `bcs run --mds` wrote
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Its name, as MPI_Isend, MPI_Isend.size, computation, GETTS or LTR.br
        #[arg(value_name = "METRIC")]
        metric: String,
        /// Only this rank
        #[arg(long, value_name = "R", conflicts_with = "node")]
        rank: Option<u32>,
        /// Only this node
        #[arg(long, value_name = "N")]
        node: Option<u32>,
    },
    /// Print figures by slice, or draw one of them over the slice number
    Slices(SlicesArgs),
    /// Print who sends how much to whom
    Matrix {
        /// The directory that `bcs run --mds` wrote
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// By one transport only
        #[arg(long, value_name = "T", value_enum)]
        transport: Option<MatrixTransport>,
    },
    /// Print two runs side by side, with what changed most
    Compare {
        /// The directory of the first run
        #[arg(value_name = "A")]
        one: PathBuf,
        /// The directory of the second run
        #[arg(value_name = "B")]
        other: PathBuf,
    },
    /// Split the waits of ranks by their causes, and say who caused most
    Blame {
        /// The directory that `bcs run --mds` wrote
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The waits of one rank only
        #[arg(long, value_name = "R", conflicts_with = "json")]
        rank: Option<u32>,
        /// All of them as JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Write a page for a browser, with all pictures in one file
    Html {
        /// The directory that `bcs run --mds` wrote
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The file
        #[arg(short = 'o', long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Write all that was recorded for other programs
    Export(ExportArgs),
}

/// The arguments of `bcs mds export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The directory that `bcs run --mds` wrote
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// In which form
    #[arg(long, value_name = "F", value_enum)]
    pub format: ExportFormat,
    /// The file, or with csv and parquet the directory [default: to standard output]
    ///
    /// The file of Paraver gets the extension .prv. Any other file whose name ends with .gz is
    /// compressed.
    #[arg(
        short = 'o',
        long,
        value_name = "PATH",
        required_if_eq_any([("format", "csv"), ("format", "parquet"), ("format", "paraver")])
    )]
    pub output: Option<PathBuf>,
    /// With chrome-trace: from this moment on, as 0.5s, 20ms or the number of a slice
    #[arg(long, value_name = "T")]
    pub from: Option<Moment>,
    /// With chrome-trace: up to this moment, or with the slice of this number
    #[arg(long, value_name = "T")]
    pub to: Option<Moment>,
}

/// The arguments of `bcs mds slices`.
#[derive(Debug, Args)]
pub struct SlicesArgs {
    /// The directory that `bcs run --mds` wrote
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// As one node saw them [default: all together, times of the slowest]
    #[arg(long, value_name = "N")]
    pub node: Option<u32>,
    /// From this slice on
    #[arg(long, value_name = "A", default_value_t = 0, hide_default_value = true)]
    pub from: u64,
    /// Up to this slice
    #[arg(long, value_name = "B", default_value_t = u64::MAX, hide_default_value = true)]
    pub to: u64,
    /// These columns, the first of which is drawn
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "GETTS,GTDEM,GTMSM,GTTS,NP2PDEM,NP2PMSM,NCOLLDEM,NCOLLMSM,BPTS,SCHEDULED,CARRIED,NEAR_MESSAGES,NEAR_COLLECTIVES"
    )]
    pub columns: Vec<String>,
    /// Draw the first column into this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// `--transport` of `bcs mds matrix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MatrixTransport {
    /// By the NICs, in slices.
    Nic,
    /// Within a node, from memory to memory.
    Smartmap,
}

/// `--format` of `bcs mds export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One object with all figures and tables.
    Json,
    /// A file for each table.
    Csv,
    /// A trace that Perfetto and Chrome show.
    ChromeTrace,
    /// Times of calls by place, for flame graphs (inferno-flamegraph, speedscope).
    Folded,
    /// A trace that Paraver shows: a file .prv, with .pcf and .row beside it.
    Paraver,
    /// A file of Apache Parquet for each table of slices, calls and messages.
    Parquet,
}
