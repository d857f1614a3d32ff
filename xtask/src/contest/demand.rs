//! The demands on a contest, and whether it meets them.

use apps::bench::BenchCase;

use super::comparison::{BootstrapRatios, Samples};
use crate::rounds::Bar;
use crate::verdict::{CheckOutcome, Verdict};

/// A bar for some of the rows.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// A description of the rows.
    pub what: &'static str,
    /// Selects the rows.
    pub rows: fn(&BenchCase) -> bool,
    /// The judged statistic of their ratios.
    pub of: RatioStatistic,
    /// The greatest allowed ratio of our time to the best peer's.
    pub at_most: f64,
}

/// A statistic of several ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatioStatistic {
    /// Their geometric mean.
    GeometricMean,
    /// Each ratio: all must hold.
    EachRow,
}

/// The result of a demand.
struct DemandResult {
    verdict: Verdict,
    /// Whether its interval decides the verdict.
    clear: bool,
    text: String,
}

impl Demand {
    /// Demands that each of these rows takes at most `at_most` times as long as with the best peer.
    #[must_use]
    pub const fn each(what: &'static str, rows: fn(&BenchCase) -> bool, at_most: f64) -> Self {
        let of = RatioStatistic::EachRow;
        Self {
            what,
            rows,
            of,
            at_most,
        }
    }

    fn judge(&self, samples: &Samples, resampled: &BootstrapRatios) -> DemandResult {
        let rows: Vec<usize> = (0..samples.cases.len())
            .filter(|row| (self.rows)(&samples.cases[*row]))
            .collect();
        assert!(!rows.is_empty(), "no row was measured for {}", self.what);
        let bar = Bar::AtMost(self.at_most);
        match self.of {
            RatioStatistic::GeometricMean => {
                let (mean, interval) = (resampled.mean(&rows), resampled.interval_of(&rows));
                let clear = bar.judge_interval(interval);
                DemandResult {
                    verdict: clear.unwrap_or_else(|| bar.judge(mean)),
                    clear: clear.is_some(),
                    text: format!("{}: geometric mean {mean:.3} ({interval})", self.what),
                }
            }
            RatioStatistic::EachRow => {
                let worst = rows
                    .iter()
                    .copied()
                    .max_by(|one, other| resampled.ratio(*one).total_cmp(&resampled.ratio(*other)));
                let worst = worst.expect("there are rows");
                let clear: Vec<Option<Verdict>> = rows
                    .iter()
                    .map(|row| bar.judge_interval(resampled.interval_of(&[*row])))
                    .collect();
                // A single certain miss is enough.
                let missed = clear.contains(&Some(Verdict::Missed));
                let ratio = resampled.ratio(worst);
                let BenchCase { op, bytes, mode } = samples.cases[worst];
                DemandResult {
                    verdict: if missed {
                        Verdict::Missed
                    } else {
                        bar.judge(ratio)
                    },
                    clear: missed || clear.iter().all(Option::is_some),
                    text: format!(
                        "{}: worst row {op} {bytes} B {mode} {ratio:.3} ({})",
                        self.what,
                        resampled.interval_of(&[worst])
                    ),
                }
            }
        }
    }

    fn bar(&self) -> String {
        let figure = match self.of {
            RatioStatistic::GeometricMean => "geometric mean",
            RatioStatistic::EachRow => "each row",
        };
        format!("{}: {figure} at most {:.3}", self.what, self.at_most)
    }
}

/// Returns the outcome of all demands on the measurements so far. Returns `None` while it is in
/// doubt, unless these rounds were the `last`; then the ratios of the medians decide.
#[must_use]
pub(super) fn judge(
    demands: &[Demand],
    samples: &Samples,
    seed: u64,
    last: bool,
) -> Option<CheckOutcome> {
    let resampled = samples.resample(seed);
    let judged: Vec<DemandResult> = demands
        .iter()
        .map(|demand| demand.judge(samples, &resampled))
        .collect();
    let surely_missed = |one: &DemandResult| one.clear && one.verdict == Verdict::Missed;
    let clear = judged.iter().all(|one| one.clear) || judged.iter().any(surely_missed);
    if !(clear || last) {
        return None;
    }
    let texts: Vec<String> = judged.iter().map(|one| one.text.clone()).collect();
    let bars: Vec<String> = demands.iter().map(Demand::bar).collect();
    Some(CheckOutcome {
        verdict: Verdict::of_all(judged.iter().map(|one| one.verdict))?,
        figure: format!(
            "time by the best peer's, medians of {} rounds (95 % intervals)\n    {}",
            samples.rounds.len(),
            texts.join("\n    ")
        ),
        bar: bars.join("; "),
    })
}

#[cfg(test)]
mod tests {
    use super::super::comparison::tests::samples;
    use super::*;

    const MEAN: Demand = Demand {
        what: "all",
        rows: |_| true,
        of: RatioStatistic::GeometricMean,
        at_most: 0.95,
    };
    const EACH: Demand = Demand {
        of: RatioStatistic::EachRow,
        at_most: 1.15,
        ..MEAN
    };

    fn verdict(ratios: &[f64], spread: f64, last: bool) -> Option<Verdict> {
        let samples = samples(ratios, 22, spread);
        judge(&[MEAN, EACH], &samples, 3, last).map(|outcome| outcome.verdict)
    }

    #[test]
    fn all_demands_have_to_hold() {
        assert_eq!(verdict(&[0.8, 1.0], 0.01, false), Some(Verdict::Held));
        assert_eq!(
            verdict(&[0.5, 1.3], 0.01, false),
            Some(Verdict::Missed),
            "one row"
        );
        assert_eq!(
            verdict(&[1.0, 1.0], 0.01, false),
            Some(Verdict::Missed),
            "the mean"
        );
    }

    #[test]
    fn in_doubt_more_rounds_are_wanted_until_the_last() {
        assert_eq!(verdict(&[0.949, 0.949], 0.3, false), None);
        assert_eq!(verdict(&[0.7, 0.7], 0.5, true), Some(Verdict::Held));
        // If one demand is certainly missed, doubt about another does not matter.
        assert_eq!(verdict(&[0.3, 3.0], 0.05, false), Some(Verdict::Missed));
    }

    #[test]
    fn the_outcome_names_the_worst_row_and_the_bars() {
        let outcome = judge(&[EACH], &samples(&[0.5, 2.0], 22, 0.0), 3, false).unwrap();
        assert!(
            outcome
                .figure
                .contains("worst row latency 16 B untouched 2.000"),
            "{outcome}"
        );
        assert_eq!(outcome.bar, "all: each row at most 1.150");
    }
}
