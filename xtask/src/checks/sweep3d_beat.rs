//! The strobe costs SWEEP3D nothing: on two nodes it takes no longer than on one, which has no
//! slices. Two jobs on the same cores share them.

use std::thread;

use anyhow::{Result, anyhow};

use crate::bootstrap::median;
use crate::confinement::CoreConfinement;
use crate::rounds::{Bar, Rounds, all_sides};
use crate::sweep3d::{CommunicationStyle, Layouts};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "sweep3d-beat",
    about: "SWEEP3D, 150 cubed, on 2 nodes against 1: elastic at most 1.03 x, fixed slices and non-blocking 1.04 x",
    about_time: true,
    quick: false,
    run,
};

pub(super) const TWO_JOBS: Check = Check {
    name: "two-jobs",
    about: "two jobs of 2 ranks at once on 2 cores: SWEEP3D takes each at most 2.2 times as long as alone",
    about_time: true,
    quick: false,
    run: two_jobs,
};

const CORES: usize = 2;

/// Two ranks in a row, blocks of 10 planes and 2 angles, 3 iterations.
pub(super) const DECK: &str = "2 1 10 2 1\n150 150 150 6 1\n.05 .05 .05 -3.0\n0 0 0\n0 1 0\n";

/// The check resolves some percent in times that vary by as much.
const ROUNDS: Rounds = Rounds {
    warm_ups: 1,
    least: 15,
    most: 200,
    step: 15,
    seed: 0x00BC_500D,
};

const ONE_NODE: &str = "--nodes 1 --intranode smartmap";
const ELASTIC: &str = "--nodes 2 --strobe elastic";
const FIXED: &str = "--nodes 2 --strobe fixed --time-slice 500us";

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    use CommunicationStyle::{Blocking, NonBlocking};
    let problem = Layouts::new(workspace, DECK)?;
    let sides = [
        (ONE_NODE, Blocking),
        (ONE_NODE, NonBlocking),
        (ELASTIC, Blocking),
        (ELASTIC, NonBlocking),
        (FIXED, NonBlocking),
        (FIXED, Blocking),
    ];
    let bars = [
        Bar::AtMost(1.03),
        Bar::AtMost(1.03),
        Bar::AtMost(1.04),
        Bar::Reported,
    ];
    let mut alone_s = Vec::new();
    let measured = ROUNDS.figures(bars, |round| {
        let seconds = all_sides(round, |side| problem.solve(sides[side].0, sides[side].1))?;
        let [
            blocking,
            posted,
            elastic_blocking,
            elastic,
            fixed,
            fixed_blocking,
        ] = seconds;
        alone_s.push(posted);
        Ok([
            elastic_blocking / blocking,
            elastic / posted,
            fixed / posted,
            fixed_blocking / blocking,
        ])
    })?;
    let what = [
        "elastic, blocking, 2 nodes against 1",
        "elastic, non-blocking",
        "fixed slices of 500 us, non-blocking",
        "fixed slices of 500 us, blocking",
    ];
    let all = measured.iter().zip(what);
    let mut outcomes: Vec<CheckOutcome> = all.map(|(one, what)| one.outcome(what, " x")).collect();
    outcomes[0].figure.push_str(&format!(
        "; non-blocking on one node: {:.3} s",
        median(&alone_s)
    ));
    Ok(CheckOutcome::of_all(&outcomes))
}

fn two_jobs(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    let problem = Layouts::new(workspace, DECK)?;
    let measured = Rounds::default().figures([Bar::AtMost(2.2); 2], |round| {
        let seconds = all_sides(round, |side| match side {
            0 => problem.solve(ELASTIC, CommunicationStyle::Blocking),
            1 => solve_two(&problem, ELASTIC, CommunicationStyle::Blocking),
            2 => problem.solve(ELASTIC, CommunicationStyle::NonBlocking),
            _ => solve_two(&problem, ELASTIC, CommunicationStyle::NonBlocking),
        })?;
        let [blocking, two_blocking, posted, two_posted] = seconds;
        Ok([two_blocking / blocking, two_posted / posted])
    })?;
    let what = ["blocking", "non-blocking"].map(|messages| {
        format!("the slower of two jobs on 2 nodes at once against one alone, {messages}")
    });
    let all = measured.iter().zip(&what);
    let outcomes: Vec<CheckOutcome> = all.map(|(one, what)| one.outcome(what, " x")).collect();
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Returns the solver's time of the slower one of two concurrent jobs.
fn solve_two(layouts: &Layouts<'_>, layout: &str, messages: CommunicationStyle) -> Result<f64> {
    let mut commands = [
        layouts.command(layout, messages)?,
        layouts.command(layout, messages)?,
    ];
    let problem = &layouts.problem;
    let times = thread::scope(|scope| {
        let jobs = commands
            .each_mut()
            .map(|command| scope.spawn(move || problem.solve(command)));
        jobs.map(|job| job.join().map_err(|_| anyhow!("watching a job panicked"))?)
    });
    let [one, other] = times;
    Ok(one?.max(other?))
}
