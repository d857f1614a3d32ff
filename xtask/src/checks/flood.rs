//! Both ranks post very many sends before either receives: all arrive, and memory stays bounded.

use std::time::Duration;

use anyhow::Result;

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "flood",
    about: "100,000 sends each way before any receive, of 8 B and 100 KB, in order and in reverse, in bounded memory",
    about_time: false,
    quick: true,
    run,
};

/// Sends of each rank.
const SENDS: u64 = 100_000;

/// The memory limit of a process: a kibibyte for each send, which has a descriptor, an envelope and
/// two request slots, plus the usual memory of a process.
const MOST_MEMORY: u64 = SENDS * 1024 + (32 << 20);

const LIMIT: Duration = Duration::from_secs(300);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let sends = SENDS.to_string();
    let mut most = 0;
    let mut walls = vec![];
    for words in [
        ["8", ""],
        ["8", "reverse"],
        ["100000", ""],
        ["100000", "reverse"],
    ] {
        let words = words.into_iter().filter(|word| !word.is_empty());
        let words = [sends.as_str()].into_iter().chain(words);
        let mut command = workspace.fixture("-n 2 --nodes 2", "flood", words)?;
        let finished = process::run(&mut command, LIMIT)?.succeeded()?;
        most = most.max(finished.peak_memory);
        walls.push(format!("{:.1} s", finished.wall.as_secs_f64()));
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    Ok(CheckOutcome::exact(
        most <= MOST_MEMORY,
        format!(
            "all arrive, in {}; the largest process had {} MiB",
            walls.join(", "),
            mebibytes(most)
        ),
        format!("at most {} MiB in any process", mebibytes(MOST_MEMORY)),
    ))
}
