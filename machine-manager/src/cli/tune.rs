//! The command line of `bcs tune`.

use super::choices::StrobeName;
use super::run::{ProgramArgs, RunOptions};
use crate::cli::run_arguments::RunArguments;
use crate::quantities::parse_size;
use crate::tune::setting::Slices;
use clap::{Arg, Args};
use std::path::PathBuf;

/// For the user.
const ABOUT: &str = "\
Find the time slice with which a program runs fastest.

The program runs again and again with slices of different lengths, in turns, so that a machine that gets slower favours \
none. Slices that are certainly slower drop out, and it ends as soon as the answer is clear. A difference that noise \
could have made is no difference, and is said to be none. What the program writes goes nowhere, or to --output.";

/// Ends `bcs tune --help`. A test runs the examples.
const EXAMPLES: &str = "
Examples:
  bcs tune -n 2 --nodes 2 --strobe fixed hello        12 slices from 50us to 8ms
  bcs tune -n 2 --nodes 2 --slices 100us,1ms hello    these two
  bcs tune -n 2 --nodes 2 --strobes fixed,elastic --against '--nodes 1' hello
                                                      both modes, and the program on one node beside them
  bcs tune -n 2 --nodes 2 --svg t.svg --write hello   draws it, and writes the choice into bcs.toml

Options of `bcs run` mean the same here, and their defaults come from the same places: see `bcs config --help`.
Exit codes: 0 when something was found; 1 when a setting failed; 2 for bad input; that of `bcs run` when the program
fails before anything is tried; 128+S when a signal ended it.";

/// Options of `bcs run` that are of no use here: what is tried, and what says how a single job
/// goes.
const USELESS: [&str; 11] = [
    "time_slice",
    "stdin",
    "gdb",
    "debugger",
    "label",
    "output_dir",
    "deadlock_json",
    "report_bindings",
    "verbose",
    "mds",
    "mds_record",
];

/// The arguments of `bcs tune`.
#[derive(Debug, Args)]
#[command(
    long_about = ABOUT,
    override_usage = "bcs tune [OPTIONS] PROGRAM [ARGS]...",
    disable_help_subcommand = true,
    arg_required_else_help = false,
    subcommand_value_name = "PROGRAM",
    after_help = EXAMPLES,
    mut_args(suited)
)]
pub struct TuneArgs {
    /// The values to try, and the files for the results.
    #[command(flatten)]
    pub trials: Trials,
    /// The job that is run again and again.
    #[command(flatten, next_help_heading = "The job")]
    pub run: RunOptions,
    /// As of `bcs run`.
    #[command(subcommand)]
    pub program: ProgramArgs,
}

/// The values to try, and the files for the results.
#[derive(Debug, Args)]
pub struct Trials {
    /// Slices to try: the ends of a range, or a list as 100us,500us,2ms
    #[arg(long, value_name = "FIRST-LAST", default_value = "50us-8ms", value_parser = Slices::parse,
          help_heading = "What to try")]
    pub slices: Slices,
    /// How many slices to try of a range
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "What to try",
          value_parser = clap::value_parser!(u16).range(2..=100))]
    pub lengths: u16,
    /// Strobe modes to try each slice with [default: that of --strobe]
    #[arg(
        long,
        value_name = "S,...",
        value_enum,
        value_delimiter = ',',
        help_heading = "What to try"
    )]
    pub strobes: Vec<StrobeName>,
    /// Eager limits to try each of these with [default: that of --eager-limit]
    #[arg(long, value_name = "B,...", value_delimiter = ',', value_parser = parse_size,
          help_heading = "What to try")]
    pub eager_limits: Vec<u64>,
    /// Run the program at most so often [default: 5 times for each setting, and at least 24 times]
    #[arg(long, value_name = "N", help_heading = "What to try")]
    pub runs: Option<usize>,
    /// Also run it with these options of `bcs run` in the place of those given, and compare: as
    /// '--nodes 1 --intranode smartmap'
    #[arg(long, value_name = "OPTIONS", value_parser = ReferenceOptions::parse, allow_hyphen_values = true,
          help_heading = "What to try")]
    pub against: Option<ReferenceOptions>,
    /// Append what the program writes to this file
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Also write all run times and what was found to this file, as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// Also draw run time against slice into this file, as SVG
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub svg: Option<PathBuf>,
    /// Write the choice into bcs.toml in the working directory, if there is a difference
    #[arg(long, help_heading = "Results")]
    pub write: bool,
}

/// `--against`: as written, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceOptions {
    /// The words.
    pub text: String,
    /// The options.
    pub options: RunArguments,
}

impl ReferenceOptions {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self {
            text: text.trim().to_owned(),
            options: RunArguments::parse(text)?,
        })
    }
}

/// Makes an option of `bcs run` one of `bcs tune`.
fn suited(option: Arg) -> Arg {
    match USELESS.contains(&option.get_id().as_str()) {
        true => option.hide(true),
        false => option,
    }
}
