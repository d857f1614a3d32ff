//! A job whose ranks name memory that is not there, for tests: `unmapped BYTES [CASE [BAD]]`.
//!
//! In each case one rank, the `BAD` one, gives a collective or a message a buffer of which a part is not
//! mapped. All who need what should be there must be told, with an error that names the rank; whoever is not
//! told must have the right data; and what follows on the communicator must work. Each rank checks that.
//! Without a case it does all of them, with several bad ranks, so none may be one in which the rank itself
//! looks at its memory: that ends the job, as it would without MPI.
//!
//! `BYTES` are those of a block, a multiple of a page wherever a rank has several.
#![expect(unsafe_code, reason = "names memory that is not there")]

use bcs_core::reduction::Datatype;
use bcs_mpi::mpi::{self, Buffer, Comm, ErrorClass, Op, UserOp};
use bcs_mpi::{Result, Universe};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const PAGE: usize = 4096;
/// Where nobody maps anything by itself: between slots and what Linux loads.
const NOWHERE: usize = 165 << 39;

/// What is done with bad memory, and whether that is read or written.
const CASES: [(What, Side); 21] = [
    (What::Bcast, Side::In),
    (What::Bcast, Side::Out),
    (What::Reduce, Side::In),
    (What::Reduce, Side::Out),
    (What::Allreduce, Side::In),
    (What::Allreduce, Side::Out),
    (What::ReduceScatter, Side::In),
    (What::Scatter, Side::In),
    (What::Scatter, Side::Out),
    (What::Gather, Side::In),
    (What::Gather, Side::Out),
    (What::Allgather, Side::In),
    (What::Allgather, Side::Out),
    (What::Alltoall, Side::In),
    (What::Alltoall, Side::Out),
    (What::Exscan, Side::In),
    (What::Fold, Side::In),
    (What::Message, Side::In),
    (What::Message, Side::Out),
    (What::Pieces, Side::In),
    (What::Pieces, Side::Out),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Bcast,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scatter,
    Gather,
    Allgather,
    Alltoall,
    Exscan,
    /// A reduction by an operation of the program's.
    Fold,
    /// From the bad rank to the next one, or from that to the bad one.
    Message,
    /// The same, every other page of the data.
    Pieces,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    In,
    Out,
}

/// A case, as its ranks know it.
#[derive(Clone, Copy, Debug)]
struct Case {
    what: What,
    side: Side,
    bad: usize,
    /// Elements of a block.
    count: usize,
    ranks: usize,
    me: usize,
    /// This rank is the first of its node.
    first_here: bool,
    blocking: bool,
}

impl Case {
    fn name(&self) -> String {
        format!("{:?}-{:?}", self.what, self.side).to_lowercase()
    }

    /// The root, or who is at the other end of a message.
    fn root(&self) -> usize {
        let gives = self.side == Side::In;
        let next = (self.bad + 1) % self.ranks;
        match self.what {
            What::Bcast | What::Scatter if gives => self.bad,
            What::Reduce | What::Gather if !gives => self.bad,
            _ => next,
        }
    }

    /// Whether a rank must be told.
    fn must_be_told(&self, rank: usize) -> bool {
        let needs_it = match self.what {
            What::Reduce | What::Gather | What::Fold | What::Message | What::Pieces => {
                rank == self.root()
            }
            What::Exscan => rank > self.bad,
            _ => true,
        };
        // Of memory that is written nobody needs anything.
        rank == self.bad || (self.side == Side::In && needs_it)
    }

    /// Whether another one may be told: of a collective, all whom it costs nothing to tell. (Where ranks exchange
    /// messages those are told that had not gone when the memory was found to be bad.)
    fn may_be_told(&self) -> bool {
        !matches!(self.what, What::Message | What::Pieces)
    }

    /// What a rank gives in a block.
    fn value(&self, rank: usize, block: usize, at: usize) -> u64 {
        (rank as u64 * 31 + block as u64) * 1_000_003 + at as u64
    }

    /// How many blocks a rank gives, and gets.
    fn blocks(&self) -> (usize, usize) {
        let n = self.ranks;
        match self.what {
            What::Scatter => (n, 1),
            What::Gather => (1, n),
            What::Allgather => (n, n),
            What::Alltoall => (n, n),
            What::ReduceScatter => (n, 1),
            _ => (1, 1),
        }
    }

    /// What element `at` of block `block` of a rank's result must be; `None` if it gets none.
    fn answer(&self, block: usize, at: usize) -> Option<u64> {
        let me = self.me;
        let sum = |ranks: Range<usize>, block: usize| {
            Some(ranks.map(|rank| self.value(rank, block, at)).sum())
        };
        let to_root = |value: Option<u64>| value.filter(|_| me == self.root());
        match self.what {
            What::Bcast => Some(self.value(self.root(), 0, at)),
            What::Reduce | What::Fold => to_root(sum(0..self.ranks, 0)),
            What::Allreduce => sum(0..self.ranks, 0),
            What::ReduceScatter => sum(0..self.ranks, me),
            What::Scatter => Some(self.value(self.root(), me, at)),
            What::Gather => to_root(Some(self.value(block, 0, at))),
            What::Allgather => Some(self.value(block, block, at)),
            What::Alltoall => Some(self.value(block, me, at)),
            What::Exscan if me == 0 => None,
            What::Exscan => sum(0..me, 0),
            What::Message | What::Pieces => match self.side {
                Side::In => to_root(Some(self.value(self.bad, 0, at))),
                Side::Out => None,
            },
        }
    }
}

/// Memory of a rank's, of which a part may not be there.
struct Memory {
    heap: Vec<u64>,
    address: *mut u64,
    mapped: usize,
}

impl Memory {
    fn whole(count: usize) -> Self {
        let mut heap = vec![0; count];
        let address = heap.as_mut_ptr();
        Self {
            heap,
            address,
            mapped: 0,
        }
    }

    /// Of so many elements those in these ranges are not there, in whole pages.
    fn with_holes(count: usize, holes: &[Range<usize>]) -> Self {
        static PLACES: AtomicUsize = AtomicUsize::new(0);
        let mapped = (count * 8).next_multiple_of(PAGE);
        let place = NOWHERE + PLACES.fetch_add(1, Ordering::Relaxed) % 64 * (1 << 30);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let place = std::ptr::without_provenance_mut(place);
        // SAFETY: fresh memory where there is none.
        let address = unsafe { libc::mmap(place, mapped, access, flags, -1, 0) };
        assert_ne!(address, libc::MAP_FAILED);
        for hole in holes.iter().filter(|hole| !hole.is_empty()) {
            let start = hole.start * 8 / PAGE * PAGE;
            let len = (hole.end * 8).next_multiple_of(PAGE) - start;
            // SAFETY: within what was mapped.
            let from = unsafe { address.byte_add(start) };
            // SAFETY: nobody has looked at it.
            let unmapped = unsafe { libc::munmap(from, len) };
            assert_eq!(unmapped, 0);
        }
        Self {
            heap: Vec::new(),
            address: address.cast(),
            mapped,
        }
    }

    /// Sets the elements of a block that is there.
    fn fill(&mut self, first: usize, values: impl Iterator<Item = u64>) {
        for (at, value) in values.enumerate() {
            // SAFETY: the block is there, and this rank's.
            unsafe { self.address.wrapping_add(first + at).write(value) };
        }
    }

    fn buffer(&self, first: usize, count: usize) -> Buffer {
        let start = self.address.wrapping_add(first);
        Buffer::new(start, count, Datatype::Uint64)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.heap.is_empty() && self.mapped > 0 {
            // SAFETY: what is still mapped of it is nobody's any more.
            unsafe { libc::munmap(self.address.cast(), self.mapped) };
        }
    }
}

/// A call, blocking or not.
macro_rules! call {
    ($case:ident, $comm:ident.$blocking:ident, $nonblocking:ident($($argument:expr),*)) => {
        if $case.blocking {
            // SAFETY: what becomes of memory that is not there is what is tested.
            unsafe { $comm.$blocking($($argument),*) }
        } else {
            // SAFETY: as above; the memory stays until the request is done.
            let request = unsafe { $comm.$nonblocking($($argument),*) };
            request.and_then(|mut request| request.wait()).map(|_| ())
        }
    };
}

/// The memory of this rank: what it gives and what it gets.
fn memory(case: &Case) -> (Memory, Memory) {
    let Case { count, me, .. } = *case;
    let (gives, gets) = case.blocks();
    let is_bad = |side| me == case.bad && case.side == side;
    // Its own block is for nobody else, so that it looks at it itself; but of an allgather in place.
    let others = |blocks: usize| match blocks {
        // The later half, which is another chunk of a long message.
        1 if matches!(case.what, What::Message | What::Pieces) => [count / 2..count, 0..0],
        1 => [0..count, 0..0],
        _ => [0..me * count, (me + 1) * count..blocks * count],
    };
    let own = me * count..(me + 1) * count;
    let in_place = case.what == What::Allgather;
    let mut input = match (case.what, is_bad(Side::In)) {
        (What::Allgather, true) => Memory::with_holes(gives * count, &[own]),
        // Not what it folds itself, where the members share that.
        (What::Reduce | What::Allreduce | What::ReduceScatter, true) => {
            let all = gives * count;
            let hole = if case.first_here {
                all - all / 8..all
            } else {
                0..all / 8
            };
            Memory::with_holes(all, &[hole])
        }
        (_, true) => Memory::with_holes(gives * count, &others(gives)),
        (What::Allgather, false) if is_bad(Side::Out) => {
            Memory::with_holes(gets * count, &others(gets))
        }
        _ => Memory::whole(gives * count),
    };
    let output = match is_bad(Side::Out) && !in_place {
        true => Memory::with_holes(gets * count, &others(gets)),
        false => Memory::whole(gets * count),
    };
    for block in 0..gives {
        let is_there = if is_bad(Side::In) {
            block == me && gives > 1 && !matches!(case.what, What::Allgather | What::ReduceScatter)
        } else {
            case.what != What::Allgather || block == me
        };
        if is_there {
            let values = (0..count).map(|at| case.value(me, block, at));
            input.fill(block * count, values);
        }
    }
    (input, output)
}

fn perform(case: &Case, comm: &Comm, input: &Memory, output: &Memory) -> Result<()> {
    let Case {
        count, me, ranks, ..
    } = *case;
    let rank = |rank: usize| i32::try_from(rank).expect("few ranks");
    let (root, from, to) = (
        rank(case.root()),
        input.buffer(0, count),
        output.buffer(0, count),
    );
    let is_root = me == case.root();
    match case.what {
        What::Bcast => {
            let data = if is_root { from } else { to };
            call!(case, comm.bcast, ibcast(data, root))
        }
        What::Reduce => {
            call!(case, comm.reduce, ireduce(from, to, Op::Sum, root))
        }
        What::Allreduce => call!(case, comm.allreduce, iallreduce(from, to, Op::Sum)),
        What::ReduceScatter => {
            let (all, op) = (input.buffer(0, ranks * count), Op::Sum);
            call!(
                case,
                comm.reduce_scatter_block,
                ireduce_scatter_block(Some(all), to, op)
            )
        }
        What::Scatter => {
            let into = (!is_root).then_some(to);
            call!(case, comm.scatter, iscatter(from, into, root))
        }
        What::Gather => {
            let given = (!is_root).then_some(from);
            call!(case, comm.gather, igather(given, to, root))
        }
        // In place.
        What::Allgather => call!(case, comm.allgather, iallgather(None, from)),
        What::Alltoall => call!(case, comm.alltoall, ialltoall(Some(from), to)),
        What::Exscan => call!(case, comm.exscan, iexscan(Some(from), to, Op::Sum)),
        What::Fold => {
            let op = &sum();
            call!(case, comm.reduce, ireduce(from, to, op, root))
        }
        What::Message | What::Pieces => {
            let sends = if case.side == Side::In {
                case.bad
            } else {
                case.root()
            };
            let receives = case.bad + case.root() - sends;
            let pieces = |buffer: Buffer, memory: &Memory| match case.what {
                What::Pieces => every_other_page(buffer, memory.address),
                _ => Ok(buffer),
            };
            if me == sends {
                let (data, peer) = (pieces(from, input)?, rank(receives));
                return call!(case, comm.send, isend(data, peer, 1));
            }
            if me == receives {
                let (data, peer) = (pieces(to, output)?, rank(sends));
                // SAFETY: what becomes of memory that is not there is what is tested.
                let request = unsafe { comm.irecv(data, peer, 1) };
                return request.and_then(|mut request| request.wait()).map(|_| ());
            }
            Ok(())
        }
    }
}

/// An operation that is no predefined one.
fn sum() -> UserOp {
    let add = |left: *const u8, right: *mut u8, count: usize, _: mpi::Datatype| {
        let (left, right) = (left.cast::<u64>(), right.cast::<u64>());
        for at in 0..count {
            // SAFETY: so many elements are there, and they are aligned.
            let one = unsafe { left.wrapping_add(at).read() };
            // SAFETY: as above.
            let other = unsafe { right.wrapping_add(at).read() };
            // SAFETY: as above.
            unsafe { right.wrapping_add(at).write(one.wrapping_add(other)) };
        }
    };
    // SAFETY: it looks at nothing but the elements.
    unsafe { UserOp::create(add, true) }
}

/// The first half of each two pages.
fn every_other_page(buffer: Buffer, address: *mut u64) -> Result<Buffer> {
    let in_page = PAGE / 8;
    let pages = buffer.count().div_ceil(2 * in_page);
    let number = |number: usize| i64::try_from(number).expect("small");
    let pages_of = mpi::Datatype::from(Datatype::Uint64);
    let pages_of = pages_of.vector(number(pages), number(in_page), number(2 * in_page))?;
    pages_of.commit()?;
    Ok(Buffer::new(address, 1, pages_of))
}

/// What follows finds all in order: a barrier, a sum, and messages in a ring.
fn goes_on(comm: &Comm) -> Result<()> {
    comm.barrier()?;
    let (rank, ranks) = (comm.rank(), comm.size());
    for count in [4, 1_000] {
        let (mut out, mut into) = (vec![rank + 1; count], vec![0; count]);
        let buffer = |data: &mut [i32]| Buffer::new(data.as_mut_ptr(), count, Datatype::Int32);
        // SAFETY: both are there until the call ends.
        unsafe { comm.allreduce(buffer(&mut out), buffer(&mut into), Op::Sum)? };
        assert!(into.iter().all(|&sum| sum == ranks * (ranks + 1) / 2));
        // SAFETY: the memory is there until the request is done.
        let mut receive = unsafe { comm.irecv(buffer(&mut into), (rank + 1) % ranks, 2)? };
        // SAFETY: it is there until the call ends.
        unsafe { comm.send(buffer(&mut out), (rank + ranks - 1) % ranks, 2)? };
        receive.wait()?;
        assert!(into.iter().all(|&came| came == (rank + 1) % ranks + 1));
    }
    Ok(())
}

/// Checks a case at this rank.
fn check(case: &Case, comm: &Comm) -> Result<()> {
    let (input, output) = memory(case);
    let outcome = perform(case, comm, &input, &output);
    let what = format!(
        "{} with rank {} bad, at rank {}",
        case.name(),
        case.bad,
        case.me
    );
    match outcome {
        Err(error) => {
            let may = case.must_be_told(case.me) || case.may_be_told();
            assert!(may, "{what}, which has to do with neither: {error}");
            assert_eq!(error.class, ErrorClass::Buffer, "{what}: {error}");
            let text = error.to_string();
            let bad = case.bad;
            let named = text.contains(&format!("the buffer of rank {bad} is not in its memory"));
            let own = text.ends_with("the buffer is not in this rank's memory");
            let sender = text.ends_with("the sender's buffer is not in its memory");
            let is_message = matches!(case.what, What::Message | What::Pieces);
            let right = if case.me == bad {
                own
            } else {
                named || (is_message && sender)
            };
            assert!(right, "{what}: {text}");
        }
        Ok(()) => {
            assert!(!case.must_be_told(case.me), "{what}: it was not told");
            let result = if case.what == What::Allgather {
                &input
            } else {
                &output
            };
            let root_keeps =
                matches!(case.what, What::Bcast | What::Scatter) && case.me == case.root();
            let (_, blocks) = case.blocks();
            for block in (0..blocks).filter(|_| !root_keeps) {
                for at in 0..case.count {
                    let in_place = case.what == What::Gather && block == case.me;
                    let Some(answer) = case.answer(block, at).filter(|_| !in_place) else {
                        break;
                    };
                    // SAFETY: it was not told of anything, so its memory is there.
                    let found =
                        unsafe { result.address.wrapping_add(block * case.count + at).read() };
                    let skipped = case.what == What::Pieces && at / (PAGE / 8) % 2 == 1;
                    let right = skipped || found == answer;
                    assert!(
                        right,
                        "{what}: element {at} of block {block} is {found}, not {answer}"
                    );
                }
            }
        }
    }
    goes_on(comm)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let bytes: usize = arguments
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(8 * PAGE);
    let (name, only) = (arguments.next(), arguments.next());
    let universe = Universe::init()?;
    let comm = universe.world().untyped();
    let ranks = universe.world().size();
    let mut bad_ranks = vec![0, ranks / 2, ranks - 1];
    bad_ranks.dedup();
    if let Some(only) = only {
        bad_ranks = vec![only.parse().expect("a rank")];
    }
    let me = universe.world().rank();
    let placement = universe.process().placement();
    let here = placement.node_of(u32::try_from(me).expect("few ranks"));
    let first = here.and_then(|node| placement.ranks_of(node).next());
    let first_here = first.is_some_and(|first| first as usize == me);
    let mut cases = 0;
    for (what, side) in CASES {
        for &bad in &bad_ranks {
            for blocking in [true, false] {
                let case = Case {
                    what,
                    side,
                    bad,
                    count: bytes / 8,
                    ranks,
                    me,
                    first_here,
                    blocking,
                };
                let wanted = name.as_ref().is_none_or(|name| *name == case.name());
                // Who is last gives nobody anything in a scan; and who is not first looks itself.
                if !wanted || (what == What::Exscan && bad != 0) {
                    continue;
                }
                check(&case, comm)?;
                cases += 1;
            }
        }
    }
    if me == 0 {
        println!("{cases} cases");
    }
    universe.finalize()
}
