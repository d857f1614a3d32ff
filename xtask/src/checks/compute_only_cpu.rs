//! A program that only computes pays nothing for the runtime.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::job::WatchedJob;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "compute-only-cpu",
    about: "beside ranks that only compute the runtime takes at most 0.3 % of their processor time",
    about_time: true,
    quick: true,
    run,
};

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let bar = Bar::AtMost(0.3);
    let measured = Rounds::default().figure(bar, || {
        // Measures both kinds of strobes; the larger share counts.
        Ok(share(workspace, "elastic")?.max(share(workspace, "fixed")?))
    })?;
    Ok(measured.outcome("processor time of the runtime", " % of the ranks'"))
}

/// Returns the share in per cent. It reads the runtime's clocks when rank 0 reports its begin, and
/// when the first rank reports its end.
fn share(workspace: &Workspace, strobe: &str) -> Result<f64> {
    let mut command = workspace.bcs(["run", "-v", "-n", "2", "--nodes", "2"])?;
    command.args(["--time-slice", "500us", "--strobe", strobe]);
    command.args(["spin", "--seconds", "1"]);
    let mut job = WatchedJob::start(command, Duration::from_secs(60))?;
    job.wait_for("computing")?;
    let before = job.runtime_cpu()?;
    let (_, after) = job.runtime_cpu_at("rank ")?;
    let runtime = after.saturating_sub(before).as_secs_f64();
    let (output, _) = job.finish()?;
    Ok(100.0 * runtime / ranks_cpu_s(&output)?)
}

/// Returns the CPU time that the ranks of `spin` report, in total.
fn ranks_cpu_s(output: &str) -> Result<f64> {
    let lines = output.lines().filter(|line| line.starts_with("rank "));
    lines
        .map(|line| {
            let number = line
                .split(" in ")
                .nth(1)
                .and_then(|rest| rest.split(' ').next());
            let number = number.with_context(|| format!("`{line}` has no time"))?;
            Ok(number.parse::<f64>()?)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_times_of_all_ranks_are_added() {
        let output = "computing\nrank 0: 7 units of work in 0.25 s of processor time\n\
                      rank 1: 9 units of work in 0.5 s of processor time\n";
        assert_eq!(super::ranks_cpu_s(output).unwrap(), 0.75);
    }
}
