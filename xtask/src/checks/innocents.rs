//! The deadlock detector does not report legal programs that only take long, on any path.

use anyhow::Result;

use crate::test_output::TestOutput;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "innocents",
    about: "32 legal but slow programs, some of gigabytes, on a loaded machine: the watch says nothing of any (BCS_INNOCENT_ROUNDS)",
    about_time: false,
    quick: false,
    run,
};

/// The default number of rounds: in six rounds each program has all layouts.
const ROUNDS: &str = "6";

const ROUNDS_VARIABLE: &str = "BCS_INNOCENT_ROUNDS";

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let rounds = std::env::var(ROUNDS_VARIABLE).unwrap_or_else(|_| ROUNDS.to_owned());
    let mut test = workspace.cargo(["test", "--package", "machine-manager", "--test", "programs"]);
    test.args(["innocents", "--", "--test-threads", "1"]);
    test.env(ROUNDS_VARIABLE, &rounds);
    let passed = TestOutput::run(&mut test)?.figure("test result: ok.")?;
    Ok(CheckOutcome::exact(
        passed >= 2.0,
        format!("no false word in {rounds} rounds"),
        "none",
    ))
}
