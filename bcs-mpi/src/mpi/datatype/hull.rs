//! The bounds of a type that is made of others: its corners are among theirs.

use super::bounds::{Bounds, too_large};
use super::handle::StridedBlocks;
use crate::mpi::error::{ErrorClass, Operation, Result};

/// How deep types may be nested. Functions that descend into a type are recursive.
const MAX_DEPTH: u32 = 256;

impl Bounds {
    /// Returns the bounds of a type that is made of these parts.
    pub(super) fn of_parts(parts: &[StridedBlocks], operation: Operation) -> Result<Self> {
        let (mut size, mut external, mut entries) = (0u64, 0u64, 0u64);
        let (mut align, mut depth) = (1, 0);
        let mut data = Hull::default();
        let mut spans = Hull::default();
        let mut marks = Hull::default();
        for part in parts {
            let of = part.datatype.bounds();
            depth = depth.max(of.depth + 1);
            let copies = part.count.checked_mul(part.length);
            if copies == Some(0) {
                continue;
            }
            let sum = |of: u64, sum: u64| copies?.checked_mul(of)?.checked_add(sum);
            let new = sum(of.size, size).filter(|&size| i64::try_from(size).is_ok());
            size = new.ok_or_else(|| too_large(operation, "its size"))?;
            external = sum(of.external, external).unwrap_or(size);
            entries = sum(of.entries, entries)
                .ok_or_else(|| too_large(operation, "the number of its elements"))?;
            if of.size > 0 {
                align = align.max(of.align);
                data.add(part, of.true_lower, of.true_upper);
                spans.add(part, of.lower, of.upper);
            }
            if of.marked {
                marks.add(part, of.lower, of.upper);
            }
        }
        if depth > MAX_DEPTH {
            let reason = format!("more than {MAX_DEPTH} types are made of each other");
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        let (true_lower, true_upper) = data.0.unwrap_or((0, 0));
        let (lower, upper) = marks.0.unwrap_or_else(|| {
            // An element keeps the padding at its end wherever it lies. By the letter of 5.1.6 it
            // does not where displacements are not aligned; but then an array of elements would end
            // within its last element.
            let (lower, upper) = spans.0.unwrap_or((0, 0));
            let extent = upper.saturating_sub(lower);
            let padding = (i128::from(align) - extent % i128::from(align)) % i128::from(align);
            (lower, upper.saturating_add(padding))
        });
        let narrow = |wide| {
            i64::try_from(wide).map_err(|_| too_large(operation, "where its data or bounds are"))
        };
        narrow(upper.saturating_sub(lower))?;
        narrow(true_upper.saturating_sub(true_lower))?;
        Ok(Self {
            size,
            external,
            entries,
            lower: narrow(lower)?,
            upper: narrow(upper)?,
            true_lower: narrow(true_lower)?,
            true_upper: narrow(true_upper)?,
            align,
            marked: marks.0.is_some(),
            depth,
        })
    }
}

/// The span from the least to the largest of the added values.
#[derive(Clone, Copy, Debug, Default)]
struct Hull(Option<(i128, i128)>);

impl Hull {
    /// Adds all copies of the bytes from `lower` to `upper` in the type of a part.
    fn add(&mut self, part: &StridedBlocks, lower: i64, upper: i64) {
        let span = |count: u64, distance: i64| {
            let end = i128::from(count - 1).saturating_mul(i128::from(distance));
            (end.min(0), end.max(0))
        };
        let blocks = span(part.count, part.stride);
        let elements = span(part.length, part.datatype.bounds().extent());
        let at = i128::from(part.displacement);
        let sum = |ends: [i128; 3]| ends.iter().fold(at, |sum, end| sum.saturating_add(*end));
        let (low, high) = (
            sum([blocks.0, elements.0, lower.into()]),
            sum([blocks.1, elements.1, upper.into()]),
        );
        let known = self.0.unwrap_or((low, high));
        self.0 = Some((known.0.min(low), known.1.max(high)));
    }
}
