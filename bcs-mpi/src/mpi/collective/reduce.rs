//! Reductions to one rank and to all (MPI 5.0, 6.9.1 and 6.9.6).
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::call::{Call, blocking};
use crate::bcs::{Fold, Piece, copy};
use crate::mpi::comm::exhausted;
use crate::mpi::error::{ErrorClass, Operation, Peer, Result};
use crate::mpi::op::{AnyOp, one_datatype};
use crate::mpi::{Buffer, Comm, Request, Status};
use crate::recording::Primitive;
use bcs_core::reduction::{Datatype, Op};

/// What most reductions are: an operation and a datatype that are predefined, and data side by side.
struct PlainReduction {
    what: (Op, Datatype),
    /// From where, where to (0 if this rank gets no result), and how much.
    data: (u64, u64, usize),
}

impl PlainReduction {
    #[inline(always)]
    fn of(input: &Buffer, output: &Buffer, op: &AnyOp, gets_result: bool) -> Option<Self> {
        let AnyOp::Predefined(op) = *op else {
            return None;
        };
        let element = input.datatype().elementary()?;
        let (from, len) = input.plain()?;
        let mut to = 0;
        if gets_result {
            let (address, room) = output.plain()?;
            let same = room == len && input.datatype() == output.datatype();
            to = same.then_some(address)?;
        }
        op.allowed(element).then_some(Self {
            what: (op, element),
            data: (from, to, len),
        })
    }
}

impl Comm {
    /// # Safety
    /// As for [`ireduce`](Self::ireduce).
    unsafe fn post_reduce(
        &self,
        (call, primitive): Call,
        input: &Buffer,
        output: &Buffer,
        op: &AnyOp,
        root: Option<i32>,
    ) -> Result<Request> {
        if self.is_inter() {
            let call = (call, primitive);
            return match root {
                // SAFETY: the caller's promise.
                Some(root) => unsafe { self.reduce_between(call, input, output, op, root) },
                // SAFETY: the caller's promise.
                None => unsafe { self.allreduce_between(call, input, output, op) },
            };
        }
        let begun = (self.process().recording().begin(), primitive);
        let bytes = input.bytes().map(|bytes| bytes as u64);
        let operation = Operation {
            call,
            bytes,
            peer: root.map(Peer::Root),
            tag: None,
        };
        self.usable(operation)?;
        let place = root.and_then(|root| usize::try_from(root).ok());
        let root = root
            .map(|root| self.world_rank(root, operation))
            .transpose()?;
        let gets_result = root.is_none_or(|root| root == self.process().world_rank());
        if let Some(plain) = PlainReduction::of(input, output, op, gets_result)
            && !self.is_single()
        {
            let (endpoint, context) = (self.process().endpoint(), self.0.context);
            let blocking = blocking(primitive);
            // SAFETY: the caller's promise.
            let posted =
                unsafe { endpoint.bcs_reduce(context, plain.what, root, plain.data, blocking) };
            let request = posted.map_err(exhausted(operation))?;
            return Ok(self.posted(request, operation, begun));
        }
        let from = input.operand(operation)?;
        let mut into = Piece::EMPTY;
        if gets_result {
            into = output.operand(operation)?;
            if into.len != from.len {
                let reason = format!("{} bytes are to be reduced into {}", from.len, into.len);
                return Err(operation.error(ErrorClass::Count, reason));
            }
            one_datatype(input, output, operation)?;
        }
        let fold = op.fold(self, input, operation)?;
        if self.is_single() {
            if from.address != into.address {
                // SAFETY: the caller's promise; with gaps, data that are not the same do not
                // overlap.
                unsafe { copy(&from, &into) };
            }
            return Ok(Request::done(Ok(Status::EMPTY), 0, self, begun));
        }
        let (endpoint, context) = (self.process().endpoint(), self.0.context);
        let posted = if let Fold::Arithmetic(op, datatype) = fold {
            let what = (op, datatype);
            let data = (from.address, into.address, from.len);
            let blocking = blocking(primitive);
            // SAFETY: the caller's promise.
            unsafe { endpoint.bcs_reduce(context, what, root, data, blocking) }
        } else {
            let members = self.members_of_context();
            // SAFETY: the caller's promise.
            unsafe { endpoint.bcs_fold(members, &fold, place, from, into, blocking(primitive)) }
        };
        let request = posted.map_err(exhausted(operation))?;
        Ok(self.posted(request, operation, begun))
    }

    /// `MPI_Reduce`. `output` is used at the root only; there it may be `input` (in place).
    ///
    /// # Safety
    /// `input` may be read and `output`, at the root, written, and nobody else uses them during
    /// the call.
    ///
    /// # Errors
    /// When an argument is wrong, the operation is not defined on the datatype, or the NIC reports
    /// a failure.
    pub unsafe fn reduce(
        &self,
        input: Buffer,
        output: Buffer,
        op: impl Into<AnyOp>,
        root: i32,
    ) -> Result<()> {
        let call = ("MPI_Reduce", Primitive::Reduce);
        // SAFETY: the caller's promise.
        let post = || unsafe { self.post_reduce(call, &input, &output, &op.into(), Some(root)) };
        self.blocking(call.1, input.bytes(), post)
    }

    /// `MPI_Ireduce`.
    ///
    /// # Safety
    /// As for [`reduce`](Self::reduce), until the request is done.
    ///
    /// # Errors
    /// When an argument is wrong, or the operation is not defined on the datatype.
    pub unsafe fn ireduce(
        &self,
        input: Buffer,
        output: Buffer,
        op: impl Into<AnyOp>,
        root: i32,
    ) -> Result<Request> {
        let call = ("MPI_Ireduce", Primitive::Ireduce);
        // SAFETY: the caller's promise.
        unsafe { self.post_reduce(call, &input, &output, &op.into(), Some(root)) }
    }

    /// `MPI_Allreduce`. `output` may be `input` (in place).
    ///
    /// # Safety
    /// `input` may be read and `output` written, and nobody else uses them during the call.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub unsafe fn allreduce(
        &self,
        input: Buffer,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<()> {
        let call = ("MPI_Allreduce", Primitive::Allreduce);
        // SAFETY: the caller's promise.
        let post = || unsafe { self.post_reduce(call, &input, &output, &op.into(), None) };
        self.blocking(call.1, input.bytes(), post)
    }

    /// `MPI_Iallreduce`.
    ///
    /// # Safety
    /// As for [`allreduce`](Self::allreduce), until the request is done.
    ///
    /// # Errors
    /// As [`ireduce`](Self::ireduce).
    pub unsafe fn iallreduce(
        &self,
        input: Buffer,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        let call = ("MPI_Iallreduce", Primitive::Iallreduce);
        // SAFETY: the caller's promise.
        unsafe { self.post_reduce(call, &input, &output, &op.into(), None) }
    }
}
