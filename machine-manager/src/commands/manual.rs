//! `bcs completions` and `bcs man`: what shells and `man` are to know of the command line.

use crate::cli::Cli;
use crate::{NAMES_OF_RUN, exit_code, means_run};
use clap::CommandFactory as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// The command line that follows a name of the binary.
fn command_of(name: &str) -> clap::Command {
    let all = Cli::command();
    match all.find_subcommand("run") {
        Some(run) if means_run(name.as_ref()) => run.clone().name(name.to_owned()),
        _ => all,
    }
}

pub(super) fn completions(shell: clap_complete::Shell, name: &str) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_of(name), name, &mut script);
    // A reader who has seen enough is no failure.
    let _ = std::io::stdout().write_all(&script);
    ExitCode::SUCCESS
}

pub(super) fn pages(directory: &Path) -> ExitCode {
    let write = |name: &str| clap_mangen::generate_to(command_of(name), directory);
    let made = std::fs::create_dir_all(directory);
    let made = made.and_then(|()| ["bcs"].into_iter().chain(NAMES_OF_RUN).try_for_each(write));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let directory = directory.display();
            eprintln!("bcs: failed to write manual pages into {directory}: {error}");
            ExitCode::from(exit_code::BAD_INPUT)
        }
    }
}
