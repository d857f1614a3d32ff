//! `bcs bench`: runs the program `bench` as a job, and writes its rows as table and files.

use super::run::run_with;
use crate::bench::{picture, table};
use crate::cli::{BenchArgs, InputName, ProgramArgs, RunArgs};
use crate::exit_code;
use crate::output::Output;
use crate::standard_output::print;
use anyhow::Context as _;
use apps::bench::BenchRow;
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

/// Runs the job. `further` parses the words after a colon; there are none here.
pub(super) fn run(arguments: BenchArgs, matches: &ArgMatches, further: clap::Command) -> ExitCode {
    let BenchArgs {
        options,
        json,
        svg,
        mut run,
    } = arguments;
    if let Some(what) = refusal(&options, run.application.ranks.unwrap_or(1), matches) {
        eprintln!("bcs: {what}");
        return ExitCode::from(exit_code::BAD_INPUT);
    }
    // A run takes minutes, so we look before it for errors that would make it useless.
    for path in [&json, &svg].into_iter().flatten() {
        if let Err(error) = OpenOptions::new().create(true).append(true).open(path) {
            eprintln!("bcs: failed to write {}: {error}", path.display());
            return ExitCode::from(exit_code::BAD_INPUT);
        }
    }
    if std::io::stderr().is_terminal() {
        // Warming up takes about as long as measuring.
        let rows = options.cases().len();
        let seconds = (2 * rows)
            .saturating_mul(options.row_ms as usize)
            .div_ceil(1000);
        eprintln!("bcs: measuring {rows} rows, which takes about {seconds} s");
    }
    run.stdin = InputName::None;
    run.output_dir = None;
    let place = Rc::default();
    let output = Output::collecting(Rc::clone(&place), run.label);
    let words = options.words().into_iter().map(OsString::from);
    let line = std::iter::once("bench".into()).chain(words).collect();
    let program = ProgramArgs::Line(line);
    let run = RunArgs {
        version: None,
        help: None,
        help_all: None,
        options: run,
        program,
    };
    let code = run_with(&run, further, output);
    let told = tell(&place.borrow(), json, svg);
    match told {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            eprintln!("bcs: {error:#}");
            // The first error counts.
            ExitCode::from(if code == exit_code::SUCCESS {
                exit_code::RUNTIME
            } else {
                code
            })
        }
    }
}

/// Returns the error in a request that the command line allows.
fn refusal(
    options: &apps::bench::BenchOptions,
    ranks: usize,
    matches: &ArgMatches,
) -> Option<&'static str> {
    let given = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
    if given("output_dir") {
        return Some("--output-dir is for `bcs run`: rows go to a table here, and to --json FILE");
    }
    if ranks < 2 {
        return Some("1 rank has nobody to talk to: give -n a number from 2");
    }
    let none = options.cases().is_empty();
    none.then_some("nothing to measure: none of --ops takes one of --sizes; see `bcs bench --help`")
}

/// Prints the table, and writes the requested files. A job that failed may have measured something
/// before.
fn tell(output: &[u8], json: Option<PathBuf>, svg: Option<PathBuf>) -> anyhow::Result<()> {
    let output = String::from_utf8_lossy(output);
    let rows = BenchRow::of_output(&output).context("the program bench wrote a broken row")?;
    if rows.is_empty() {
        return Ok(());
    }
    print(table(&rows));
    if let Some(path) = json {
        let mut text = serde_json::to_string_pretty(&rows)?;
        text.push('\n');
        write(&path, &text)?;
    }
    if let Some(path) = svg {
        write(&path, &picture(&rows)?)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}
