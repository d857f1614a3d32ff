//! Every collective between random groups, against the result of a sequential program.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::super::{Machine, run};
use super::draw::{Draw, ReductionMethod, long, starts};
use super::{Pair, pair, rank, rng};
use crate::mpi::persistent::startall;
use crate::mpi::{self, Blocks, Buffer, Op, PROC_NULL, ROOT, Request};
use bcs_core::job::Settings;
use bcs_core::reduction::Datatype;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The value in memory that was not received into.
const NOTHING: u64 = 99;

/// The number of kinds of collectives below.
const KINDS: usize = 19;

/// A collective that is in progress or complete.
struct Job {
    what: String,
    request: Request,
    output: Vec<u64>,
    expected: Vec<u64>,
    _input: Vec<u64>,
}

impl Job {
    fn check(mut self) {
        self.request.wait().unwrap();
        let wrong = self.output.iter().zip(&self.expected);
        let wrong = wrong
            .clone()
            .position(|(found, expected)| found != expected);
        assert!(
            self.output.len() == self.expected.len() && wrong.is_none(),
            "{}: {wrong:?} of {} is wrong",
            self.what,
            self.expected.len()
        );
    }
}

macro_rules! call {
    ($draw:ident, $comm:ident.$blocking:ident or $starting:ident($($argument:expr),*)) => {
        if $draw.blocking {
            $comm.$blocking($($argument),*).unwrap();
            Request::inactive()
        } else {
            $comm.$starting($($argument),*).unwrap()
        }
    };
}

/// One rank's part of a collective.
struct Call<'a> {
    pair: &'a Pair,
    draw: &'a Draw,
    input: Vec<u64>,
    output: Vec<u64>,
    expected: Vec<u64>,
}

impl Call<'_> {
    fn sizes(&self) -> (usize, usize) {
        (self.pair.local().len(), self.pair.remote().len())
    }

    fn is_root(&self) -> bool {
        self.draw.root == (self.pair.side, self.pair.me())
    }

    fn is_opposite(&self) -> bool {
        self.draw.root.0 != self.pair.side
    }

    fn root(&self) -> i32 {
        match (self.is_opposite(), self.is_root()) {
            (true, _) => rank(self.draw.root.1),
            (false, true) => ROOT,
            (false, false) => PROC_NULL,
        }
    }

    /// Returns the contribution of a rank of the other group.
    fn theirs(&self, rank: usize, count: usize) -> Vec<u64> {
        self.draw.data(1 - self.pair.side, rank, count)
    }

    /// Makes this rank contribute this number of elements.
    fn give(&mut self, count: usize) {
        self.input = self.draw.data(self.pair.side, self.pair.me(), count);
    }

    /// Makes this rank expect these elements, with a value behind them that must stay.
    fn get(&mut self, expected: Vec<u64>) {
        self.expected = expected;
        self.expected.push(NOTHING);
        self.output = vec![NOTHING; self.expected.len()];
    }

    /// Returns a buffer that must not be used.
    fn nonsense() -> Buffer {
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::new(std::ptr::null_mut::<u64>(), 5, Datatype::Uint64) }
    }

    fn from(&self, count: usize) -> Buffer {
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::read_only(self.input.as_ptr(), count, Datatype::Uint64) }
    }

    fn into(&mut self, count: usize) -> Buffer {
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::new(self.output.as_mut_ptr(), count, Datatype::Uint64) }
    }

    fn bcast(&mut self) -> Request {
        let (comm, draw, root) = (&self.pair.comm, self.draw, self.root());
        let count = draw.counts[0];
        let data = if self.is_root() {
            self.give(count);
            self.from(count)
        } else if self.is_opposite() {
            self.get(self.theirs(draw.root.1, count));
            self.into(count)
        } else {
            Self::nonsense()
        };
        call!(draw, comm.bcast or ibcast(data, root))
    }

    fn scatter(&mut self) -> Request {
        let (comm, draw, root) = (&self.pair.comm, self.draw, self.root());
        let count = draw.counts[0];
        let (mut input, mut output) = (Self::nonsense(), None);
        if self.is_root() {
            self.give(count * self.sizes().1);
            input = self.from(count);
        } else if self.is_opposite() {
            let (all, me) = (
                self.theirs(draw.root.1, count * self.sizes().0),
                self.pair.me(),
            );
            self.get(all[me * count..][..count].to_vec());
            output = Some(self.into(count));
        }
        call!(draw, comm.scatter or iscatter(input, output, root))
    }

    fn scatterv(&mut self) -> Request {
        let (comm, draw, root) = (&self.pair.comm, self.draw, self.root());
        let lens = &draw.lens[1 - draw.root.0];
        let starts = starts(lens, 1);
        let all = lens.iter().sum::<usize>() + lens.len();
        let mut output = None;
        if self.is_root() {
            self.give(all);
        } else if self.is_opposite() {
            let me = self.pair.me();
            let theirs = self.theirs(draw.root.1, all);
            self.get(theirs[starts[me]..][..lens[me]].to_vec());
            output = Some(self.into(lens[me]));
        }
        let (counts, displacements) = match self.is_root() {
            true => (long(lens, 1), long(&starts, 1)),
            false => (vec![-1], Vec::new()), // They are not used.
        };
        let (address, datatype) = (self.input.as_ptr(), Datatype::Uint64);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let input = unsafe { Blocks::read_only(address, &counts, &displacements, datatype) };
        call!(draw, comm.scatterv or iscatterv(input, output, root))
    }

    fn gather(&mut self) -> Request {
        let (comm, draw, root) = (&self.pair.comm, self.draw, self.root());
        let count = draw.counts[0];
        let (mut input, mut output) = (None, Self::nonsense());
        if self.is_root() {
            let ranks = 0..self.sizes().1;
            self.get(ranks.flat_map(|rank| self.theirs(rank, count)).collect());
            output = self.into(count);
        } else if self.is_opposite() {
            self.give(count);
            input = Some(self.from(count));
        }
        call!(draw, comm.gather or igather(input, output, root))
    }

    /// Makes this rank expect blocks from each rank of the other group, with gaps between them.
    fn get_blocks(&mut self, lens: &[usize]) -> (Vec<i64>, Vec<i64>) {
        let starts = starts(lens, 1);
        let mut expected = vec![NOTHING; lens.iter().sum::<usize>() + lens.len()];
        for (rank, (&len, &start)) in lens.iter().zip(&starts).enumerate() {
            expected[start..][..len].copy_from_slice(&self.theirs(rank, len));
        }
        self.get(expected);
        (long(lens, 1), long(&starts, 1))
    }

    fn gatherv(&mut self) -> Request {
        let (comm, draw, root) = (&self.pair.comm, self.draw, self.root());
        let (mut input, mut lists) = (None, (vec![-1], Vec::new()));
        if self.is_root() {
            lists = self.get_blocks(&draw.lens[1 - draw.root.0]);
        } else if self.is_opposite() {
            let len = draw.lens[self.pair.side][self.pair.me()];
            self.give(len);
            input = Some(self.from(len));
        }
        let address = self.output.as_mut_ptr();
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let output = unsafe { Blocks::new(address, &lists.0, &lists.1, Datatype::Uint64) };
        call!(draw, comm.gatherv or igatherv(input, output, root))
    }

    fn allgather(&mut self) -> Request {
        let (comm, draw, side) = (&self.pair.comm, self.draw, self.pair.side);
        let (own, theirs) = (draw.counts[side], draw.counts[1 - side]);
        self.give(own);
        let ranks = 0..self.sizes().1;
        self.get(ranks.flat_map(|rank| self.theirs(rank, theirs)).collect());
        let (input, output) = (Some(self.from(own)), self.into(theirs));
        call!(draw, comm.allgather or iallgather(input, output))
    }

    fn allgatherv(&mut self) -> Request {
        let (comm, draw, side) = (&self.pair.comm, self.draw, self.pair.side);
        let own = draw.lens[side][self.pair.me()];
        self.give(own);
        let lists = self.get_blocks(&draw.lens[1 - side]);
        let address = self.output.as_mut_ptr();
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let output = unsafe { Blocks::new(address, &lists.0, &lists.1, Datatype::Uint64) };
        let input = Some(self.from(own));
        call!(draw, comm.allgatherv or iallgatherv(input, output))
    }

    fn alltoall(&mut self) -> Request {
        let (comm, draw, side) = (&self.pair.comm, self.draw, self.pair.side);
        let (own, theirs, me) = (draw.counts[side], draw.counts[1 - side], self.pair.me());
        let (here, there) = self.sizes();
        self.give(own * there);
        let block = |rank| self.theirs(rank, theirs * here)[me * theirs..][..theirs].to_vec();
        self.get((0..there).flat_map(block).collect());
        let (input, output) = (Some(self.from(own)), self.into(theirs));
        call!(draw, comm.alltoall or ialltoall(input, output))
    }

    /// Starts an all-to-all of blocks of all lengths, with displacements in elements or in bytes.
    fn alltoallv(&mut self, in_bytes: bool) -> Request {
        let (comm, draw, side) = (&self.pair.comm, self.draw, self.pair.side);
        let (me, (here, there)) = (self.pair.me(), self.sizes());
        let out: Vec<usize> = (0..there).map(|to| draw.between(side, me, to)).collect();
        let from = starts(&out, 0);
        self.give(out.iter().sum());
        let other = 1 - side;
        let into: Vec<usize> = (0..there)
            .map(|rank| draw.between(other, rank, me))
            .collect();
        let block = |rank: usize| {
            let lens: Vec<usize> = (0..here).map(|to| draw.between(other, rank, to)).collect();
            let theirs = self.theirs(rank, lens.iter().sum());
            theirs[starts(&lens, 0)[me]..][..lens[me]].to_vec()
        };
        self.get((0..there).flat_map(block).collect());
        let to = starts(&into, 0);
        let unit = if in_bytes { 8 } else { 1 };
        let (out, from) = (long(&out, 1), long(&from, unit));
        let (into, to) = (long(&into, 1), long(&to, unit));
        let datatype = mpi::Datatype::from(Datatype::Uint64);
        let datatypes = vec![datatype.clone(); there];
        let (input, output) = (self.input.as_ptr(), self.output.as_mut_ptr());
        if in_bytes {
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let input = unsafe { Blocks::of_types(input.cast_mut(), &out, &from, &datatypes) };
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let output = unsafe { Blocks::of_types(output, &into, &to, &datatypes) };
            return call!(draw, comm.alltoallw or ialltoallw(Some(input), output));
        }
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let input = unsafe { Blocks::read_only(input, &out, &from, datatype.clone()) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let output = unsafe { Blocks::new(output, &into, &to, datatype) };
        call!(draw, comm.alltoallv or ialltoallv(Some(input), output))
    }

    /// Returns the combination of the other group's contributions.
    fn folded(&self, how: ReductionMethod, count: usize) -> Vec<u64> {
        let contribution = |rank| {
            let theirs = self.theirs(rank, count).into_iter();
            theirs.map(|bits| how.operand(bits)).collect::<Vec<u64>>()
        };
        let mut result = contribution(0);
        for rank in 1..self.sizes().1 {
            let operands = result.iter_mut().zip(contribution(rank));
            operands.for_each(|(into, operand)| *into = how.combine(*into, operand));
        }
        result
    }

    fn give_operands(&mut self, how: ReductionMethod, count: usize) -> Buffer {
        self.give(count);
        self.input
            .iter_mut()
            .for_each(|bits| *bits = how.operand(*bits));
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::read_only(self.input.as_ptr(), count, how.datatype()) }
    }

    fn result(&mut self, how: ReductionMethod, expected: &[u64]) -> Buffer {
        self.get(expected.to_vec());
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::new(self.output.as_mut_ptr(), expected.len(), how.datatype()) }
    }

    fn reduce(&mut self, how: ReductionMethod) -> Request {
        let (comm, draw, root) = (&self.pair.comm, self.draw, self.root());
        let count = draw.counts[0];
        let (mut input, mut output) = (Self::nonsense(), Self::nonsense());
        if self.is_root() {
            output = self.result(how, &self.folded(how, count));
        } else if self.is_opposite() {
            input = self.give_operands(how, count);
        }
        call!(draw, comm.reduce or ireduce(input, output, how.op(), root))
    }

    fn allreduce(&mut self, how: ReductionMethod) -> Request {
        let (comm, draw) = (&self.pair.comm, self.draw);
        let count = draw.counts[0];
        let input = self.give_operands(how, count);
        let output = self.result(how, &self.folded(how, count));
        call!(draw, comm.allreduce or iallreduce(input, output, how.op()))
    }

    fn reduce_scatter_block(&mut self, how: ReductionMethod) -> Request {
        let (comm, draw) = (&self.pair.comm, self.draw);
        let (here, there) = self.sizes();
        let (each, all) = (draw.counts[0] * there, draw.counts[0] * there * here);
        let input = self.give_operands(how, all);
        let mine = self.folded(how, all)[self.pair.me() * each..][..each].to_vec();
        let output = self.result(how, &mine);
        call!(draw, comm.reduce_scatter_block or ireduce_scatter_block(Some(input), output, how.op()))
    }

    fn reduce_scatter(&mut self, how: ReductionMethod) -> Request {
        let (comm, draw, me) = (&self.pair.comm, self.draw, self.pair.me());
        let parts = &draw.parts[self.pair.side];
        let all = parts.iter().sum();
        let input = self.give_operands(how, all);
        let mine = self.folded(how, all)[starts(parts, 0)[me]..][..parts[me]].to_vec();
        let output = self.result(how, &mine);
        let counts = long(parts, 1);
        call!(draw, comm.reduce_scatter or ireduce_scatter(Some(input), output, &counts, how.op()))
    }

    fn barrier(&self) -> Request {
        if self.draw.blocking {
            self.pair.comm.barrier().unwrap();
            return Request::inactive();
        }
        self.pair.comm.ibarrier().unwrap()
    }

    fn post(&mut self) -> Request {
        match self.draw.kind {
            0 => self.barrier(),
            1 => self.bcast(),
            2 => self.scatter(),
            3 => self.scatterv(),
            4 => self.gather(),
            5 => self.gatherv(),
            6 => self.allgather(),
            7 => self.allgatherv(),
            8 => self.alltoall(),
            9 => self.alltoallv(false),
            10 => self.alltoallv(true),
            11 => self.reduce(ReductionMethod::Sum),
            12 => self.reduce(ReductionMethod::After),
            13 => self.allreduce(ReductionMethod::Sum),
            14 => self.allreduce(ReductionMethod::After),
            15 => self.reduce_scatter_block(ReductionMethod::Sum),
            16 => self.reduce_scatter_block(ReductionMethod::After),
            17 => self.reduce_scatter(ReductionMethod::Sum),
            _ => self.reduce_scatter(ReductionMethod::After),
        }
    }
}

/// Starts a collective, or performs it.
fn start(pair: &Pair, draw: &Draw) -> Job {
    let mut call = Call {
        pair,
        draw,
        input: Vec::new(),
        output: Vec::new(),
        expected: Vec::new(),
    };
    let request = call.post();
    Job {
        what: format!("{draw:?} at {} of side {}", pair.me(), pair.side),
        request,
        output: call.output,
        expected: call.expected,
        _input: call.input,
    }
}

/// Calls every kind, in random order, some of them blocking while others are in progress.
fn every_kind(pair: &Pair, scale: usize, rng: &mut ChaCha8Rng) {
    let mut kinds: Vec<usize> = (0..KINDS).collect();
    kinds.shuffle(rng);
    let mut jobs: Vec<Job> = Vec::new();
    for kind in kinds {
        let draw = Draw::new(kind, &pair.groups, scale, rng);
        jobs.push(start(pair, &draw));
    }
    // Each rank waits in an order of its own.
    let mut own = super::rng(u64::from(pair.local()[pair.me()]));
    jobs.shuffle(&mut own);
    jobs.into_iter().for_each(Job::check);
}

#[test]
fn every_collective_does_what_a_sequential_program_does() {
    for (ranks, nodes) in [(12, 3), (5, 2), (2, 1)] {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            for seed in 0..10 {
                let mut rng = rng(seed);
                let scale = [1, 1, 40, 700][rng.random_range(0..4)];
                if let Some(pair) = pair(world, &mut rng, 3) {
                    every_kind(&pair, scale, &mut rng);
                    let copy = Pair {
                        comm: pair.comm.dup().unwrap(),
                        ..pair
                    };
                    every_kind(&copy, 1, &mut rng);
                }
            }
        });
    }
}

/// Contributions that are received one at a time, in several rounds.
#[test]
fn long_contributions_are_folded_in_rounds() {
    Machine::new(7, 3, Settings::default()).run(|universe| {
        let world = universe.world().untyped();
        for seed in 0..3 {
            let mut rng = rng(seed);
            if let Some(pair) = pair(world, &mut rng, 3) {
                for kind in 11..KINDS {
                    let draw = Draw::new(kind, &pair.groups, 30_000, &mut rng);
                    start(&pair, &draw).check();
                }
            }
        }
    });
}

/// Each group starts them in an order of its own. A persistent collective has a context of its own.
#[test]
fn persistent_collectives_are_started_in_any_order() {
    run(5, 2, |universe| {
        let world = universe.world().untyped();
        let Some(pair) = pair(world, &mut rng(5), 0) else {
            return;
        };
        let remote = pair.remote().len();
        let own = [u64::from(pair.local()[pair.me()])];
        let mut gathered = vec![NOTHING; remote];
        let mut sum = [0];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let input = unsafe { Buffer::read_only(own.as_ptr(), 1, Datatype::Uint64) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let output = unsafe { Buffer::new(gathered.as_mut_ptr(), 1, Datatype::Uint64) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let summed = unsafe { Buffer::new(sum.as_mut_ptr(), 1, Datatype::Uint64) };
        let comm = &pair.comm;
        let mut all = [
            comm.allgather_init(Some(input.clone()), output).unwrap(),
            comm.allreduce_init(input, summed, Op::Sum).unwrap(),
            comm.barrier_init().unwrap(),
        ];
        for round in 0..4 {
            if (pair.side + round).is_multiple_of(2) {
                all.reverse();
            }
            startall(&mut all).unwrap();
            all.iter_mut()
                .for_each(|one| _ = one.started().wait().unwrap());
        }
        let remote: Vec<u64> = pair.remote().iter().map(|&rank| rank.into()).collect();
        assert_eq!(sum[0], remote.iter().sum::<u64>());
        assert_eq!(gathered, remote);
    });
}
