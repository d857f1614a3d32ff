//! With elastic strobes a message takes little longer than its wake-ups.

use std::time::Duration;

use anyhow::Result;

use crate::bare_pingpong::half_round_trip_us;
use crate::bootstrap::median;
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::fixed_time::number_after;

pub(super) const EAGER: Check = Check {
    name: "elastic-pingpong",
    about: "8 bytes one way, elastic and shared, take at most 4 times half a bare futex round trip",
    about_time: true,
    quick: true,
    run: |workspace| one_way(workspace, &[]),
};

pub(super) const RENDEZVOUS: Check = Check {
    name: "elastic-pingpong-rendezvous",
    about: "the same without eager sends",
    about_time: true,
    quick: true,
    run: |workspace| one_way(workspace, &["--eager-limit", "0"]),
};

/// Round trips of a round, on both sides.
const ROUND_TRIPS: u32 = 5_000;

/// Compares medians: on a shared machine other load would dominate a mean.
fn one_way(workspace: &Workspace, options: &[&str]) -> Result<CheckOutcome> {
    workspace.release()?;
    let (mut ours_us, mut futex_us, mut means_us) = (vec![], vec![], vec![]);
    let bcs = || {
        let mut command = workspace.bcs(["run", "-n", "2", "--nodes", "2"])?;
        command.args(["--nic-threads", "shared"]).args(options);
        command.args(["pingpong", "--iterations", &ROUND_TRIPS.to_string()]);
        let output = process::run(&mut command, Duration::from_secs(120))?
            .succeeded()?
            .stdout;
        ours_us.push(number_after(&output, "median")?);
        means_us.push(number_after(&output, "mean")?);
        Ok(ours_us[ours_us.len() - 1])
    };
    let futex = || {
        futex_us.push(half_round_trip_us(ROUND_TRIPS)?);
        Ok(futex_us[futex_us.len() - 1])
    };
    let measured = Rounds::default().ratio(Bar::AtMost(4.0), bcs, futex)?;
    let mut outcome = measured.outcome("one way against a futex", " x");
    outcome.figure.push_str(&format!(
        "; of the rounds' medians: {:.2} us (mean {:.2} us) against {:.2} us",
        median(&ours_us),
        median(&means_us),
        median(&futex_us)
    ));
    Ok(outcome)
}
