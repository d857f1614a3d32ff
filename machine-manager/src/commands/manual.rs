//! `bcs completions` and `bcs man`: what shells and `man` are to know of the command line.

use crate::cli::Cli;
use crate::exit_code;
use clap::CommandFactory as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bcs", &mut script);
    // A reader who has seen enough is no failure.
    let _ = std::io::stdout().write_all(&script);
    ExitCode::SUCCESS
}

pub(super) fn pages(directory: &Path) -> ExitCode {
    let made = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let directory = directory.display();
            eprintln!("bcs: failed to write manual pages into {directory}: {error}");
            ExitCode::from(exit_code::BAD_INPUT)
        }
    }
}
