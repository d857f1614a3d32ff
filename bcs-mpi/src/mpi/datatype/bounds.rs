//! Size, extent and bounds of a type (MPI 5.0, 5.1.6 to 5.1.9), without its type map. The map of a
//! vector may have more entries than memory has bytes, but the bounds follow from its corners.

use super::predefined::PredefinedType;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};

/// The known properties of a type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Bytes of its data; at most `i64::MAX`.
    pub(super) size: u64,
    /// Bytes of its data in `external32`, which are never more than `size`.
    pub(super) external: u64,
    /// The number of entries (basic elements).
    pub(super) entries: u64,
    /// The lower and the upper bound.
    pub(super) lower: i64,
    pub(super) upper: i64,
    /// Where its data begin and end.
    pub(super) true_lower: i64,
    pub(super) true_upper: i64,
    /// The strictest alignment of its entries.
    pub(super) align: u64,
    /// Whether the program has set its bounds (`MPI_Type_create_resized`). Those of its data do not
    /// count then.
    pub(super) marked: bool,
    /// How deep types are nested in it.
    pub(super) depth: u32,
}

impl Bounds {
    /// Returns the bounds of a predefined type. A pair has those of a structure of its value and
    /// its place, which it is defined to be like (MPI 5.0, 6.9.4).
    pub(super) fn of(named: &PredefinedType) -> Self {
        let element = named.element;
        let (size, entries, data_end) = match element.pair() {
            Some(pair) => (element.data_size(), 2, pair.place_at() + pair.place.size()),
            None => (element.size(), 1, element.size()),
        };
        let bytes = |bytes: usize| (bytes as u64).cast_signed();
        Self {
            size: size as u64,
            external: named.external_size() as u64,
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

    /// Returns these with other bounds.
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
}

pub(super) fn too_large(operation: Operation, what: &str) -> Box<Error> {
    let reason = format!("{what} would not fit 64 bits");
    operation.error(ErrorClass::ValueTooLarge, reason)
}
