//! Why a rank is late again and again: it has more work, a slower core, or waits for files.

use super::cause::SlowCause;
use super::facts::{Facts, RankFacts};

/// The least number of bytes by which files can be a cause: less is what a program prints.
const LEAST_FILE_BYTES: u64 = 1 << 20;

/// A smaller difference between the loops of two ranks' cores is noise.
const LEAST_SLOWNESS: f64 = 1.1;

/// The share of a late rank's time that is added to the others' work and time, before the time for
/// a unit of their work is computed.
const SMOOTHING: f64 = 0.25;

/// How the time of a computation was spent.
#[derive(Debug, Clone, Copy, Default)]
struct TimeParts {
    /// On the core, in time of the others' cores.
    work_ns: f64,
    /// On the core or ready for it.
    ready_ns: f64,
    /// Asleep.
    blocked_ns: f64,
}

/// Returns by how much the computation of a rank exceeds the average of the others.
pub(super) fn excess_ns(facts: &Facts, rank: &RankFacts) -> f64 {
    let others = facts.ranks.iter().filter(|other| other.rank != rank.rank);
    rank.computation_ns as f64 - average(others.map(|other| other.computation_ns as f64))
}

/// Returns the cause for a rank that computes longer than the others.
///
/// Its time beyond theirs has three parts: more work, more time for the same work, and sleep. With
/// `w` for work and `f` for the time that a unit of work takes, the first two are the change of `w`
/// by the average of `f`, and the change of `f` by the average of `w`. So a load that slows all
/// ranks alike changes no verdict. The largest part is the cause. Without an account of the kernel
/// it is the work.
pub(super) fn cause_of(facts: &Facts, rank: &RankFacts) -> SlowCause {
    let number = rank.rank;
    let imbalance = SlowCause::LoadImbalance { rank: number };
    let others = || facts.ranks.iter().filter(|other| other.rank != number);
    let loops = others().filter_map(core_loop_ns);
    let usual_loop_ns = average(loops);
    let slowness = match core_loop_ns(rank) {
        Some(own_ns) if usual_loop_ns > 0.0 && own_ns > LEAST_SLOWNESS * usual_loop_ns => {
            own_ns / usual_loop_ns
        }
        _ => 1.0,
    };
    let Some(own) = parts(rank, slowness) else {
        return imbalance;
    };
    let theirs: Option<Vec<TimeParts>> = others().map(|other| parts(other, 1.0)).collect();
    let Some(theirs) = theirs.filter(|theirs| !theirs.is_empty()) else {
        return imbalance;
    };
    let usual = |of: fn(&TimeParts) -> f64| average(theirs.iter().map(of));
    let work_ns = usual(|parts| parts.work_ns);
    let own_stretch = ratio(own.ready_ns, own.work_ns);
    // One interruption stretches next to no work by any factor.
    let smooth_ns = SMOOTHING * own.ready_ns;
    let stretch = ratio(
        usual(|parts| parts.ready_ns) + smooth_ns,
        work_ns + smooth_ns,
    );
    let more_work_ns = (own.work_ns - work_ns) * (own_stretch + stretch) / 2.0;
    let slower_ns = (own_stretch - stretch) * (own.work_ns + work_ns) / 2.0;
    let asleep_ns = own.blocked_ns - usual(|parts| parts.blocked_ns);
    if asleep_ns > more_work_ns.max(slower_ns) {
        let bytes = |rank: &RankFacts| rank.usage.map_or(0, |usage| usage.file_bytes);
        let usual_bytes = average(others().map(|other| bytes(other) as f64));
        let own_bytes = bytes(rank);
        return match own_bytes >= LEAST_FILE_BYTES && own_bytes as f64 > 2.0 * usual_bytes {
            true => SlowCause::FileInput { rank: number },
            false => SlowCause::Sleep { rank: number },
        };
    }
    match slower_ns > more_work_ns {
        true => SlowCause::SlowCore { rank: number },
        false => imbalance,
    }
}

/// Returns the parts of a rank's computation, as far as the kernel was asked about at least half of
/// it.
fn parts(rank: &RankFacts, slowness: f64) -> Option<TimeParts> {
    let usage = rank.usage?;
    if usage.computation_ns == 0 {
        // A rank that never computes for a millisecond has next to no work.
        let all_ns = rank.computation_ns as f64;
        return Some(TimeParts {
            work_ns: all_ns,
            ready_ns: all_ns,
            blocked_ns: 0.0,
        });
    }
    let known = usage.computation_ns as f64;
    let scale = rank.computation_ns as f64 / known;
    (scale <= 2.0 || rank.computation_ns < 1_000_000).then(|| TimeParts {
        work_ns: scale * usage.cpu_ns as f64 / slowness,
        ready_ns: scale * usage.cpu_ns.saturating_add(usage.preempted_ns) as f64,
        blocked_ns: scale * usage.blocked_ns as f64,
    })
}

fn core_loop_ns(rank: &RankFacts) -> Option<f64> {
    let loop_ns = rank.usage?.core_loop_ns;
    (loop_ns > 0).then_some(loop_ns as f64)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

fn average(figures: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = figures.fold((0.0, 0.0), |(sum, count), figure| {
        (sum + figure, count + 1.0)
    });
    if count > 0.0 { sum / count } else { 0.0 }
}
