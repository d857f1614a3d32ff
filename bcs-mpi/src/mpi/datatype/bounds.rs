//! Size, extent and bounds of a type (MPI 5.0, 5.1.6 to 5.1.9), without its type map: the map of a
//! vector may have more entries than memory has bytes, but its bounds are at its corners.

use super::Part;
use crate::mpi::Result;
use crate::mpi::error::{ErrorClass, Operation};
use bcs_core::reduction::Datatype;

/// How deep types may be made of types: what goes down into a type is recursive.
const MAX_DEPTH: u32 = 256;

/// What is known of a type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Bytes of its data; at most `i64::MAX`.
    pub(super) size: u64,
    /// Entries: basic elements.
    pub(super) entries: u64,
    /// The lower and the upper bound.
    pub(super) lower: i64,
    pub(super) upper: i64,
    /// Where its data begin and end.
    pub(super) true_lower: i64,
    pub(super) true_upper: i64,
    /// The strictest alignment of its entries.
    align: u64,
    /// Whether somebody has said what its bounds are (`MPI_Type_create_resized`): then those of
    /// its data do not count.
    marked: bool,
    /// Types that it is made of, one in the other.
    depth: u32,
}

impl Bounds {
    /// A pair has those of the structure of its value and its place, which it is said to be like
    /// (MPI 5.0, 6.9.4).
    pub(super) fn of(element: Datatype) -> Self {
        let (size, entries, data_end) = match element.pair() {
            Some(pair) => (element.data_size(), 2, pair.place_at() + pair.place.size()),
            None => (element.size(), 1, element.size()),
        };
        let bytes = |bytes: usize| (bytes as u64).cast_signed();
        Self {
            size: size as u64,
            entries,
            lower: 0,
            upper: bytes(element.size()),
            true_lower: 0,
            true_upper: bytes(data_end),
            align: element.align() as u64,
            marked: false,
            depth: 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.size).expect("it fits 63 bits")
    }

    pub(super) fn extent(&self) -> i64 {
        self.upper - self.lower
    }

    /// With other bounds.
    pub(super) fn resized(self, lower: i64, extent: i64, operation: Operation) -> Result<Self> {
        let upper = lower
            .checked_add(extent)
            .ok_or_else(|| too_large(operation, "its upper bound"))?;
        Ok(Self {
            lower,
            upper,
            marked: true,
            ..self
        })
    }

    /// The bounds of a type that is made of these.
    pub(super) fn of_parts(parts: &[Part], operation: Operation) -> Result<Self> {
        let (mut size, mut entries) = (0u64, 0u64);
        let (mut align, mut depth) = (1, 0);
        let mut data = Hull::default();
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
            entries = sum(of.entries, entries)
                .ok_or_else(|| too_large(operation, "the number of its elements"))?;
            if of.size > 0 {
                align = align.max(of.align);
                data.add(part, of.true_lower, of.true_upper);
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
            let extent = true_upper.saturating_sub(true_lower);
            let padding = (i128::from(align) - extent % i128::from(align)) % i128::from(align);
            (true_lower, true_upper.saturating_add(padding))
        });
        let narrow = |wide| {
            i64::try_from(wide).map_err(|_| too_large(operation, "where its data or bounds are"))
        };
        narrow(upper.saturating_sub(lower))?;
        narrow(true_upper.saturating_sub(true_lower))?;
        Ok(Self {
            size,
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

/// From the least to the largest of what was added.
#[derive(Clone, Copy, Debug, Default)]
struct Hull(Option<(i128, i128)>);

impl Hull {
    /// All copies of what is from `lower` to `upper` in the type of a part.
    fn add(&mut self, part: &Part, lower: i64, upper: i64) {
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

pub(super) fn too_large(operation: Operation, what: &str) -> Box<crate::mpi::Error> {
    let reason = format!("{what} would not fit 64 bits");
    operation.error(ErrorClass::ValueTooLarge, reason)
}
