//! The lookout: once a second it asks node managers where their ranks are.
//!
//! A look is over when all node managers have answered, and only then comes the next. A rank that
//! is in the same call in two looks was there at the moment in between when the second began; so
//! two such ranks were where they are *at the same time*, on whatever machines. That makes it an
//! error, and not only an odd coincidence, if one is in the 5th collective of a communicator, a
//! gather, and the other one is in the 5th, too, and calls it a scatter (MPI 5.0, 6.14). No message
//! may ever cross between them, so nobody else would find it.
//!
//! If all ranks have been where they are for [`STANDSTILL`], that is worth a word. It is no error:
//! another thread of a rank may go on, or what they wait for takes so long.
//!
//! A state machine without sockets: time and answers come in, questions and findings go out.

use crate::verdict::Verdict;
use bcs_core::job::NodeId;
use bcs_core::whereabouts::{Entered, Whereabouts};
use node_manager::control::{Seen, Sighting};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// From the end of a look to the next.
const INTERVAL: Duration = Duration::from_secs(1);

/// A look at the end of the time limit, so that what is said then is fresh.
const LAST_LOOK: Duration = Duration::from_millis(50);

/// After this long in which no rank has moved, the user is told.
const STANDSTILL: Duration = Duration::from_secs(10);

/// Ranks that are named one by one.
const NAMED: usize = 16;

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Something that ends the job.
    Astray(Verdict),
    /// Lines for the user.
    Standstill(Vec<String>),
}

/// A blocked rank.
#[derive(Clone, Debug)]
struct Blocked {
    node: NodeId,
    number: u64,
    whereabouts: Whereabouts,
}

/// See the module.
#[derive(Debug)]
pub struct Lookout {
    /// Whether each node manager has answered.
    answered: Vec<bool>,
    look: u32,
    next: Option<Instant>,
    last: Option<Instant>,
    running: usize,
    /// Blocked ranks: those of this look, and those of the one before.
    blocked: BTreeMap<u32, Blocked>,
    before: BTreeMap<u32, Blocked>,
    /// Since when nothing has moved, and whether the user knows.
    still_since: Option<Instant>,
    told: bool,
}

impl Lookout {
    /// A lookout over so many node managers, for a job that ends at `end` if not before.
    #[must_use]
    pub fn new(managers: usize, now: Instant, end: Option<Instant>) -> Self {
        Self {
            answered: vec![true; managers],
            look: 0,
            next: Some(now + INTERVAL),
            last: end.and_then(|end| end.checked_sub(LAST_LOOK)),
            running: 0,
            blocked: BTreeMap::new(),
            before: BTreeMap::new(),
            still_since: None,
            told: false,
        }
    }

    /// When to call [`ask`](Self::ask).
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let next = self.next?;
        Some(self.last.map_or(next, |last| next.min(last)))
    }

    /// If it is time for a look, its number: all node managers are to be asked.
    pub fn ask(&mut self, now: Instant) -> Option<u32> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        if self.last.is_some_and(|last| now >= last) {
            self.last = None;
        }
        self.next = None;
        self.look = self.look.wrapping_add(1);
        self.answered.fill(false);
        self.running = 0;
        self.before = std::mem::take(&mut self.blocked);
        Some(self.look)
    }

    /// A node manager has answered.
    pub fn heard(&mut self, manager: usize, seen: Seen, now: Instant) -> Option<Finding> {
        if seen.look != self.look || std::mem::replace(&mut self.answered[manager], true) {
            return None;
        }
        self.running += seen.running;
        for Sighting {
            rank,
            node,
            number,
            words,
        } in seen.blocked
        {
            // What makes no sense is the rank's own affair.
            if let Some(whereabouts) = Whereabouts::decode(&words) {
                let blocked = Blocked {
                    node,
                    number,
                    whereabouts,
                };
                self.blocked.insert(rank, blocked);
            }
        }
        if !self.answered.iter().all(|&answered| answered) {
            return None;
        }
        self.next = Some(now + INTERVAL);
        self.astray().or_else(|| self.standstill(now))
    }

    /// Blocked ranks that have not moved between the last two looks.
    fn unmoved(&self) -> impl Iterator<Item = (u32, &Blocked)> {
        self.blocked.iter().filter_map(|(&rank, blocked)| {
            let before = self.before.get(&rank)?;
            (before.number == blocked.number).then_some((rank, blocked))
        })
    }

    fn astray(&self) -> Option<Finding> {
        let mut first: HashMap<(u32, u32, u32), (u32, &Blocked, Entered)> = HashMap::new();
        for (rank, blocked) in self.unmoved() {
            for &entered in &blocked.whereabouts.entered {
                let of = (entered.context, entered.group, entered.number);
                let &mut (other, at, called) = first.entry(of).or_insert((rank, blocked, entered));
                if called.contradicts(&entered) {
                    return Some(Finding::Astray(Verdict::Astray(format!(
                        "ranks wait for each other in different collectives: rank {other} on node \
                         {} is in {called}, and rank {rank} on node {} is in {entered}",
                        at.node, blocked.node
                    ))));
                }
            }
        }
        None
    }

    fn standstill(&mut self, now: Instant) -> Option<Finding> {
        let unmoved = self.unmoved().count();
        if unmoved == 0 || unmoved < self.running {
            self.still_since = None;
            self.told = false;
            return None;
        }
        let since = *self.still_since.get_or_insert(now);
        if self.told || now - since < STANDSTILL {
            return None;
        }
        self.told = true;
        let seconds = (now - since).as_secs();
        let mut lines = vec![format!(
            "nothing has moved for {seconds} s: all ranks are blocked, each in one call"
        )];
        lines.extend(self.lines());
        Some(Finding::Standstill(lines))
    }

    /// Where ranks are blocked, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |(rank, blocked): (&u32, &Blocked)| {
            let Blocked {
                node, whereabouts, ..
            } = blocked;
            format!("rank {rank} on node {node} {whereabouts}")
        };
        let mut lines: Vec<String> = self.blocked.iter().take(NAMED).map(line).collect();
        if self.blocked.len() > NAMED {
            lines.push(format!("... and {} others", self.blocked.len() - NAMED));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::whereabouts::{Called, Exchange, Peer, Wait};

    fn in_collective(rank: u32, number: u64, called: Called) -> Sighting {
        let entered = Entered {
            context: 0,
            group: 0,
            number: 5,
            called,
        };
        sighting(rank, number, Wait::Collective, vec![entered])
    }

    fn sighting(rank: u32, number: u64, wait: Wait, entered: Vec<Entered>) -> Sighting {
        let whereabouts = Whereabouts { wait, entered };
        Sighting {
            rank,
            node: NodeId(u16::try_from(rank).unwrap()),
            number,
            words: whereabouts.encode(),
        }
    }

    fn receiving(rank: u32, number: u64) -> Sighting {
        let peer = Peer {
            context: 0,
            rank: Some(1 - rank),
            tag: Some(3),
        };
        sighting(rank, number, Wait::Receive(peer), vec![])
    }

    const GATHER: Called = Called::Messages(Exchange::Gather, Some(0));
    const SCATTER: Called = Called::Messages(Exchange::Scatter, Some(0));

    /// Virtual time: looks of two node managers with one rank each, `INTERVAL` apart.
    struct Job {
        lookout: Lookout,
        now: Instant,
    }

    impl Job {
        fn new(end: Option<Duration>) -> Self {
            let now = Instant::now();
            let lookout = Lookout::new(2, now, end.map(|end| now + end));
            Self { lookout, now }
        }

        fn look(&mut self, sightings: [Sighting; 2]) -> Option<Finding> {
            self.now = self.lookout.due().unwrap();
            let look = self.lookout.ask(self.now).unwrap();
            assert_eq!(self.lookout.due(), None, "one look at a time");
            let mut found = None;
            for (manager, sighting) in sightings.into_iter().enumerate() {
                assert_eq!(found, None, "nobody knows before all have answered");
                let seen = Seen {
                    look,
                    running: 1,
                    blocked: vec![sighting],
                };
                found = self.lookout.heard(manager, seen, self.now);
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
        let Some(Finding::Astray(verdict)) = job.look(at(1, 2)) else {
            panic!("both have stayed");
        };
        let said = verdict.message(2).unwrap();
        for part in [
            "rank 0 on node 0 is in a gather to rank 0 (collective 5 of MPI_COMM_WORLD)",
            "rank 1 on node 1 is in a scatter from rank 0",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(verdict.exit_code(), 1);
    }

    #[test]
    fn ranks_in_the_same_collective_may_wait_as_long_as_they_like() {
        let mut job = Job::new(None);
        for _ in 0..5 {
            let at = [in_collective(0, 1, GATHER), in_collective(1, 1, GATHER)];
            assert_eq!(job.look(at), None);
        }
    }

    #[test]
    fn a_standstill_is_told_once() {
        let mut job = Job::new(None);
        let mut told = Vec::new();
        for _ in 0..30 {
            if let Some(Finding::Standstill(lines)) = job.look([receiving(0, 7), receiving(1, 9)]) {
                told.push(lines);
            }
        }
        assert_eq!(told.len(), 1);
        assert!(told[0][0].contains("for 10 s"), "{told:?}");
        let line = "rank 1 on node 1 waits for a message from rank 0 with tag 3 in MPI_COMM_WORLD";
        assert_eq!(told[0][2], line);
    }

    #[test]
    fn a_rank_that_moves_or_computes_is_no_standstill() {
        let mut job = Job::new(None);
        for number in 0..30 {
            let found = job.look([receiving(0, 7), receiving(1, number)]);
            assert_eq!(found, None);
        }
    }

    #[test]
    fn the_last_look_comes_just_before_the_end() {
        let end = Duration::from_millis(2_500);
        let mut job = Job::new(Some(end));
        let start = job.now;
        let mut looks = Vec::new();
        for _ in 0..3 {
            let _ = job.look([receiving(0, 7), receiving(1, 9)]);
            looks.push((job.now - start).as_millis());
        }
        assert_eq!(looks, [1_000, 2_000, 2_450]);
        assert_eq!(job.lookout.lines().len(), 2);
    }

    #[test]
    fn an_answer_that_comes_late_or_twice_is_not_heard() {
        let mut job = Job::new(None);
        let look = job.lookout.ask(job.now + INTERVAL).unwrap();
        let seen = Seen {
            look,
            running: 1,
            blocked: vec![],
        };
        let other = Seen {
            look: look + 1,
            ..seen.clone()
        };
        for (manager, seen) in [(0, other), (0, seen.clone()), (0, seen.clone())] {
            assert_eq!(job.lookout.heard(manager, seen, job.now), None);
        }
        assert_eq!(job.lookout.due(), None, "the other one has not answered");
        assert_eq!(job.lookout.heard(1, seen, job.now), None);
        assert!(job.lookout.due().is_some());
    }
}
