//! `bcs completions` and `bcs man`: describe the command line for shells and `man`.

use crate::cli::Cli;
use crate::exit_code;
use crate::names_of_run::{NAMES_OF_RUN, means_run};
use crate::standard_output::print_all;
use clap::CommandFactory as _;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Returns the command line that follows a name of the binary.
fn command_of(name: &str) -> clap::Command {
    let all = Cli::command();
    match all.find_subcommand("run") {
        Some(run) if means_run(name.as_ref()).is_some() => run.clone().name(name.to_owned()),
        _ => all,
    }
}

pub(super) fn completions(shell: clap_complete::Shell, name: &str) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_of(name), name, &mut script);
    print_all(&script);
    ExitCode::SUCCESS
}

pub(super) fn pages(directory: &Path) -> ExitCode {
    let write = |name: &str| {
        let mut command = command_of(name).disable_help_subcommand(true);
        command.build();
        write_pages(command, name, directory)
    };
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

/// Writes the page of a command and those of its subcommands. `called` is its name on a command
/// line.
fn write_pages(command: clap::Command, called: &str, directory: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let called = format!("{called} {}", subcommand.get_name());
        write_pages(subcommand.clone(), &called, directory)?;
    }
    let usage = synopsis(command.clone(), called);
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    // The synopsis of clap_mangen lists all options, and omits the program behind them.
    let mut section = Roff::new();
    section.control("SH", ["SYNOPSIS"]).text([roman(usage)]);
    section.to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|option| !option.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|one| !one.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    if command.get_after_help().is_some() || command.get_after_long_help().is_some() {
        man.render_extra_section(&mut page)?;
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    std::fs::write(directory.join(man.get_filename()), page)
}

/// Returns the usage of the command, in one line.
fn synopsis(mut command: clap::Command, called: &str) -> String {
    let usage = command.render_usage().to_string();
    let usage: Vec<&str> = usage.split_whitespace().skip(1).collect();
    let usage = usage.join(" ");
    // Our own usage has the most common name of the command.
    match usage.strip_prefix("bcs run ") {
        Some(rest) => format!("{called} {rest}"),
        None => usage,
    }
}
