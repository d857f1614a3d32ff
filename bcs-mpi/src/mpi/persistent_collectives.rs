//! Persistent collectives (MPI 5.0, 6.13; 8.8 for those among neighbours).
//!
//! A start posts the non-blocking collective of the same arguments. The difficulty is which starts
//! belong together: the ranks call the inits in one order, but may start what they made in any
//! order, and each rank in another one (MPI 5.0, 6.13), while NICs and schedules number the
//! collectives of a context in the order of their posts. So each persistent collective has a
//! **context of its own**, agreed on by the init, which may synchronise (it is not local). There
//! the n-th start of a rank belongs to the n-th of the others, whatever is started elsewhere.
//!
//! A lane of tags or sequence numbers in the communicator's own context would spare the agreement.
//! It would do for what is made of messages, but a NIC publishes the arrivals at a context as one
//! number: barriers, broadcasts and reductions in several orders at a time need several numbers,
//! which is what contexts are. The price is that there are
//! [`MAX_CONTEXTS`](bcs_core::limits::MAX_CONTEXTS) of them; freeing the request (dropping it)
//! gives the context back as freeing a communicator does.
//!
//! Lists of counts, displacements and datatypes are copied by the init.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::exchange::{Blocks, Datatypes};
use super::op::AnyOp;
use super::persistent::Persistent;
use super::{Buffer, Comm, Datatype, Request, Result};
use std::fmt;

/// What begins a collective.
type Post = dyn Fn(&Comm) -> Result<Request>;

/// A collective that can be started again and again, on a communicator of its own.
pub(super) struct Collective {
    /// The name of the call that made it.
    pub(super) init: &'static str,
    comm: Comm,
    /// Starts the non-blocking collective, whose promises the caller has to keep.
    post: Box<Post>,
    /// What a start is called in errors.
    start: &'static str,
}

impl fmt::Debug for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collective")
            .field("init", &self.init)
            .field("comm", &self.comm)
            .finish_non_exhaustive()
    }
}

impl Collective {
    /// # Safety
    /// As for the non-blocking collective, until the request is done.
    pub(super) unsafe fn post(&self) -> Result<Request> {
        let posted = (self.post)(&self.comm).map_err(|mut error| {
            error.operation.call = self.start;
            error
        });
        Ok(posted?.named(self.start))
    }
}

/// An argument that has to last as long as the request.
trait Keep {
    type Kept: Lend + 'static;

    fn keep(self) -> Self::Kept;
}

/// A kept argument, for a call.
trait Lend {
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
struct KeptBlocks {
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

impl Comm {
    fn persistent_collective(
        &self,
        (init, start): (&'static str, &'static str),
        post: impl Fn(&Comm) -> Result<Request> + 'static,
    ) -> Result<Persistent> {
        let comm = self.congruent(init)?;
        let post = Box::new(post);
        Ok(Persistent::collective(Collective {
            init,
            comm,
            post,
            start,
        }))
    }

    /// `MPI_Barrier_init`: a start begins an [`ibarrier`](Self::ibarrier). All ranks call the inits
    /// of a communicator in the same order, and may start what they made in any.
    ///
    /// # Errors
    /// As [`dup`](Self::dup).
    pub fn barrier_init(&self) -> Result<Persistent> {
        let call = ("MPI_Barrier_init", "MPI_Start (MPI_Barrier_init)");
        self.persistent_collective(call, Comm::ibarrier)
    }
}

/// The init of each collective, and what its starts begin.
macro_rules! persistent {
    ($($init:ident $name:literal: $nonblocking:ident($($argument:ident: $type:ty),*);)*) => {
        impl Comm {
            $(
                #[doc = concat!("`", $name, "`: a start begins an [`", stringify!($nonblocking),
                    "`](Self::", stringify!($nonblocking), "). All ranks call the inits of a \
                    communicator in the same order, and may start what they made in any.")]
                ///
                /// # Errors
                /// As [`dup`](Self::dup). What is wrong with an argument is said by the start.
                pub fn $init(&self, $($argument: $type),*) -> Result<Persistent> {
                    $(let $argument = $argument.keep();)*
                    let call = ($name, concat!("MPI_Start (", $name, ")"));
                    self.persistent_collective(call, move |comm| {
                        // SAFETY: only a start posts, and whoever calls it promises that.
                        unsafe { comm.$nonblocking($($argument.lend()),*) }
                    })
                }
            )*
        }
    };
}

persistent! {
    bcast_init "MPI_Bcast_init": ibcast(data: Buffer, root: i32);
    reduce_init "MPI_Reduce_init": ireduce(input: Buffer, output: Buffer, op: impl Into<AnyOp>, root: i32);
    allreduce_init "MPI_Allreduce_init": iallreduce(input: Buffer, output: Buffer, op: impl Into<AnyOp>);
    scatter_init "MPI_Scatter_init": iscatter(input: Buffer, output: Option<Buffer>, root: i32);
    scatterv_init "MPI_Scatterv_init":
        iscatterv(input: Blocks<'_>, output: Option<Buffer>, root: i32);
    gather_init "MPI_Gather_init": igather(input: Option<Buffer>, output: Buffer, root: i32);
    gatherv_init "MPI_Gatherv_init":
        igatherv(input: Option<Buffer>, output: Blocks<'_>, root: i32);
    allgather_init "MPI_Allgather_init": iallgather(input: Option<Buffer>, output: Buffer);
    allgatherv_init "MPI_Allgatherv_init": iallgatherv(input: Option<Buffer>, output: Blocks<'_>);
    alltoall_init "MPI_Alltoall_init": ialltoall(input: Option<Buffer>, output: Buffer);
    alltoallv_init "MPI_Alltoallv_init":
        ialltoallv(input: Option<Blocks<'_>>, output: Blocks<'_>);
    alltoallw_init "MPI_Alltoallw_init":
        ialltoallw(input: Option<Blocks<'_>>, output: Blocks<'_>);
    reduce_scatter_block_init "MPI_Reduce_scatter_block_init":
        ireduce_scatter_block(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>);
    reduce_scatter_init "MPI_Reduce_scatter_init":
        ireduce_scatter(input: Option<Buffer>, output: Buffer, counts: &[i64], op: impl Into<AnyOp>);
    scan_init "MPI_Scan_init": iscan(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>);
    exscan_init "MPI_Exscan_init": iexscan(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>);
    neighbor_allgather_init "MPI_Neighbor_allgather_init":
        ineighbor_allgather(input: Buffer, output: Buffer);
    neighbor_allgatherv_init "MPI_Neighbor_allgatherv_init":
        ineighbor_allgatherv(input: Buffer, output: Blocks<'_>);
    neighbor_alltoall_init "MPI_Neighbor_alltoall_init":
        ineighbor_alltoall(input: Buffer, output: Buffer);
    neighbor_alltoallv_init "MPI_Neighbor_alltoallv_init":
        ineighbor_alltoallv(input: Blocks<'_>, output: Blocks<'_>);
    neighbor_alltoallw_init "MPI_Neighbor_alltoallw_init":
        ineighbor_alltoallw(input: Blocks<'_>, output: Blocks<'_>);
}
