//! Operations in which one rank gives memory that cannot be read or written: which other ranks may
//! go on as if nothing were wrong, and which must get an error.
//!
//! A rank that touches its own bad memory dies of it, as a process does of SIGSEGV. Each other rank
//! gets either an error or its normal result. Ranks that need unreadable bytes must get an error,
//! and so must the rank whose memory it is.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use super::fault::FaultKind;
use super::injection::InjectionState;
use super::memory::Region;
use bcs_core::clock::now_ns;
use bcs_core::reduction::{Datatype, Op};
use bcs_mpi::mpi::{Buffer, Comm, Request, Result};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// The operation of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadMemoryOperation {
    /// A message from the victim to its neighbour, or in the other direction.
    Message,
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Allgather,
    Scatter,
    Alltoall,
    Scan,
    ReduceScatterBlock,
}

const KINDS: [BadMemoryOperation; 10] = [
    BadMemoryOperation::Message,
    BadMemoryOperation::Bcast,
    BadMemoryOperation::Reduce,
    BadMemoryOperation::Allreduce,
    BadMemoryOperation::Gather,
    BadMemoryOperation::Allgather,
    BadMemoryOperation::Scatter,
    BadMemoryOperation::Alltoall,
    BadMemoryOperation::Scan,
    BadMemoryOperation::ReduceScatterBlock,
];

/// Elements of a block, 8 bytes each.
const ELEMENTS: [usize; 8] = [1, 8, 9, 100, 513, 3_000, 20_000, 70_000];

/// The longest time until memory vanishes, in nanoseconds.
const MAX_VANISH_NS: u64 = 3_000_000;

const UNTOUCHED: u64 = 0xe7e7_e7e7_e7e7_e7e7;

/// An operation on bad memory.
#[derive(Clone, Debug)]
pub(super) struct BadMemoryCase {
    pub(super) kind: BadMemoryOperation,
    pub(super) fault: FaultKind,
    elements: usize,
    victim: usize,
    /// Whether the victim's input is bad, or its output.
    input: bool,
    /// The share of the buffer that is good, in quarters.
    good_quarters: usize,
    vanishes_after_ns: u64,
    blocking: bool,
    root: usize,
}

impl BadMemoryCase {
    pub(super) fn draw(fault: FaultKind, ranks: usize, random: &mut ChaCha8Rng) -> Self {
        let kind = *KINDS.choose(random).expect("there are some");
        let victim = random.random_range(0..ranks);
        let mut root = random.random_range(0..ranks);
        let input = match fault {
            FaultKind::Unreadable => true,
            FaultKind::Unwritable => false,
            _ => random.random_bool(0.5),
        };
        let one_sided = match kind {
            BadMemoryOperation::Bcast | BadMemoryOperation::Scatter => input,
            BadMemoryOperation::Reduce | BadMemoryOperation::Gather => !input,
            _ => false,
        };
        if one_sided {
            root = victim;
        } else if root == victim && kind == BadMemoryOperation::Bcast {
            root = (victim + 1) % ranks;
        }
        Self {
            kind,
            fault,
            elements: *ELEMENTS.choose(random).expect("there are some"),
            victim,
            input,
            good_quarters: random.random_range(0..4),
            vanishes_after_ns: random.random_range(0..MAX_VANISH_NS),
            blocking: random.random_bool(0.5),
            root,
        }
    }

    /// Calls the operation, and checks that this rank got an error if it must.
    pub(super) fn run(&self, comm: &Comm, shared: &InjectionState) -> Result<()> {
        let mut part = BadMemoryRun::new(self, comm);
        part.break_memory(shared);
        let outcome = part.call_operation();
        part.check(outcome.is_err());
        // The communicator still works after any outcome.
        comm.barrier()
    }
}

/// One rank's part in the operation.
struct BadMemoryRun<'a> {
    deed: &'a BadMemoryCase,
    comm: &'a Comm,
    me: usize,
    ranks: usize,
    input: Region,
    output: Region,
}

impl<'a> BadMemoryRun<'a> {
    fn new(deed: &'a BadMemoryCase, comm: &'a Comm) -> Self {
        let number = |of: i32| usize::try_from(of).expect("positive");
        let (me, ranks) = (number(comm.rank()), number(comm.size()));
        let blocks = |many: bool| if many { ranks } else { 1 };
        let gives = blocks(matches!(
            deed.kind,
            BadMemoryOperation::Scatter
                | BadMemoryOperation::Alltoall
                | BadMemoryOperation::ReduceScatterBlock
        ));
        let gets = blocks(matches!(
            deed.kind,
            BadMemoryOperation::Gather
                | BadMemoryOperation::Allgather
                | BadMemoryOperation::Alltoall
        ));
        let words = |words: Vec<u64>| words.into_iter().flat_map(u64::to_le_bytes).collect();
        let content: Vec<u8> = words(contribution(me, 0..gives * deed.elements));
        let empty: Vec<u8> = words(vec![UNTOUCHED; gets * deed.elements]);
        Self {
            deed,
            comm,
            me,
            ranks,
            input: Region::filled(&content),
            output: Region::filled(&empty),
        }
    }

    fn is_victim(&self) -> bool {
        self.me == self.deed.victim
    }

    /// Returns the length of the victim's bad buffer, and the byte from which on it is bad.
    fn bad_bytes(&self) -> (usize, usize) {
        let many = match (self.deed.kind, self.deed.input) {
            (
                BadMemoryOperation::Scatter
                | BadMemoryOperation::Alltoall
                | BadMemoryOperation::ReduceScatterBlock,
                true,
            )
            | (
                BadMemoryOperation::Gather
                | BadMemoryOperation::Allgather
                | BadMemoryOperation::Alltoall,
                false,
            ) => self.ranks,
            _ => 1,
        };
        let bytes = many * self.deed.elements * 8;
        let page = 4096;
        let good = bytes * self.deed.good_quarters / 4 / page * page;
        (bytes, good)
    }

    fn break_memory(&mut self, shared: &InjectionState) {
        if !self.is_victim() || self.is_idle() {
            return;
        }
        shared.record_fault(self.deed.fault);
        let (_, good) = self.bad_bytes();
        let region = if self.deed.input {
            &mut self.input
        } else {
            &mut self.output
        };
        if self.deed.fault == FaultKind::Vanished {
            let at_ns = now_ns() + self.deed.vanishes_after_ns;
            region.vanish(good, at_ns, &shared.vanishing);
        } else {
            region.make_inaccessible_from(good);
        }
    }

    /// Whether the operation has no other rank, so that this rank touches only its own memory.
    fn is_idle(&self) -> bool {
        self.ranks == 1
    }

    fn call_operation(&mut self) -> Result<()> {
        let BadMemoryCase {
            kind,
            blocking,
            elements,
            ..
        } = *self.deed;
        let root = i32::try_from(self.deed.root).expect("few");
        let buffer = |region: &Region, count| {
            // SAFETY: the regions exist until the operation is over. That parts of them cannot be
            // read or written is what the test is about.
            unsafe { Buffer::new(region.address(), count, Datatype::Uint64) }
        };
        let (input, output) = (
            buffer(&self.input, elements),
            buffer(&self.output, elements),
        );
        let comm = self.comm;
        macro_rules! call {
            ($now:ident, $later:ident, $($argument:expr),*) => {
                if blocking {
                    comm.$now($($argument),*)
                } else {
                    comm.$later($($argument),*).and_then(|mut request: Request| request.wait().map(drop))
                }
            };
        }
        match kind {
            BadMemoryOperation::Message => self.message(input, output),
            BadMemoryOperation::Bcast if self.me == self.deed.root => {
                call!(bcast, ibcast, input, root)
            }
            BadMemoryOperation::Bcast => call!(bcast, ibcast, output, root),
            BadMemoryOperation::Reduce => call!(reduce, ireduce, input, output, Op::Bxor, root),
            BadMemoryOperation::Allreduce => call!(allreduce, iallreduce, input, output, Op::Bxor),
            BadMemoryOperation::Gather => call!(gather, igather, Some(input), output, root),
            BadMemoryOperation::Allgather => call!(allgather, iallgather, Some(input), output),
            BadMemoryOperation::Scatter => call!(scatter, iscatter, input, Some(output), root),
            BadMemoryOperation::Alltoall => call!(alltoall, ialltoall, Some(input), output),
            BadMemoryOperation::Scan => call!(scan, iscan, Some(input), output, Op::Bxor),
            BadMemoryOperation::ReduceScatterBlock => {
                let op = Op::Bxor;
                call!(
                    reduce_scatter_block,
                    ireduce_scatter_block,
                    Some(input),
                    output,
                    op
                )
            }
        }
    }

    /// Returns the sender and the receiver.
    fn pair(&self) -> (usize, usize) {
        let (victim, other) = (self.deed.victim, (self.deed.victim + 1) % self.ranks);
        if self.deed.input {
            (victim, other)
        } else {
            (other, victim)
        }
    }

    fn message(&self, input: Buffer, output: Buffer) -> Result<()> {
        let (from, to) = self.pair();
        let rank = |rank: usize| i32::try_from(rank).expect("few");
        if from == to {
            return Ok(());
        }
        let request = if self.me == from {
            self.comm.issend(input, rank(to), 3)
        } else if self.me == to {
            self.comm.irecv(output, rank(from), 3)
        } else {
            return Ok(());
        };
        request.and_then(|mut request| request.wait().map(drop))
    }

    /// Whether this rank must get an error.
    fn must_fail(&self) -> bool {
        if self.deed.fault == FaultKind::Vanished || self.is_idle() {
            return false;
        }
        let (bytes, good) = self.bad_bytes();
        if good >= bytes {
            return false;
        }
        if self.is_victim() {
            return true;
        }
        if !self.deed.input {
            return false;
        }
        let block = self.deed.elements * 8;
        let needs = |place: usize| (place + 1) * block > good;
        match self.deed.kind {
            BadMemoryOperation::Message => self.me == self.pair().1,
            BadMemoryOperation::Reduce | BadMemoryOperation::Gather => self.me == self.deed.root,
            BadMemoryOperation::Scatter | BadMemoryOperation::Alltoall => needs(self.me),
            BadMemoryOperation::Scan => self.me > self.deed.victim,
            BadMemoryOperation::ReduceScatterBlock => needs(self.me),
            BadMemoryOperation::Bcast
            | BadMemoryOperation::Allreduce
            | BadMemoryOperation::Allgather => true,
        }
    }

    fn check(&self, failed: bool) {
        let (me, deed) = (self.me, self.deed);
        if failed {
            assert!(!self.is_idle(), "rank {me}: {deed:?} failed alone");
            return;
        }
        assert!(!self.must_fail(), "rank {me} was not told: {deed:?}");
        let Some(expected) = self.expected() else {
            return;
        };
        if self.is_victim() && !self.is_idle() && !deed.input {
            return; // nobody can read it
        }
        let content = self.output.content(expected.len() * 8);
        let words = content.chunks_exact(8);
        let words: Vec<u64> = words
            .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
            .collect();
        let wrong = words
            .iter()
            .zip(&expected)
            .position(|(one, other)| one != other);
        assert_eq!(wrong, None, "rank {me} has something else: {deed:?}");
    }

    /// Returns the contents of the output, if the rank gets any.
    fn expected(&self) -> Option<Vec<u64>> {
        let (n, me, root) = (self.deed.elements, self.me, self.deed.root);
        let block = |from: usize, place: usize| contribution(from, place * n..(place + 1) * n);
        let folded = |ranks: std::ops::Range<usize>, place: usize| {
            ranks.fold(vec![0; n], |sum: Vec<u64>, rank| {
                let part = block(rank, place);
                sum.iter()
                    .zip(part)
                    .map(|(one, other)| one ^ other)
                    .collect()
            })
        };
        match self.deed.kind {
            BadMemoryOperation::Message => {
                (me == self.pair().1 && self.ranks > 1).then(|| block(self.pair().0, 0))
            }
            BadMemoryOperation::Bcast => (me != root).then(|| block(root, 0)),
            BadMemoryOperation::Reduce => (me == root).then(|| folded(0..self.ranks, 0)),
            BadMemoryOperation::Allreduce => Some(folded(0..self.ranks, 0)),
            BadMemoryOperation::Gather if me != root => None,
            BadMemoryOperation::Gather | BadMemoryOperation::Allgather => {
                Some((0..self.ranks).flat_map(|rank| block(rank, 0)).collect())
            }
            BadMemoryOperation::Scatter => Some(block(root, me)),
            BadMemoryOperation::Alltoall => {
                Some((0..self.ranks).flat_map(|rank| block(rank, me)).collect())
            }
            BadMemoryOperation::Scan => Some(folded(0..me + 1, 0)),
            BadMemoryOperation::ReduceScatterBlock => Some(folded(0..self.ranks, me)),
        }
    }
}

/// Returns the contribution of a rank, by element.
fn contribution(rank: usize, elements: std::ops::Range<usize>) -> Vec<u64> {
    let mixed = |at: usize| ((rank << 32 | at) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    elements.map(mixed).collect()
}
