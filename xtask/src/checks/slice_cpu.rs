//! Measures the CPU time of a slice without data, and of one with a message and a reduction of 8
//! bytes, and how it grows with the nodes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mds::dump::read_dir;

use crate::bare_timer::BareTimer;
use crate::bootstrap::median;
use crate::job::WatchedJob;
use crate::rounds::{Bar, Rounds, RoundsResult, all_sides};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "slice-cpu",
    about: "a slice through all five phases costs at most 5 us of processor time above a bare timer; others, and nodes",
    about_time: true,
    quick: false,
    run,
};

/// The time slice, and the period of the bare timer.
const SLICE: Duration = Duration::from_micros(500);

/// The middle part of each run: a thousand slices.
const SECONDS: &str = "0.5";

/// Nodes of the larger job, with a rank on each.
const NODES: u32 = 16;

/// The least messages and reductions per slice; with fewer, the loaded slices are not loaded
/// enough.
const LEAST_POSTS_PER_SLICE: f64 = 0.9;

const LIMIT: Duration = Duration::from_secs(60);

/// The program, and the work of its ranks.
#[derive(Debug, Clone, Copy)]
enum RankWork {
    /// All ranks compute.
    Spin,
    /// Some ranks sleep, and the others wait for them.
    Doze,
    /// All ranks compute, and move 8 bytes and reduce 8 bytes in each slice.
    Loaded,
}

/// A job with a rank on each node.
#[derive(Debug, Clone, Copy)]
struct Layout {
    nodes: u32,
    driver: &'static str,
    program: RankWork,
    /// Whether every slice is strobed, and goes through all phases.
    all_phases: bool,
}

/// Computing ranks prevent the NIC from spinning between its phases, so that the measurement counts
/// work and not waiting. Only then does the NIC take its time from other threads.
const SHARED: Layout = Layout {
    nodes: 2,
    driver: "shared",
    program: RankWork::Spin,
    all_phases: true,
};

impl Layout {
    /// Returns the command without its program.
    fn command(self, workspace: &Workspace) -> Result<Command> {
        let nodes = self.nodes.to_string();
        let mut command = workspace.bcs(["run", "-v", "-n", &nodes, "--nodes", &nodes])?;
        command.args(["--strobe", "fixed", "--time-slice", "500us"]);
        command.args(["--nic-threads", self.driver]);
        command.args(self.all_phases.then_some("--all-phases"));
        Ok(command)
    }
}

impl RankWork {
    fn add_to(self, command: &mut Command, load: &Path) {
        match self {
            RankWork::Spin => command.args(["spin", "--seconds", SECONDS]),
            RankWork::Doze => command.args(["doze", "--seconds", SECONDS]),
            RankWork::Loaded => {
                let period_us = SLICE.as_micros().to_string();
                command.arg(load).args([SECONDS, &period_us])
            }
        };
    }

    /// Returns the beginnings of the lines at the begin and the end of the middle part.
    fn middle(self) -> (&'static str, &'static str) {
        match self {
            RankWork::Spin | RankWork::Loaded => ("computing", "rank "),
            RankWork::Doze => ("dozing", "awake"),
        }
    }

    /// Checks from the line at the end of the middle part that nearly every slice had its load.
    fn did_its_part(self, line: &str, slices: f64) -> Result<()> {
        if !matches!(self, RankWork::Loaded) {
            return Ok(());
        }
        let number = line.split_whitespace().nth(2);
        let posted: f64 = number
            .and_then(|word| word.parse().ok())
            .with_context(|| format!("`{line}` has no number"))?;
        let least = LEAST_POSTS_PER_SLICE * slices;
        ensure!(
            posted >= least,
            "{posted} messages and reductions were posted in {slices:.0} slices"
        );
        Ok(())
    }
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    workspace.release()?;
    let load = workspace.fixture_program("slice_load")?;
    let mut outcomes = shared(workspace, &load)?;
    outcomes.extend(drivers(workspace, &load)?);
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Compares with a thread that only wakes, measured beside the same computing ranks.
fn shared(workspace: &Workspace, load: &Path) -> Result<Vec<CheckOutcome>> {
    let nodes = f64::from(NODES);
    let growth = nodes / f64::from(SHARED.nodes);
    let slice = |layout| slice_us(workspace, load, layout);
    let loaded = Layout {
        program: RankWork::Loaded,
        ..SHARED
    };
    let many = Layout {
        nodes: NODES,
        ..SHARED
    };
    let mut sides: [Vec<f64>; 4] = Default::default();
    let bars = [5.0, 10.0, 2.0, 0.0].map(Bar::AtMost);
    let measured = Rounds::default().figures(bars, |round| {
        let figures @ [bare, empty, loaded, many] = all_sides(round, |side| match side {
            0 => bare_us(workspace),
            1 => slice(SHARED),
            2 => slice(loaded),
            _ => slice(many),
        })?;
        for (side, figure) in sides.iter_mut().zip(figures) {
            side.push(figure);
        }
        let (few, many) = (empty - bare, many - bare);
        Ok([few, loaded - bare, many / nodes, many - growth * few])
    })?;
    let mut outcomes = told(
        &measured,
        [
            "shared, beside computing ranks: a slice above a bare timer",
            "one that moves 8 bytes and reduces 8 bytes",
            "a node of 16 with a rank each",
            "16 nodes less 8 times 2 nodes",
        ],
    );
    let [bare, empty, loaded, many] = sides.map(|side| median(&side));
    outcomes[0].figure.push_str(&format!(
        "; in all: bare timer {bare:.2}, slice {empty:.2}, loaded {loaded:.2}, 16 nodes {many:.2} us"
    ));
    Ok(outcomes)
}

/// Measures the other drivers, and ranks that sleep.
fn drivers(workspace: &Workspace, load: &Path) -> Result<Vec<CheckOutcome>> {
    let layout = |driver, program| Layout {
        driver,
        program,
        ..SHARED
    };
    let layouts = [
        layout("coprocessor", RankWork::Spin),
        layout("dedicated", RankWork::Spin),
        layout("shared", RankWork::Doze),
    ];
    let bars = [Bar::AtMost(60.0), Bar::AtMost(120.0), Bar::Reported];
    let measured = Rounds::default().figures(bars, |round| {
        all_sides(round, |side| slice_us(workspace, load, layouts[side]))
    })?;
    Ok(told(
        &measured,
        [
            "coprocessor, a slice in all",
            "dedicated, a slice in all",
            "shared, beside ranks asleep, a slice in all",
        ],
    ))
}

fn told<const N: usize>(measured: &[RoundsResult; N], what: [&str; N]) -> Vec<CheckOutcome> {
    let all = measured.iter().zip(what);
    all.map(|(one, what)| one.outcome(what, " us")).collect()
}

/// Returns the CPU time of a bare timer's wake-up, beside ranks that compute under an idle runtime.
fn bare_us(workspace: &Workspace) -> Result<f64> {
    let idle = Layout {
        all_phases: false,
        ..SHARED
    };
    let mut command = idle.command(workspace)?;
    command.args(["spin", "--seconds", SECONDS]);
    let mut job = WatchedJob::start(command, LIMIT)?;
    job.wait_for("computing")?;
    let timer = BareTimer::start(SLICE);
    job.wait_for("rank ")?;
    let us = timer.stop()?;
    job.finish()?;
    Ok(us)
}

/// Returns the runtime's CPU time during the program's middle part, divided by the slices strobed
/// in it. Slices have the same mean length throughout a job, so their number follows from the time
/// and the mean gap.
fn slice_us(workspace: &Workspace, load: &Path, layout: Layout) -> Result<f64> {
    let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let mut command = layout.command(workspace)?;
    command.arg("--mds").arg(dir.path());
    layout.program.add_to(&mut command, load);
    let mut job = WatchedJob::start(command, LIMIT)?;
    let (begin, end) = layout.program.middle();
    job.wait_for(begin)?;
    let (start, before) = (Instant::now(), job.runtime_cpu()?);
    let last = job.wait_for(end)?;
    let (wall, cpu) = (start.elapsed(), job.runtime_cpu()?.saturating_sub(before));
    job.finish()?;
    let nodes = read_dir(dir.path())?.require_complete()?.nodes;
    let strobes = nodes.into_iter().find_map(|node| node.global);
    let gaps = strobes
        .context("no node has dumped the global figures")?
        .getts_ns;
    ensure!(
        gaps.count > 100,
        "only {} slices were struck in half a second: --all-phases does not force them",
        gaps.count + 1
    );
    let slices = wall.as_secs_f64() * 1e9 / gaps.average;
    layout.program.did_its_part(&last, slices)?;
    Ok(cpu.as_secs_f64() * 1e6 / slices)
}
