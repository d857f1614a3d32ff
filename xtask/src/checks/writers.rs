//! Many ranks write many lines. No line is lost, torn or out of order, and no process stores many
//! of them.

use std::time::Duration;

use anyhow::Result;

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "writers",
    about: "64 ranks write 1,000 lines a second each for 10 s, some of 1 MB: all whole, in order, in 64 MiB",
    about_time: false,
    quick: false,
    run,
};

const RANKS: usize = 64;
const SECONDS: usize = 10;
const LINES_PER_SECOND: usize = 1_000;

/// The memory limit of any process of the job, ranks included.
const MOST_MEMORY: u64 = 64 << 20;

const LIMIT: Duration = Duration::from_secs(300);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let layout = format!("-n {RANKS} --nodes 4");
    let words = [SECONDS.to_string(), LINES_PER_SECOND.to_string()];
    let words = words.iter().map(String::as_str);
    let mut command = workspace.fixture(&layout, "writers", words)?;
    let finished = process::run(&mut command, LIMIT)?.succeeded()?;
    let wrong = wrong_lines(&finished.stdout, SECONDS * LINES_PER_SECOND);
    let mebibytes = finished.peak_memory >> 20;
    Ok(CheckOutcome::exact(
        wrong == 0 && finished.peak_memory <= MOST_MEMORY,
        format!(
            "{wrong} lines lost, torn or out of order of {}, {} MiB in {:.1} s; the largest process had {mebibytes} MiB",
            RANKS * SECONDS * LINES_PER_SECOND,
            finished.stdout.len() >> 20,
            finished.wall.as_secs_f64()
        ),
        format!("none; at most {} MiB in any process", MOST_MEMORY >> 20),
    ))
}

/// Counts lines that differ from the next line of the example `writers` on their rank, and missing
/// lines.
fn wrong_lines(output: &str, per_rank: usize) -> usize {
    let mut next = [0; RANKS];
    let mut wrong = 0;
    for line in output.lines() {
        match rank_of(line, &next) {
            Some(rank) => next[rank] += 1,
            None => wrong += 1,
        }
    }
    wrong
        + next
            .iter()
            .map(|written| per_rank.abs_diff(*written))
            .sum::<usize>()
}

/// Returns the rank whose next line this is.
fn rank_of(line: &str, next: &[usize; RANKS]) -> Option<usize> {
    let mut words = line.split(' ');
    let rank: usize = words.next()?.parse().ok()?;
    let number: usize = words.next()?.parse().ok()?;
    let fill = words.next()?;
    let length = if rank < 8 && number % 500 == 499 {
        1_000_000
    } else {
        40
    };
    let whole = line.len() == length && fill.bytes().all(|byte| byte == b'x');
    (*next.get(rank)? == number && whole && words.next().is_none()).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rank: usize, number: usize) -> String {
        let head = format!("{rank} {number} ");
        format!("{head}{}\n", "x".repeat(40 - head.len()))
    }

    #[test]
    fn lost_torn_and_misplaced_lines_are_seen() {
        let all = |lines: usize| -> Vec<String> {
            (0..lines)
                .flat_map(|number| (0..RANKS).map(move |rank| line(rank, number)))
                .collect()
        };
        assert_eq!(wrong_lines(&all(3).concat(), 3), 0);
        assert_eq!(wrong_lines(&all(2).concat(), 3), RANKS);
        let mut torn = all(2);
        torn[5].truncate(20);
        assert!(wrong_lines(&torn.concat(), 2) > 0);
        let mut swapped = all(2);
        swapped.swap(0, RANKS);
        assert!(wrong_lines(&swapped.concat(), 2) > 0);
    }
}
