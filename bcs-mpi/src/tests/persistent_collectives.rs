//! Persistent collectives, which each rank starts in an order of its own. (Those among neighbours
//! are tested with the other neighbourhood collectives.)
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::{Machine, run};
use crate::ErrorClass;
use crate::mpi::persistent::startall;
use crate::mpi::{Blocks, Buffer, Comm, Op, Persistent, Result};
use bcs_core::job::Settings;
use bcs_core::reduction::Datatype;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The number of elements in each rank's block.
const BLOCK: usize = 3;

/// The memory that a rank reads and writes in one collective.
struct Memory {
    input: Vec<u64>,
    output: Vec<u64>,
    counts: Vec<i64>,
    displacements: Vec<i64>,
}

impl Memory {
    fn new(ranks: usize) -> Self {
        let block = i64::try_from(BLOCK).unwrap();
        Self {
            input: vec![0; BLOCK * ranks],
            output: vec![0; BLOCK * ranks],
            counts: vec![block; ranks],
            displacements: (0..).step_by(BLOCK).take(ranks).collect(),
        }
    }

    fn input(&self, count: usize) -> Buffer {
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::read_only(self.input.as_ptr(), count, Datatype::Uint64) }
    }

    fn output(&mut self, count: usize) -> Buffer {
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::new(self.output.as_mut_ptr(), count, Datatype::Uint64) }
    }

    fn read(&self) -> Blocks<'_> {
        let (counts, displacements) = (&self.counts, &self.displacements);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Blocks::read_only(self.input.as_ptr(), counts, displacements, Datatype::Uint64) }
    }

    fn written(&mut self) -> Blocks<'_> {
        let (counts, displacements) = (&self.counts, &self.displacements);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe {
            Blocks::new(
                self.output.as_mut_ptr(),
                counts,
                displacements,
                Datatype::Uint64,
            )
        }
    }
}

type Init = fn(&Comm, &mut Memory) -> Result<Persistent>;
/// Returns the expected value of a rank's output at an index, from a function of all ranks' input.
type Expected = fn(usize, usize, usize, &dyn Fn(usize, usize) -> u64) -> Option<u64>;

/// The broadcast among [`KINDS`], whose output elsewhere is its input at the root.
const BROADCAST: usize = 1;

/// All persistent collectives, with root 1 if they have one, and their expected output for ranks,
/// rank and index.
const KINDS: [(Init, Expected); 17] = [
    (|comm: &Comm, _| comm.barrier_init(), |_, _, _, _| None),
    (
        |comm: &Comm, memory| {
            let address = memory.output.as_mut_ptr();
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            comm.bcast_init(unsafe { Buffer::new(address, BLOCK, Datatype::Uint64) }, 1)
        },
        |_, _, index, input| (index < BLOCK).then(|| input(1, index)),
    ),
    (
        |comm: &Comm, memory| {
            comm.reduce_init(memory.input(BLOCK), memory.output(BLOCK), Op::Sum, 1)
        },
        |ranks, rank, index, input| {
            let sum = || (0..ranks).map(|from| input(from, index)).sum();
            (rank == 1 && index < BLOCK).then(sum)
        },
    ),
    (
        |comm: &Comm, memory| {
            comm.allreduce_init(memory.input(BLOCK), memory.output(BLOCK), Op::Max)
        },
        |ranks, _, index, input| {
            let max = || (0..ranks).map(|from| input(from, index)).max();
            (index < BLOCK).then(max).flatten()
        },
    ),
    (
        |comm: &Comm, memory| comm.scatter_init(memory.input(BLOCK), Some(memory.output(BLOCK)), 1),
        |_, rank, index, input| (index < BLOCK).then(|| input(1, rank * BLOCK + index)),
    ),
    (
        |comm: &Comm, memory| {
            let output = memory.output(BLOCK);
            comm.scatterv_init(memory.read(), Some(output), 1)
        },
        |_, rank, index, input| (index < BLOCK).then(|| input(1, rank * BLOCK + index)),
    ),
    (
        |comm: &Comm, memory| comm.gather_init(Some(memory.input(BLOCK)), memory.output(BLOCK), 1),
        |_, rank, index, input| (rank == 1).then(|| input(index / BLOCK, index % BLOCK)),
    ),
    (
        |comm: &Comm, memory| comm.gatherv_init(Some(memory.input(BLOCK)), memory.written(), 1),
        |_, rank, index, input| (rank == 1).then(|| input(index / BLOCK, index % BLOCK)),
    ),
    (
        |comm: &Comm, memory| comm.allgather_init(Some(memory.input(BLOCK)), memory.output(BLOCK)),
        |_, _, index, input| Some(input(index / BLOCK, index % BLOCK)),
    ),
    (
        |comm: &Comm, memory| comm.allgatherv_init(Some(memory.input(BLOCK)), memory.written()),
        |_, _, index, input| Some(input(index / BLOCK, index % BLOCK)),
    ),
    (
        |comm: &Comm, memory| comm.alltoall_init(Some(memory.input(BLOCK)), memory.output(BLOCK)),
        |_, rank, index, input| Some(input(index / BLOCK, rank * BLOCK + index % BLOCK)),
    ),
    (
        |comm: &Comm, memory| {
            // The lists of the output are the same.
            let (counts, displacements) = (memory.counts.clone(), memory.displacements.clone());
            let address = memory.output.as_mut_ptr();
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let into = unsafe { Blocks::new(address, &counts, &displacements, Datatype::Uint64) };
            comm.alltoallv_init(Some(memory.read()), into)
        },
        |_, rank, index, input| Some(input(index / BLOCK, rank * BLOCK + index % BLOCK)),
    ),
    (
        |comm: &Comm, memory| {
            let types = vec![Datatype::Uint64.into(); memory.counts.len()];
            let bytes: Vec<i64> = memory.displacements.iter().map(|at| at * 8).collect();
            let address = memory.input.as_mut_ptr();
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let from = unsafe { Blocks::of_types(address, &memory.counts, &bytes, &types) };
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let into = unsafe {
                Blocks::of_types(memory.output.as_mut_ptr(), &memory.counts, &bytes, &types)
            };
            comm.alltoallw_init(Some(from), into)
        },
        |_, rank, index, input| Some(input(index / BLOCK, rank * BLOCK + index % BLOCK)),
    ),
    (
        |comm: &Comm, memory| {
            let input = memory.input(memory.input.len());
            comm.reduce_scatter_block_init(Some(input), memory.output(BLOCK), Op::Sum)
        },
        |ranks, rank, index, input| {
            let sum = || {
                (0..ranks)
                    .map(|from| input(from, rank * BLOCK + index))
                    .sum()
            };
            (index < BLOCK).then(sum)
        },
    ),
    (
        |comm: &Comm, memory| {
            let (input, counts) = (memory.input(memory.input.len()), memory.counts.clone());
            comm.reduce_scatter_init(Some(input), memory.output(BLOCK), &counts, Op::Sum)
        },
        |ranks, rank, index, input| {
            let sum = || {
                (0..ranks)
                    .map(|from| input(from, rank * BLOCK + index))
                    .sum()
            };
            (index < BLOCK).then(sum)
        },
    ),
    (
        |comm: &Comm, memory| {
            comm.scan_init(Some(memory.input(BLOCK)), memory.output(BLOCK), Op::Sum)
        },
        |_, rank, index, input| {
            let sum = || (0..=rank).map(|from| input(from, index)).sum();
            (index < BLOCK).then(sum)
        },
    ),
    (
        |comm: &Comm, memory| {
            comm.exscan_init(Some(memory.input(BLOCK)), memory.output(BLOCK), Op::Sum)
        },
        |_, rank, index, input| {
            let sum = || (0..rank).map(|from| input(from, index)).sum();
            (index < BLOCK && rank > 0).then(sum)
        },
    ),
];

/// Two requests of each kind. In each round every rank starts all of them in an order of its own,
/// calls an ordinary collective, and waits in yet another order.
#[test]
fn starts_belong_together_by_their_inits_whatever_their_order() {
    for (ranks, nodes) in [(2, 2), (5, 2)] {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            let me = usize::try_from(world.rank()).unwrap();
            let kinds: Vec<_> = KINDS.iter().chain(&KINDS).collect();
            let mut memories: Vec<_> = kinds.iter().map(|_| Memory::new(ranks)).collect();
            let inits = kinds.iter().zip(&mut memories);
            let mut requests: Vec<Persistent> = inits
                .map(|((init, _), memory)| init(world, memory).unwrap())
                .collect();
            let mut rng = ChaCha8Rng::seed_from_u64(me as u64);
            for round in 0..8 {
                let value = |nth: usize, rank: usize, index: usize| {
                    ((round * 100 + nth) * 1_000 + rank * 100 + index) as u64
                };
                for (nth, memory) in memories.iter_mut().enumerate() {
                    let places = memory.input.iter_mut().enumerate();
                    places.for_each(|(index, place)| *place = value(nth, me, index));
                    memory.output.fill(0);
                    if me == 1 && nth % KINDS.len() == BROADCAST {
                        memory.output[..BLOCK].copy_from_slice(&memory.input[..BLOCK]);
                    }
                }
                let mut order: Vec<usize> = (0..requests.len()).collect();
                order.shuffle(&mut rng);
                for &nth in &order {
                    requests[nth].start().unwrap();
                }
                world.barrier().unwrap();
                order.shuffle(&mut rng);
                for &nth in &order {
                    requests[nth].started().wait().unwrap();
                }
                for (nth, ((_, expected), memory)) in kinds.iter().zip(&memories).enumerate() {
                    let input = |rank: usize, index: usize| value(nth, rank, index);
                    for (index, found) in memory.output.iter().enumerate() {
                        let expected = expected(ranks, me, index, &input).unwrap_or(0);
                        assert_eq!(*found, expected, "the {nth}th, {index}, in round {round}");
                    }
                }
            }
        });
    }
}

/// A start of one rank may be a round ahead of another's.
#[test]
fn the_nth_start_belongs_to_the_nth_of_the_others() {
    run(3, 3, |universe| {
        let world = universe.world().untyped();
        let (mut data, mut slow) = ([0_u64; 200], [0_u64; 2]);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let buffer = unsafe { Buffer::new(data.as_mut_ptr(), 200, Datatype::Uint64) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let slowly = unsafe { Buffer::new(slow.as_mut_ptr(), 2, Datatype::Uint64) };
        let mut requests = [
            world.bcast_init(buffer, 0).unwrap(),
            world.bcast_init(slowly, 1).unwrap(),
        ];
        for round in 0..20 {
            if world.rank() == 0 {
                data[199] = round;
            }
            if world.rank() == 1 {
                slow[1] = round + 7;
            }
            if world.rank() == 2 {
                requests.reverse();
            }
            startall(&mut requests).unwrap();
            for request in &mut requests {
                request.started().wait().unwrap();
            }
            assert_eq!((data[199], slow[1]), (round, round + 7));
        }
    });
}

#[test]
fn what_a_start_refuses_names_the_init() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        let mut data = [1_u64; 2];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let buffer = unsafe { Buffer::new(data.as_mut_ptr(), 2, Datatype::Uint64) };
        let mut wrong = world.bcast_init(buffer, 5).unwrap();
        let error = wrong.start().unwrap_err();
        assert_eq!(error.class, ErrorClass::Root);
        let said = "failed to MPI_Start (MPI_Bcast_init) 16 bytes with root 5";
        assert!(error.of_itself().starts_with(said), "{error}");
        let mut barrier = world.barrier_init().unwrap();
        barrier.start().unwrap();
        let error = barrier.start().unwrap_err();
        assert!(
            error.to_string().contains("MPI_Barrier_init is active"),
            "{error}"
        );
        barrier.started().wait().unwrap();
    });
}

/// Returns the first of two operands: associative, and not commutative.
fn first(invec: *const u8, inoutvec: *mut u8, count: usize, _datatype: crate::mpi::Datatype) {
    // SAFETY: both have this number of elements, of 8 bytes each, and do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(invec, inoutvec, 8 * count) };
}

#[test]
fn operations_of_the_program_are_kept() {
    run(3, 2, |universe| {
        let world = universe.world().untyped();
        let mut data = [world.rank().cast_unsigned().into(), 5_u64];
        let mut result = [0_u64; 2];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let input = unsafe { Buffer::read_only(data.as_ptr(), 2, Datatype::Uint64) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let output = unsafe { Buffer::new(result.as_mut_ptr(), 2, Datatype::Uint64) };
        // SAFETY: it uses the elements that it is given.
        let op = unsafe { crate::mpi::UserOp::create(first, false) };
        let mut request = world.allreduce_init(input, output, &op).unwrap();
        drop(op);
        for round in 0..5 {
            data[1] = round + data[0];
            request.start().unwrap();
            request.started().wait().unwrap();
            assert_eq!(result, [0, round]);
        }
    });
}

/// An init takes a context, and dropping the request gives it back. The parent may be freed before.
#[test]
fn more_are_made_than_there_are_contexts() {
    Machine::new(2, 1, Settings::default()).run(|universe| {
        let world = universe.world().untyped();
        for _ in 0..21 {
            let parent = world.dup().unwrap();
            let inits = (0..100).map(|_| parent.barrier_init().unwrap());
            let mut requests: Vec<_> = inits.collect();
            parent.free().unwrap();
            startall(&mut requests).unwrap();
            for request in &mut requests {
                request.started().wait().unwrap();
            }
        }
    });
}

/// The safe layer: a forgotten operation in progress is waited for before its memory is read.
#[test]
fn persistent_collectives_own_their_memory() {
    run(3, 2, |universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        let ring = world.cart_create(&[3], &[true]).unwrap().unwrap();
        let mut sum = world
            .allreduce_init(vec![0; 500], vec![0; 500], Op::Sum)
            .unwrap();
        let mut all = world.allgather_init(vec![0; 2], vec![0; 6]).unwrap();
        let mut around = ring.neighbor_alltoall_init(vec![0; 2], vec![0; 2]).unwrap();
        let mut told = world.bcast_init(vec![0; 3], 2).unwrap();
        for round in 0..10 {
            sum.input().fill(me + round);
            all.input().copy_from_slice(&[me, round]);
            around.input().copy_from_slice(&[me, me + 10 * round]);
            if me == 2 {
                told.output().fill(round);
            }
            let one = told.start().unwrap();
            // In another order on each rank.
            let (two, three) = if me == 0 {
                let two = sum.start().unwrap();
                (two, all.start().unwrap())
            } else {
                let three = all.start().unwrap();
                (sum.start().unwrap(), three)
            };
            std::mem::forget(around.start().unwrap());
            let (below, above) = ((me + 2) % 3, (me + 1) % 3);
            assert_eq!(around.output(), [below + 10 * round, above]);
            two.wait().unwrap();
            drop(three);
            one.wait().unwrap();
            assert!(sum.output().iter().all(|&sum| sum == 3 + ranks * round));
            assert_eq!(all.output(), [0, round, 1, round, 2, round]);
            assert_eq!(told.output(), [round; 3]);
        }
        let refused = world.alltoall_init(vec![0; 4], vec![0; 3]).unwrap_err();
        assert_eq!(refused.class, ErrorClass::Count);
    });
}
