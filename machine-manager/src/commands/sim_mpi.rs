//! `bcs sim --mpi`: runs whole jobs in virtual time, `bcs-mpi` included.
//!
//! Processes of their own run the seeds, some seeds each, as many processes at once as there are
//! cores. So a seed that ends its process, or never ends, is reported by its number. Ranks that
//! died in a simulation, whose threads are parked for good, end with their process.

use crate::cli::{FaultName, SimArgs};
use crate::exit_code;
use crate::standard_output::print;
use bcs_nic::simulator::fabric::FabricKind;
use bcs_sim::stack::{
    self, FaultKind, FaultSet, JobEnd, SimulatedJobOptions, SimulatedJobReport, SimulatedProgram,
};
use clap::ValueEnum as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds that one process runs.
const SEEDS_PER_PROCESS: u64 = 25;

/// Seconds that a seed may take: a hundred times what the longest ones take.
const SECONDS_PER_SEED: i64 = 120;

/// The text before the injected faults in a worker's line, for the sum.
const STRUCK: &str = "; struck ";
/// A line with this text is an objection.
const OBJECTS: &str = ": objection: ";
/// A line with this text reports that the job was ended.
const TOLD: &str = "; told ";

pub(super) fn run(arguments: &SimArgs) -> ExitCode {
    if arguments.worker {
        return work(arguments);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(arguments.seed);
    let end = arguments.seed.saturating_add(arguments.seeds);
    let sum = Mutex::new(Sum::default());
    std::thread::scope(|threads| {
        for _ in 0..cores {
            threads.spawn(|| {
                loop {
                    let first = next.fetch_add(SEEDS_PER_PROCESS, Ordering::Relaxed);
                    if first >= end {
                        break;
                    }
                    run_some(arguments, first..(first + SEEDS_PER_PROCESS).min(end), &sum);
                }
            });
        }
    });
    let sum = sum.into_inner().expect("no thread panics");
    sum.say(arguments.fabric.into());
    if sum.objections == 0 {
        return ExitCode::SUCCESS;
    }
    let objections = sum.objections;
    eprintln!("bcs: {objections} objections; a seed can be run again by --mpi --seed");
    ExitCode::FAILURE
}

/// The results of all seeds.
#[derive(Default)]
struct Sum {
    seeds: u64,
    told: u64,
    objections: u64,
    struck: BTreeMap<String, u64>,
}

impl Sum {
    /// Takes a line of a worker. Returns whether it is the line of a seed that was run.
    fn take(&mut self, line: &str) -> bool {
        print(line);
        if line.contains(OBJECTS) {
            self.objections += 1;
            return false;
        }
        self.seeds += 1;
        self.told += u64::from(line.contains(TOLD));
        let kinds = line.split(STRUCK).nth(1).unwrap_or_default();
        let kinds = kinds.split(';').next().unwrap_or_default();
        for kind in kinds.split_whitespace().filter(|kind| *kind != "nothing") {
            *self.struck.entry(kind.to_owned()).or_default() += 1;
        }
        true
    }

    fn say(&self, fabric: FabricKind) {
        let struck: Vec<String> = FaultKind::possible_on(fabric)
            .map(|kind| {
                let seeds = self.struck.get(kind.name()).copied().unwrap_or(0);
                format!("{} {seeds}", kind.name())
            })
            .collect();
        print(format_args!(
            "{} seeds, of which {} were ended early and told so; {} objections; struck in so many seeds: {}",
            self.seeds,
            self.told,
            self.objections,
            struck.join(", ")
        ));
    }
}

/// Runs seeds in a process of their own, and in another one those that it has not run.
fn run_some(arguments: &SimArgs, seeds: std::ops::Range<u64>, sum: &Mutex<Sum>) {
    let mut next = seeds.start;
    let told = |line: &str| sum.lock().expect("no thread panics").take(line);
    while next < seeds.end {
        let (mut child, mut lines) = match start(arguments, next, seeds.end - next) {
            Ok(started) => started,
            Err(error) => {
                told(&format!(
                    "seed {next}{OBJECTS}cannot start a process: {error}"
                ));
                return;
            }
        };
        let mut line = String::new();
        let how = loop {
            if !comes(&lines) {
                break format!("it runs for more than {SECONDS_PER_SEED} s");
            }
            line.clear();
            match lines.read_line(&mut line) {
                Ok(0) | Err(_) => break "it ended the simulator".to_owned(),
                Ok(_) => next += u64::from(told(line.trim_end())),
            }
        };
        let _ended_already = child.kill();
        let status = child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        if next < seeds.end {
            told(&format!("seed {next}{OBJECTS}{how} ({status})"));
            next += 1;
        }
    }
}

/// Waits for a line or the end. Returns whether one comes in time.
fn comes(lines: &BufReader<ChildStdout>) -> bool {
    if !lines.buffer().is_empty() {
        return true;
    }
    let limit = Timespec {
        tv_sec: SECONDS_PER_SEED,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(lines.get_ref(), PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut fds, Some(&limit))) != Ok(0)
}

fn start(
    arguments: &SimArgs,
    seed: u64,
    seeds: u64,
) -> std::io::Result<(Child, BufReader<ChildStdout>)> {
    // By this name it is found even after a newer binary has taken its place.
    let mut command = Command::new("/proc/self/exe");
    command.args(["sim", "--mpi", "--worker"]);
    command.args(["--seed", &seed.to_string(), "--seeds", &seeds.to_string()]);
    if arguments.twice {
        command.arg("--twice");
    }
    let fabric = arguments.fabric.to_possible_value();
    let fabric = fabric.expect("a fabric has a name");
    command.args(["--fabric", fabric.get_name()]);
    let kind = |kind: &FaultName| {
        let kind = kind.to_possible_value().expect("a kind has a name");
        kind.get_name().to_owned()
    };
    let kinds: Vec<String> = arguments.faults.iter().map(kind).collect();
    command.args(["--faults", &kinds.join(",")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let lines = child.stdout.take().expect("it is piped");
    Ok((child, BufReader::new(lines)))
}

/// Runs seeds in this process. Prints a line for each, after a line for each of its objections.
fn work(arguments: &SimArgs) -> ExitCode {
    // A rank that panics is an objection with the panic's message.
    std::panic::set_hook(Box::new(|_| ()));
    let fabric = arguments.fabric.into();
    let faults = kinds(&arguments.faults);
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let options = SimulatedJobOptions {
            seed,
            fabric,
            faults,
            program: SimulatedProgram::Drawn,
        };
        let report = stack::run(&options);
        let again = arguments.twice.then(|| stack::run(&options).trace_hash);
        let mut out = std::io::stdout().lock();
        let mut say = |line: &str| writeln!(out, "{}", line.replace('\n', " ")).is_ok();
        let mut heard = true;
        if let Some(objection) = &report.objection {
            heard &= say(&format!("seed {seed}{OBJECTS}{objection}"));
        }
        if again.is_some_and(|hash| hash != report.trace_hash) {
            heard &= say(&format!(
                "seed {seed}{OBJECTS}the second run left another trace"
            ));
        }
        if !heard || !say(&line(seed, &report)) || out.flush().is_err() {
            return ExitCode::from(exit_code::BAD_INPUT); // the reader is gone
        }
    }
    ExitCode::SUCCESS
}

fn kinds(names: &[FaultName]) -> FaultSet {
    let mut faults = FaultSet::NONE;
    for name in names {
        faults.insert(match name {
            FaultName::All => return FaultSet::ALL,
            FaultName::None => return FaultSet::NONE,
            FaultName::Lose => FaultKind::Lost,
            FaultName::Delay => FaultKind::Delayed,
            FaultName::Reorder => FaultKind::Reordered,
            FaultName::Slow => FaultKind::Slowed,
            FaultName::Crash => FaultKind::Crashed,
            FaultName::Die => FaultKind::Died,
            FaultName::Unreadable => FaultKind::Unreadable,
            FaultName::Unwritable => FaultKind::Unwritable,
            FaultName::Vanish => FaultKind::Vanished,
            FaultName::Refuse => FaultKind::Refused,
            FaultName::FullRing => FaultKind::FullRing,
            FaultName::Threads => FaultKind::Threads,
            FaultName::SmallTables => FaultKind::SmallTables,
            FaultName::Repeat => FaultKind::Repeated,
            FaultName::Cut => FaultKind::Cut,
        });
    }
    faults
}

fn line(seed: u64, report: &SimulatedJobReport) -> String {
    let struck: Vec<&str> = report.struck.iter().map(FaultKind::name).collect();
    let struck = if struck.is_empty() {
        "nothing".to_owned()
    } else {
        struck.join(" ")
    };
    let end = match &report.end {
        JobEnd::Finalized => "; whole".to_owned(),
        JobEnd::Aborted(why) => format!("{TOLD}{why:?}"),
    };
    format!(
        "seed {seed}: {} nodes, {} ranks, {:?}, {:?}, {} slices, {} steps in {} us: {}{STRUCK}{struck}{end}; trace {:016x}",
        report.nodes,
        report.ranks,
        report.strobe,
        report.intranode,
        report.slices,
        report.steps,
        report.virtual_ns / 1000,
        report.plan,
        report.trace_hash,
    )
}
