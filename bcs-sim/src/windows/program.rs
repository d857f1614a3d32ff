//! The operations and epochs of the ranks of a window.

use bcs_core::reduction::{Datatype, Op};
use bcs_mpi::mpi::window::AccumulateOp;
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// The datatypes of the elements: words, short elements, and those that take the target's lock.
const DATATYPES: [Datatype; 5] = [
    Datatype::Uint64,
    Datatype::Int32,
    Datatype::Uint8,
    Datatype::DoubleComplex,
    Datatype::Int16Int,
];

/// How the window comes by its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowOrigin {
    Create,
    Allocate,
    Dynamic,
}

/// How the ranks synchronise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochKind {
    Fence,
    /// Post, start, complete, wait, of all with all.
    Groups,
    /// A lock for each target, which excludes others or not.
    Locks {
        exclusive: bool,
    },
    LockAll,
    /// Some ranks take all locks, the others an exclusive lock for each target. The bits tell
    /// which rank takes all.
    Mixed {
        all: u64,
    },
}

/// The function of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Put,
    Get,
    Accumulate(AccumulateOp),
    GetAccumulate(AccumulateOp),
}

/// An operation on elements of a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedOperation {
    pub(super) target: usize,
    pub(super) action: Action,
    /// The first element at the target.
    pub(super) at: usize,
    pub(super) count: usize,
    /// From one element at the target to the next: 1 if they lie side by side.
    pub(super) stride: usize,
    /// Determines the elements of the origin.
    pub(super) seed: u64,
    /// Whether it is one of those that have a request, if the epoch allows these.
    pub(super) has_request: bool,
    /// Whether the origin flushes after it, if the epoch allows that.
    pub(super) flushes: bool,
    /// Whether it is on the common part.
    pub(super) is_common: bool,
}

/// An epoch of all ranks.
#[derive(Clone, Debug)]
pub(super) struct WindowRound {
    pub(super) epoch: EpochKind,
    /// The operations of each origin, in its order.
    pub(super) operations: Vec<Vec<PlannedOperation>>,
    /// The target of the counter, and how often each origin adds.
    pub(super) counter: Option<(usize, usize)>,
    /// The target of the ticket.
    pub(super) ticket: Option<usize>,
}

/// A window, and what is done to it.
#[derive(Clone, Debug)]
pub(super) struct WindowProgram {
    pub(super) datatype: Datatype,
    pub(super) memory: WindowOrigin,
    /// Elements of an origin's own part of each target.
    pub(super) own: usize,
    /// Elements of the common part.
    pub(super) common: usize,
    pub(super) rounds: Vec<WindowRound>,
}

/// Bytes before the elements of each rank: counter and ticket.
pub(super) const WORDS_BYTES: usize = 16;

impl WindowProgram {
    pub(super) fn draw(ranks: usize, random: &mut ChaCha8Rng) -> Self {
        let datatype = *DATATYPES.choose(random).expect("there are some");
        let memory = [
            WindowOrigin::Create,
            WindowOrigin::Allocate,
            WindowOrigin::Dynamic,
        ];
        let memory = *memory.choose(random).expect("there are some");
        let is_long = random.random_bool(0.15);
        let own = if is_long {
            9_000
        } else {
            random.random_range(1..40)
        };
        let common = random.random_range(1..if is_long { 3_000 } else { 40 });
        let mut program = Self {
            datatype,
            memory,
            own,
            common,
            rounds: Vec::new(),
        };
        for _ in 0..random.random_range(1..5) {
            let round = program.draw_round(ranks, random);
            program.rounds.push(round);
        }
        program
    }

    /// Returns the elements of a rank.
    pub(super) fn elements(&self, ranks: usize) -> usize {
        ranks * self.own + self.common
    }

    fn draw_round(&self, ranks: usize, random: &mut ChaCha8Rng) -> WindowRound {
        let epochs = [
            EpochKind::Fence,
            EpochKind::Groups,
            EpochKind::Locks { exclusive: false },
            EpochKind::Locks { exclusive: true },
            EpochKind::LockAll,
            EpochKind::Mixed {
                all: random.random(),
            },
        ];
        let epoch = *epochs.choose(random).expect("there are some");
        let common = AccumulateOp::Reduce(self.op(random));
        let operations = (0..ranks).map(|origin| self.draw_origin((origin, ranks), common, random));
        WindowRound {
            epoch,
            operations: operations.collect(),
            counter: random
                .random_bool(0.5)
                .then(|| (random.random_range(0..ranks), random.random_range(1..6))),
            ticket: random
                .random_bool(0.5)
                .then(|| random.random_range(0..ranks)),
        }
    }

    /// Draws an operation that gives the same result in any order.
    fn op(&self, random: &mut ChaCha8Rng) -> Op {
        let ops: &[Op] = match self.datatype {
            Datatype::DoubleComplex => &[Op::Sum],
            Datatype::Int16Int => &[Op::MinLoc, Op::MaxLoc],
            _ => &[Op::Sum, Op::Max, Op::Min, Op::Bxor, Op::Prod],
        };
        *ops.choose(random).expect("there are some")
    }

    fn draw_origin(
        &self,
        (origin, ranks): (usize, usize),
        common: AccumulateOp,
        random: &mut ChaCha8Rng,
    ) -> Vec<PlannedOperation> {
        let mut all = Vec::new();
        for _ in 0..random.random_range(0..4) {
            let target = random.random_range(0..ranks);
            // In one epoch an origin either puts, or gets, or accumulates in a part of its own.
            if all
                .iter()
                .any(|it: &PlannedOperation| it.target == target && !it.is_common)
            {
                continue;
            }
            let first = origin * self.own;
            let actions = match random.random_range(0..3) {
                0 => vec![Action::Put],
                1 => vec![Action::Get; 2],
                _ => (0..random.random_range(1..5))
                    .map(|_| self.accumulate(random))
                    .collect(),
            };
            for action in actions {
                all.push(self.place(target, action, (first, self.own, false), random));
            }
        }
        for _ in 0..random.random_range(0..3) {
            let target = random.random_range(0..ranks);
            let part = (ranks * self.own, self.common, true);
            all.push(self.place(target, Action::Accumulate(common), part, random));
        }
        all
    }

    fn accumulate(&self, random: &mut ChaCha8Rng) -> Action {
        let op = match random.random_range(0..4) {
            0 => AccumulateOp::Replace,
            1 => AccumulateOp::NoOp,
            _ => AccumulateOp::Reduce(self.op(random)),
        };
        if op == AccumulateOp::NoOp || random.random_bool(0.5) {
            Action::GetAccumulate(op)
        } else {
            Action::Accumulate(op)
        }
    }

    /// Places an operation on some elements of a part.
    fn place(
        &self,
        target: usize,
        action: Action,
        (first, elements, is_common): (usize, usize, bool),
        random: &mut ChaCha8Rng,
    ) -> PlannedOperation {
        let start = random.random_range(0..elements);
        // Elements with gaps cannot be parts of other types here.
        let has_gaps = self.datatype.size() != self.datatype.data_size();
        let stride = if !has_gaps && random.random_bool(0.25) {
            random.random_range(2..4)
        } else {
            1
        };
        let most = (elements - start).div_ceil(stride);
        // Each piece between nodes is an operation, so those in pieces are short.
        let most = if stride > 1 { most.min(40) } else { most };
        PlannedOperation {
            target,
            action,
            at: first + start,
            count: random.random_range(1..=most),
            stride,
            seed: random.random(),
            has_request: random.random_bool(0.3),
            flushes: random.random_bool(0.2),
            is_common,
        }
    }
}
