//! `bcs config`: prints the options of `bcs run` in effect.

use crate::cli;
use crate::cli::option_name::key;
use crate::configuration::{Configuration, repeats, strangers};
use crate::standard_output::print;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use std::process::ExitCode;

pub(super) fn run(matches: &ArgMatches, configuration: &Configuration) -> ExitCode {
    let options = cli::run_options();
    let mut lines: Vec<(String, &str)> = options
        .get_arguments()
        .filter(|option| !option.is_hide_set())
        .map(|option| line(option, matches, configuration))
        .collect();
    let strangers = strangers(std::env::vars_os().map(|(name, _)| name));
    let strangers = strangers
        .into_iter()
        .map(|name| (format!("# {name}"), "a variable, but of no option"));
    lines.extend(strangers);
    let width = lines.iter().map(|(left, _)| left.len()).max().unwrap_or(0);
    for (left, origin) in lines {
        print(format_args!("{left:width$}  # {origin}"));
    }
    ExitCode::SUCCESS
}

/// Formats an assignment as in `bcs.toml`, with its origin.
fn line<'a>(
    option: &Arg,
    matches: &ArgMatches,
    configuration: &'a Configuration,
) -> (String, &'a str) {
    let id = option.get_id().as_str();
    let name = key(option);
    let origin = match matches.value_source(id) {
        None => return (format!("# {name}"), "not set"),
        Some(ValueSource::CommandLine) => "command line",
        Some(_) => configuration.place(option).unwrap_or("default"),
    };
    if !option.get_action().takes_values() {
        return (format!("{name} = {}", matches.get_flag(id)), origin);
    }
    let raw = matches.get_raw(id).into_iter().flatten();
    let values: Vec<String> = raw.map(|value| quoted(&value.to_string_lossy())).collect();
    let value = if repeats(option) {
        format!("[{}]", values.join(", "))
    } else {
        values.concat()
    };
    (format!("{name} = {value}"), origin)
}

/// Returns a number as it is, anything else as a string.
fn quoted(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(number) => number.to_string(),
        Err(_) => format!("{value:?}"),
    }
}
