//! The subcommands, one file each.

mod bench;
mod config;
mod doctor;
mod exit_codes;
mod kill;
mod manual;
mod mds;
mod ps;
mod run;
mod sim;
mod sim_mpi;
mod state;
mod top;
mod tune;

use crate::cli::{self, Cli, Command, FurtherApplication, MdsTopic};
use crate::configuration::{self, Configuration};
use crate::exit_code;
use crate::live::call::CallError;
use crate::live::jobs::NoJob;
use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// The subcommands whose options `bcs.toml` and variables can give defaults to.
const CONFIGURED: [&str; 4] = ["run", "bench", "tune", "config"];

/// Parses the command line and does what it says.
#[must_use]
pub fn dispatch(mut arguments: Vec<OsString>) -> ExitCode {
    if let Some((_, [subcommand, words @ ..])) = arguments.split_first()
        && CONFIGURED.iter().any(|name| subcommand == *name)
    {
        let all = Cli::command();
        let options = all.find_subcommand(subcommand);
        let words = options.map(|options| cli::with_np_as_n(options, words));
        arguments.splice(2.., words.unwrap_or_default());
    }
    // First as if nothing were configured: help, and what has nothing to do with it, works even
    // where the configuration is bad.
    let command = match parse(Cli::command(), &arguments) {
        Ok((_, cli)) => cli.command,
        Err(code) => return code,
    };
    match command {
        Command::Run(_) | Command::Bench(_) | Command::Tune(_) | Command::Config(_) => {
            configured(&arguments)
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

/// What has defaults from elsewhere.
fn configured(arguments: &[OsString]) -> ExitCode {
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
    match parse(command, arguments) {
        Ok((matches, cli)) => match (cli.command, matches.subcommand()) {
            (Command::Run(arguments), _) => {
                let further = configuration.apply(FurtherApplication::command());
                run::run(&arguments, further)
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
        Err(code) => code,
    }
}

fn parse(command: clap::Command, arguments: &[OsString]) -> Result<(ArgMatches, Cli), ExitCode> {
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        Ok((matches, cli))
    });
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprint!("{error}");
            ExitCode::from(exit_code::BAD_INPUT)
        }
        _ if error.use_stderr() => {
            eprintln!("bcs: {}", cli::one_line(&error, arguments));
            ExitCode::from(exit_code::BAD_INPUT)
        }
        _ => {
            // A reader who has seen enough is no failure.
            let _ = error.print();
            ExitCode::SUCCESS
        }
    })
}

/// Prints what was asked for. A reader who has seen enough is no failure.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _gone = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Says why there is no such job.
fn no_job(error: &NoJob) -> ExitCode {
    eprintln!("bcs: {error}");
    ExitCode::from(match error {
        NoJob::Table(_) => exit_code::RUNTIME,
        NoJob::None | NoJob::Unknown { .. } | NoJob::Several(_) => exit_code::BAD_INPUT,
    })
}

/// Says why a job has not answered.
fn no_answer(error: &CallError) -> ExitCode {
    eprintln!("bcs: {error}");
    ExitCode::from(match error {
        CallError::Ended(_) => exit_code::BAD_INPUT,
        _ => exit_code::RUNTIME,
    })
}
