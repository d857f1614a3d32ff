//! Predefined datatypes: the form of an element in memory, and in `external32`.
//!
//! `MPI_LONG` and `MPI_INT64_T` are the same in memory. They differ in the data representation
//! `external32` (MPI 5.0, 14.5.2), where a `long` has 4 bytes and a wide character 2.

use bcs_core::reduction::Datatype as Elementary;

/// A predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) struct PredefinedType {
    /// The element that is moved and reduced.
    pub(in crate::mpi) element: Elementary,
    pub(in crate::mpi) external: External32Form,
    /// Whether it is `MPI_PACKED`: bytes that may be anything.
    pub(in crate::mpi) packed: bool,
}

/// How an element is represented in `external32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) enum External32Form {
    /// As its kind, in as many bytes as in memory.
    Same,
    /// As an integer of 4 bytes: the C `long`.
    Long,
    /// As a character of 2 bytes: the C `wchar_t`.
    Wide,
}

const fn named(element: Elementary, external: External32Form) -> PredefinedType {
    PredefinedType {
        element,
        external,
        packed: false,
    }
}

/// Predefined types by the codes of their elements.
static SAME: [PredefinedType; 256] = {
    let mut all = [const { named(Elementary::Byte, External32Form::Same) }; 256];
    let mut next = 0;
    while next < Elementary::ALL.len() {
        let element = Elementary::ALL[next];
        all[element as usize].element = element;
        next += 1;
    }
    all
};

pub(super) static LONG: PredefinedType = named(Elementary::LONG, External32Form::Long);
pub(super) static UNSIGNED_LONG: PredefinedType =
    named(Elementary::UNSIGNED_LONG, External32Form::Long);
pub(super) static LONG_INT: PredefinedType = named(Elementary::LONG_INT, External32Form::Long);
pub(super) static WCHAR: PredefinedType = named(Elementary::Int32, External32Form::Wide);

pub(super) static PACKED: PredefinedType = PredefinedType {
    packed: true,
    ..named(Elementary::Byte, External32Form::Same)
};

impl PredefinedType {
    /// Returns whether it is `MPI_PACKED`.
    pub(in crate::mpi) fn is_packed(&self) -> bool {
        self.packed
    }

    /// Returns the element in a representation of the same width.
    pub(in crate::mpi) const fn same(element: Elementary) -> Self {
        named(element, External32Form::Same)
    }

    /// Returns the static type whose representations have the same width.
    pub(super) const fn of(element: Elementary) -> &'static Self {
        &SAME[element as usize]
    }

    /// Returns the bytes of an element in `external32`.
    pub(in crate::mpi) fn external_size(&self) -> usize {
        match self.external {
            External32Form::Same => self.element.data_size(),
            External32Form::Long => self.element.data_size() - 4,
            External32Form::Wide => 2,
        }
    }
}
