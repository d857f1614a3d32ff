//! Arguments that last as long as a persistent request: lists are copied.

use crate::mpi::blocks::{Blocks, Datatypes};
use crate::mpi::op::AnyOp;
use crate::mpi::{Buffer, Datatype};

/// An argument that can be kept as long as the request.
pub(in crate::mpi) trait Keep {
    type OwnedArgument: Lend + 'static;

    fn keep(self) -> Self::OwnedArgument;
}

/// A kept argument that can be lent to a call.
pub(in crate::mpi) trait Lend {
    type BorrowedArgument<'a>
    where
        Self: 'a;

    fn lend(&self) -> Self::BorrowedArgument<'_>;
}

macro_rules! kept_as_they_are {
    ($($type:ty),*) => {$(
        impl Keep for $type {
            type OwnedArgument = Self;

            fn keep(self) -> Self {
                self
            }
        }

        impl Lend for $type {
            type BorrowedArgument<'a> = Self;

            fn lend(&self) -> Self {
                self.clone()
            }
        }
    )*};
}

kept_as_they_are!(Buffer, i32);

impl<T: Into<AnyOp>> Keep for T {
    type OwnedArgument = AnyOp;

    fn keep(self) -> AnyOp {
        self.into()
    }
}

impl Lend for AnyOp {
    type BorrowedArgument<'a> = Self;

    fn lend(&self) -> Self {
        self.clone()
    }
}

impl<T: Keep> Keep for Option<T> {
    type OwnedArgument = Option<T::OwnedArgument>;

    fn keep(self) -> Self::OwnedArgument {
        self.map(Keep::keep)
    }
}

impl<T: Lend> Lend for Option<T> {
    type BorrowedArgument<'a>
        = Option<T::BorrowedArgument<'a>>
    where
        T: 'a;

    fn lend(&self) -> Self::BorrowedArgument<'_> {
        self.as_ref().map(Lend::lend)
    }
}

impl Keep for &[i64] {
    type OwnedArgument = Vec<i64>;

    fn keep(self) -> Vec<i64> {
        self.to_vec()
    }
}

impl Lend for Vec<i64> {
    type BorrowedArgument<'a> = &'a [i64];

    fn lend(&self) -> &[i64] {
        self
    }
}

/// [`Blocks`] that own their lists.
pub(in crate::mpi) struct OwnedBlocks {
    address: *mut u8,
    counts: Vec<i64>,
    displacements: Vec<i64>,
    datatypes: OwnedDatatypes,
}

enum OwnedDatatypes {
    One(Datatype),
    Each(Vec<Datatype>),
}

impl Keep for Blocks<'_> {
    type OwnedArgument = OwnedBlocks;

    fn keep(self) -> OwnedBlocks {
        OwnedBlocks {
            address: self.address,
            counts: self.counts.to_vec(),
            displacements: self.displacements.to_vec(),
            datatypes: match self.datatypes {
                Datatypes::One(datatype) => OwnedDatatypes::One(datatype),
                Datatypes::Each(datatypes) => OwnedDatatypes::Each(datatypes.to_vec()),
            },
        }
    }
}

impl Lend for OwnedBlocks {
    type BorrowedArgument<'a> = Blocks<'a>;

    fn lend(&self) -> Blocks<'_> {
        Blocks {
            address: self.address,
            counts: &self.counts,
            displacements: &self.displacements,
            datatypes: match &self.datatypes {
                OwnedDatatypes::One(datatype) => Datatypes::One(datatype.clone()),
                OwnedDatatypes::Each(datatypes) => Datatypes::Each(datatypes),
            },
        }
    }
}
