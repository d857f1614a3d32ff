//! The subcommands, one file each.

mod exit_codes;
mod mds;
mod run;
mod sim;

use crate::cli::{self, Cli, Command};
use crate::exit_code;
use clap::Parser as _;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::process::ExitCode;

/// Parses the command line and does what it says.
#[must_use]
pub fn dispatch(arguments: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprint!("{error}");
            return ExitCode::from(exit_code::BAD_INPUT);
        }
        Err(error) if error.use_stderr() => {
            eprintln!("bcs: {}", cli::one_line(&error));
            return ExitCode::from(exit_code::BAD_INPUT);
        }
        Err(help) => {
            // A reader who has seen enough is no failure.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match cli.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Mds(arguments) => mds::run(arguments.command),
        Command::ExitCodes => exit_codes::run(),
    }
}
