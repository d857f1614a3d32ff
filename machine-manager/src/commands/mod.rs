//! The subcommands, one file each.

mod bench;
mod config;
mod doctor;
mod exit_codes;
mod kill;
mod live_errors;
mod manual;
mod mds;
mod ps;
mod run;
mod sim;
mod sim_mpi;
mod state;
mod top;
mod tune;

use crate::adoption::AdoptedJob;
use crate::cli::command_line::{BcsCommandLine, CONFIGURED};
use crate::cli::{Cli, Command, FurtherApplication, MdsTopic};
use crate::configuration::{self, Configuration};
use crate::exit_code;
use clap::CommandFactory as _;
use std::ffi::OsString;
use std::process::ExitCode;

/// Parses the command line and runs it. `name` is the name by which the binary was called, if that
/// means `bcs run`.
#[must_use]
pub fn dispatch(name: &str, arguments: &[OsString]) -> ExitCode {
    // Parse it first without a configuration: help, and commands that need none, work even where
    // the configuration is bad.
    let line = match BcsCommandLine::read(name, arguments) {
        Ok(line) => line,
        Err(answer) => return answer.give(),
    };
    let command = match line.parse(Cli::command()) {
        Ok((_, cli)) => cli.command,
        Err(answer) => return answer.give(),
    };
    match command {
        Command::Run(_) | Command::Bench(_) | Command::Tune(_) | Command::Config(_) => {
            configured(&line, None)
        }
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Mds(arguments) => match arguments.command {
            MdsTopic::Recorded(command) => mds::run(command),
            MdsTopic::Top(arguments) => top::run(&arguments),
        },
        Command::Ps(arguments) => ps::run(&arguments),
        Command::State(arguments) => state::run(&arguments),
        Command::Kill(arguments) => kill::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions { shell, command } => manual::completions(shell, &command),
        Command::Man { dir } => manual::pages(&dir),
        Command::ExitCodes => exit_codes::run(),
    }
}

/// Runs a job whose ranks are there, with the options that files and variables give `bcs run`.
#[must_use]
pub fn adopt(arguments: &[OsString], job: AdoptedJob) -> ExitCode {
    match BcsCommandLine::read("bcs run", arguments) {
        Ok(line) => configured(&line, Some(job)),
        Err(answer) => answer.give(),
    }
}

/// Runs the commands that have configured defaults.
fn configured(line: &BcsCommandLine, adopted: Option<AdoptedJob>) -> ExitCode {
    for note in &line.notes {
        eprintln!("bcs: {note}");
    }
    let configuration = Configuration::load(&configuration::files(), |name| std::env::var_os(name));
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(error) => {
            eprintln!("bcs: {error}");
            return ExitCode::from(exit_code::BAD_INPUT);
        }
    };
    let command = CONFIGURED.iter().fold(Cli::command(), |all, name| {
        all.mut_subcommand(name, |one| configuration.apply(one))
    });
    let parsed = line.parse(command);
    if let Ok((_, cli)) = &parsed
        && !matches!(cli.command, Command::Config(_))
    {
        let strangers = configuration::strangers(std::env::vars_os().map(|(name, _)| name));
        let strangers = strangers
            .iter()
            .map(|name| configuration::nothing_reads(name));
        strangers.for_each(|line| eprintln!("bcs: {line}"));
    }
    match parsed {
        Ok((matches, cli)) => match (cli.command, matches.subcommand()) {
            (Command::Run(arguments), _) => {
                let further = configuration.apply(FurtherApplication::command());
                run::run(&arguments, further, adopted)
            }
            (Command::Bench(arguments), Some((_, matches))) => {
                let further = configuration.apply(FurtherApplication::command());
                bench::run(*arguments, matches, further)
            }
            (Command::Tune(arguments), Some((_, matches))) => {
                let further = configuration.apply(FurtherApplication::command());
                tune::run(&arguments, matches, further)
            }
            (_, Some((_, matches))) => config::run(matches, &configuration),
            (_, None) => unreachable!("parsed before as one of CONFIGURED"),
        },
        Err(answer) => answer.give(),
    }
}
