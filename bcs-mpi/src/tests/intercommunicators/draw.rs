//! A random collective between two groups, as all ranks of both know it, and its expected numbers.
#![expect(
    unsafe_code,
    clippy::multiple_unsafe_ops_per_block,
    reason = "functions of operations get buffers by address"
)]

use crate::mpi::{AnyOp, Op, UserOp};
use bcs_core::reduction::Datatype;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A collective, as all ranks of both groups know it.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) kind: usize,
    pub(super) salt: u64,
    /// The group of the root, and the root's rank in it.
    pub(super) root: (usize, usize),
    /// The number of elements in a block that each group sends.
    pub(super) counts: [usize; 2],
    /// The number of elements in a block of each rank.
    pub(super) lens: [Vec<usize>; 2],
    /// The number of elements that each rank gets of a reduction, with the same sum in both groups.
    pub(super) parts: [Vec<usize>; 2],
    pub(super) blocking: bool,
}

impl Draw {
    pub(super) fn new(
        kind: usize,
        groups: &[Vec<u32>; 2],
        scale: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let side = rng.random_range(0..2);
        let sizes = [groups[0].len(), groups[1].len()];
        let mut lens = |size: usize| -> Vec<usize> {
            let len = |_| rng.random_range(0..5) * scale;
            (0..size).map(len).collect()
        };
        let lens = sizes.map(&mut lens);
        let total = rng.random_range(0..12) * scale;
        let mut parts = |size: usize| {
            let mut rest = total;
            let mut parts: Vec<usize> = (1..size)
                .map(|_| {
                    let part = rng.random_range(0..=rest);
                    rest -= part;
                    part
                })
                .collect();
            parts.push(rest);
            parts
        };
        let parts = sizes.map(&mut parts);
        Self {
            kind,
            salt: rng.random(),
            root: (side, rng.random_range(0..sizes[side])),
            counts: [(); 2].map(|()| rng.random_range(0..4) * scale),
            lens,
            parts,
            blocking: rng.random(),
        }
    }

    pub(super) fn value(&self, side: usize, rank: usize, index: usize) -> u64 {
        let number = (side * 1_000_003 + rank) as u64 * 1_000_003 + index as u64;
        let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.salt;
        mixed.wrapping_mul(0x85eb_ca6b_27d4_eb2f) ^ mixed >> 29
    }

    /// Returns the contribution of a rank.
    pub(super) fn data(&self, side: usize, rank: usize, count: usize) -> Vec<u64> {
        let value = |index| self.value(side, rank, index);
        (0..count).map(value).collect()
    }

    /// Returns how many elements one rank sends to another in the vector kinds of all-to-all.
    pub(super) fn between(&self, side: usize, from: usize, to: usize) -> usize {
        let len = self.lens[side][from];
        if (from + to).is_multiple_of(3) {
            0
        } else {
            len + to
        }
    }
}

/// Returns the starts of blocks that have gaps of `gap` elements after them.
pub(super) fn starts(lens: &[usize], gap: usize) -> Vec<usize> {
    let start = |end: &mut usize, len: &usize| Some(std::mem::replace(end, *end + len + gap));
    lens.iter().scan(0, start).collect()
}

pub(super) fn long(numbers: &[usize], unit: usize) -> Vec<i64> {
    let long = |&number: &usize| i64::try_from(number * unit).unwrap();
    numbers.iter().map(long).collect()
}

/// Composes two steps x -> ax + b in numbers modulo 2^32: associative, not commutative.
fn after(first: u64, second: u64) -> u64 {
    let parts = |step: u64| (step & 0xffff_ffff, step >> 32);
    let ((a, b), (c, d)) = (parts(first), parts(second));
    let low = |number: u64| number & 0xffff_ffff;
    low(c.wrapping_mul(a)) | low(c.wrapping_mul(b).wrapping_add(d)) << 32
}

fn user_op() -> AnyOp {
    let function = |invec: *const u8, inoutvec: *mut u8, count: usize, _| {
        for index in 0..count {
            // SAFETY: there are this many, and they are aligned.
            let left = unsafe { invec.cast::<u64>().add(index).read() };
            // SAFETY: the same.
            let place = unsafe { &mut *inoutvec.cast::<u64>().add(index) };
            *place = after(left, *place);
        }
    };
    // SAFETY: it reads and writes this number of elements of 8 bytes.
    unsafe { UserOp::create(function, false) }.into()
}

/// How numbers are reduced: by a function of the program, or as floating-point numbers, whose order
/// shows in the digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReductionMethod {
    Sum,
    After,
}

impl ReductionMethod {
    pub(super) fn op(self) -> AnyOp {
        match self {
            Self::Sum => Op::Sum.into(),
            Self::After => user_op(),
        }
    }

    pub(super) fn datatype(self) -> Datatype {
        match self {
            Self::Sum => Datatype::Double,
            Self::After => Datatype::Uint64,
        }
    }

    /// Returns a finite number for any bits.
    pub(super) fn operand(self, bits: u64) -> u64 {
        match self {
            Self::Sum => (1.0 + f64::from((bits >> 32) as u32 as i32) * 1e-3).to_bits(),
            Self::After => bits,
        }
    }

    pub(super) fn combine(self, left: u64, right: u64) -> u64 {
        match self {
            Self::Sum => (f64::from_bits(left) + f64::from_bits(right)).to_bits(),
            Self::After => after(left, right),
        }
    }
}
