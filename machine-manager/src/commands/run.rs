//! `bcs run`: from what was asked for to a job.

use crate::cli::{ProgramArgs, RunArgs};
use crate::cores;
use crate::dispatcher::{Dispatcher, Surroundings};
use crate::exit_code;
use crate::launch::{Job, Launched, launch};
use crate::output::Output;
use crate::program::{BadProgram, Program};
use crate::signals::EndingSignals;
use crate::terminal_input::TerminalInput;
use crate::verdict::manager_name;
use anyhow::Context as _;
use bcs_core::job::{BadJob, Driver, Placement, Settings};
use rustix::process::Pid;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A request that cannot be fulfilled: the user's to mend.
#[derive(Debug, thiserror::Error)]
enum BadInput {
    #[error(transparent)]
    Job(#[from] BadJob),
    #[error(transparent)]
    Program(#[from] BadProgram),
    #[error("--timeout 0s would end the job before it starts: give a longer time, or none")]
    NoTime,
    #[error("directory {path} for --mds cannot be made: {error}")]
    Mds { path: String, error: std::io::Error },
    #[error("directory {path} for --mds is not UTF-8: give another name")]
    MdsName { path: String },
}

pub(super) fn run(arguments: RunArgs) -> ExitCode {
    let job = match plan(&arguments) {
        Ok(job) => job,
        Err(error) => {
            eprintln!("bcs: {error}");
            return ExitCode::from(exit_code::BAD_INPUT);
        }
    };
    match carry_out(&arguments, job) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("bcs: {error:#}");
            ExitCode::from(exit_code::RUNTIME)
        }
    }
}

/// Checks everything that can be checked before anything is started.
fn plan(arguments: &RunArgs) -> Result<Job, BadInput> {
    let placement = Placement::block(arguments.ranks, arguments.nodes)?;
    let usable_cores = cores::usable();
    let default_driver = || Driver::for_cores(usable_cores, arguments.ranks, arguments.nodes);
    let settings = Settings {
        strobe: arguments.strobe.into(),
        time_slice_ns: u64::try_from(arguments.time_slice.as_nanos()).unwrap_or(u64::MAX),
        eager_limit: usize::try_from(arguments.eager_limit).unwrap_or(usize::MAX),
        link_bandwidth: arguments
            .link_bandwidth
            .unwrap_or_else(|| Settings::default().link_bandwidth),
        driver: arguments
            .nic_threads
            .map_or_else(default_driver, Driver::from),
        soft_reduce_elements: arguments.reduce,
        all_phases: arguments.all_phases,
    };
    settings.check()?;
    if arguments.timeout.is_some_and(|time| time.is_zero()) {
        return Err(BadInput::NoTime);
    }
    let ProgramArgs::Line(line) = &arguments.program;
    let program = Program::find(line, std::env::var_os("PATH").as_deref())?;
    let mds = arguments
        .mds
        .as_deref()
        .map(make_mds_directory)
        .transpose()?;
    Ok(Job {
        program,
        placement,
        settings,
        measure: arguments.link_bandwidth.is_none(),
        cores: cores::allowed(),
        usable_cores,
        mds,
    })
}

/// Ranks may change their directory, so they are told an absolute path.
fn make_mds_directory(path: &Path) -> Result<PathBuf, BadInput> {
    let make = || {
        std::fs::create_dir_all(path)?;
        std::fs::canonicalize(path)
    };
    let name = || path.display().to_string();
    let made = make().map_err(|error| BadInput::Mds {
        path: name(),
        error,
    })?;
    if made.to_str().is_none() {
        return Err(BadInput::MdsName { path: name() });
    }
    Ok(made)
}

fn carry_out(arguments: &RunArgs, job: Job) -> anyhow::Result<u8> {
    // Children that a shell had before it became us (exec) are not ours to kill.
    let spared = match node_manager::reaper::childless() {
        true => Vec::new(),
        false => node_manager::reaper::children(),
    };
    node_manager::reaper::adopt_orphans().context("failed to become a subreaper")?;
    let outcome = start_and_watch(arguments, job, spared.clone());
    if outcome.is_err() {
        node_manager::reaper::end_descendants(&spared);
    }
    outcome
}

fn start_and_watch(arguments: &RunArgs, job: Job, spared: Vec<Pid>) -> anyhow::Result<u8> {
    let signals = EndingSignals::take_over().context("failed to take signals over")?;
    let terminal = TerminalInput::open().context("failed to make a pipe for the input")?;
    let (input, far_end) = terminal.unzip();
    let stdin = match &far_end {
        Some(far_end) => far_end.as_fd(),
        None => rustix::stdio::stdin(),
    };
    let ranks = job.placement.ranks();
    let launched = launch(job, stdin)?;
    drop(far_end);
    if arguments.verbose {
        describe(&launched, ranks);
    }
    let surroundings = Surroundings {
        output: Output::new(arguments.label),
        input,
        signals,
        spared,
    };
    Dispatcher::new(launched, surroundings, ranks, arguments.timeout).run()
}

/// `-v`.
fn describe(launched: &Launched, ranks: usize) {
    let Settings {
        strobe,
        time_slice_ns,
        eager_limit,
        link_bandwidth,
        driver,
        ..
    } = launched.settings;
    let slice = humantime::format_duration(std::time::Duration::from_nanos(time_slice_ns));
    let bandwidth = bytesize::ByteSize(link_bandwidth).display().si();
    eprintln!(
        "bcs: {ranks} ranks, {strobe:?} strobes, slices of {slice}, eager limit {eager_limit} \
         bytes, links of {bandwidth}/s, NIC threads {driver:?}"
    );
    eprintln!("bcs: bcs run is process {}", std::process::id());
    for manager in &launched.managers {
        let who = manager_name(&manager.nodes, driver == Driver::Shared);
        eprintln!("bcs: {who} is process {}", manager.pid.as_raw_nonzero());
    }
}
