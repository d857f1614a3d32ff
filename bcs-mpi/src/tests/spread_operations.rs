//! Operations of the program on data with gaps: a function finds the elements in their datatype's
//! layout, and the gaps stay unchanged.
#![expect(unsafe_code, reason = "calls of the untyped core")]
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "calls that all have the same argument for their safety"
)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of a test are small"
)]

use super::run;
use crate::mpi::{self, Buffer, Comm, Datatype, Op};
use crate::{ErrorClass, UserOp};
use bcs_core::reduction::Datatype as Elementary;
use std::sync::Arc;

/// The value in the gaps.
const CANARY: i64 = -77;

/// The places of an element's numbers, and the distance of elements, both counted in numbers.
#[derive(Clone, Copy, Debug)]
struct Shape {
    places: &'static [i64],
    extent: i64,
    /// The number of elements in a buffer. More would overlap.
    count: usize,
}

const SHAPES: [Shape; 6] = [
    // Gaps before, between and behind the data.
    Shape {
        places: &[1, 3],
        extent: 5,
        count: 900,
    },
    // Data before the address, and not in the order of memory.
    Shape {
        places: &[2, -3],
        extent: 7,
        count: 50,
    },
    // Elements in descending order of address.
    Shape {
        places: &[0, 1],
        extent: -3,
        count: 60,
    },
    // No gaps, but not at the address.
    Shape {
        places: &[4],
        extent: 1,
        count: 100,
    },
    // Columns of a matrix, which interleave.
    Shape {
        places: &[0, 3, 6, 9],
        extent: 1,
        count: 3,
    },
    // An element larger than the memory for spread elements.
    Shape {
        places: &[0, 20_000],
        extent: 30_000,
        count: 4,
    },
];

impl Shape {
    fn datatype(&self) -> Datatype {
        let places: Vec<i64> = self.places.iter().map(|place| place * 8).collect();
        let long = Datatype::from(Elementary::Int64);
        let data = long.hindexed(&vec![1; places.len()], &places).unwrap();
        let datatype = data.resized(0, self.extent * 8).unwrap();
        datatype.commit().unwrap();
        datatype
    }

    /// Returns the operation `inoutvec = invec OP inoutvec` on the numbers in their places: not
    /// commutative.
    fn operation(self) -> mpi::UserOp {
        let datatype = self.datatype();
        let size = datatype.size();
        let function = move |invec: *const u8, inoutvec: *mut u8, count: usize, of: Datatype| {
            assert_eq!(of.size(), size);
            for nth in 0..count as i64 {
                for place in self.places {
                    let at = 8 * (nth * self.extent + place) as isize;
                    let (left, right) = (invec.wrapping_offset(at), inoutvec.wrapping_offset(at));
                    let (left, right) = (left.cast::<i64>(), right.cast::<i64>());
                    // SAFETY: elements of the shape are at both addresses, aligned.
                    unsafe { right.write(after(left.read(), right.read())) };
                }
            }
        };
        // SAFETY: it uses the data of the elements and nothing else.
        unsafe { mpi::UserOp::create(function, false) }
    }
}

/// Combines two numbers: associative, not commutative.
fn after(left: i64, right: i64) -> i64 {
    left.wrapping_mul(3).wrapping_add(right)
}

/// Returns the combination of the first ranks' numbers.
fn folded(ranks: usize, index: usize) -> i64 {
    let number = |rank| number(rank, index);
    (0..ranks).map(number).reduce(after).unwrap_or(CANARY)
}

fn number(rank: usize, index: usize) -> i64 {
    (rank * 1_000_003 + index + 1) as i64
}

/// Memory for elements of a shape.
struct ShapedBuffer {
    shape: Shape,
    datatype: Datatype,
    count: usize,
    memory: Vec<i64>,
    /// The address of the first element, which need not be in memory.
    base: i64,
}

impl ShapedBuffer {
    fn new(shape: Shape, datatype: &Datatype, count: usize) -> Self {
        let last = shape.extent * (count.max(1) - 1) as i64;
        let ends = shape.places.iter().flat_map(|place| [*place, place + last]);
        let (low, high) = (ends.clone().min().unwrap(), ends.max().unwrap());
        Self {
            shape,
            datatype: datatype.clone(),
            count,
            memory: vec![CANARY; (high - low + 3) as usize],
            base: 1 - low,
        }
    }

    fn of(shape: Shape, datatype: &Datatype, count: usize, rank: usize) -> Self {
        let mut room = Self::new(shape, datatype, count);
        for (index, at) in room.places().into_iter().enumerate() {
            room.memory[at] = number(rank, index);
        }
        room
    }

    /// Returns the places of the numbers.
    fn places(&self) -> Vec<usize> {
        let place = |nth: i64| {
            let start = self.base + nth * self.shape.extent;
            self.shape
                .places
                .iter()
                .map(move |place| (start + place) as usize)
        };
        (0..self.count as i64).flat_map(place).collect()
    }

    fn buffer(&mut self) -> Buffer {
        let start = self.memory.as_mut_ptr().wrapping_offset(self.base as isize);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Buffer::new(start, self.count, &self.datatype) }
    }

    /// Checks that the first numbers are these, and that the gaps are unchanged.
    fn check(&self, expected: impl Fn(usize) -> i64, what: &str) {
        let (places, shape) = (self.places(), self.shape);
        for (index, &at) in places.iter().enumerate() {
            assert_eq!(
                self.memory[at],
                expected(index),
                "{what} of {shape:?}, {index}"
            );
        }
        let mut gaps: Vec<bool> = vec![true; self.memory.len()];
        places.into_iter().for_each(|at| gaps[at] = false);
        let untouched = gaps
            .iter()
            .zip(&self.memory)
            .all(|(gap, &found)| !gap || found == CANARY);
        assert!(untouched, "{what} of {shape:?} writes gaps");
    }
}

fn every_reduction(comm: &Comm, shape: Shape) {
    let (me, size, count) = (comm.rank() as usize, comm.size() as usize, shape.count);
    let (datatype, op) = (shape.datatype(), shape.operation());
    let full = |rank| ShapedBuffer::of(shape, &datatype, count, rank);
    let empty = |count| ShapedBuffer::new(shape, &datatype, count);
    let mut data = full(me);
    // SAFETY: all data stay during each call.
    unsafe {
        let mut result = empty(count);
        comm.reduce(data.buffer(), result.buffer(), &op, 1.min(size as i32 - 1))
            .unwrap();
        let at_root = me == 1.min(size - 1);
        result.check(
            |index| if at_root { folded(size, index) } else { CANARY },
            "reduce",
        );
        let mut result = empty(count);
        comm.allreduce(data.buffer(), result.buffer(), &op).unwrap();
        result.check(|index| folded(size, index), "allreduce");
        let mut both = full(me);
        comm.allreduce(both.buffer(), both.buffer(), &op).unwrap();
        both.check(|index| folded(size, index), "allreduce in place");
        let mut result = empty(count);
        comm.scan(Some(data.buffer()), result.buffer(), &op)
            .unwrap();
        result.check(|index| folded(me + 1, index), "scan");
        let mut both = full(me);
        comm.scan(None, both.buffer(), &op).unwrap();
        both.check(|index| folded(me + 1, index), "scan in place");
        let mut result = empty(count);
        comm.exscan(Some(data.buffer()), result.buffer(), &op)
            .unwrap();
        result.check(|index| folded(me, index), "exscan");

        let share = count / size;
        let width = shape.places.len();
        let mut all = ShapedBuffer::of(shape, &datatype, share * size, me);
        let mut result = empty(share);
        comm.reduce_scatter_block(Some(all.buffer()), result.buffer(), &op)
            .unwrap();
        let first = me * share * width;
        result.check(|index| folded(size, first + index), "reduce_scatter_block");
        let counts: Vec<i64> = (0..size).map(|rank| (rank * share / size) as i64).collect();
        let total: i64 = counts.iter().sum();
        let first = counts[..me].iter().sum::<i64>() as usize * width;
        let mut all = ShapedBuffer::of(shape, &datatype, total as usize, me);
        let mine = counts[me] as usize;
        let mut result = empty(mine);
        let call = comm.reduce_scatter(Some(all.buffer()), result.buffer(), &counts, &op);
        call.unwrap();
        result.check(|index| folded(size, first + index), "reduce_scatter");
        let output = all.buffer();
        let output = Buffer::new(output.start(), mine, output.datatype());
        comm.reduce_scatter(None, output, &counts, &op).unwrap();
        let kept = |index| {
            let reduced = index < mine * width;
            if reduced {
                folded(size, first + index)
            } else {
                number(me, index)
            }
        };
        all.check(kept, "reduce_scatter in place");

        let mut local = full(1);
        mpi::reduce_local(full(0).buffer(), local.buffer(), &op).unwrap();
        local.check(|index| folded(2, index), "reduce_local");
    }
}

#[test]
fn functions_find_elements_where_their_datatype_says() {
    for (ranks, nodes) in [(1, 1), (2, 1), (3, 2)] {
        run(ranks, nodes, |universe| {
            let comm = universe.world().untyped();
            SHAPES
                .into_iter()
                .for_each(|shape| every_reduction(comm, shape));
        });
    }
}

#[test]
fn predefined_operations_are_for_predefined_types() {
    run(2, 1, |universe| {
        let comm = universe.world().untyped();
        let datatype = SHAPES[0].datatype();
        let (mut data, mut room) = (
            ShapedBuffer::of(SHAPES[0], &datatype, 3, 0),
            ShapedBuffer::new(SHAPES[0], &datatype, 3),
        );
        let error = comm.allreduce(data.buffer(), room.buffer(), Op::Sum);
        assert_eq!(error.unwrap_err().class, ErrorClass::Type);
    });
}

/// A structure of Rust with padding has gaps. A closure takes and returns whole values.
#[test]
fn closures_combine_structures() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Reading {
        least: f64,
        count: u16, // six bytes of padding follow
    }
    crate::equivalence!(Reading { least, count });
    run(3, 2, |universe| {
        let world = universe.world();
        let counted = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = Arc::clone(&counted);
        let op = UserOp::commutative(move |one: Reading, other: Reading| {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Reading {
                least: one.least.min(other.least),
                count: one.count + other.count,
            }
        });
        let of = |rank: usize, nth: i32| Reading {
            least: f64::from((rank as i32 - nth) % 3),
            count: rank as u16 + 1,
        };
        let data: Vec<Reading> = (0..5_000).map(|nth| of(world.rank(), nth)).collect();
        let mut all = vec![of(9, 9); 5_000];
        world.allreduce(&data, &mut all, &op).unwrap();
        let right = |(nth, found): (i32, &Reading)| {
            let least = (0..3)
                .map(|rank| of(rank, nth).least)
                .fold(f64::MAX, f64::min);
            *found == Reading { least, count: 6 }
        };
        assert!((0..).zip(&all).all(right));
        assert_eq!(counted.load(std::sync::atomic::Ordering::Relaxed), 10_000);
    });
}
