//! The calls that make persistent requests (MPI 5.0, 3.9, 6.13 and 8.8).
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::arguments::{Keep, Lend};
use super::collective::Collective;
use super::message::{Kind, Message};
use super::request::{Persistent, Starts};
use crate::mpi::error::Result;
use crate::mpi::op::AnyOp;
use crate::mpi::{Blocks, Buffer, Comm, Request};

impl Comm {
    fn persistent(&self, kind: Kind, data: Buffer, peer: i32, tag: i32) -> Result<Persistent> {
        let message = Message::new(self, kind, data, peer, tag)?;
        Ok(Persistent::of(Starts::Message(message)))
    }

    /// `MPI_Send_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn send_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Send, data, to, tag)
    }

    /// `MPI_Ssend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn ssend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Synchronous, data, to, tag)
    }

    /// `MPI_Rsend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn rsend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Ready, data, to, tag)
    }

    /// `MPI_Bsend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn bsend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Buffered, data, to, tag)
    }

    /// `MPI_Recv_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn recv_init(&self, data: Buffer, from: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Receive, data, from, tag)
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
        Ok(Persistent::of(Starts::Collective(Collective {
            init,
            comm,
            post,
            start,
        })))
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
