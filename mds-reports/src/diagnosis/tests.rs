//! The rules on invented facts.

use super::facts::{Facts, RankFacts, SmallCalls};
use super::{SlowCause, diagnose};
use crate::figures::{WaitLink, WaitSide};
use mds::dump::UsageDump;
use mds::mmds::Primitive;

const S: u64 = 1_000_000_000;

/// A rank that ran for 10 s and computed for so long, on a core of its own.
fn rank(rank: u32, computation_ns: u64) -> RankFacts {
    RankFacts {
        rank,
        run_ns: 10 * S,
        computation_ns,
        mpi_ns: 10 * S - computation_ns,
        usage: Some(UsageDump {
            computation_ns,
            cpu_ns: computation_ns,
            core_loop_ns: 1_000,
            ..UsageDump::default()
        }),
        ..RankFacts::default()
    }
}

fn link(waiter: u32, other: u32, side: WaitSide, split: [u64; 4]) -> WaitLink {
    WaitLink {
        waiter,
        other: Some((other, side)),
        primitive: Some(match side {
            WaitSide::Receive => Primitive::Recv,
            WaitSide::Send => Primitive::Ssend,
            WaitSide::Collective => Primitive::Barrier,
        }),
        place: "a.f90:120".to_owned(),
        small: false,
        waits: 10,
        split,
        budget_ns: 0,
        moved_long_ns: 0,
    }
}

/// Three ranks that wait in collectives for the fourth.
fn wait_for_last(of_last: RankFacts) -> Facts {
    let mut ranks: Vec<RankFacts> = (0..3).map(|number| rank(number, 2 * S)).collect();
    ranks.push(of_last);
    Facts {
        ranks,
        links: (0..3)
            .map(|waiter| link(waiter, 3, WaitSide::Collective, [7 * S, 0, 0, 0]))
            .collect(),
        ..Facts::default()
    }
}

fn largest(facts: &Facts) -> SlowCause {
    diagnose(facts).largest.cause
}

#[test]
fn a_rank_with_more_work_is_an_imbalance_with_or_without_an_account_of_the_kernel() {
    let mut facts = wait_for_last(rank(3, 9 * S));
    let imbalance = SlowCause::LoadImbalance { rank: 3 };
    let found = diagnose(&facts);
    assert_eq!(
        (found.largest.cause, found.largest.cost_ns),
        (imbalance.clone(), 21 * S)
    );
    for rank in &mut facts.ranks {
        rank.usage = None;
    }
    assert_eq!(largest(&facts), imbalance);
}

/// All ranks get half of a core.
#[test]
fn a_load_on_all_cores_turns_no_imbalance_into_a_slow_core() {
    let mut facts = wait_for_last(rank(3, 9 * S));
    for usage in facts
        .ranks
        .iter_mut()
        .filter_map(|rank| rank.usage.as_mut())
    {
        usage.cpu_ns = usage.computation_ns / 2;
        usage.preempted_ns = usage.computation_ns / 2;
    }
    assert_eq!(largest(&facts), SlowCause::LoadImbalance { rank: 3 });
}

#[test]
fn the_same_work_in_more_time_is_a_slow_core() {
    let mut shared = wait_for_last(rank(3, 9 * S));
    let usage = shared.ranks[3].usage.as_mut().unwrap();
    (usage.cpu_ns, usage.preempted_ns) = (2 * S, 7 * S);
    assert_eq!(largest(&shared), SlowCause::SlowCore { rank: 3 });
    // Nobody else has the core, but its clock is slow.
    let mut slow = wait_for_last(rank(3, 9 * S));
    slow.ranks[3].usage.as_mut().unwrap().core_loop_ns = 4_500;
    assert_eq!(largest(&slow), SlowCause::SlowCore { rank: 3 });
}

#[test]
fn a_rank_that_sleeps_waits_for_a_file_if_it_has_moved_bytes() {
    let mut facts = wait_for_last(rank(3, 9 * S));
    let usage = facts.ranks[3].usage.as_mut().unwrap();
    (usage.cpu_ns, usage.blocked_ns) = (2 * S, 7 * S);
    assert_eq!(largest(&facts), SlowCause::Sleep { rank: 3 });
    facts.ranks[3].usage.as_mut().unwrap().file_bytes = 1 << 30;
    assert_eq!(largest(&facts), SlowCause::FileInput { rank: 3 });
    // One interruption of a rank that does next to nothing changes no verdict.
    for rank in &mut facts.ranks[..3] {
        rank.computation_ns = S;
        let usage = rank.usage.as_mut().unwrap();
        (usage.computation_ns, usage.cpu_ns, usage.preempted_ns) = (S, S / 20, 19 * S / 20);
    }
    assert_eq!(largest(&facts), SlowCause::FileInput { rank: 3 });
}

/// Two ranks with the same work take turns.
fn in_turns(side: WaitSide) -> Facts {
    Facts {
        ranks: vec![rank(0, 5 * S), rank(1, 5 * S)],
        links: vec![
            link(0, 1, side, [4 * S, 0, 0, 0]),
            link(1, 0, side, [4 * S, 0, 0, 0]),
        ],
        ..Facts::default()
    }
}

#[test]
fn ranks_that_are_late_in_turns_are_named_by_place_and_side() {
    let place = || "a.f90:120".to_owned();
    assert_eq!(
        largest(&in_turns(WaitSide::Receive)),
        SlowCause::LateSender { place: place() }
    );
    assert_eq!(
        largest(&in_turns(WaitSide::Send)),
        SlowCause::LateReceiver { place: place() }
    );
    let barrier = SlowCause::WaitAtCollective {
        primitive: Primitive::Barrier,
        place: place(),
    };
    assert_eq!(barrier.name(), "wait at barrier");
    assert_eq!(largest(&in_turns(WaitSide::Collective)), barrier);
}

#[test]
fn a_root_is_the_only_partner_of_the_others() {
    let mut facts = wait_for_last(rank(3, 9 * S));
    for link in &mut facts.links {
        *link = self::link(link.waiter, 3, WaitSide::Receive, link.split);
    }
    assert_eq!(
        largest(&facts),
        SlowCause::LoadImbalance { rank: 3 },
        "no messages are known"
    );
    for rank in &mut facts.ranks[..3] {
        rank.messages = [(3, 100)].into();
    }
    assert_eq!(largest(&facts), SlowCause::SerialisedRoot { rank: 3 });
    // Neighbours exchange as much.
    for rank in &mut facts.ranks[..3] {
        rank.messages.insert((rank.rank + 1) % 3, 100);
    }
    assert_eq!(largest(&facts), SlowCause::LoadImbalance { rank: 3 });
}

#[test]
fn a_wait_for_a_strobe_is_the_slice_and_a_wait_for_a_budget_is_the_bandwidth() {
    let mut facts = in_turns(WaitSide::Receive);
    facts.by_clock = true;
    for link in &mut facts.links {
        link.split = [0, 4 * S, 0, 0];
    }
    assert_eq!(largest(&facts), SlowCause::SlicesTooLong);
    for link in &mut facts.links {
        link.budget_ns = 3 * S;
    }
    assert_eq!(largest(&facts), SlowCause::Bandwidth);
    // With elastic strobes no clock is too slow.
    facts.by_clock = false;
    for link in &mut facts.links {
        link.budget_ns = 0;
    }
    assert_eq!(largest(&facts), SlowCause::NothingWrong);
}

#[test]
fn small_messages_count_by_their_number() {
    let mut facts = in_turns(WaitSide::Receive);
    for link in &mut facts.links {
        link.small = true;
    }
    facts.small = SmallCalls {
        count: 999,
        bytes: 8_000,
        time_ns: 9 * S,
    };
    assert_eq!(largest(&facts), SlowCause::NothingWrong);
    facts.small.count = 1_000;
    assert_eq!(largest(&facts), SlowCause::ManySmallMessages);
}

#[test]
fn ranks_without_cores_are_too_many_only_if_there_are_more_of_them() {
    let mut facts = Facts {
        ranks: (0..4).map(|number| rank(number, 9 * S)).collect(),
        cores: 4,
        ..Facts::default()
    };
    for usage in facts
        .ranks
        .iter_mut()
        .filter_map(|rank| rank.usage.as_mut())
    {
        (usage.cpu_ns, usage.preempted_ns) = (4 * S, 5 * S);
    }
    let others = diagnose(&facts);
    assert_eq!(others.largest.cause, SlowCause::NothingWrong);
    assert!(
        others.sentences[0].contains("20.00 s they were ready"),
        "{:?}",
        others.sentences
    );
    facts.cores = 2;
    assert_eq!(largest(&facts), SlowCause::MoreRanksThanCores);
    facts.cores = 0;
    assert_eq!(
        largest(&facts),
        SlowCause::NothingWrong,
        "the cores are not known"
    );
}

#[test]
fn what_costs_less_than_a_tenth_is_nothing_wrong_and_every_text_fits() {
    let mut facts = in_turns(WaitSide::Receive);
    facts.links.truncate(1);
    facts.links[0].split[0] = S;
    let found = diagnose(&facts);
    assert_eq!(found.largest.cause, SlowCause::NothingWrong);
    assert_eq!(found.causes[0].cost_ns, S);
    let text = found.paragraph(40);
    assert!(
        text.lines().all(|line| line.chars().count() <= 40),
        "{text}"
    );
    assert_eq!(text.replace('\n', " "), found.sentences.join(" "));
    let nothing = diagnose(&Facts::default());
    assert_eq!(nothing.largest.cause, SlowCause::NothingWrong);
}

/// The figures of a dump may be anything.
#[test]
fn any_figures_have_a_diagnosis() {
    let figures = [0, 1, S, u64::MAX];
    for (one, other) in figures
        .into_iter()
        .flat_map(|one| figures.map(|other| (one, other)))
    {
        let mut facts = wait_for_last(rank(3, 9 * S));
        for rank in &mut facts.ranks {
            (rank.run_ns, rank.computation_ns, rank.mpi_ns) = (one, other, one);
            rank.usage = Some(UsageDump {
                computation_ns: other,
                cpu_ns: one,
                preempted_ns: other,
                blocked_ns: one,
                preemptions: other,
                file_bytes: one,
                core_loop_ns: other,
            });
        }
        for link in &mut facts.links {
            (link.split, link.budget_ns) = ([one, other, one, other], other);
        }
        assert_eq!(diagnose(&facts).sentences.len(), 3);
    }
}
