//! With fixed strobes a call lasts as many slices as in the paper.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const SEND: Check = Check {
    name: "fixed-send-cost",
    about: "a blocking send at a random moment, its receive posted, lasts 1.5 slices with fixed strobes",
    about_time: true,
    quick: false,
    run: |workspace| {
        let bar = Bar::Within {
            value: 1.5,
            tolerance: 0.15,
        };
        slices(
            workspace,
            "send call",
            &["send-cost"],
            "mean send call:",
            bar,
        )
    },
};

pub(super) const PINGPONG: Check = Check {
    name: "fixed-pingpong",
    about: "half a ping-pong round trip lasts 2 slices with fixed strobes",
    about_time: true,
    quick: false,
    run: |workspace| {
        let bar = Bar::Within {
            value: 2.0,
            tolerance: 0.1,
        };
        let program = ["pingpong", "--iterations", "2000", "--warmup", "20"];
        slices(workspace, "half a round trip", &program, "mean", bar)
    },
};

/// The length of a slice.
const SLICE_US: f64 = 500.0;

/// A round takes about four seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Measures a job of its own and a mean over 2,000 calls in every round. The phase between a job's
/// slices and its ranks is thus part of the spread.
fn slices(
    workspace: &Workspace,
    what: &str,
    program: &[&str],
    line: &str,
    bar: Bar,
) -> Result<CheckOutcome> {
    let measured = Rounds::default().figure(bar, || {
        let mut command = workspace.bcs(["run", "-n", "2", "--nodes", "2"])?;
        command.args(["--strobe", "fixed", "--time-slice", "500us"]);
        command.args(["--eager-limit", "0"]).args(program);
        let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        Ok(number_after(&output, line)? / SLICE_US)
    })?;
    Ok(measured.outcome(what, " slices"))
}

/// Returns the first number behind `head`, in the first line that starts with it.
pub(super) fn number_after(output: &str, head: &str) -> Result<f64> {
    output
        .lines()
        .find_map(|line| line.trim().strip_prefix(head))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .with_context(|| format!("no number after `{head}` in `{output}`"))
}

#[cfg(test)]
mod tests {
    use super::number_after;

    #[test]
    fn numbers_are_found_behind_their_heads() {
        let output = "8 bytes\n  min   2.5\n  mean       3.25\nmean send call: 750.5 us over 3\n";
        assert_eq!(number_after(output, "mean").unwrap(), 3.25);
        assert_eq!(number_after(output, "mean send call:").unwrap(), 750.5);
        assert!(number_after(output, "p99").is_err());
    }
}
