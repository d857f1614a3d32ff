//! The safe layer costs nothing: compares windows of small messages through scopes with the untyped
//! core, in turns within a job.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "scope-rate",
    about: "windows of 64 messages of 8 B through scopes have at least 0.97 x the rate of the untyped core",
    about_time: true,
    quick: false,
    run,
};

const LIMIT: Duration = Duration::from_secs(60);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut rates = Vec::new();
    let ratio = || {
        let mut command = workspace.fixture("-n 2 --bind core", "windows", [])?;
        let (typed, untyped) = said(&process::run(&mut command, LIMIT)?.succeeded()?.stdout)?;
        rates.push(typed);
        Ok(typed / untyped)
    };
    let measured = Rounds::default().figure(Bar::AtLeast(0.97), ratio)?;
    let mut outcome = measured.outcome("rate through scopes against the untyped core", " x");
    let rate = crate::bootstrap::median(&rates);
    outcome
        .figure
        .push_str(&format!("; {rate:.2} million messages a second"));
    Ok(outcome)
}

/// Returns the millions of messages per second through scopes, and through the untyped core.
fn said(line: &str) -> Result<(f64, f64)> {
    let rate = |name: &str| -> Result<f64> {
        let (_, rest) = line
            .split_once(name)
            .with_context(|| format!("no rate follows `{name}` in `{line}`"))?;
        let number = rest.split_whitespace().next().unwrap_or_default();
        number
            .parse()
            .with_context(|| format!("`{number}` is no rate"))
    };
    Ok((rate("scopes ")?, rate("untyped ")?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_rates_are_read() {
        let line = "scopes 10.125 M/s, untyped 10.25 M/s\n";
        assert_eq!(super::said(line).unwrap(), (10.125, 10.25));
        assert!(super::said("scopes many").is_err());
    }
}
