//! Messages in small pieces take little longer than the same bytes in one piece, within a node and
//! between two.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "pieces",
    about: "1 MiB in pieces of 8 bytes: at most 2.5 x of side by side on one node and on two (a column: 1.2 x of by hand)",
    about_time: true,
    quick: true,
    run,
};

/// A case in which loops over the pieces alone take longer than the message.
const COLUMN: &str = "a column of 64";

const KINDS: usize = 5;

const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut outcomes = Vec::new();
    for nodes in ["1", "2"] {
        let layout = format!("-n 2 --nodes {nodes} --strobe elastic");
        let measure = || {
            let mut command = workspace.fixture(&layout, "pieces", [])?;
            ratios(&process::run(&mut command, LIMIT)?.succeeded()?.stdout)
        };
        let others = || Ok(measure()?.0);
        let column = || Ok(measure()?.1);
        for (bar, what, figure) in [
            (
                2.5,
                "the worst kind against side by side",
                &others as &dyn Fn() -> Result<f64>,
            ),
            (1.2, "a column against by hand", &column),
        ] {
            let measured = Rounds::default().figure(Bar::AtMost(bar), figure)?;
            outcomes.push(measured.outcome(&format!("--nodes {nodes}: {what}"), " x"));
        }
    }
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Parses the example's results for 1 MiB. Returns the greatest ratio to the same bytes in one
/// piece, without the column, and the column's ratio to the loop by hand.
fn ratios(said: &str) -> Result<(f64, f64)> {
    let (mut others, mut column, mut kinds) = (f64::NEG_INFINITY, None, 0);
    for line in said.lines().filter(|line| line.starts_with("1024 KiB")) {
        let ratio = |after: &str| -> Result<f64> {
            let (_, rest) = line.split_once(after).context("a line has both ratios")?;
            let (_, ratio) = rest
                .split_once("us:")
                .context("a ratio stands after its time")?;
            let ratio = ratio.split([',', ';']).next().unwrap_or_default().trim();
            ratio
                .parse()
                .with_context(|| format!("`{ratio}` is no ratio"))
        };
        kinds += 1;
        if line.contains(COLUMN) {
            column = Some(ratio("by hand")?);
        } else {
            others = others.max(ratio("pieces")?);
        }
    }
    ensure!(
        kinds == KINDS,
        "{kinds} kinds of pieces, not {KINDS}: {said}"
    );
    Ok((others, column.context("there is no column")?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ratios_are_those_of_1_mib() {
        let line = |kib: usize, name: &str, plain: f64, hand: f64| {
            format!(
                "{kib:4} KiB {name:22} side by side     100 us, pieces     200 us: {plain:5.2}, \
                 by hand     300 us: {hand:5.2}; loop   10.0 us, MPI_Pack   11.0 us\n"
            )
        };
        let kinds = [
            "every second number",
            "two of five",
            "an indexed type",
            "three",
        ];
        let mut said = line(64, kinds[0], 99.0, 99.0);
        for (kind, ratio) in kinds.into_iter().zip([1.5, 2.25, 2.0, 1.0]) {
            said += &line(1024, kind, ratio, 9.0);
        }
        assert!(super::ratios(&said).is_err(), "there is no column");
        said += &line(1024, super::COLUMN, 9.0, 1.25);
        assert_eq!(super::ratios(&said).unwrap(), (2.25, 1.25));
    }
}
