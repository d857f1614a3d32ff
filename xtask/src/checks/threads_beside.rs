//! Measures a thread's small messages while another thread of the same rank sends long ones, and
//! user-defined operations that call MPI.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "threads-beside",
    about: "small messages beside a thread in one of 64 MiB: median and 99 % at most 3 x of those beside a memcpy",
    about_time: true,
    quick: false,
    run,
};

pub(super) const OPERATION: Check = Check {
    name: "operation-calls",
    about: "an operation of the program's own sends and receives on another communicator, 1,000 times, on both roads",
    about_time: false,
    quick: true,
    run: operation,
};

const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let worse = || {
        let layout = "-n 2 --nodes 1";
        let mut command = workspace.fixture(layout, "threads_beside", [])?;
        worse_ratio(&process::run(&mut command, LIMIT)?.succeeded()?.stdout)
    };
    let measured = Rounds::default().figure(Bar::AtMost(3.0), worse)?;
    Ok(measured.outcome("the greater ratio of median and 99th percentile", " x"))
}

/// Returns the worse ratio of median and 99th percentile, beside messages against beside copies.
fn worse_ratio(said: &str) -> Result<f64> {
    let (messages, copies) = said.split_once(';').context("there are two sides")?;
    let of = |side: &str, after: &str| -> Result<f64> {
        let (_, rest) = side.split_once(after).context("each side has both")?;
        let number = rest.split_whitespace().next().unwrap_or_default();
        let number = number.parse();
        number.with_context(|| format!("no number follows `{after}` in `{side}`"))
    };
    let ratio = |after| Ok::<_, anyhow::Error>(of(messages, after)? / of(copies, after)?);
    Ok(ratio("median")?.max(ratio("99 %")?))
}

fn operation(workspace: &Workspace) -> Result<CheckOutcome> {
    let layouts = [
        "-n 2 --nodes 1",
        "-n 2 --nodes 1 --intranode nic",
        "-n 3 --nodes 2",
    ];
    for layout in layouts {
        let words = ["operation"];
        let mut command = workspace.fixture(layout, "threads_beside", words)?;
        process::run(&mut command, LIMIT)?.succeeded()?;
    }
    let figure = format!("1,000 reductions in each of {} layouts", layouts.len());
    Ok(CheckOutcome::exact(true, figure, "all"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_worse_of_two_ratios_counts() {
        let said = |half: f64, most: f64| {
            format!(
                "beside messages: median {half:.2} us, 99 % {most:.2} us; \
                 beside copies: median 4.00 us, 99 % 100.00 us\n"
            )
        };
        assert_eq!(super::worse_ratio(&said(8.0, 100.0)).unwrap(), 2.0);
        assert_eq!(super::worse_ratio(&said(4.0, 250.0)).unwrap(), 2.5);
        assert!(super::worse_ratio("nothing").is_err());
    }
}
