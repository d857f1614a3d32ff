//! Parts of arrays (MPI 5.0, 5.1.3).

use super::bounds::{Bounds, too_large};
use super::contents::{Combiner, Order};
use super::{Datatype, Part};
use crate::mpi::Result;
use crate::mpi::error::{ErrorClass, Operation};

impl Datatype {
    /// `MPI_Type_create_subarray`: `subsizes` elements from `starts` on, by dimension, of an array
    /// of `sizes` elements of this type. Its extent is that of the whole array.
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
            let part = Part {
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
        let parts = vec![Part {
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
}
