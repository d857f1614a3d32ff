//! The cost of a call grows with the peers of a rank, and not with the ranks of its node. Unused
//! memory is not touched.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apps::bench::{BenchOperation, BenchOptions, BufferMode};

use crate::confinement::CoreConfinement;
use crate::contest::{Contestant, rows};
use crate::job::WatchedJob;
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "node-scale",
    about: "barriers, starts, memory and ping-pongs with up to 1,000 ranks on a node of 2 cores",
    about_time: true,
    quick: false,
    run,
};

/// More ranks than cores, whatever the machine.
const CORES: usize = 2;

const FEW: usize = 64;
const MANY: usize = 256;
const MOST: usize = 1_000;

/// A job of 1,000 ranks on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    let outcomes = [
        collectives(workspace, 1)?,
        collectives(workspace, 8)?,
        start(workspace)?,
        memory(workspace)?,
        ping_pong(workspace)?,
    ];
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Measures the microseconds of each row per rank of the job.
fn for_each_rank(
    workspace: &Workspace,
    nodes: usize,
    ranks: usize,
    options: &BenchOptions,
) -> Result<Vec<f64>> {
    let side = Contestant::Ours(vec!["--nodes".into(), nodes.to_string()]);
    let rows = side.measure(workspace, ranks, None, options)?;
    Ok(rows.iter().map(|row| row.us / ranks as f64).collect())
}

/// Measures a barrier, and an allreduce of 8 bytes; the larger ratio counts.
fn collectives(workspace: &Workspace, nodes: usize) -> Result<CheckOutcome> {
    let options = BenchOptions {
        row_ms: 100,
        ..rows(
            &[BenchOperation::Barrier, BenchOperation::Allreduce],
            &[8],
            BufferMode::Untouched,
        )
    };
    let measure = |ranks| for_each_rank(workspace, nodes, ranks, &options);
    let mut others = String::new();
    for ranks in [16, MOST] {
        let each = measure(ranks)?;
        others += &format!("; with {ranks} ranks {:.2} and {:.2} us", each[0], each[1]);
    }
    let measured = Rounds::default().figure(Bar::AtMost(2.0), || {
        let (many, few) = (measure(MANY)?, measure(FEW)?);
        let ratios = many.iter().zip(&few).map(|(many, few)| many / few);
        Ok(ratios.fold(0.0, f64::max))
    })?;
    let on = if nodes == 1 { "node" } else { "nodes" };
    let what = format!(
        "time a rank of a barrier and an allreduce on {nodes} {on}, {MANY} ranks against {FEW}"
    );
    let mut outcome = measured.outcome(&what, " x");
    outcome.figure.push_str(&others);
    Ok(outcome)
}

fn start(workspace: &Workspace) -> Result<CheckOutcome> {
    workspace.release()?;
    let hello = |ranks: usize| {
        let mut command = workspace.bcs(["run", "-n", &ranks.to_string(), "hello"])?;
        let finished = process::run(&mut command, LIMIT)?.succeeded()?;
        Ok(finished.wall.as_secs_f64())
    };
    let measured = Rounds::default().ratio(Bar::AtMost(20.0), || hello(MOST), || hello(FEW))?;
    let what = format!("wall time of hello on a node, {MOST} ranks against {FEW}");
    Ok(measured.outcome(&what, " x"))
}

/// Measures the memory of a node: `hello` enters a barrier, and sends no message.
fn memory(workspace: &Workspace) -> Result<CheckOutcome> {
    const MOST_BYTES: u64 = 64 << 20;
    let command = workspace.bcs(["run", "-v", "-n", &MOST.to_string(), "hello"])?;
    let mut job = WatchedJob::start(command, LIMIT)?;
    job.wait_for("hello from rank")?;
    let memory = job
        .runtime()
        .iter()
        .find_map(|pid| node_memory(pid.as_raw_nonzero().get()));
    let memory = memory.context("no process of the runtime has the memory of a node")?;
    job.finish()?;
    let bytes = memory.metadata()?.blocks() * 512;
    ensure!(bytes > 0, "nobody has used the memory of the node");
    Ok(CheckOutcome::exact(
        bytes < MOST_BYTES,
        format!(
            "memory of a node of {MOST} ranks that have not sent: {:.1} MiB",
            mib(bytes)
        ),
        format!("under {:.0} MiB", mib(MOST_BYTES)),
    ))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns the memory of the node, if the process has mapped it.
fn node_memory(pid: i32) -> Option<File> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let paths = descriptors.filter_map(|entry| Some(entry.ok()?.path()));
    let mut named = paths.filter(|path| {
        let target = fs::read_link(path);
        target.is_ok_and(|target| target.to_string_lossy().contains("bcs-node-memory"))
    });
    File::open(named.next()?).ok()
}

/// Measures two ranks while all others wait for the end. Every sample begins with a barrier of all
/// ranks, and 1,000 ranks on two cores need some 40 ms until they sleep again. Samples are
/// therefore two seconds long.
fn ping_pong(workspace: &Workspace) -> Result<CheckOutcome> {
    const PRESENT: usize = 4;
    let options = BenchOptions {
        row_ms: 4_000,
        samples: 2,
        ..rows(&[BenchOperation::Latency], &[8], BufferMode::Untouched)
    };
    let measure = |ranks| {
        let side = Contestant::Ours(Vec::new());
        Ok(side.measure(workspace, ranks, None, &options)?[0].us)
    };
    let among = || measure(MOST);
    let measured = Rounds::default().ratio(Bar::AtMost(1.1), among, || measure(PRESENT))?;
    let what = format!("half a round trip of 8 B among {MOST} ranks against among {PRESENT}");
    Ok(measured.outcome(&what, " x"))
}
