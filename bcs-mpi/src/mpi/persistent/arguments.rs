//! Arguments that last as long as a persistent request: lists are copied.

use crate::mpi::blocks::{Blocks, Datatypes};
use crate::mpi::op::AnyOp;
use crate::mpi::{Buffer, Datatype};

/// An argument that has to last as long as the request.
pub(in crate::mpi) trait Keep {
    type Kept: Lend + 'static;

    fn keep(self) -> Self::Kept;
}

/// A kept argument, for a call.
pub(in crate::mpi) trait Lend {
    type Lent<'a>
    where
        Self: 'a;

    fn lend(&self) -> Self::Lent<'_>;
}

macro_rules! kept_as_they_are {
    ($($type:ty),*) => {$(
        impl Keep for $type {
            type Kept = Self;

            fn keep(self) -> Self {
                self
            }
        }

        impl Lend for $type {
            type Lent<'a> = Self;

            fn lend(&self) -> Self {
                self.clone()
            }
        }
    )*};
}

kept_as_they_are!(Buffer, i32);

impl<T: Into<AnyOp>> Keep for T {
    type Kept = AnyOp;

    fn keep(self) -> AnyOp {
        self.into()
    }
}

impl Lend for AnyOp {
    type Lent<'a> = Self;

    fn lend(&self) -> Self {
        self.clone()
    }
}

impl<T: Keep> Keep for Option<T> {
    type Kept = Option<T::Kept>;

    fn keep(self) -> Self::Kept {
        self.map(Keep::keep)
    }
}

impl<T: Lend> Lend for Option<T> {
    type Lent<'a>
        = Option<T::Lent<'a>>
    where
        T: 'a;

    fn lend(&self) -> Self::Lent<'_> {
        self.as_ref().map(Lend::lend)
    }
}

impl Keep for &[i64] {
    type Kept = Vec<i64>;

    fn keep(self) -> Vec<i64> {
        self.to_vec()
    }
}

impl Lend for Vec<i64> {
    type Lent<'a> = &'a [i64];

    fn lend(&self) -> &[i64] {
        self
    }
}

/// [`Blocks`] with lists of their own.
pub(in crate::mpi) struct KeptBlocks {
    address: *mut u8,
    counts: Vec<i64>,
    displacements: Vec<i64>,
    datatypes: KeptDatatypes,
}

enum KeptDatatypes {
    One(Datatype),
    Each(Vec<Datatype>),
}

impl Keep for Blocks<'_> {
    type Kept = KeptBlocks;

    fn keep(self) -> KeptBlocks {
        KeptBlocks {
            address: self.address,
            counts: self.counts.to_vec(),
            displacements: self.displacements.to_vec(),
            datatypes: match self.datatypes {
                Datatypes::One(datatype) => KeptDatatypes::One(datatype),
                Datatypes::Each(datatypes) => KeptDatatypes::Each(datatypes.to_vec()),
            },
        }
    }
}

impl Lend for KeptBlocks {
    type Lent<'a> = Blocks<'a>;

    fn lend(&self) -> Blocks<'_> {
        Blocks {
            address: self.address,
            counts: &self.counts,
            displacements: &self.displacements,
            datatypes: match &self.datatypes {
                KeptDatatypes::One(datatype) => Datatypes::One(datatype.clone()),
                KeptDatatypes::Each(datatypes) => Datatypes::Each(datatypes),
            },
        }
    }
}
