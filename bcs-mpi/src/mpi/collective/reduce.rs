//! Reductions to one rank and to all (MPI 5.0, 6.9.1 and 6.9.6).

use super::call::{CheckedCall, RecordedCall, collectives};
use crate::bcs::{ByteRange, DataView, Fold, copy};
use crate::checked::UsedMemory;
use crate::mpi::blocks::BlockLayout;
use crate::mpi::checks::CommonArguments;
use crate::mpi::error::{ErrorClass, Result};
use crate::mpi::op::{AnyOp, one_datatype};
use crate::mpi::{Buffer, Comm, Request};
use crate::recording::Primitive;
use bcs_core::reduction::{Datatype, Op};

/// The usual reduction: its operation and datatype are predefined, and its data lie side by side.
struct PlainReduction {
    what: (Op, Datatype),
    /// The input, and the output if this rank gets a result.
    data: (ByteRange, ByteRange),
}

impl PlainReduction {
    #[inline(always)]
    fn of(input: &Buffer, output: &Buffer, op: &AnyOp, gets_result: bool) -> Option<Self> {
        let AnyOp::Predefined(op) = *op else {
            return None;
        };
        let element = input.datatype().elementary()?;
        let from = input.plain()?;
        let mut to = ByteRange::EMPTY;
        if gets_result {
            to = output.plain()?;
            let same = to.len() == from.len() && input.datatype() == output.datatype();
            same.then_some(())?;
        }
        op.allowed(element).then_some(Self {
            what: (op, element),
            data: (from, to),
        })
    }
}

impl Comm {
    /// Claims the operands and the result of a reduction. In place, the result is both.
    #[inline(always)]
    pub(super) fn uses_operands(
        &self,
        begin: &mut CheckedCall,
        input: &Buffer,
        (from, into): (DataView, DataView),
    ) -> Result<()> {
        self.uses(begin, || {
            let element = input.element_bytes();
            let in_place = from.address() == into.address() && !into.is_empty();
            let mut used = vec![UsedMemory::writes(into, element)];
            if !in_place {
                used.push(UsedMemory::reads(from, element));
            }
            used
        })
    }

    fn post_reduce(
        &self,
        call: RecordedCall,
        input: Buffer,
        output: Buffer,
        op: impl Into<AnyOp>,
        root: i32,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.reduce_between(call, &input, &output, &op.into(), root);
        }
        self.post_combination(call, &input, &output, &op.into(), Some(root))
    }

    fn post_allreduce(
        &self,
        call: RecordedCall,
        input: Buffer,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.allreduce_between(call, &input, &output, &op.into());
        }
        self.post_combination(call, &input, &output, &op.into(), None)
    }

    /// Posts a reduction to the root, or without a root to all.
    fn post_combination(
        &self,
        call: RecordedCall,
        input: &Buffer,
        output: &Buffer,
        op: &AnyOp,
        root: Option<i32>,
    ) -> Result<Request> {
        let mut begin = self.enter(call, input.bytes(), root)?;
        let operation = begin.operation;
        let place = root.and_then(|root| usize::try_from(root).ok());
        let root = root
            .map(|root| self.world_rank(root, &operation))
            .transpose()?;
        let gets_result = root.is_none_or(|root| root == self.process().world_rank());
        let (endpoint, context) = (self.process().endpoint(), self.0.context);
        let blocking = begin.blocking();
        if let Some(PlainReduction { what, data }) =
            PlainReduction::of(input, output, op, gets_result)
            && !self.is_single()
        {
            self.uses_operands(&mut begin, input, (data.0.into(), data.1.into()))?;
            let data = begin.staged_ranges(data, input.element_bytes());
            let posted = endpoint.bcs_reduce(context, what, root, data, blocking);
            return self.started(begin, posted);
        }
        let from = input.operand(&operation)?;
        let mut into = DataView::EMPTY;
        if gets_result {
            into = output.operand(&operation)?;
            if into.len() != from.len() {
                let reason = format!("{} bytes are to be reduced into {}", from.len(), into.len());
                return Err(operation.error(ErrorClass::Count, reason));
            }
            one_datatype(input, output, operation)?;
        }
        let fold = op.fold(self, input, operation)?;
        self.uses_operands(&mut begin, input, (from.clone(), into.clone()))?;
        let (from, into) = begin.staged_operands((from, into), input.element_bytes());
        if self.is_single() {
            if from.address() != into.address() {
                copy(&from, &into);
            }
            return Ok(self.alone(&begin));
        }
        let plain = (from.plain(), into.plain());
        let posted = match (&fold, plain) {
            (&Fold::Arithmetic(op, of), (Some(from), Some(into))) => {
                endpoint.bcs_reduce(context, (op, of), root, (from, into), blocking)
            }
            (&Fold::Arithmetic(op, of), _) => {
                let members = self.members_of_context();
                endpoint.bcs_reduce_packed(members, (op, of), root, (from, into))
            }
            (Fold::Function(_), _) => {
                let members = self.members_of_context();
                endpoint.bcs_fold(members, &fold, place, from, into, blocking)
            }
        };
        self.started(begin, posted)
    }
}

collectives! {
    /// (6.9.1): combines the `input` of all ranks, in their order, into the `output` of the root.
    /// Other ranks do not use `output`. At the root it may be `input` (in place).
    reduce "MPI_Reduce" Reduce, ireduce "MPI_Ireduce" Ireduce, reduce_init:
    post_reduce(input: Buffer, output: Buffer, op: impl Into<AnyOp>, root: i32),
    comm => input.all_bytes(1), root root, op op, alike CommonArguments::of(&input).by(&op);

    /// (6.9.6): combines the `input` of all ranks into the `output` of each, which may be `input`
    /// (in place).
    allreduce "MPI_Allreduce" Allreduce, iallreduce "MPI_Iallreduce" Iallreduce, allreduce_init:
    post_allreduce(input: Buffer, output: Buffer, op: impl Into<AnyOp>),
    comm => input.all_bytes(1), op op, alike CommonArguments::of(&input).by(&op);
}
