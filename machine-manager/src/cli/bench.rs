//! The command line of `bcs bench`.

use super::RunOptions;
use apps::bench::BenchOptions;
use clap::{Arg, Args};
use std::path::PathBuf;

/// Ends `bcs bench --help`. A test runs the examples.
const EXAMPLES: &str = "
Examples:
  bcs bench                                       everything, between two ranks of one node
  bcs bench -n 2 --nodes 2 --ops latency          half round trips between two nodes
  bcs bench -n 4 --ops bcast,reduce --sizes 8,1M  two collectives of four ranks
  bcs bench --mode untouched,touched --svg t.svg  what using the buffers costs, drawn
  bcs bench --bind core --json rows.json          a core for each rank, rows for a program

Figures are microseconds of an operation: the median of the samples, and their quartiles. Options of
`bcs run` mean the same here, and their defaults come from the same places: see `bcs config --help`.
Exit codes: see `bcs help exit-codes`.";

/// Options of `bcs run` that are of no use for this program.
const USELESS: [&str; 7] = [
    "wdir",
    "stdin",
    "gdb",
    "debugger",
    "label",
    "output_dir",
    "kill_delay",
];

/// The arguments of `bcs bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_args(suited))]
pub struct BenchArgs {
    /// The measurements.
    #[command(flatten, next_help_heading = "What to measure")]
    pub options: BenchOptions,
    /// Also write the rows to this file, as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// Also draw the rows into this file, as SVG: a panel for each operation
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub svg: Option<PathBuf>,
    /// The job that measures.
    #[command(flatten, next_help_heading = "The job")]
    pub run: RunOptions,
}

/// Makes an option of `bcs run` one of `bcs bench`: there are two ranks unless told otherwise, and
/// what has no sense here is not shown.
fn suited(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "ranks" => option.default_value("2"),
        id if USELESS.contains(&id) => option.hide(true),
        _ => option,
    }
}
