//! The experiment of section 5.3 of the BCS-MPI paper: a barrier after every 1.9 ms of computation,
//! slices of 250 µs, and the data of the NICs' recorders.

use std::thread;

use anyhow::Result;

use crate::barriers::{BarrierSpacing, record};
use crate::rounds::{Bar, Rounds};
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "mds-barrier",
    about: "the barrier experiment of section 5.3: slices 250 us apart, barriers nine slices apart, as NICs record it",
    about_time: true,
    quick: false,
    run,
};

/// A run takes 23 seconds, and has five thousand gaps, so more rounds add no information.
const ROUNDS: usize = 30;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        let why = "two ranks compute by the clock, and there is one core";
        return Err(UnsuitableMachine(why.to_owned()).into());
    }
    let barriers = workspace.fixture_program("barriers")?;
    let bars = [
        Bar::AtMost(0.01),
        Bar::AtLeast(0.95),
        Bar::AtLeast(0.99),
        Bar::AtLeast(0.95),
    ];
    let rounds = Rounds {
        most: ROUNDS,
        ..Rounds::default()
    };
    let measured = rounds.figures(bars, |_| {
        let BarrierSpacing {
            median_off,
            within_8_percent,
            within_20_percent,
            apart,
        } = BarrierSpacing::from_dumps(&record(workspace, &barriers)?.nodes)?;
        Ok([median_off, within_8_percent, within_20_percent, apart])
    })?;
    let what = [
        "how far the median gap between strobes is off 250 us, relative",
        "share of gaps from 230 to 270 us",
        "share of gaps from 200 to 300 us",
        "share of barriers nine slices apart",
    ];
    let outcomes = measured.iter().zip(what);
    let outcomes: Vec<CheckOutcome> = outcomes.map(|(one, what)| one.outcome(what, "")).collect();
    Ok(CheckOutcome::of_all(&outcomes))
}
