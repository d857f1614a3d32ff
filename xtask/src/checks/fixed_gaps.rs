//! With fixed strobes the gaps between slices are the time slice.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mds::dump::{DistributionDump, read_dir};

use crate::bootstrap::median;
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const IDLE: Check = Check {
    name: "fixed-gaps-idle",
    about: "gaps between struck slices on an idle machine: median within 1 %, 99th percentile within 15 %",
    about_time: true,
    quick: false,
    // The two ranks sleep until a strobe releases them, and post again.
    run: |workspace| gaps(workspace, 2, &["--seconds", "2"], 0.15),
};

pub(super) const BUSY: Check = Check {
    name: "fixed-gaps-busy",
    about: "the same with every core computing: median within 1 %, 99th percentile within 20 %",
    about_time: true,
    quick: false,
    // A rank for every core, and all ranks compute all the time. Two of them post while they
    // compute, so a slice without a descriptor would be the fault of the NIC and not of a rank that
    // woke up late.
    run: |workspace| {
        let ranks = thread::available_parallelism()
            .map_or(2, usize::from)
            .max(2);
        gaps(
            workspace,
            ranks,
            &["--seconds", "2", "--every-us", "150"],
            0.20,
        )
    },
};

/// The time slice.
const SLICE_US: f64 = 500.0;

/// The allowed relative deviation of the median.
const MEDIAN_TOLERANCE: f64 = 0.01;

/// Returns the larger of two shares: how much of its tolerance the median used, and how much the
/// 99th percentile used. So one bar, 1, covers both.
fn gaps(
    workspace: &Workspace,
    ranks: usize,
    options: &[&str],
    tolerance: f64,
) -> Result<CheckOutcome> {
    let ranks = ranks.to_string();
    let (mut medians, mut p99s, mut longest, mut struck) = (vec![], vec![], vec![], vec![]);
    let measured = Rounds::default().figure(Bar::AtMost(1.0), || {
        let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
        let mut command = workspace.bcs(["run", "-n", &ranks, "--nodes", "2"])?;
        command.args(["--strobe", "fixed", "--time-slice", "500us", "--mds"]);
        command.arg(dir.path()).args(["--intranode", "nic", "beat"]);
        command.args(options);
        process::run(&mut command, Duration::from_secs(60))?.succeeded()?;
        let nodes = read_dir(dir.path())?.require_complete()?.nodes;
        let strobes = nodes.into_iter().find_map(|node| node.global);
        let gaps = strobes
            .context("no node has dumped the global figures")?
            .getts_ns;
        let (middle, p99) = (quantile_us(&gaps, 0.5)?, quantile_us(&gaps, 0.99)?);
        medians.push(middle);
        p99s.push(p99);
        longest.push(gaps.max as f64 / 1000.0);
        struck.push(gaps.count as f64 + 1.0);
        let off = |gap_us: f64| (gap_us - SLICE_US).abs() / SLICE_US;
        Ok((off(middle) / MEDIAN_TOLERANCE).max(off(p99) / tolerance))
    })?;
    let mut outcome = measured.outcome("share of the tolerance used up", "");
    outcome.figure.push_str(&format!(
        "; of the rounds' medians: {:.0} slices in 2 s, median gap {:.1} us, 99th percentile {:.1} us, longest \
         {:.0} us",
        median(&struck),
        median(&medians),
        median(&p99s),
        median(&longest)
    ));
    outcome.bar = format!(
        "at most 1: median within {} %, 99th percentile within {} % of {SLICE_US} us",
        100.0 * MEDIAN_TOLERANCE,
        100.0 * tolerance
    );
    Ok(outcome)
}

/// Returns the gap that a share of `quantile` does not exceed. Buckets are 0.4 % wide at 500 us,
/// and their middles represent them.
pub(super) fn quantile_us(gaps: &DistributionDump, quantile: f64) -> Result<f64> {
    ensure!(gaps.count > 0, "no two slices were struck");
    let mut left = (gaps.count as f64 * quantile).ceil();
    let mut buckets = gaps.histogram.iter();
    let (bucket, _) = buckets
        .find(|(_, count)| {
            left -= *count as f64;
            left <= 0.0
        })
        .context("the histogram holds less than its count")?;
    Ok(bucket_middle_ns(*bucket) / 1000.0)
}

/// A bucket is as wide as a unit in the eighth binary digit.
fn bucket_middle_ns(lowest: u64) -> f64 {
    let width = 1_u64 << lowest.checked_ilog2().unwrap_or_default().saturating_sub(7);
    lowest as f64 + (width as f64 - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_middles_of_their_buckets() {
        let mut distribution = mds::Distribution::new();
        distribution.record_many(500_000, 98);
        distribution.record_many(600_000, 2);
        let dump = DistributionDump::from(&distribution);
        let (median, p99) = (
            quantile_us(&dump, 0.5).unwrap(),
            quantile_us(&dump, 0.99).unwrap(),
        );
        assert!((median - 500.0).abs() < 1.1, "{median}");
        assert!((p99 - 600.0).abs() < 2.2, "{p99}");
        assert!(quantile_us(&DistributionDump::from(&mds::Distribution::new()), 0.5).is_err());
    }
}
