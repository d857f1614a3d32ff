//! Runs a mixture of all MPI operations for a long time: on one node, on two, and on two hosts
//! whose network loses datagrams.
//!
//! The fixture checks every value. This check measures all processes of the job from outside: the
//! launcher, the node managers, which contain the NICs, and the ranks. It does so each time the
//! fixture reports, while the ranks stand still and have returned the free memory of their heaps.
//! A page that several processes have mapped is divided among them (the kernel's Pss): heaps of
//! ranks and the memory of a node are mapped by all ranks of the node and by its node manager, and
//! there is no more memory after a rank has read a page of another one. At the end a process may
//! not have more memory than after a sixth of the time, within 2 %. A page moves from the share of
//! one process to that of another as they map it, so the sum of a node manager and its ranks is
//! printed, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use test_network::SwitchFaults;

use crate::bootstrap::median;
use crate::network::{bcs_run, check_no_processes, describe_process, leftover_names, make_lossy};
use crate::process::command_line;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::simulator_mpi::seeds;

pub(super) const CHECK: Check = Check {
    name: "soak",
    about: "all kinds of MPI at random with a check of every value, on 1 node, 2 nodes and 2 hosts with 5 % loss (BCS_SOAK_SECONDS each; 1800 is the promise): nothing wrong, no process grows by more than 2 %, nothing is left",
    about_time: false,
    quick: false,
    run,
};

/// The default seconds of each layout.
const SECONDS: u64 = 60;

const SECONDS_VARIABLE: &str = "BCS_SOAK_SECONDS";
const SEED_VARIABLE: &str = "BCS_SOAK_SEED";

/// Selects layouts: `1-node`, `2-nodes`, `2-hosts`, separated by commas.
const LAYOUTS_VARIABLE: &str = "BCS_SOAK_LAYOUTS";

/// `--any-source` of the fixture.
const ANY_SOURCE_VARIABLE: &str = "BCS_SOAK_ANY_SOURCE";

/// Reports in a run.
const REPORTS: u64 = 60;

/// Memory is the median of this number of reports: of the first ones after a sixth of the time, and
/// of the last ones. From one report to the next it differs by some percent, since a page of a heap
/// is returned only when it has no block in use.
const WINDOW: usize = 10;

/// The allowed relative growth.
const GROWTH: f64 = 0.02;

/// The time that a job may take beyond its given time before it is ended as hung.
const GRACE_S: u64 = 120;

/// The share of datagrams that hosts lose.
const LOSS_PERMILLE: u16 = 50;

const HOSTS: usize = 2;

const LAYOUTS: [&str; 3] = ["1-node", "2-nodes", "2-hosts"];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let seconds = seeds(SECONDS_VARIABLE, SECONDS)?;
    let seed = seeds(SEED_VARIABLE, u64::from(std::process::id()))?;
    let wanted = std::env::var(LAYOUTS_VARIABLE).unwrap_or_else(|_| LAYOUTS.join(","));
    let before = leftover_names();
    let mut outcomes = Vec::new();
    for layout in wanted.split(',') {
        eprintln!("soak: {layout} for {seconds} s, {SEED_VARIABLE}={seed}");
        let outcome = one(workspace, layout, seconds, seed);
        outcomes.push(CheckOutcome::from_result(
            outcome.with_context(|| format!("{layout}, seed {seed}")),
        ));
    }
    let left: Vec<String> = leftover_names()
        .into_iter()
        .filter(|name| !before.contains(name))
        .collect();
    ensure!(left.is_empty(), "the jobs have left {left:?}");
    Ok(CheckOutcome::of_all(&outcomes))
}

fn one(workspace: &Workspace, layout: &str, seconds: u64, seed: u64) -> Result<CheckOutcome> {
    let options = format!("-n 4 --timeout {}s", seconds + GRACE_S);
    let (mut command, network) = match layout {
        "1-node" | "2-nodes" => {
            let mut command = workspace.bcs(["run", "--nodes", &layout[..1]])?;
            command.args(options.split_whitespace());
            (command, None)
        }
        "2-hosts" => {
            let faults = SwitchFaults {
                seed,
                loss_permille: LOSS_PERMILLE,
                ..SwitchFaults::NONE
            };
            let network = make_lossy(workspace, HOSTS, faults)?;
            (
                bcs_run(workspace, &network, HOSTS, &options)?,
                Some(network),
            )
        }
        _ => anyhow::bail!("{LAYOUTS_VARIABLE}: {layout} is not one of {LAYOUTS:?}"),
    };
    command.arg(workspace.fixture_program("soak")?);
    command.args(["--seconds", &seconds.to_string()]);
    command.args(["--seed", &seed.to_string()]);
    let report = (seconds / REPORTS).max(1);
    command.args(["--report", &report.to_string(), "--hold", "yes"]);
    if let Ok(any_source) = std::env::var(ANY_SOURCE_VARIABLE) {
        command.args(["--any-source", &any_source]);
    }
    let run = SoakRun::of(command)?;
    if let Some(network) = &network {
        check_no_processes(network)?;
    }
    run.judged(layout, seconds)
}

/// Memory of the job at a time, in KiB.
struct Sample {
    after: Duration,
    /// The memory of each process, by its number.
    processes: BTreeMap<u32, u64>,
    /// The memory of each process that the launcher has started, and of its descendants.
    families: BTreeMap<u32, u64>,
}

/// A run that has ended well.
struct SoakRun {
    samples: Vec<Sample>,
    /// The names of the processes.
    names: BTreeMap<u32, String>,
    /// The fixture's last report of its work.
    done: String,
}

impl SoakRun {
    /// Runs the job, and measures it whenever it reports.
    fn of(mut command: Command) -> Result<Self> {
        let text = command_line(&command);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let start = Instant::now();
        let mut child = piped
            .stderr(Stdio::piped())
            .spawn()
            .context("failed to start a job")?;
        let mut stdin = child.stdin.take().context("a job has an input")?;
        let stdout = child.stdout.take().context("a job has an output")?;
        let mut stderr = child.stderr.take().context("a job has errors")?;
        let errors = thread::spawn(move || {
            let mut told = String::new();
            let read = stderr.read_to_string(&mut told);
            read.map(|_| told)
        });
        let mut run = Self {
            samples: Vec::new(),
            names: BTreeMap::new(),
            done: String::new(),
        };
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            eprintln!("{line}");
            if let Some(done) = line.strip_prefix("soak: after ") {
                run.done = done.to_owned();
            }
            if line.starts_with("soak: memory:") {
                run.sample(child.id(), start.elapsed())?;
                writeln!(stdin, "go on").context("failed to have the job go on")?;
            }
        }
        let status = child.wait()?;
        let told = errors.join().expect("it does not panic")?;
        ensure!(status.success(), "`{text}` ended with {status}: {told}");
        Ok(run)
    }

    fn sample(&mut self, launcher: u32, after: Duration) -> Result<()> {
        let children = children()?;
        // A process may have ended since.
        let shares = with_descendants(launcher, &children).into_iter();
        let processes: BTreeMap<u32, u64> = shares
            .filter_map(|pid| Some((pid, share_of_memory(pid)?)))
            .collect();
        for pid in processes.keys() {
            self.names
                .entry(*pid)
                .or_insert_with(|| describe_process(*pid));
        }
        let started = children.get(&launcher).into_iter().flatten();
        let families = started.map(|pid| {
            let all = with_descendants(*pid, &children).into_iter();
            (*pid, all.filter_map(|pid| processes.get(&pid)).sum())
        });
        self.samples.push(Sample {
            after,
            families: families.collect(),
            processes,
        });
        Ok(())
    }

    /// Returns the median memory of a process or family in some samples, in KiB.
    fn median_kib(samples: &[Sample], of: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let all: Vec<f64> = samples
            .iter()
            .filter_map(of)
            .map(|kib| kib as f64)
            .collect();
        (!all.is_empty()).then(|| median(&all))
    }

    fn judged(&self, layout: &str, seconds: u64) -> Result<CheckOutcome> {
        let sixth = Duration::from_secs(seconds) / 6;
        let first = self.samples.iter().position(|sample| sample.after >= sixth);
        let first = first.context("there is no report after a sixth of the time")?;
        let early = &self.samples[first..self.samples.len().min(first + WINDOW)];
        let late = &self.samples[self.samples.len().saturating_sub(WINDOW)..];
        let growth = |of: &dyn Fn(&Sample) -> Option<u64>| {
            let (before, after) = (Self::median_kib(early, of)?, Self::median_kib(late, of)?);
            let growth = after / before - 1.0;
            let said = format!("{:+.2} %, {before:.0} to {after:.0} KiB", 100.0 * growth);
            Some((growth, said))
        };
        for pid in late
            .iter()
            .flat_map(|sample| sample.families.keys())
            .collect::<BTreeSet<_>>()
        {
            let of_family = |sample: &Sample| sample.families.get(pid).copied();
            if let Some((_, said)) = growth(&of_family) {
                let name = &self.names[pid];
                eprintln!("soak: {layout}: {name} and the processes below it {said}");
            }
        }
        let mut worst: Option<(f64, String)> = None;
        let mut grown = 0;
        for (pid, name) in &self.names {
            let of_process = |sample: &Sample| sample.processes.get(pid).copied();
            let Some((growth, said)) = growth(&of_process) else {
                anyhow::bail!("{layout}: {name} was not there all the time");
            };
            grown += usize::from(growth > GROWTH);
            let said = format!("{name} {said}");
            eprintln!("soak: {layout}: {said}");
            if worst.as_ref().is_none_or(|(most, _)| growth > *most) {
                worst = Some((growth, said));
            }
        }
        let (_, worst) = worst.context("the job has processes")?;
        Ok(CheckOutcome::exact(
            grown == 0,
            format!(
                "{layout}: {}; of {} processes {grown} grew by more than {} %, the most {worst}",
                self.done,
                self.names.len(),
                100.0 * GROWTH,
            ),
            "all values right; each process grows by 2 % at most",
        ))
    }
}

/// Returns the children of each process.
fn children() -> Result<BTreeMap<u32, Vec<u32>>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").context("failed to list processes")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = figure(pid, "status", "PPid:") {
            let parent = u32::try_from(parent).context("a process has a number")?;
            children.entry(parent).or_default().push(pid);
        }
    }
    Ok(children)
}

/// Returns a process and all its descendants.
fn with_descendants(of: u32, children: &BTreeMap<u32, Vec<u32>>) -> Vec<u32> {
    let mut all = vec![of];
    let mut next = 0;
    while let Some(pid) = all.get(next) {
        all.extend(children.get(pid).into_iter().flatten());
        next += 1;
    }
    all
}

/// Returns the memory of a process in KiB, its share of what it shares included; `None` if it has
/// ended. Pages of program files do not count: their share changes when another job of the same
/// command begins or ends.
fn share_of_memory(pid: u32) -> Option<u64> {
    let private = figure(pid, "smaps_rollup", "Pss_Anon:")?;
    Some(private + figure(pid, "smaps_rollup", "Pss_Shmem:")?)
}

/// Returns a figure of a file of `/proc/PID`.
fn figure(pid: u32, file: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let figure = status.lines().find_map(|line| line.strip_prefix(name))?;
    figure.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(kib: impl Fn(u64) -> u64) -> SoakRun {
        let sample = |second| Sample {
            after: Duration::from_secs(second),
            processes: BTreeMap::from([(1, 5_000), (2, kib(second))]),
            families: BTreeMap::new(),
        };
        SoakRun {
            samples: (1..=60).map(sample).collect(),
            names: BTreeMap::from([(1, "bcs (1)".to_owned()), (2, "soak (2)".to_owned())]),
            done: "60 s".to_owned(),
        }
    }

    #[test]
    fn a_process_that_grows_is_named() {
        let steady = sampled(|second| 10_000 + second % 3).judged("1-node", 60);
        let steady = steady.unwrap();
        assert_eq!(steady.verdict, crate::verdict::Verdict::Held, "{steady}");
        let growing = sampled(|second| 10_000 + 10 * second).judged("1-node", 60);
        let growing = growing.unwrap();
        assert_eq!(growing.verdict, crate::verdict::Verdict::Missed);
        assert!(
            growing.figure.contains("of 2 processes 1 grew")
                && growing.figure.contains("the most soak (2) +4.0"),
            "{growing}"
        );
    }

    #[test]
    fn descendants_are_found() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let all = with_descendants(std::process::id(), &children().unwrap());
        assert!(all.contains(&child.id()));
        assert!(share_of_memory(child.id()).is_some());
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
