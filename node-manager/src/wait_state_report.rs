//! Reports the wait states of the ranks to the deadlock detector of `bcs run`.
//!
//! A query reads memory that ranks and NICs write, and wakes nobody. It reads one word of each
//! sleeper, which holds whether it sleeps until another thread rings, and the number of the sleep
//! ([`bcs_core::wake::bell`]). It reads these words first, and then the wait states. So if the next
//! query finds a rank in the same sleep, its wait state was valid all the time in between.

use crate::control::{
    BlockedRankReport, DepartedRank, OtherThreads, PollingRank, UnblockedRank, WaitStateQuery,
    WaitStateReport,
};
use crate::limits::UNBLOCKED_RANKS;
use crate::nic::LocalNics;
use crate::rank_process::{RankProcess, RankStage};
use crate::surveyor::is_stopped;
use crate::threads;

/// Answers a query.
pub(crate) fn report_wait_states(
    look: WaitStateQuery,
    ranks: &[RankProcess],
    nic: &LocalNics,
) -> WaitStateReport {
    let running = || ranks.iter().filter(|rank| in_job(rank));
    let polling: Vec<PollingRank> = running().filter_map(|rank| polls(rank, nic)).collect();
    let is_polling = |rank: u32| polling.iter().any(|polls| polls.rank == rank);
    let sleepers = running().map(|rank| rank.rank);
    let naps = nic.sleep_count(sleepers.filter(|&rank| !is_polling(rank)));
    let closely = look.closely && naps.is_some();
    let sightings = running().filter_map(|rank| {
        let polls = is_polling(rank.rank);
        blocked_rank_report(rank, nic, (closely, polls))
    });
    let (blocked, processes): (Vec<BlockedRankReport>, Vec<_>) = sightings.unzip();
    let closely = closely && blocked.len() == running().count();
    let threads = match closely {
        true => threads::other_threads(processes.into_iter()),
        false => OtherThreads::Running,
    };
    let gone = ranks.iter().filter(|rank| closely && !in_job(rank));
    WaitStateReport {
        look: look.number,
        running: running().count(),
        naps,
        polling: polling.clone(),
        forgotten: naps.and_then(|_| nic.stalled_work()),
        threads,
        gone: gone.map(|rank| departed_rank(rank, nic)).collect(),
        unblocked: match look.unblocked {
            true => unblocked(ranks, &blocked, nic),
            false => Vec::new(),
        },
        blocked,
    }
}

/// Returns some of the ranks that are not among the blocked ones.
fn unblocked(
    ranks: &[RankProcess],
    blocked: &[BlockedRankReport],
    nic: &LocalNics,
) -> Vec<UnblockedRank> {
    let is_blocked = |rank: u32| blocked.iter().any(|blocked| blocked.rank == rank);
    let moves = ranks
        .iter()
        .filter(|rank| in_job(rank) && !is_blocked(rank.rank));
    let report = |rank: &RankProcess| {
        let started = rank.pid.as_raw_nonzero().get().unsigned_abs();
        let pid = nic.pid(rank.rank).unwrap_or(started);
        UnblockedRank {
            rank: rank.rank,
            node: rank.node,
            is_stopped: is_stopped(pid),
            is_initialized: matches!(rank.stage, RankStage::Received(_)),
            last_call: rank.last_call(pid),
        }
    };
    moves.take(UNBLOCKED_RANKS).map(report).collect()
}

/// Returns whether a message may still come from a rank.
fn in_job(rank: &RankProcess) -> bool {
    rank.runs() && !matches!(rank.stage, RankStage::Finalized)
}

/// Returns a rank that does nothing but poll.
fn polls(rank: &RankProcess, nic: &LocalNics) -> Option<PollingRank> {
    let (number, whereabouts) = nic.wait_state(rank.rank)?;
    whereabouts.polls.then(|| PollingRank {
        rank: rank.rank,
        number,
        reads: nic.pid(rank.rank).map_or(0, threads::reads_so_far),
    })
}

/// Reports a rank that is blocked or, as the flag says, polls, with its process, and whether other
/// threads of that process may call MPI.
fn blocked_rank_report(
    rank: &RankProcess,
    nic: &LocalNics,
    (closely, polls): (bool, bool),
) -> Option<(BlockedRankReport, (Option<u32>, bool))> {
    let (number, mut whereabouts) = nic.wait_state(rank.rank)?;
    // A rank that is about to finalize waits for nothing any more, and one that has begun or ended
    // to poll moves.
    if whereabouts.waits.is_empty() || whereabouts.polls != polls {
        return None;
    }
    if closely {
        nic.add_unmatched(rank.rank, &mut whereabouts);
    }
    let process = (nic.pid(rank.rank), whereabouts.threads);
    let titles = whereabouts.labels.iter();
    let made_at = titles.map(|title| title.site.as_ref().and_then(|site| rank.place_of(site)));
    let sighting = BlockedRankReport {
        rank: rank.rank,
        node: rank.node,
        number,
        code: (whereabouts.site.as_ref()).and_then(|site| rank.place_of(site)),
        started: (whereabouts.started.as_ref()).and_then(|site| rank.place_of(site)),
        made_at: made_at.collect(),
        words: whereabouts.encode(),
    };
    Some((sighting, process))
}

fn departed_rank(rank: &RankProcess, nic: &LocalNics) -> DepartedRank {
    let finalized = matches!(rank.stage, RankStage::Finalized);
    let last = nic.wait_state(rank.rank).filter(|_| finalized);
    DepartedRank {
        rank: rank.rank,
        node: rank.node,
        finalized,
        words: last.map_or_else(Vec::new, |(_, said)| said.encode()),
    }
}
