//! Parts of arrays (MPI 5.0, 5.1.3).

use super::bounds::{Bounds, too_large};
use super::combiner::{Combiner, Distribution, Order};
use super::handle::{Datatype, StridedBlocks};
use crate::mpi::error::{ErrorClass, Operation, Result};

impl Datatype {
    /// `MPI_Type_create_subarray`: returns the type of a part of an array of `sizes` elements of
    /// this type. In each dimension the part has `subsizes` elements from `starts` on. The extent
    /// is that of the whole array.
    ///
    /// # Errors
    /// When an argument is wrong, or the type does not fit 64 bits.
    pub fn subarray(
        &self,
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
    ) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_subarray");
        let dimensions = sizes.len();
        if dimensions == 0 || [subsizes.len(), starts.len()] != [dimensions; 2] {
            let reason = format!(
                "{dimensions} sizes, {} subsizes and {} starts were given",
                subsizes.len(),
                starts.len()
            );
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        for (dimension, ((&size, &subsize), &start)) in
            sizes.iter().zip(subsizes).zip(starts).enumerate()
        {
            let inside = subsize >= 1 && start >= 0 && subsize <= size && start <= size - subsize;
            if !inside {
                let reason = format!(
                    "{subsize} elements from {start} on are no part of {size} (dimension \
                     {dimension})"
                );
                return Err(operation.error(ErrorClass::Arg, reason));
            }
        }
        // The dimension that runs fastest comes first.
        let mut order_of: Vec<usize> = (0..dimensions).collect();
        if order == Order::C {
            order_of.reverse();
        }
        let mut inner = self.clone();
        let (mut distance, mut first) = (self.bounds().extent(), 0i64);
        for dimension in order_of {
            let part = StridedBlocks {
                count: subsizes[dimension].unsigned_abs(),
                stride: distance,
                ..inner.once()
            };
            let offset = starts[dimension].checked_mul(distance);
            let next = offset.and_then(|offset| first.checked_add(offset));
            first = next.ok_or_else(|| too_large(operation, "its displacement"))?;
            let bounds = Bounds::of_parts(std::slice::from_ref(&part), operation)?;
            let nothing = (Vec::new(), Vec::new(), Vec::new());
            inner = Self::made(vec![part], bounds, Combiner::Hvector, nothing);
            distance = distance
                .checked_mul(sizes[dimension])
                .ok_or_else(|| too_large(operation, "the extent of the array"))?;
        }
        let parts = vec![StridedBlocks {
            displacement: first,
            ..inner.once()
        }];
        let bounds = Bounds::of_parts(&parts, operation)?;
        let bounds = bounds.resized(0, distance, operation)?;
        let count = [i64::try_from(dimensions).expect("no list has more elements")];
        let integers = [&count, sizes, subsizes, starts, &[order as i64]].concat();
        let arguments = (integers, Vec::new(), vec![self.clone()]);
        Ok(Self::made(parts, bounds, Combiner::Subarray, arguments))
    }

    /// `MPI_Type_create_darray`: returns the type of the part that process `rank` of `size` has of
    /// an array. The array of `sizes` elements of this type is distributed over a grid of
    /// `processes`. Ranks are in C order whatever the array's order is. The extent is that of the
    /// whole array.
    ///
    /// # Errors
    /// When an argument is wrong, or the type does not fit 64 bits.
    pub fn darray(
        &self,
        (size, rank): (i64, i64),
        sizes: &[i64],
        distributions: &[Distribution],
        processes: &[i64],
        order: Order,
    ) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_darray");
        let wrong = |reason: String| Err(operation.error(ErrorClass::Arg, reason));
        let dimensions = sizes.len();
        if dimensions == 0 || [distributions.len(), processes.len()] != [dimensions; 2] {
            return wrong(format!(
                "{dimensions} sizes, {} distributions and {} numbers of processes were given",
                distributions.len(),
                processes.len()
            ));
        }
        let positive = processes.iter().all(|&of| of > 0);
        let product = processes
            .iter()
            .try_fold(1i64, |all, &of| all.checked_mul(of));
        if !positive || product != Some(size) || !(0..size).contains(&rank) {
            return wrong(format!(
                "process {rank} of {size} is not in a grid of {processes:?}"
            ));
        }
        let mut shares = Vec::with_capacity(dimensions);
        let mut rest = rank;
        for dimension in (0..dimensions).rev() {
            let of = processes[dimension];
            let share = Share::new(sizes[dimension], distributions[dimension], of, rest % of);
            let Some(share) = share else {
                let (how, elements) = (distributions[dimension], sizes[dimension]);
                return wrong(format!(
                    "{how:?} does not divide {elements} among {of} processes"
                ));
            };
            shares.push(share);
            rest /= of;
        }
        // The dimension that runs fastest comes first.
        let mut fastest_first: Vec<usize> = (0..dimensions).rev().collect();
        if order == Order::Fortran {
            fastest_first.reverse();
            shares.reverse();
        }
        let mut inner = self.clone();
        let mut distance = self.bounds().extent();
        for (dimension, share) in fastest_first.into_iter().zip(shares) {
            let whole = distance.checked_mul(sizes[dimension]);
            let whole = whole.ok_or_else(|| too_large(operation, "the extent of the array"))?;
            inner = share.of(&inner, distance, operation)?;
            distance = whole;
        }
        let parts = vec![inner.once()];
        let bounds = Bounds::of_parts(&parts, operation)?;
        let bounds = bounds.resized(0, distance, operation)?;
        let (kinds, blocks): (Vec<i64>, Vec<i64>) =
            distributions.iter().map(|of| of.numbers()).unzip();
        let count = i64::try_from(dimensions).expect("no list has more elements");
        let integers = [
            &[size, rank, count],
            sizes,
            &kinds,
            &blocks,
            processes,
            &[order as i64],
        ];
        let arguments = (integers.concat(), Vec::new(), vec![self.clone()]);
        Ok(Self::made(parts, bounds, Combiner::Darray, arguments))
    }
}

/// A process's part of a dimension: blocks of `block` indices from `first` on, `step` from one to
/// the next, and a shorter one at the end.
struct Share {
    first: i64,
    block: i64,
    step: i64,
    full: i64,
    tail: i64,
}

impl Share {
    fn new(size: i64, how: Distribution, processes: i64, process: i64) -> Option<Self> {
        let all = size.checked_add(processes - 1)? / processes;
        let block = match how {
            Distribution::None if processes > 1 => return None,
            Distribution::None => size,
            // Each process has one block. Smaller blocks would not cover the dimension.
            Distribution::Block(Some(block)) if block < all => return None,
            Distribution::Block(block) => block.unwrap_or(all),
            Distribution::Cyclic(block) => block.unwrap_or(1),
        };
        if size < 1 || block < 1 {
            return None;
        }
        // No process has anything beyond the array, so blocks need not be larger than it.
        let block = block.min(size);
        let (first, step) = (block.checked_mul(process)?, block.checked_mul(processes)?);
        let left = size.checked_sub(first)?.max(0);
        let (rounds, rest) = (left / step, left % step);
        let full = rounds + i64::from(rest >= block);
        let tail = if rest < block { rest } else { 0 };
        Some(Self {
            first,
            block,
            step,
            full,
            tail,
        })
    }

    /// Returns the type of this part for elements that are `distance` bytes apart.
    fn of(&self, inner: &Datatype, distance: i64, operation: Operation) -> Result<Datatype> {
        let bytes = |indices: i64| {
            let bytes = indices.checked_mul(distance);
            bytes.ok_or_else(|| too_large(operation, "a displacement"))
        };
        let make = |parts: Vec<StridedBlocks>| {
            let bounds = Bounds::of_parts(&parts, operation)?;
            let nothing = (Vec::new(), Vec::new(), Vec::new());
            Ok(Datatype::made(parts, bounds, Combiner::Struct, nothing))
        };
        let block = make(vec![StridedBlocks {
            count: self.block.unsigned_abs(),
            stride: distance,
            ..inner.once()
        }])?;
        let full = StridedBlocks {
            displacement: bytes(self.first)?,
            count: self.full.unsigned_abs(),
            stride: bytes(self.step)?,
            ..block.once()
        };
        let tail = StridedBlocks {
            displacement: bytes(self.first + self.full * self.step)?,
            count: self.tail.unsigned_abs(),
            stride: distance,
            ..inner.once()
        };
        make(vec![full, tail])
    }
}
