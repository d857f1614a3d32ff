//! The calls that make types, and the parameters of arrays (MPI 5.0, 5.1.3, 5.1.4, 5.1.13).

/// The call that made a type (`MPI_COMBINER_...`).
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

/// How one dimension of an array is distributed over processes. The call may choose the sizes of
/// blocks (`MPI_DISTRIBUTE_DFLT_DARG`).
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
    /// Returns the numbers for the contents of a type: 0, 1 or 2, and the size of the blocks or -1.
    pub(super) fn numbers(self) -> (i64, i64) {
        match self {
            Self::None => (0, -1),
            Self::Block(size) => (1, size.unwrap_or(-1)),
            Self::Cyclic(size) => (2, size.unwrap_or(-1)),
        }
    }
}
