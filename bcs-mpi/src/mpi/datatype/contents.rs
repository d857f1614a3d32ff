//! What a type was made of (MPI 5.0, 5.1.13).

use super::{Datatype, Kind};
use crate::mpi::Result;
use crate::mpi::error::{ErrorClass, Operation};

/// Which call has made a type (`MPI_COMBINER_...`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each is the standard's MPI_COMBINER_ of the same name"
)]
pub enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    Resized,
}

/// The order in which the elements of an array follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i64)]
pub enum Order {
    /// `MPI_ORDER_C`: the last index runs fastest.
    C = 0xc,
    /// `MPI_ORDER_FORTRAN`: the first index runs fastest.
    Fortran = 0xf,
}

/// How one dimension of an array is distributed over processes. Sizes of blocks may be left to the
/// call (`MPI_DISTRIBUTE_DFLT_DARG`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// `MPI_DISTRIBUTE_NONE`: there is one process.
    None,
    /// `MPI_DISTRIBUTE_BLOCK`: each process has one block.
    Block(Option<i64>),
    /// `MPI_DISTRIBUTE_CYCLIC`: blocks are dealt out in turn.
    Cyclic(Option<i64>),
}

impl Distribution {
    /// As [`Contents`] has it: 0, 1 or 2, and the size of the blocks or -1.
    pub(super) fn numbers(self) -> (i64, i64) {
        match self {
            Self::None => (0, -1),
            Self::Block(size) => (1, size.unwrap_or(-1)),
            Self::Cyclic(size) => (2, size.unwrap_or(-1)),
        }
    }
}

/// `MPI_Type_get_envelope`: how many arguments of each kind a type was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Which call has made it.
    pub combiner: Combiner,
    /// Counts, lengths, and displacements in elements.
    pub integers: usize,
    /// Displacements and bounds in bytes.
    pub addresses: usize,
    /// Types.
    pub datatypes: usize,
}

/// `MPI_Type_get_contents`: the arguments that a type was made of, in the order that the standard
/// says for each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Which call has made it.
    pub combiner: Combiner,
    /// Counts, lengths, and displacements in elements.
    pub integers: Vec<i64>,
    /// Displacements and bounds in bytes.
    pub addresses: Vec<i64>,
    /// Types: handles of their own.
    pub datatypes: Vec<Datatype>,
}

impl Datatype {
    /// `MPI_Type_get_envelope`.
    #[must_use]
    pub fn envelope(&self) -> Envelope {
        match &self.0 {
            Kind::Predefined(_) => Envelope {
                combiner: Combiner::Named,
                integers: 0,
                addresses: 0,
                datatypes: 0,
            },
            Kind::Derived(derived) => {
                let contents = &derived.contents;
                Envelope {
                    combiner: contents.combiner,
                    integers: contents.integers.len(),
                    addresses: contents.addresses.len(),
                    datatypes: contents.datatypes.len(),
                }
            }
        }
    }

    /// `MPI_Type_get_contents`.
    ///
    /// # Errors
    /// When it is predefined: it is made of nothing.
    pub fn contents(&self) -> Result<&Contents> {
        match &self.0 {
            Kind::Derived(derived) => Ok(&derived.contents),
            Kind::Predefined(element) => {
                let operation = Operation::plain("MPI_Type_get_contents");
                Err(operation.error(ErrorClass::Type, format!("{element} is predefined")))
            }
        }
    }
}
