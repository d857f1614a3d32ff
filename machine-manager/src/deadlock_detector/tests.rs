//! Queries in virtual time.

use super::*;
use bcs_core::wait_state::{CalledCollective, MessageCollective, MessagePeer, WaitReason};
use node_manager::control::{BlockedRankReport, OtherThreads};

fn in_collective(rank: u32, number: u64, called: CalledCollective) -> BlockedRankReport {
    let entered = EnteredCollective {
        context: 0,
        group: 0,
        number: 5,
        called,
    };
    sighting(rank, number, WaitReason::Collective(Some(0)), vec![entered])
}

fn sighting(
    rank: u32,
    number: u64,
    wait: WaitReason,
    entered: Vec<EnteredCollective>,
) -> BlockedRankReport {
    let whereabouts = WaitState {
        waits: vec![wait],
        entered,
        ..WaitState::default()
    };
    BlockedRankReport {
        rank,
        node: NodeId(u16::try_from(rank).unwrap()),
        number,
        words: whereabouts.encode(),
        code: None,
        started: None,
        made_at: vec![],
    }
}

fn receiving(rank: u32, number: u64) -> BlockedRankReport {
    let peer = MessagePeer {
        context: 0,
        rank: Some(1 - rank),
        tag: Some(3),
    };
    sighting(rank, number, WaitReason::Receive(peer), vec![])
}

const GATHER: CalledCollective = CalledCollective::Messages(MessageCollective::Gather, Some(0));
const SCATTER: CalledCollective = CalledCollective::Messages(MessageCollective::Scatter, Some(0));

/// Virtual time: queries of two node managers with one rank each, `INTERVAL` apart.
struct Job {
    lookout: DeadlockDetector,
    now: Instant,
}

impl Job {
    fn new(end: Option<Duration>) -> Self {
        let now = Instant::now();
        let lookout = DeadlockDetector::new(2, now, end.map(|end| now + end));
        Self { lookout, now }
    }

    /// Makes a query while the NICs still have work.
    fn look(&mut self, sightings: [BlockedRankReport; 2]) -> Option<DetectorFinding> {
        self.look_at(sightings, None, OtherThreads::Running)
    }

    fn look_at(
        &mut self,
        sightings: [BlockedRankReport; 2],
        naps: Option<u64>,
        threads: OtherThreads,
    ) -> Option<DetectorFinding> {
        self.look_that_finds(sightings, naps, threads, None)
    }

    /// Makes a query in which a NIC of the second node manager holds this work, and nobody has
    /// demanded a slice for it.
    fn look_that_finds(
        &mut self,
        sightings: [BlockedRankReport; 2],
        naps: Option<u64>,
        threads: OtherThreads,
        forgotten: Option<&str>,
    ) -> Option<DetectorFinding> {
        self.now = self.lookout.due().unwrap();
        let look = self.lookout.ask(self.now).unwrap();
        assert_eq!(self.lookout.due(), None, "one look at a time");
        let mut found = None;
        for (manager, sighting) in sightings.into_iter().enumerate() {
            assert_eq!(found, None, "nobody knows before all have answered");
            let seen = WaitStateReport {
                look: look.number,
                running: 1,
                naps,
                threads: if look.closely {
                    threads
                } else {
                    OtherThreads::Running
                },
                blocked: vec![sighting],
                forgotten: forgotten.filter(|_| manager == 1).map(str::to_owned),
                ..WaitStateReport::default()
            };
            found = self.lookout.handle_report(manager, seen, self.now);
        }
        found
    }
}

#[test]
fn ranks_in_different_collectives_are_found_when_both_have_stayed() {
    let mut job = Job::new(None);
    let at = |one, other| {
        [
            in_collective(0, one, GATHER),
            in_collective(1, other, SCATTER),
        ]
    };
    assert_eq!(job.look(at(1, 1)), None, "once is no proof");
    assert_eq!(job.look(at(1, 2)), None, "rank 1 has moved");
    let Some(DetectorFinding::MismatchedCollectives(said, graph)) = job.look(at(1, 2)) else {
        panic!("both have stayed");
    };
    for part in [
        "rank 0 on node 0 is in a gather to rank 0 (collective 6 of MPI_COMM_WORLD)",
        "rank 1 on node 1 is in a scatter from rank 0",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(graph.causes, [DeadlockCause::MismatchedCollectives(0, 1)]);
}

#[test]
fn ranks_in_the_same_collective_may_wait_as_long_as_they_like() {
    let mut job = Job::new(None);
    for _ in 0..5 {
        let at = [in_collective(0, 1, GATHER), in_collective(1, 1, GATHER)];
        assert_eq!(job.look(at), None);
    }
}

/// Returns two ranks in a receive each, while the NICs sleep.
fn stuck() -> [BlockedRankReport; 2] {
    [receiving(0, 7), receiving(1, 9)]
}

#[test]
fn a_deadlock_is_told_within_a_second_and_once() {
    let mut job = Job::new(None);
    assert_eq!(job.look(stuck()), None);
    let blocked = job.now;
    let mut told = Vec::new();
    for _ in 0..30 {
        if let Some(found) = job.look_at(stuck(), Some(5), OtherThreads::None) {
            told.push((job.now - blocked, found));
        }
    }
    let [(after, DetectorFinding::Deadlock(graph))] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(*after < Duration::from_millis(800), "{after:?}");
    assert_eq!(graph.causes, [DeadlockCause::Cycle(vec![0, 1])]);
    let line = "  rank 1 on node 1 waits for a message from rank 0 with tag 3 in MPI_COMM_WORLD";
    assert_eq!(graph.lines()[2], line);
}

#[test]
fn while_a_thread_or_a_nic_moves_nobody_says_anything() {
    let mut job = Job::new(None);
    for naps in 0..30 {
        assert_eq!(job.look_at(stuck(), Some(naps), OtherThreads::None), None);
    }
    for _ in 0..30 {
        assert_eq!(job.look_at(stuck(), Some(30), OtherThreads::Running), None);
        assert_eq!(job.look(stuck()), None);
    }
}

/// Examining the threads of all ranks costs more than the rest of a query.
#[test]
fn a_thread_that_computes_beside_a_wait_is_looked_at_now_and_then() {
    let mut job = Job::new(None);
    let start = job.now;
    for _ in 0..25 {
        let _ = job.look_at(stuck(), Some(30), OtherThreads::Running);
    }
    assert!(job.now - start > 23 * INTERVAL);
}

#[test]
fn with_threads_that_sleep_a_deadlock_is_possible_and_the_job_goes_on() {
    let mut job = Job::new(None);
    let mut told = 0;
    for _ in 0..30 {
        match job.look_at(stuck(), Some(5), OtherThreads::Asleep(3)) {
            None => {}
            Some(DetectorFinding::Possible(line)) if line.contains("a deadlock is possible") => {
                told += 1
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, 1);
    // Its threads move now and then, and end.
    assert_eq!(job.look(stuck()), None);
    for _ in 0..3 {
        assert_eq!(job.look_at(stuck(), Some(6), OtherThreads::Asleep(4)), None);
    }
    let mut ended = (0..3).map(|_| job.look_at(stuck(), Some(6), OtherThreads::None));
    assert!(ended.any(|found| matches!(found, Some(DetectorFinding::Deadlock(_)))));
}

#[test]
fn the_last_look_comes_just_before_the_end() {
    let end = Duration::from_millis(1_200);
    let mut job = Job::new(Some(end));
    let start = job.now;
    let mut looks = Vec::new();
    for _ in 0..3 {
        let _ = job.look([receiving(0, 7), receiving(1, 9)]);
        looks.push((job.now - start).as_millis());
    }
    assert_eq!(looks, [400, 800, 1_150]);
    assert_eq!(job.lookout.lines(&mut SourceLines::default()).len(), 2);
}

#[test]
fn an_answer_that_comes_late_or_twice_is_not_heard() {
    let mut job = Job::new(None);
    let look = job.lookout.ask(job.now + INTERVAL).unwrap();
    let seen = WaitStateReport {
        look: look.number,
        running: 1,
        ..WaitStateReport::default()
    };
    let other = WaitStateReport {
        look: look.number + 1,
        ..seen.clone()
    };
    for (manager, seen) in [(0, other), (0, seen.clone()), (0, seen.clone())] {
        assert_eq!(job.lookout.handle_report(manager, seen, job.now), None);
    }
    assert_eq!(job.lookout.due(), None, "the other one has not answered");
    assert_eq!(job.lookout.handle_report(1, seen, job.now), None);
    assert!(job.lookout.due().is_some());
}

/// All sleep, and a NIC holds a message that a slice must decide about: that is no deadlock of the
/// program.
#[test]
fn work_that_lies_in_a_nic_is_no_deadlock() {
    let mut job = Job::new(None);
    // One query that finds all asleep, and two close ones.
    let mut looks = |forgotten: Option<&str>| {
        (0..3).find_map(|_| job.look_that_finds(stuck(), Some(3), OtherThreads::None, forgotten))
    };
    let held = "BR of node 1 holds messages that a slice must decide";
    let Some(DetectorFinding::StalledNic(line)) = looks(Some(held)) else {
        panic!("the NIC says what it holds");
    };
    assert!(line.contains(held), "{line}");
    // The slice was struck and nobody went on: now it is one.
    assert!(matches!(looks(None), Some(DetectorFinding::Deadlock(_))));
}

/// Before the end of the time limit the ranks that the others wait for are asked for, too.
#[test]
fn ranks_that_are_not_blocked_are_named_at_the_end() {
    let mut job = Job::new(Some(INTERVAL));
    let look = job.lookout.ask(job.lookout.due().unwrap()).unwrap();
    assert!(look.unblocked, "the first query is the last one");
    let unblocked = |rank: u32, is_initialized| UnblockedRank {
        rank,
        node: NodeId(0),
        is_stopped: rank == 2,
        is_initialized,
        last_call: None,
    };
    let mut lines = |ranks: Vec<UnblockedRank>| {
        let seen = WaitStateReport {
            look: look.number,
            running: 3,
            unblocked: ranks,
            ..WaitStateReport::default()
        };
        assert_eq!(job.lookout.handle_report(0, seen, job.now), None);
        job.lookout.lines(&mut SourceLines::default())
    };
    assert_eq!(
        lines(vec![
            unblocked(0, true),
            unblocked(1, false),
            unblocked(2, true)
        ]),
        [
            "rank 0 on node 0 computes",
            "rank 1 on node 0 has not called MPI_Init",
            "rank 2 on node 0 is stopped by a signal or a debugger",
        ]
    );
}

/// A job without MPI that takes too long has nothing to say about MPI.
#[test]
fn ranks_of_another_kind_are_not_named() {
    let mut job = Job::new(Some(INTERVAL));
    let look = job.lookout.ask(job.lookout.due().unwrap()).unwrap();
    let seen = WaitStateReport {
        look: look.number,
        running: 1,
        unblocked: vec![UnblockedRank {
            rank: 0,
            node: NodeId(0),
            is_stopped: false,
            is_initialized: false,
            last_call: None,
        }],
        ..WaitStateReport::default()
    };
    assert_eq!(job.lookout.handle_report(0, seen, job.now), None);
    assert!(job.lookout.lines(&mut SourceLines::default()).is_empty());
}
