//! Finds from the dumps of a recorded run why a setting is good: granularity and overhead.

use mds::dump::{DistributionDump, RunDumps};
use mds_reports::report::duration;

/// Describes a recorded run with a setting, which is written as on a command line: how long ranks
/// compute between blocking calls, in time and in slices, and the share of their time in these
/// calls.
#[must_use]
pub fn reason(dumps: &RunDumps, setting: &str) -> Option<String> {
    let ranks = dumps.ranks.iter();
    let computing = ranks.clone().map(|rank| &rank.computation_granularity_ns);
    let computing = DistributionDump::merged(computing);
    let waiting = ranks.clone().map(|rank| &rank.communication_overhead_ns);
    let waiting = DistributionDump::merged(waiting);
    let all_ns: f64 = ranks.map(|rank| rank.run_ns as f64).sum();
    let slice_ns = dumps.run.as_ref()?.time_slice_ns as f64;
    let told = |times: &DistributionDump| {
        let at = |share| Some(times.quantile(share)? as f64);
        let (low, middle, high) = (at(0.05)?, at(0.5)?, at(0.95)?);
        let range = format!("nine tenths {} to {}", duration(low), duration(high));
        Some((middle, range))
    };
    let (granularity, computed) = told(&computing)?;
    let (overhead, waited) = told(&waiting)?;
    Some(format!(
        "With {setting} ranks compute for {} between blocking calls (median; {computed}), {:.1} slices; a call takes {} \
         (median; {waited}), all of them {:.1} % of the time.",
        duration(granularity),
        granularity / slice_ns,
        duration(overhead),
        100.0 * waiting.total as f64 / all_ns.max(1.0)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::dump::{RankDump, RunDump};

    #[test]
    fn granularity_is_told_in_slices_and_overhead_as_a_share() {
        let rank = RankDump {
            run_ns: 4_000_000,
            computation_granularity_ns: DistributionDump::of([300_000; 10]),
            communication_overhead_ns: DistributionDump::of([100_000; 10]),
            ..RankDump::default()
        };
        let run = RunDump {
            time_slice_ns: 150_000,
            ..RunDump::default()
        };
        let mut dumps = RunDumps {
            run: Some(run),
            ranks: vec![rank],
            ..RunDumps::default()
        };
        let said = reason(&dumps, "--time-slice 150us").unwrap();
        for words in [
            "With --time-slice 150us ranks compute for 3",
            "2.0 slices",
            "25.0 % of",
        ] {
            assert!(said.contains(words), "{said}");
        }
        dumps.ranks.clear();
        assert_eq!(reason(&dumps, ""), None, "a program without calls");
    }
}
