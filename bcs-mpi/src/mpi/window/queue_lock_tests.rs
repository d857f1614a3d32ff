//! Random interleavings of origins against an oracle.

use super::super::overtake::Overtake;
use super::*;
use proptest::prelude::*;

/// The words of a target and of the origins.
#[derive(Clone, Debug)]
struct Memory {
    state: u64,
    tail: u64,
    overtakers: u64,
    /// Next, granted, woken.
    origins: Vec<[u64; 3]>,
}

impl Memory {
    fn word(&mut self, me: usize, word: LockWord) -> &mut u64 {
        match word {
            LockWord::State => &mut self.state,
            LockWord::Tail => &mut self.tail,
            LockWord::Overtakers => &mut self.overtakers,
            LockWord::NextOf(rank) => &mut self.origins[rank][0],
            LockWord::GrantedOf(rank) => &mut self.origins[rank][1],
            LockWord::WokenOf(rank) => &mut self.origins[rank][2],
            LockWord::OwnNext => &mut self.origins[me][0],
            LockWord::OwnGranted => &mut self.origins[me][1],
            LockWord::OwnWoken => &mut self.origins[me][2],
        }
    }

    /// Executes a step. Returns what it has found; `None` if the rank waits.
    fn execute(&mut self, me: usize, step: LockStep) -> Option<u64> {
        match step {
            LockStep::CompareAndSwap { word, compare, new } => {
                let word = self.word(me, word);
                let found = *word;
                if found == compare {
                    *word = new;
                }
                Some(found)
            }
            LockStep::Add(word, value) => {
                let word = self.word(me, word);
                Some(std::mem::replace(word, word.wrapping_add(value)))
            }
            LockStep::Swap(word, value) => Some(std::mem::replace(self.word(me, word), value)),
            LockStep::Store(word, value) => {
                *self.word(me, word) = value;
                Some(0)
            }
            LockStep::Clear => {
                self.origins[me] = [0; 3];
                Some(0)
            }
            LockStep::Load(word) | LockStep::Look(word) => Some(*self.word(me, word)),
            LockStep::Wait(word, _) => Some(*self.word(me, word)).filter(|&word| word != 0),
            LockStep::Done => unreachable!("nothing is to be done"),
        }
    }
}

#[derive(Clone, Debug)]
enum Doing {
    Nothing,
    Acquires(Acquire, LockStep),
    Overtakes(Overtake, LockStep),
    Holds,
    Releases(Release, LockStep),
}

impl Doing {
    /// Returns whether a rank has the lock, although it may still have to pass on its place at the
    /// head of the queue.
    fn has_lock(&self) -> bool {
        match self {
            Self::Holds => true,
            Self::Acquires(_, step) => matches!(
                step,
                LockStep::Load(_)
                    | LockStep::CompareAndSwap {
                        word: LockWord::Tail,
                        ..
                    }
                    | LockStep::Wait(LockWord::OwnNext, _)
                    | LockStep::Store(LockWord::GrantedOf(_), _)
            ),
            Self::Nothing | Self::Overtakes(..) | Self::Releases(..) => false,
        }
    }
}

struct Origin {
    kind: LockKind,
    doing: Doing,
    left: usize,
    /// The ranks that were in the queue when it began to take the lock, and how many times each had
    /// left.
    before: Vec<(usize, usize)>,
}

struct Simulation {
    memory: Memory,
    origins: Vec<Origin>,
    /// The ranks that have swapped themselves into the queue and not yet got the lock, in order.
    queue: Vec<usize>,
    acquired: usize,
    /// Whether the next rank that wants the shared lock overtakes the queue.
    overtakes: bool,
}

impl Simulation {
    fn new(ranks: usize, times: usize) -> Self {
        let memory = Memory {
            state: 0,
            tail: 0,
            overtakers: 0,
            origins: vec![[0; 3]; ranks],
        };
        let origins = (0..ranks).map(|_| Origin {
            kind: LockKind::Shared,
            doing: Doing::Nothing,
            left: times,
            before: Vec::new(),
        });
        Self {
            memory,
            origins: origins.collect(),
            queue: Vec::new(),
            acquired: 0,
            overtakes: false,
        }
    }

    /// Returns how many ranks share the lock, and how many have it alone.
    fn holders(&self) -> (usize, usize) {
        let holding = |kind| {
            let holds = |it: &&Origin| it.doing.has_lock() && it.kind == kind;
            self.origins.iter().filter(holds).count()
        };
        (holding(LockKind::Shared), holding(LockKind::Exclusive))
    }

    /// Returns the ranks that wait in the queue, and how many times each has left.
    fn waiting(&self) -> Vec<(usize, usize)> {
        let waiting = self.queue.iter().copied();
        let waiting = waiting.filter(|&rank| !self.origins[rank].doing.has_lock());
        waiting
            .map(|rank| (rank, self.origins[rank].left))
            .collect()
    }

    /// Lets a rank make one step. Returns whether it could.
    fn advance(&mut self, rank: usize, kind: LockKind) -> bool {
        let had_lock = self.origins[rank].doing.has_lock();
        let could = self.step(rank, kind);
        let (shared, exclusive) = self.holders();
        assert!(exclusive == 0 || (exclusive, shared) == (1, 0));
        if !had_lock && self.origins[rank].doing.has_lock() {
            let waiting = self.waiting();
            let overtaken = self.origins[rank].before.iter();
            assert!(overtaken.clone().all(|it| !waiting.contains(it)));
        }
        could
    }

    fn step(&mut self, rank: usize, kind: LockKind) -> bool {
        let ranks = self.origins.len();
        match self.origins[rank].doing.clone() {
            Doing::Nothing if self.origins[rank].left == 0 => return false,
            Doing::Nothing if self.overtakes && kind == LockKind::Shared => {
                let overtake = Overtake::new(rank, ranks);
                let step = overtake.begin();
                let origin = &mut self.origins[rank];
                origin.before.clear();
                origin.left -= 1;
                origin.kind = kind;
                origin.doing = Doing::Overtakes(overtake, step);
            }
            Doing::Overtakes(mut overtake, step) => {
                let Some(found) = self.memory.execute(rank, step) else {
                    return false;
                };
                self.origins[rank].doing = match overtake.found(found).unwrap() {
                    LockStep::Done => {
                        self.acquired += 1;
                        Doing::Holds
                    }
                    next => Doing::Overtakes(overtake, next),
                };
            }
            Doing::Nothing => {
                let acquire = Acquire::new(rank, ranks, kind);
                let step = acquire.begin();
                let before = self.waiting();
                let origin = &mut self.origins[rank];
                origin.before = before;
                origin.left -= 1;
                origin.kind = kind;
                origin.doing = Doing::Acquires(acquire, step);
            }
            Doing::Acquires(mut acquire, step) => {
                let Some(found) = self.memory.execute(rank, step) else {
                    return false;
                };
                if matches!(step, LockStep::Swap(LockWord::Tail, _)) {
                    self.queue.push(rank);
                }
                let next = acquire.found(found).unwrap();
                // It has the lock from here on, and passes its place in the queue on.
                self.origins[rank].doing = match next {
                    LockStep::Done => Doing::Holds,
                    _ => Doing::Acquires(acquire, next),
                };
                if next == LockStep::Done {
                    self.queue.retain(|&it| it != rank);
                    self.acquired += 1;
                }
            }
            Doing::Holds => {
                let release = Release::new(rank, ranks, self.origins[rank].kind);
                let step = release.begin();
                self.origins[rank].doing = Doing::Releases(release, step);
            }
            Doing::Releases(mut release, step) => {
                let found = self.memory.execute(rank, step).unwrap();
                self.origins[rank].doing = match release.found(found).unwrap() {
                    LockStep::Done => Doing::Nothing,
                    next => Doing::Releases(release, next),
                };
            }
        }
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Any interleaving ends, and holders exclude each other as they should.
    #[test]
    fn holders_exclude_each_other_and_nobody_waits_for_ever(
        ranks in 1usize..7, times in 1usize..12, exclusive in 0u32..5,
        choices in prop::collection::vec((any::<u16>(), any::<u8>()), 0..3_000),
    ) {
        let mut simulation = Simulation::new(ranks, times);
        let kind = |byte: u8| match u32::from(byte % 4) < exclusive {
            true => LockKind::Exclusive,
            false => LockKind::Shared,
        };
        for (rank, byte) in &choices {
            simulation.overtakes = byte & 0x40 != 0;
            // Some go on for a while, so that others are late by whole locks and releases.
            let steps = if byte & 0x80 != 0 { 15 } else { 1 };
            for _ in 0..steps {
                simulation.advance(usize::from(*rank) % ranks, kind(*byte));
            }
        }
        // From here on in turns, until nobody can go on.
        let mut byte = 0u8;
        loop {
            let mut any = false;
            for rank in 0..ranks {
                byte = byte.wrapping_mul(29).wrapping_add(7);
                simulation.overtakes = byte & 0x40 != 0;
                any |= simulation.advance(rank, kind(byte));
            }
            if !any {
                break;
            }
        }
        prop_assert_eq!(simulation.acquired, ranks * times);
        let memory = &simulation.memory;
        prop_assert_eq!((memory.state, memory.tail, memory.overtakers), (0, 0, 0));
        prop_assert!(simulation.queue.is_empty());
    }

    /// Ranks that queue behind a holder get the lock in their order, and nobody overtakes them.
    #[test]
    fn a_queue_is_served_in_order(
        kinds in prop::collection::vec(any::<bool>(), 2..7),
        choices in prop::collection::vec(any::<u16>(), 200..1_500),
    ) {
        let ranks = kinds.len() + 1;
        let mut simulation = Simulation::new(ranks, 1);
        let kind = |rank: usize| match rank == 0 || kinds[rank - 1] {
            true => LockKind::Exclusive,
            false => LockKind::Shared,
        };
        while !matches!(simulation.origins[0].doing, Doing::Holds) {
            simulation.advance(0, kind(0));
        }
        // The others enter one after the other, as far as they come.
        for rank in 1..ranks {
            while simulation.advance(rank, kind(rank)) {}
        }
        prop_assert_eq!(&simulation.queue, &(1..ranks).collect::<Vec<_>>());
        let mut order = Vec::new();
        let mut holding = vec![false; ranks];
        let steps = choices.iter().map(|choice| usize::from(*choice) % ranks);
        for rank in steps.chain((0..ranks).cycle().take(500)) {
            simulation.advance(rank, kind(rank));
            let state = LockState(simulation.memory.state);
            let holds = |rank: usize| match simulation.origins[rank].doing {
                Doing::Holds => true,
                Doing::Acquires(_, LockStep::Load(LockWord::OwnNext)) => state.0 != 0,
                _ => false,
            };
            for (rank, held) in holding.iter_mut().enumerate().skip(1) {
                if !*held && holds(rank) {
                    *held = true;
                    order.push(rank);
                }
            }
        }
        prop_assert_eq!(order, (1..ranks).collect::<Vec<_>>());
        prop_assert_eq!(simulation.memory.state, 0);
    }

    /// Overwritten words give an error or some step, and never a rank that there is not.
    #[test]
    fn any_words_are_taken(
        words in prop::collection::vec(any::<u64>(), 1..30), ranks in 1usize..9, shared: bool,
    ) {
        let kind = if shared { LockKind::Shared } else { LockKind::Exclusive };
        let mut acquire = Acquire::new(0, ranks, kind);
        for word in &words {
            let step = acquire.found(*word);
            if let Ok(LockStep::Store(
                LockWord::NextOf(rank) | LockWord::GrantedOf(rank), _,
            )) = step {
                prop_assert!(rank < ranks && rank != 0);
            }
        }
        let mut overtake = Overtake::new(0, ranks);
        for word in &words {
            if let Ok(LockStep::Store(LockWord::WokenOf(rank), _)) = overtake.found(*word) {
                prop_assert!(rank < ranks && rank != 0);
            }
        }
        let mut release = Release::new(0, ranks, kind);
        if let Ok(LockStep::Store(LockWord::WokenOf(rank), _)) = release.found(words[0]) {
            prop_assert!(rank < ranks && rank != 0);
        }
    }
}

#[test]
fn an_uncontended_lock_takes_one_step_and_so_does_its_end() {
    for kind in [LockKind::Shared, LockKind::Exclusive] {
        let mut simulation = Simulation::new(2, 1);
        assert!(simulation.advance(0, kind) && simulation.advance(0, kind));
        assert!(matches!(simulation.origins[0].doing, Doing::Holds));
        assert!(simulation.advance(0, kind) && simulation.advance(0, kind));
        assert!(matches!(simulation.origins[0].doing, Doing::Nothing));
    }
}

/// An owner that takes the list of overtakers late finds one that waits for the next owner.
#[test]
fn an_overtaker_that_is_woken_too_early_waits_again() {
    let mut simulation = Simulation::new(4, 1);
    simulation.overtakes = true;
    let [late, first, owner, second] = [0, 1, 2, 3];
    let until = |simulation: &mut Simulation, rank: usize, kind, wanted: fn(&Doing) -> bool| {
        while !wanted(&simulation.origins[rank].doing) {
            assert!(simulation.advance(rank, kind), "rank {rank} waits");
        }
    };
    let holds = |doing: &Doing| matches!(doing, Doing::Holds);
    let is_done = |doing: &Doing| matches!(doing, Doing::Nothing);
    until(&mut simulation, late, LockKind::Exclusive, holds);
    // It has counted itself, and does not wait yet.
    until(&mut simulation, first, LockKind::Shared, |doing| {
        matches!(doing, Doing::Overtakes(_, LockStep::Clear))
    });
    until(&mut simulation, late, LockKind::Exclusive, |doing| {
        matches!(doing, Doing::Releases(_, LockStep::Swap(..)))
    });
    until(&mut simulation, first, LockKind::Shared, holds);
    until(&mut simulation, first, LockKind::Shared, is_done);
    until(&mut simulation, owner, LockKind::Exclusive, holds);
    while simulation.advance(second, LockKind::Shared) {}
    until(&mut simulation, late, LockKind::Exclusive, is_done);
    while simulation.advance(second, LockKind::Shared) {}
    assert_eq!(simulation.holders(), (0, 1));
    until(&mut simulation, owner, LockKind::Exclusive, is_done);
    until(&mut simulation, second, LockKind::Shared, holds);
}
