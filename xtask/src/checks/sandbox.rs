//! Messages from heap to heap are as fast in a sandbox like a container's as outside.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use apps::bench::{BenchCase, BenchOperation, BenchRow, BufferMode};

use crate::contest::rows;
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "sandbox",
    about: "SMARTMAP in a container's sandbox (64 MiB of /dev/shm, no process_vm_readv) takes at most 1.05 x the time",
    about_time: true,
    quick: false,
    run,
};

/// Long messages: without slots the kernel would copy them.
const SIZES: [usize; 3] = [64 << 10, 256 << 10, 1 << 20];

const LIMIT: Duration = Duration::from_secs(60);

/// The exit code with which the sandbox reports that the kernel does not allow it.
const CANNOT: Option<i32> = Some(77);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let sandbox = workspace.fixture_program("sandbox")?;
    let bcs = workspace.release()?.join("bcs");
    let inside = || {
        let mut command = Command::new(&sandbox);
        command.arg(&bcs);
        mean_us(command)
    };
    let outside = || mean_us(Command::new(&bcs));
    let measured = Rounds::default().ratio(Bar::AtMost(1.05), inside, outside)?;
    let text = "time of messages of 64 KiB to 1 MiB in a sandbox against outside";
    Ok(measured.outcome(text, " x"))
}

/// Returns the geometric mean of all rows.
fn mean_us(mut command: Command) -> Result<f64> {
    let options = rows(
        &[BenchOperation::Latency, BenchOperation::Bandwidth],
        &SIZES,
        BufferMode::Untouched,
    );
    command
        .args(["run", "-n", "2", "--bind", "core"])
        .args(["--intranode", "smartmap", "bench"])
        .args(options.words());
    let finished = process::run(&mut command, LIMIT)?;
    if finished.status.code() == CANNOT {
        return Err(UnsuitableMachine(finished.stderr.trim().to_owned()).into());
    }
    let found =
        BenchRow::of_output(&finished.succeeded()?.stdout).context("it wrote a broken row")?;
    let cases: Vec<BenchCase> = found.iter().map(BenchRow::case).collect();
    anyhow::ensure!(cases == options.cases(), "other rows than asked for");
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    let count = found.len() as f64;
    let logarithms: f64 = found.iter().map(|row| row.us.ln()).sum();
    Ok((logarithms / count).exp())
}
