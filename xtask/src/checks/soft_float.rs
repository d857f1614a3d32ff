//! The default limit of reductions in software is the length at which the processor becomes as
//! fast.
//!
//! One limit applies to all types and operations, which have different crossovers. Sums and
//! products cross over at once, since a single one takes software longer than entering the
//! floating-point environment. Minima and maxima, which software computes by comparing integers,
//! cross over after a few elements. The default should not exceed the greatest crossover, because
//! beyond it software is slower for all operations. It need not be lower: for so few elements
//! software loses almost nothing of a slice, and programs reduce few elements (paper, 4.4).

use anyhow::{Context, Result};
use bcs_core::limits::DEFAULT_SOFT_REDUCE_ELEMENTS;

use crate::rounds::{Bar, Rounds};
use crate::soft_float::{OperationCosts, measure_both};
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "soft-float",
    about: "the default limit of reductions in software is within a factor of 2 of the greatest crossover",
    about_time: true,
    quick: true,
    run,
};

fn run(_: &Workspace) -> Result<CheckOutcome> {
    let limit = f64::from(DEFAULT_SOFT_REDUCE_ELEMENTS);
    let (mut greatest, mut loss_ns) = (vec![], vec![]);
    let ratio = || {
        let rows = measure_both();
        let crossovers = rows.iter().filter_map(OperationCosts::crossover);
        let crossover = crossovers.reduce(f64::max).context(UnsuitableMachine(
            "this processor computes no type with its floating-point unit".into(),
        ))?;
        let loss = |row: &OperationCosts| Some(row.soft.of(limit) - row.host?.of(limit));
        loss_ns.extend(rows.iter().filter_map(loss).reduce(f64::max));
        greatest.push(crossover);
        Ok(limit / crossover)
    };
    // Allows from half to twice the crossover.
    let bar = Bar::Within {
        value: 1.25,
        tolerance: 0.75,
    };
    let measured = Rounds::default().figure(bar, ratio)?;
    let mut outcome = measured.outcome("the limit against the greatest crossover", " x");
    outcome.figure.push_str(&format!(
        "; limit {limit}, greatest crossover {:.1} elements; of {limit} elements software takes at most {:.0} ns \
         longer",
        crate::bootstrap::median(&greatest),
        crate::bootstrap::median(&loss_ns)
    ));
    Ok(outcome)
}
