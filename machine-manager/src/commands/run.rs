//! `bcs run`: turns a request into a job.

use crate::adoption::AdoptedJob;
use crate::applications::{self, BadApplication};
use crate::cli::{
    BindName, DeadlockName, FabricName, HeapName, HostOptions, InputName, ProgramArgs, RunArgs,
    RunOptions,
};
use crate::cores::{self, BadCores};
use crate::dispatcher::{DeadlockPolicy, Dispatcher, DispatcherOptions};
use crate::exit_code;
use crate::hosts::{
    BadHosts, BadSlurm, HostList, Hosts, Limits, SLURM_LAUNCHER, SlurmAllocation,
    StartInterruption, parse_launcher, parse_names,
};
use crate::input_broadcast::InputBroadcast;
use crate::launch::{JobPlan, StartedJob, launch};
use crate::leak_reporter::{LeakReporter, LeakVerbosity};
use crate::live::control_socket::ControlSocket;
use crate::live::name::JobName;
use crate::live::question::JobFacts;
use crate::output::Output;
use crate::placing::{self, BadPlacing};
use crate::quantities::{GivenQuantity, date};
use crate::run_header::{self, RunHeader};
use crate::signals::Signals;
use crate::spawn_service::SpawnService;
use crate::terminal_input::TerminalInput;
use anyhow::Context as _;
use bcs_core::job::{BadJob, NicThreading, NodeId, Placement, Settings, StrobeMode, in_units};
use bcs_core::wake::machine_page::SliceLengths;
use bcs_nic::driver::place_os_threads;
use node_manager::control::InputReader;
use node_manager::limits::{IMMORTAL_PATIENCE, MAX_KILL_DELAY};
use node_manager::machine_profile::{self, ProfileFileError};
use rustix::process::Pid;
use std::io::IsTerminal as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A request that cannot be fulfilled, and that the user has to correct.
#[derive(Debug, thiserror::Error)]
enum BadInput {
    #[error(transparent)]
    Job(#[from] BadJob),
    #[error("the {what} of {given} is out of range: choose one from {least} to {most}")]
    OutOfRange {
        what: &'static str,
        given: String,
        least: String,
        most: String,
    },
    #[error(transparent)]
    Placing(#[from] BadPlacing),
    #[error(transparent)]
    Application(#[from] BadApplication),
    #[error(transparent)]
    Figures(#[from] ProfileFileError),
    #[error("--timeout {0} would end the job before it starts: give a longer time, or none")]
    NoTime(GivenQuantity<Duration>),
    #[error(
        "--kill-delay {} is out of range: choose one from 0s to {}",
        .0,
        humantime::format_duration(MAX_KILL_DELAY)
    )]
    KillDelay(GivenQuantity<Duration>),
    #[error(
        "--stdin {rank} names none of the {ranks} ranks: give a number below that, all, or none"
    )]
    NoSuchReader { rank: u32, ranks: usize },
    #[error("--gdb {rank} names none of the {ranks} ranks: give a number below that")]
    NotDebugged { rank: u32, ranks: usize },
    #[error(transparent)]
    Hosts(#[from] BadHosts),
    #[error(transparent)]
    Slurm(#[from] BadSlurm),
    #[error("--bind core: the kernel does not say which cores may be used; use --bind none")]
    NoCores,
    #[error(transparent)]
    Cores(#[from] BadCores),
    #[error("directory {path} for {option} cannot be made: {error}")]
    Directory {
        option: &'static str,
        path: String,
        error: std::io::Error,
    },
    #[error("directory {path} for {option} is not UTF-8: give another name")]
    DirectoryName { option: &'static str, path: String },
}

/// Runs a job. `further` parses the words after a colon. `adopted` has the ranks if they are there.
pub(super) fn run(
    arguments: &RunArgs,
    further: clap::Command,
    adopted: Option<AdoptedJob>,
) -> ExitCode {
    let output = Output::new(arguments.options.label);
    ExitCode::from(run_job(arguments, further, output, adopted))
}

/// Does the same with a place for the output of the ranks; returns the exit code.
pub(super) fn run_with(arguments: &RunArgs, further: clap::Command, output: Output) -> u8 {
    run_job(arguments, further, output, None)
}

fn run_job(
    arguments: &RunArgs,
    further: clap::Command,
    output: Output,
    adopted: Option<AdoptedJob>,
) -> u8 {
    let options = &arguments.options;
    let job = match plan(options, &arguments.program, further, adopted) {
        Ok(job) => job,
        Err(error) => {
            eprintln!("bcs: {error}");
            return exit_code::BAD_INPUT;
        }
    };
    match carry_out(options, job, output) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bcs: {error:#}");
            let ended = error.downcast_ref::<StartInterruption>();
            ended.map_or(exit_code::RUNTIME, StartInterruption::exit_code)
        }
    }
}

/// Returns the error in a request, in words, for commands that start jobs in processes of their
/// own.
pub(super) fn check(
    options: &RunOptions,
    program: &ProgramArgs,
    further: clap::Command,
) -> Result<(), String> {
    let planned = plan(options, program, further, None);
    planned.map(drop).map_err(|error| error.to_string())
}

/// Checks everything that can be checked before anything is started.
fn plan(
    options: &RunOptions,
    program: &ProgramArgs,
    further: clap::Command,
    adopted: Option<AdoptedJob>,
) -> Result<JobPlan, BadInput> {
    machine_profile::can_be_read()?;
    let ProgramArgs::Line(line) = program;
    let path = std::env::var_os("PATH");
    let allocation = match &options.far.hosts {
        // Its launcher has placed the ranks.
        _ if adopted.is_some() => None,
        Some(_) => None,
        None => SlurmAllocation::of_environment()?,
    };
    let alone = allocation.as_ref().map_or(1, |found| found.tasks);
    let first = (&options.application, alone);
    let applications = applications::find(first, line, path.as_deref(), further)?;
    let ranks = applications.iter().fold(0, |ranks: usize, application| {
        ranks.saturating_add(application.ranks)
    });
    let applications = match options.gdb {
        None => applications,
        Some(rank) if rank as usize >= ranks => return Err(BadInput::NotDebugged { rank, ranks }),
        Some(rank) => {
            let command = &options.debugger;
            applications::under_debugger(applications, rank as usize, command, path.as_deref())?
        }
    };
    let (placement, hosts) = match &adopted {
        Some(adopted) => (
            Placement::counts(&adopted.counts)?,
            adopted.hosts(with_options(&options.far, SSH, None)?),
        ),
        None => place_on_hosts(ranks, options, allocation.as_ref())?,
    };
    let cores = cores::of_job(options.nics.nic_cores.as_ref())?;
    // The launcher of an adopted job has placed the ranks, and dumps have a column for each place.
    let unasked = adopted.is_none() && options.mds.is_none();
    let placement = placing::with_spare(placement, options.universe_size, unasked)?;
    let universe_size = options
        .universe_size
        .map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    let default_driver = || match &hosts {
        // Each host has cores of its own.
        Some(_) => NicThreading::Coprocessor,
        None => NicThreading::for_cores(cores.usable, ranks, placement.nodes()),
    };
    let driver = options.nics.nic_threads.map(NicThreading::from);
    let settings = settings(options, driver.unwrap_or_else(default_driver))?;
    if let Some(time) = options.timeout.as_ref().filter(|time| time.value.is_zero()) {
        return Err(BadInput::NoTime(time.clone()));
    }
    if options.kill_delay.value > MAX_KILL_DELAY {
        return Err(BadInput::KillDelay(options.kill_delay.clone()));
    }
    // The standard input is the debugger's.
    let stdin = match (options.gdb, options.stdin) {
        (Some(rank), InputName::Rank(_)) => InputName::Rank(rank),
        (_, stdin) => stdin,
    };
    let input = match stdin {
        _ if adopted.is_some() => InputReader::None,
        InputName::Rank(rank) if rank as usize >= placement.ranks() => {
            return Err(BadInput::NoSuchReader { rank, ranks });
        }
        InputName::Rank(rank) if hosts.is_some() => InputReader::Through(rank),
        InputName::Rank(rank) => InputReader::Rank(rank),
        InputName::All => InputReader::All,
        InputName::None => InputReader::None,
    };
    let one_each = options.bind == BindName::Core;
    if one_each && cores.allowed.is_empty() {
        return Err(BadInput::NoCores);
    }
    let nics = place_os_threads(settings.driver, &placement, &cores);
    let rank_cores = placing::rank_cores(one_each, &cores.allowed, &nics);
    let made = |option, path: &Option<PathBuf>| {
        let path = path.as_deref();
        path.map(|path| make_directory(option, path)).transpose()
    };
    Ok(JobPlan {
        applications,
        placement,
        universe_size,
        settings,
        measure: options.link_bandwidth.is_none(),
        cores,
        rank_cores,
        input,
        kill_delay: options.kill_delay.value,
        verbose: options.verbose,
        preload: options.heap == HeapName::Slot,
        mds: made("--mds", &options.mds)?,
        record: options.mds_record.clone(),
        output_dir: made("--output-dir", &options.output_dir)?,
        hosts,
        launch_degree: options.far.launch_degree,
        start_cost: options.far.launch_cost.value,
        adopted,
    })
}

/// Places ranks on nodes, and nodes on the hosts that the user or Slurm names.
fn place_on_hosts(
    ranks: usize,
    options: &RunOptions,
    allocation: Option<&SlurmAllocation>,
) -> Result<(Placement, Option<Hosts>), BadInput> {
    let named = match &options.far.hosts {
        Some(text) => Some(parse_names(text)?),
        None => allocation.map(|found| found.hosts_for(ranks)),
    };
    let placement = placement(ranks, options, named.as_ref())?;
    let own = allocation.and_then(|found| found.own.as_deref());
    let elsewhere = named.filter(|named| !named.are_here(own));
    let elsewhere = elsewhere.map(|named| named.names);
    let launcher = match &options.far.launcher {
        Some(text) => text,
        None if allocation.is_some() => SLURM_LAUNCHER,
        None => SSH,
    };
    let hosts = hosts((&options.far, launcher), elsewhere, placement.nodes())?;
    Ok((placement, hosts))
}

/// The launcher where there is no Slurm.
const SSH: &str = "ssh -oBatchMode=yes";

/// Places ranks on nodes. By default a host is a node, and takes as many ranks as it has slots.
fn placement(
    ranks: usize,
    options: &RunOptions,
    named: Option<&HostList>,
) -> Result<Placement, BadPlacing> {
    let by_hosts = named.filter(|_| options.nodes.is_none() && options.ppn.is_none());
    match by_hosts {
        None => {
            let placement = placing::place(ranks, options.nodes, options.ppn)?;
            if let Some(named) = named {
                let host_of = Hosts::spread(&named.names, placement.nodes());
                placing::fits(&placement, &host_of, named)?;
            }
            Ok(placement)
        }
        Some(HostList {
            slots: Some(slots), ..
        }) => placing::place_in_slots(ranks, slots),
        Some(named) => placing::place(ranks, Some(named.names.len().min(ranks)), None),
    }
}

/// Returns the hosts of the nodes, unless all are here and share memory.
fn hosts(
    (options, launcher): (&HostOptions, &str),
    named: Option<Vec<String>>,
    nodes: usize,
) -> Result<Option<Hosts>, BadInput> {
    let is_here = named.is_none() && (options.fabric != FabricName::Udp || nodes == 1);
    if is_here {
        return Ok(None);
    }
    let names = named.map(|names| Hosts::spread(&names, nodes));
    let hosts = with_options(options, launcher, names)?;
    hosts.check()?;
    Ok(Some(hosts))
}

/// Returns hosts with the options of the user.
fn with_options(
    options: &HostOptions,
    launcher: &str,
    names: Option<Vec<String>>,
) -> Result<Hosts, BadInput> {
    Ok(Hosts {
        names,
        launcher: parse_launcher(launcher)?,
        fabric: options.fabric.into(),
        interface: options.host_interface.clone(),
        ports: options.host_ports,
        crypto: options.fabric_crypto.into(),
        node_timeout: options.node_timeout.clone(),
    })
}

fn settings(options: &RunOptions, driver: NicThreading) -> Result<Settings, BadInput> {
    let settings = Settings {
        strobe: options.strobe.into(),
        time_slice_ns: u64::try_from(options.time_slice.value.as_nanos()).unwrap_or(u64::MAX),
        eager_limit: usize::try_from(options.eager_limit.value).unwrap_or(usize::MAX),
        link_bandwidth: options
            .link_bandwidth
            .as_ref()
            .map(|given| given.value)
            .unwrap_or_else(|| Settings::default().link_bandwidth),
        driver,
        soft_reduce_elements: options.reduce,
        intranode: options.intranode.into(),
        collectives: options.collectives.into(),
        road: options.copy_method.into(),
        folding: options.folding.into(),
        checked: options.checked,
        all_phases: options.all_phases,
    };
    settings.check().map_err(|bad| as_given(bad, options))?;
    Ok(settings)
}

/// Returns the error about a setting out of range, in the unit in which it was given.
fn as_given(bad: BadJob, options: &RunOptions) -> BadInput {
    let BadJob::OutOfRange {
        what,
        min,
        max,
        unit,
        ..
    } = bad
    else {
        return bad.into();
    };
    let given = match (what, &options.link_bandwidth) {
        ("time slice", _) => options.time_slice.to_string(),
        ("eager limit", _) => options.eager_limit.to_string(),
        ("link bandwidth", Some(given)) => given.to_string(),
        _ => return bad.into(),
    };
    let (least, most) = (in_units(min, unit), in_units(max, unit));
    BadInput::OutOfRange {
        what,
        given,
        least,
        most,
    }
}

/// Ranks may change their directory, so they get an absolute path.
fn make_directory(option: &'static str, path: &Path) -> Result<PathBuf, BadInput> {
    let make = || {
        std::fs::create_dir_all(path)?;
        std::fs::canonicalize(path)
    };
    let name = || path.display().to_string();
    let made = make().map_err(|error| BadInput::Directory {
        option,
        path: name(),
        error,
    })?;
    if made.to_str().is_none() {
        let path = name();
        return Err(BadInput::DirectoryName { option, path });
    }
    Ok(made)
}

fn carry_out(options: &RunOptions, job: JobPlan, output: Output) -> anyhow::Result<u8> {
    node_manager::reaper::find_proc()?;
    // We must not kill children that a shell had before it became us (exec).
    let spared = match node_manager::reaper::childless() {
        true => Vec::new(),
        false => node_manager::reaper::children(),
    };
    node_manager::reaper::adopt_orphans().context("failed to become a subreaper")?;
    let outcome = start_and_watch(options, job, output, spared.clone());
    if outcome.is_err() {
        let _the_failure_is_said =
            node_manager::reaper::end_descendants(&spared, IMMORTAL_PATIENCE);
    }
    outcome
}

fn start_and_watch(
    options: &RunOptions,
    job: JobPlan,
    output: Output,
    spared: Vec<Pid>,
) -> anyhow::Result<u8> {
    let signals = Signals::take_over().context("failed to take signals over")?;
    let terminal = match job.input {
        InputReader::Rank(_) => {
            TerminalInput::open().context("failed to make a pipe for the input")?
        }
        InputReader::All | InputReader::Through(_) | InputReader::None => None,
    };
    let (input, far_end) = terminal.unzip();
    let stdin = match &far_end {
        Some(far_end) => far_end.as_fd(),
        None => rustix::stdio::stdin(),
    };
    let (ranks, input_from) = (job.placement.ranks(), job.input);
    if options.report_bindings {
        for line in placing::report(&job) {
            eprintln!("bcs: {line}");
        }
    }
    if hints_are_heard(options) && options.nics.nic_threads.is_some() {
        let hint = placing::hint(job.settings.driver, &job.placement, job.cores.usable);
        hint.iter().for_each(|hint| eprintln!("bcs: hint: {hint}"));
    }
    let mut header = RunHeader::of(&job);
    let on_deadlock = on_deadlock(options, job.mds.as_deref());
    let command = run_header::command(&job);
    let nodes = job.placement.nodes();
    let foreign_launcher = job.adopted.as_ref().map(AdoptedJob::foreign_launcher);
    let foreign_launcher = foreign_launcher.transpose()?;
    let (placement, applications) = (job.placement.clone(), job.applications.clone());
    // The time limit of the job includes the start.
    let timeout = options.timeout.clone();
    let timeout = timeout.and_then(|time| Some((Instant::now().checked_add(time.value)?, time)));
    let limits = Limits {
        signals: &signals,
        timeout: timeout.as_ref(),
    };
    let launched = launch(job, stdin, limits)?;
    let facts = JobFacts {
        id: launched.job.clone(),
        nodes,
        ranks,
        is_recorded: launched.records,
        command,
        ..JobFacts::default()
    };
    let door = open_door(&launched, facts, hints_are_heard(options));
    if let Some(header) = &mut header {
        header.started(&launched);
    }
    drop(far_end);
    if options.verbose {
        describe(&launched, ranks);
        if options.heap == HeapName::Slot
            && let Err(why) = node_manager::preload::find()
        {
            eprintln!("bcs: {why}: no heap is preloaded");
        }
    }
    let chosen = (options.verbose && launched.settings.strobe == StrobeMode::Auto)
        .then(|| launched.page.clone())
        .flatten();
    let shared_input = matches!(input_from, InputReader::All | InputReader::Through(_))
        .then(|| InputBroadcast::new(launched.managers.len()));
    let managers = launched
        .managers
        .iter()
        .map(|manager| manager.nodes.clone());
    let managers: Vec<Vec<NodeId>> = managers.collect();
    let is_adopted = foreign_launcher.is_some();
    let surroundings = DispatcherOptions {
        spawns: SpawnService::new(placement, &managers, &applications, is_adopted),
        output,
        input,
        door,
        shared_input,
        on_deadlock,
        at_finalize: LeakReporter::new(at_finalize(options)),
        hints: hints_are_heard(options),
        is_verbose: options.verbose,
        signals,
        spared,
        foreign_launcher,
    };
    let code = Dispatcher::new(launched, surroundings, ranks, timeout).run()?;
    if let Some(page) = chosen {
        say_chosen(&page.slice_lengths());
    }
    if let Some(Err(error)) = header.map(|header| header.write(code)) {
        eprintln!("bcs: {error}");
    }
    Ok(code)
}

/// Opens the socket by which `bcs ps` and others find the job. The job runs as well without it: a
/// sandbox may have no such sockets.
fn open_door(launched: &StartedJob, facts: JobFacts, hints: bool) -> Option<ControlSocket> {
    let name = JobName::new(rustix::process::geteuid().as_raw(), &launched.job)?;
    let facts = JobFacts {
        pid: name.pid,
        user: name.user,
        ..facts
    };
    let nodes = launched.managers.iter();
    let nodes = nodes.map(|manager| manager.nodes.clone()).collect();
    match ControlSocket::open(&name, facts, nodes) {
        Ok(door) => Some(door),
        Err(errno) => {
            if hints {
                eprintln!("bcs: hint: `bcs ps` does not find this job: {errno}");
            }
            None
        }
    }
}

fn on_deadlock(options: &RunOptions, mds: Option<&Path>) -> DeadlockPolicy {
    let in_dumps = mds.map(|directory| directory.join("deadlock.json"));
    DeadlockPolicy {
        aborts: options.on_deadlock == DeadlockName::Abort,
        files: options
            .deadlock_json
            .iter()
            .cloned()
            .chain(in_dumps)
            .collect(),
    }
}

/// Returns whether to print hints. A hint to improve a job that goes well is for a person, and for
/// users that request it. A program or a file that gets the ranks' standard error must get nothing
/// else.
fn hints_are_heard(options: &RunOptions) -> bool {
    options.verbose || options.report_bindings || std::io::stderr().is_terminal()
}

/// Prints, for `-v`, the slice lengths of a job whose slices were as long as it needed.
fn say_chosen(chosen: &SliceLengths) {
    let SliceLengths {
        now_ns,
        shortest_ns,
        longest_ns,
        changes,
    } = *chosen;
    let [last, shortest, longest] = [now_ns, shortest_ns, longest_ns]
        .map(|ns| humantime::format_duration(Duration::from_nanos(ns)));
    eprintln!(
        "bcs: slices of {shortest} to {longest} were chosen, in {changes} changes; the last were of {last}"
    );
}

/// Prints, for `-v`, how the job runs.
fn describe(launched: &StartedJob, ranks: usize) {
    let Settings {
        strobe,
        time_slice_ns,
        eager_limit,
        link_bandwidth,
        driver,
        intranode,
        road,
        ..
    } = launched.settings;
    let slice = humantime::format_duration(Duration::from_nanos(time_slice_ns));
    let eager_limit = in_units(eager_limit as u64, "bytes");
    let bandwidth = bytesize::ByteSize(link_bandwidth).display().si();
    let measured = launched.bandwidth.as_ref();
    let measured = measured.map(|one| format!(" (measured {})", date(one.measured)));
    let measured = measured.unwrap_or_default();
    eprintln!(
        "bcs: {ranks} ranks, {strobe:?} strobes, slices of {slice}, eager limit {eager_limit}, \
         links of {bandwidth}/s{measured}, NIC threads {driver:?}"
    );
    eprintln!("bcs: messages within a node by {intranode:?}, copies by {road:?} at best");
    for line in &launched.joined {
        eprintln!("bcs: {line}");
    }
    eprintln!("bcs: bcs run is process {}", std::process::id());
    // Those that others start are printed when they are started.
    let processes = launched.managers.iter().zip(&launched.processes);
    for (manager, process) in processes.filter(|(_, process)| **process != 0) {
        let who = manager.name(driver == NicThreading::Shared);
        eprintln!("bcs: {who} is process {process}");
    }
}

/// Returns which leaks are reported.
fn at_finalize(options: &RunOptions) -> LeakVerbosity {
    let default = match options.checked {
        true => LeakVerbosity::All,
        false => LeakVerbosity::Errors,
    };
    options.at_finalize.map_or(default, Into::into)
}
