//! The rules: which cause each wait belongs to.

use std::collections::BTreeMap;

use crate::figures::{WaitLink, WaitSide};

use super::answer::Diagnosis;
use super::cause::{CostlyCause, SlowCause};
use super::facts::{Facts, RankFacts};
use super::{late_ranks, words};

/// A cause that costs a smaller share of all ranks' time is not worth a change of the program.
const LEAST_SHARE: f64 = 0.1;

/// A rank is late by its own computation if that exceeds the others' by this share of the longest
/// time that one rank waited for it. Otherwise ranks are late in turns.
const LEAST_EXCESS: f64 = 0.5;

/// Fewer small messages are no pattern.
const LEAST_SMALL: u64 = 1_000;

/// A root exchanges messages with at least this many ranks: with one it is a pair.
const LEAST_ANSWERED: usize = 2;

/// The share of a rank's messages that make another rank its only partner.
const ONLY_PARTNER: f64 = 0.9;

/// Costs by cause.
type Costs = BTreeMap<SlowCause, u64>;

/// Finds the causes, and the largest one.
#[must_use]
pub fn diagnose(facts: &Facts) -> Diagnosis {
    let mut costs = Costs::new();
    late(facts, &mut costs);
    for link in facts.links.iter().filter(|link| !link.small) {
        let for_strobe_ns = link.split[1].saturating_sub(link.budget_ns);
        if facts.by_clock {
            add(&mut costs, SlowCause::SlicesTooLong, for_strobe_ns);
        }
        let moved_ns = link.budget_ns.saturating_add(link.moved_long_ns);
        add(&mut costs, SlowCause::Bandwidth, moved_ns);
    }
    if facts.small.count >= LEAST_SMALL {
        add(
            &mut costs,
            SlowCause::ManySmallMessages,
            facts.small.time_ns,
        );
    }
    if facts.cores > 0 && facts.ranks.len() as u64 > facts.cores {
        add(
            &mut costs,
            SlowCause::MoreRanksThanCores,
            facts.preempted_ns(),
        );
    }
    let mut causes: Vec<CostlyCause> = costs
        .into_iter()
        .filter(|(_, cost_ns)| *cost_ns > 0)
        .map(|(cause, cost_ns)| CostlyCause { cause, cost_ns })
        .collect();
    causes.sort_by_key(|found| std::cmp::Reverse(found.cost_ns));
    let least_ns = LEAST_SHARE * facts.run_ns() as f64;
    let largest = causes
        .first()
        .filter(|found| found.cost_ns as f64 >= least_ns);
    let largest = largest.cloned().unwrap_or(CostlyCause {
        cause: SlowCause::NothingWrong,
        cost_ns: 0,
    });
    Diagnosis {
        sentences: words::sentences(facts, &largest, &causes),
        largest,
        causes,
    }
}

fn add(costs: &mut Costs, cause: SlowCause, cost_ns: u64) {
    let cost = costs.entry(cause).or_default();
    *cost = cost.saturating_add(cost_ns);
}

/// Divides the waits for ranks that had not posted. Ranks with the same trouble count together,
/// under the number of the one for which the others waited most.
fn late(facts: &Facts, costs: &mut Costs) {
    let by_rank: BTreeMap<u32, &RankFacts> =
        facts.ranks.iter().map(|rank| (rank.rank, rank)).collect();
    let mut troubles: BTreeMap<&'static str, Vec<(u64, SlowCause)>> = BTreeMap::new();
    let mut waits: BTreeMap<u32, Vec<&WaitLink>> = BTreeMap::new();
    for link in facts.links.iter().filter(|link| !link.small) {
        if let Some((other, _)) = link.other {
            waits.entry(other).or_default().push(link);
        }
    }
    for (other, links) in waits {
        let late_ns = links
            .iter()
            .fold(0_u64, |sum, link| sum.saturating_add(link.split[0]));
        let trouble = match by_rank.get(&other) {
            Some(rank) if is_root(facts, rank, &links) => {
                Some(SlowCause::SerialisedRoot { rank: other })
            }
            Some(rank) if is_late_itself(facts, rank, &links) => {
                Some(late_ranks::cause_of(facts, rank))
            }
            _ => None,
        };
        match trouble {
            Some(cause) => troubles
                .entry(cause.name())
                .or_default()
                .push((late_ns, cause)),
            None => in_turns(&links, costs),
        }
    }
    for mut alike in troubles.into_values() {
        alike.sort_by_key(|(late_ns, _)| std::cmp::Reverse(*late_ns));
        let all_ns = alike
            .iter()
            .fold(0_u64, |sum, (late_ns, _)| sum.saturating_add(*late_ns));
        if let Some((_, cause)) = alike.into_iter().next() {
            add(costs, cause, all_ns);
        }
    }
}

/// Names waits by the call and the place, since no rank is to blame for all of them.
fn in_turns(links: &[&WaitLink], costs: &mut Costs) {
    for link in links {
        let place = link.place.clone();
        let cause = match (link.other, link.primitive) {
            (Some((_, WaitSide::Collective)), Some(primitive)) => {
                SlowCause::WaitAtCollective { primitive, place }
            }
            (Some((_, WaitSide::Send)), _) => SlowCause::LateReceiver { place },
            _ => SlowCause::LateSender { place },
        };
        add(costs, cause, link.split[0]);
    }
}

/// Returns the longest time that one rank waited because the owner of these links was late.
fn longest_ns(links: &[&WaitLink]) -> u64 {
    let mut by_waiter: BTreeMap<u32, u64> = BTreeMap::new();
    for link in links {
        let sum = by_waiter.entry(link.waiter).or_default();
        *sum = sum.saturating_add(link.split[0]);
    }
    by_waiter.into_values().max().unwrap_or(0)
}

fn is_late_itself(facts: &Facts, rank: &RankFacts, links: &[&WaitLink]) -> bool {
    let excess_ns = late_ranks::excess_ns(facts, rank);
    excess_ns > 0.0 && excess_ns >= LEAST_EXCESS * longest_ns(links) as f64
}

/// Returns whether the others wait for messages of this rank, and exchange messages with no rank
/// but this one.
fn is_root(facts: &Facts, rank: &RankFacts, links: &[&WaitLink]) -> bool {
    let late = |wanted: &dyn Fn(&WaitLink) -> bool| {
        let links = links.iter().filter(|link| wanted(link));
        links.fold(0.0, |sum, link| sum + link.split[0] as f64)
    };
    let by_messages =
        |link: &WaitLink| matches!(link.other, Some((_, WaitSide::Receive | WaitSide::Send)));
    if late(&by_messages) < late(&|_| true) * LEAST_EXCESS {
        return false;
    }
    let others = facts.ranks.iter().filter(|other| other.rank != rank.rank);
    let only_with_root = others.filter(|other| {
        let with_root = other.messages.get(&rank.rank).copied().unwrap_or(0) as f64;
        let all: f64 = other.messages.values().map(|count| *count as f64).sum();
        with_root > 0.0 && with_root >= ONLY_PARTNER * all
    });
    let answered = only_with_root.count();
    answered >= LEAST_ANSWERED && 2 * answered >= facts.ranks.len() - 1
}
