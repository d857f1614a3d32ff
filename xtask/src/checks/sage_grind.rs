//! Compares SAGE's kernels with the same scheme on an array.

use anyhow::Result;

use crate::rounds::{Bar, Rounds};
use crate::test_output::TestOutput;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "sage-grind",
    about: "a cell of SAGE's refined mesh takes a cycle at most 1.3 x the time that it takes on an array",
    about_time: true,
    quick: false,
    run,
};

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let round = || -> Result<[f64; 2]> {
        let mut test = workspace.cargo(["test", "--release", "-p", "apps", "--lib"]);
        test.args(["grind_time", "--", "--ignored", "--nocapture"]);
        let said = TestOutput::run(&mut test)?;
        let array = said.figure("array:")?;
        Ok([
            said.figure("mesh:")? / array,
            said.figure("levels:")? / array,
        ])
    };
    let bars = [Bar::AtMost(1.3), Bar::Reported];
    let measured = Rounds::default().figures(bars, |_| round())?;
    let what = [
        "a cell and cycle of timing_h on a refined mesh that stays, against an array",
        "the same with levels chosen anew every four cycles",
    ];
    let all = measured.iter().zip(what);
    let outcomes: Vec<CheckOutcome> = all.map(|(one, what)| one.outcome(what, " x")).collect();
    Ok(CheckOutcome::of_all(&outcomes))
}
