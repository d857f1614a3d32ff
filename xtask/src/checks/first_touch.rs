//! Measures the first touch of a page in a heap in a slot, against the C library's heap.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "first-touch",
    about: "the first touch of a page of 256 MiB takes at most 0.3 times as long in the preloaded heap as in the C library's where slots have huge pages, elsewhere 1.1 times",
    about_time: true,
    quick: true,
    run,
};

const LIMIT: Duration = Duration::from_secs(60);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut build = workspace.cargo(["build", "--release", "--package", "heap-preload"]);
    process::run(&mut build, Duration::from_secs(900))?.succeeded()?;
    // The command may report other problems, too.
    let doctor = process::run(&mut workspace.bcs(["doctor"])?, LIMIT)?;
    let has_huge_pages = doctor.stdout.contains("with huge pages");
    let bar = if has_huge_pages { 0.3 } else { 1.1 };
    let touch = |heap: &str| {
        let layout = format!("-n 1 --heap {heap}");
        let mut command = workspace.fixture(&layout, "first_touch", [])?;
        let said = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        let ns: f64 = said
            .split_whitespace()
            .next()
            .and_then(|word| word.parse().ok())
            .context("it said no time")?;
        ensure!(ns > 0.0, "it said {ns} ns");
        Ok(ns)
    };
    let measured = Rounds::default().ratio(Bar::AtMost(bar), || touch("slot"), || touch("own"))?;
    let pages = if has_huge_pages { "huge" } else { "ordinary" };
    Ok(measured.outcome(&format!("first touch, {pages} pages"), " x"))
}
