//! The proof that no rank of a job can ever go on.
//!
//! **What is read.** All that can act in a job are its *sleepers*: each rank from MPI_Init to
//! MPI_Finalize, and each OS thread of a NIC (it also runs Strobe Sender and sequencer). A sleeper
//! has one bell, whose word holds its state ([`bcs_core::wake::bell`]). `ASLEEP` means: it has
//! announced its sleep, has then polled all sources of its work and found nothing, has set no
//! timer, and nobody has rung it since. The word also holds the number of the sleep. A node manager
//! reads the words of all its sleepers, and then the wait states of its ranks.
//!
//! In a job on several machines the thread that waits for datagrams acts, too, and it does the work
//! of NIC threads that sleep on. It sleeps in the kernel, so it has no bell. It counts its wakes in
//! which a message has come, and this count is added to the numbers of the sleeps. Nothing is
//! proved while it is awake, or while a link has sent something that is not acknowledged.
//!
//! **The argument.** Assume that all words are `ASLEEP` in one query, and that the next query,
//! which begins when all node managers have answered the first, finds all of them the same. Then at
//! the moment between the queries all sleepers were asleep *at the same time*, each in the sleep
//! that both queries saw, since a new sleep has a new number. Only a ring or a timer wakes a
//! sleeper. There was no timer; only sleepers ring, and none was awake. So nobody ever wakes.
//!
//! **Why no message in flight is missed.** No message is in flight by itself; some thread or
//! sleeper handles it. A copy from memory to memory (by a rank, or by DH, CH or RH) is a system
//! call or a loop of a thread that is awake. A chunk of a longer transfer is followed by a strobe
//! that BR demands before it sleeps. An armed strobe is a timer of the Strobe Sender, which then is
//! not `ASLEEP` but `DOZING`. Data that was put down for another sleeper (an entry of a SMARTMAP
//! queue, a word in a transfer slot, a descriptor in a ring with a slice armed or demanded, a block
//! of the fabric, a letter between NIC threads, a completion) was followed by a ring of its bell.
//! If the data came before the sleeper's last poll, that poll saw it; if not, the word is not
//! `ASLEEP`. Between the two, the ringing thread is awake. A descriptor in a ring that demands no
//! slice, such as a receive without a message (law 2), waits for a message that nobody can send. So
//! queues and rings need not be read.
//!
//! **What a NIC holds.** A NIC thread may hold work that only a slice advances: a message that a
//! slice must decide about, a probe that it must answer. The thread has then demanded that slice,
//! and an armed strobe is a timer. If a NIC thread forgot the demand, all would sleep, though the
//! program has no deadlock. So each answer also reports such work in its NICs
//! ([`WaitStateReport::forgotten`]). If all sleep and a NIC holds such work, the runtime is at
//! fault and not the program: the launcher reports it, and has a slice struck.
//!
//! **Livelocks.** A rank that polls in vain, and does nothing else, says so in a wait state whose
//! number grows as long as it polls ([`WaitStateReport::polling`]). It rings nobody: it would have
//! to find something first. If all others are in the same sleeps in many queries, nothing that it
//! polls for can come. But its program may end the loop by a clock or a file. So this is only a
//! possible livelock.
//!
//! **Who else could act.** The word of a rank that computes, reads a pipe or loops over MPI_Test is
//! awake. A stopped rank does not count as waiting, since a debugger may have stopped it. Before
//! MPI_Init a rank has no wait state, and does not count as asleep; after MPI_Finalize no message
//! comes from it. Other threads of a rank are no sleepers. If the program has declared that they do
//! not call MPI (`MPI_THREAD_SINGLE`, `MPI_THREAD_FUNNELED`), and none has, they ring nobody,
//! whatever they compute. Otherwise they may call at any time. As long as one of them runs, nothing
//! is reported. If all of them sleep, and have not run between two queries, we report only that a
//! deadlock is *possible*. While one runs beside ranks that all sleep on, we examine threads only
//! now and then, because that costs more than the rest of a query.

use node_manager::control::{OtherThreads, PollingRank, WaitStateReport};
use std::collections::BTreeMap;

/// The result of two queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StandstillProof {
    /// Nothing is proved: a rank or NIC moves.
    Moves,
    /// Nothing is proved yet: it takes another close query.
    Suspected,
    /// Nothing is proved: all ranks wait in calls, and another thread of one runs.
    OtherThreadRuns,
    /// Only threads that are in no call can go on.
    Possible,
    /// No rank can go on.
    Standstill,
    /// None can, unless the program of one that polls ends its loop by itself.
    Livelock,
    /// The same, and it has been so for long.
    LastingLivelock,
}

/// All answers to one query, added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum {
    naps: u64,
    threads: OtherThreads,
}

/// The number of queries from one that examines a running thread, beside ranks that sleep on, to
/// the next such one.
const LOOKS_BESIDE: u32 = 5;

/// The result of the last query, if all slept then.
#[derive(Debug, Default)]
pub(super) struct Standstill {
    before: Option<Sum>,
    /// The number of queries since a running thread was seen.
    beside: Option<u32>,
    polls: Option<PollingRanks>,
}

/// Ranks that poll in vain while all others sleep.
#[derive(Debug)]
struct PollingRanks {
    naps: u64,
    /// The number of each rank's wait state when this was seen first, and now.
    numbers: BTreeMap<u32, (u64, u64)>,
    /// The number of reads of their processes. A rank that reads a pipe between its polls may go on
    /// by that.
    reads: u64,
    /// The number of queries in which some rank's number has not grown.
    idle: u32,
}

/// Ranks publish what they poll for five times a second. After this many times a user is told.
const TOLD_PERIODS: u64 = 3;

/// After this many a job may be ended: a loop that a clock ends lasts seconds.
const LASTING_PERIODS: u64 = 50;

/// A rank whose number has not grown in this many queries no longer polls.
const MOST_IDLE: u32 = 5;

impl Standstill {
    /// Returns whether to examine a running thread again.
    pub(super) fn is_due(&self) -> bool {
        self.beside.is_some_and(|looks| looks >= LOOKS_BESIDE)
    }

    /// Judges all answers to a query or close query. All answers to the query before had arrived
    /// when it began.
    pub(super) fn judge(&mut self, answers: &[WaitStateReport], closely: bool) -> StandstillProof {
        let now = sum(answers);
        let polls: Vec<PollingRank> = answers
            .iter()
            .flat_map(|seen| seen.polling.clone())
            .collect();
        if !polls.is_empty() {
            (self.before, self.beside) = (None, None);
            return self.judge_polls(now, &polls, closely);
        }
        self.polls = None;
        let before = std::mem::replace(&mut self.before, now);
        let beside = self.beside.take();
        match (before, now) {
            (_, None) => StandstillProof::Moves,
            (_, Some(now)) if now.threads == OtherThreads::Running => {
                let sleep_on = before.is_some_and(|before| before.naps == now.naps);
                self.beside = match closely {
                    true => Some(0),
                    false => beside.map(|looks| looks + 1).filter(|_| sleep_on),
                };
                match self.beside {
                    Some(_) => StandstillProof::OtherThreadRuns,
                    None => StandstillProof::Suspected,
                }
            }
            // Naps and threads are counted, so equal sums are of the same sleeps.
            (Some(before), Some(now)) if before == now => match now.threads {
                OtherThreads::None => StandstillProof::Standstill,
                OtherThreads::Asleep(_) | OtherThreads::Running => StandstillProof::Possible,
            },
            _ => StandstillProof::Suspected,
        }
    }
}

impl Standstill {
    /// Judges answers of a job in which some ranks poll and all others sleep.
    fn judge_polls(
        &mut self,
        now: Option<Sum>,
        polls: &[PollingRank],
        closely: bool,
    ) -> StandstillProof {
        let Some(now) = now.filter(|now| !closely || now.threads == OtherThreads::None) else {
            self.polls = None;
            return StandstillProof::Moves;
        };
        let reads = polls.iter().map(|it| it.reads).fold(0, u64::wrapping_add);
        let polls: BTreeMap<u32, u64> = polls.iter().map(|it| (it.rank, it.number)).collect();
        let same = self.polls.take().filter(|known| {
            (known.naps, known.reads) == (now.naps, reads)
                && known.numbers.keys().eq(polls.keys())
                && known.idle < MOST_IDLE
        });
        let Some(mut known) = same else {
            let numbers = polls
                .iter()
                .map(|(&rank, &number)| (rank, (number, number)));
            self.polls = Some(PollingRanks {
                naps: now.naps,
                reads,
                numbers: numbers.collect(),
                idle: 0,
            });
            return StandstillProof::Suspected;
        };
        let mut idle = false;
        for (rank, (_, last)) in &mut known.numbers {
            idle |= polls[rank] == *last;
            *last = polls[rank];
        }
        known.idle = if idle { known.idle + 1 } else { 0 };
        let periods = known
            .numbers
            .values()
            .map(|(first, last)| last.wrapping_sub(*first));
        let periods = periods.min().unwrap_or(0);
        self.polls = Some(known);
        match periods {
            _ if !closely => StandstillProof::Suspected,
            LASTING_PERIODS.. => StandstillProof::LastingLivelock,
            TOLD_PERIODS.. => StandstillProof::Livelock,
            _ => StandstillProof::Suspected,
        }
    }
}

/// Returns the sum of these answers if all sleepers sleep.
fn sum(answers: &[WaitStateReport]) -> Option<Sum> {
    let running: usize = answers.iter().map(|seen| seen.running).sum();
    let blocked: usize = answers.iter().map(|seen| seen.blocked.len()).sum();
    if running == 0 || blocked < running {
        return None;
    }
    let naps = answers
        .iter()
        .try_fold(0_u64, |naps, seen| Some(naps.wrapping_add(seen.naps?)))?;
    let threads = answers.iter().map(|seen| seen.threads);
    let threads = threads.reduce(|one, other| match (one, other) {
        (OtherThreads::Running, _) | (_, OtherThreads::Running) => OtherThreads::Running,
        (OtherThreads::None, other) | (other, OtherThreads::None) => other,
        (OtherThreads::Asleep(one), OtherThreads::Asleep(other)) => {
            OtherThreads::Asleep(one.wrapping_add(other))
        }
    });
    let threads = threads.unwrap_or_default();
    Some(Sum { naps, threads })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::NodeId;
    use node_manager::control::BlockedRankReport;

    fn seen(naps: Option<u64>, threads: OtherThreads) -> WaitStateReport {
        let sighting = BlockedRankReport {
            rank: 0,
            node: NodeId(0),
            number: 1,
            words: vec![],
            code: None,
            started: None,
            made_at: vec![],
        };
        WaitStateReport {
            running: 1,
            naps,
            threads,
            blocked: vec![sighting],
            ..WaitStateReport::default()
        }
    }

    fn judged(looks: &[[(Option<u64>, OtherThreads); 2]]) -> Vec<StandstillProof> {
        let mut standstill = Standstill::default();
        let mut judge = |look: &[(Option<u64>, OtherThreads); 2]| {
            standstill.judge(&look.map(|(naps, threads)| seen(naps, threads)), true)
        };
        looks.iter().map(&mut judge).collect()
    }

    const NONE: OtherThreads = OtherThreads::None;

    /// Another thread may send between the first and the last read of such a query.
    #[test]
    fn a_look_that_is_not_close_proves_nothing() {
        let mut standstill = Standstill::default();
        let far = seen(Some(3), OtherThreads::Running);
        let close = seen(Some(3), NONE);
        assert_eq!(standstill.judge(&[far], false), StandstillProof::Suspected);
        assert_eq!(
            standstill.judge(std::slice::from_ref(&close), true),
            StandstillProof::Suspected
        );
        assert_eq!(
            standstill.judge(&[close], true),
            StandstillProof::Standstill
        );
    }

    #[test]
    fn two_looks_that_see_the_same_sleeps_prove_it() {
        let still = [(Some(5), NONE), (Some(7), NONE)];
        assert_eq!(
            judged(&[still, still]),
            [StandstillProof::Suspected, StandstillProof::Standstill]
        );
    }

    #[test]
    fn whoever_has_slept_once_more_has_been_awake() {
        let looks = [
            [(Some(5), NONE), (Some(7), NONE)],
            [(Some(5), NONE), (Some(8), NONE)],
            [(Some(6), NONE), (Some(8), NONE)],
        ];
        assert_eq!(judged(&looks), [StandstillProof::Suspected; 3]);
    }

    #[test]
    fn one_who_is_awake_or_has_a_timer_is_enough() {
        let still = [(Some(5), NONE), (Some(7), NONE)];
        let awake = [(Some(5), NONE), (None, NONE)];
        let expected = [
            StandstillProof::Suspected,
            StandstillProof::Moves,
            StandstillProof::Suspected,
        ];
        assert_eq!(judged(&[still, awake, still]), expected);
    }

    #[test]
    fn a_rank_that_says_nothing_is_not_blocked() {
        let mut computes = seen(Some(3), NONE);
        computes.running = 2;
        let mut standstill = Standstill::default();
        for _ in 0..3 {
            assert_eq!(
                standstill.judge(&[computes.clone()], true),
                StandstillProof::Moves
            );
        }
        let all_gone = [WaitStateReport {
            naps: Some(3),
            ..WaitStateReport::default()
        }];
        assert_eq!(standstill.judge(&all_gone, true), StandstillProof::Moves);
    }

    /// Examining the threads of all ranks costs more than the rest of a query.
    #[test]
    fn a_thread_that_runs_is_looked_at_now_and_then_as_long_as_all_ranks_sleep_on() {
        let mut standstill = Standstill::default();
        let look = |standstill: &mut Standstill, naps, closely| {
            standstill.judge(&[seen(Some(naps), OtherThreads::Running)], closely)
        };
        assert_eq!(look(&mut standstill, 3, false), StandstillProof::Suspected);
        assert_eq!(
            look(&mut standstill, 3, true),
            StandstillProof::OtherThreadRuns
        );
        for _ in 0..LOOKS_BESIDE {
            assert!(!standstill.is_due());
            assert_eq!(
                look(&mut standstill, 3, false),
                StandstillProof::OtherThreadRuns
            );
        }
        assert!(standstill.is_due());
        assert_eq!(
            look(&mut standstill, 3, true),
            StandstillProof::OtherThreadRuns
        );
        assert!(!standstill.is_due());
        let moved = look(&mut standstill, 4, false);
        assert_eq!(moved, StandstillProof::Suspected, "a rank has moved");
    }

    #[test]
    fn other_threads_make_it_possible_if_they_sleep_and_nothing_if_they_run() {
        let with = |one, other| [(Some(5), one), (Some(7), other)];
        let asleep = |count| with(OtherThreads::Asleep(count), NONE);
        let looks = [asleep(3), asleep(3), asleep(4), asleep(4)];
        let expected = [
            StandstillProof::Suspected,
            StandstillProof::Possible,
            StandstillProof::Suspected,
            StandstillProof::Possible,
        ];
        assert_eq!(judged(&looks), expected);
        let runs = with(OtherThreads::Asleep(3), OtherThreads::Running);
        assert_eq!(judged(&[runs, runs]), [StandstillProof::OtherThreadRuns; 2]);
    }
}
