//! Reductions whose result differs from rank to rank: scattered ones, and scans (MPI 5.0, 6.10 and
//! 6.11).

use super::call::{RecordedCall, collectives};
use crate::bcs::{ByteRange, DataView, Fold};
use crate::mpi::blocks::{BlockLayout, bytes_of, lengths, operand_of, operands};
use crate::mpi::checks::CommonArguments;
use crate::mpi::error::{ErrorClass, Result};
use crate::mpi::op::{AnyOp, one_datatype};
use crate::mpi::{Buffer, Comm, Request};
use crate::recording::Primitive;

impl Comm {
    fn post_reduce_scatter(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: Buffer,
        counts: &[i64],
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.reduce_scatter_between(call, input, &output, counts, &op.into());
        }
        let size = self.members().len();
        let mut begin = self.begin(call, bytes_of(counts, |_| output.datatype().size()), None)?;
        let operation = begin.operation;
        let fold = op.into().fold(self, &output, operation)?;
        let lens = lengths(counts, output.datatype(), size, operation)?;
        let me = self.0.group.me;
        let (offset, total) = (lens[..me].iter().sum::<usize>(), lens.iter().sum::<usize>());
        let into = output.operand(&operation)?;
        if into.len() != lens[me] {
            let reason = format!(
                "{} elements are to go where there are {}",
                counts[me],
                output.count()
            );
            return Err(operation.error(ErrorClass::Count, reason));
        }
        let in_place = input.is_none();
        let input = match input {
            None => {
                let count = counts
                    .iter()
                    .map(|&count| usize::try_from(count).unwrap_or(0));
                // If the bytes of the counts fit a word but the counts do not, the elements have no
                // bytes.
                output.part(0, count.fold(0, usize::saturating_add))
            }
            Some(input) => {
                one_datatype(&input, &output, operation)?;
                input
            }
        };
        let from = operand_of(&input, total, operation)?;
        match in_place {
            true => {
                self.uses_operands(&mut begin, &input, (DataView::EMPTY, from.clone()))?;
            }
            false => self.uses_operands(&mut begin, &input, (from.clone(), into.clone()))?,
        }
        let is_plain = matches!(fold, Fold::Arithmetic(..));
        let element = input.element_bytes();
        let (from, into) = match (in_place, from.plain()) {
            (false, _) => begin.staged_operands((from, into), element),
            (true, Some(all)) if is_plain => {
                let (_, all) = begin.staged_ranges((ByteRange::EMPTY, all), element);
                (all.into(), all.part(0..into.len()).into())
            }
            (true, _) => (from, into),
        };
        let (endpoint, members) = (self.process().endpoint(), self.members_of_context());
        let plain = (from.plain(), into.plain());
        let posted = if let (&Fold::Arithmetic(op, of), (Some(from), Some(into))) = (&fold, plain) {
            endpoint.bcs_reduce_scatter(members, (op, of), from, offset, into)
        } else {
            let blocks = operands(&input, counts, operation)?;
            endpoint.bcs_fold_scatter(members, &fold, &blocks, into, in_place, begin.blocking())
        };
        self.started(begin, posted)
    }

    fn post_reduce_scatter_block(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.reduce_scatter_block_between(call, input, &output, &op.into());
        }
        // A count that exceeds the memory fails below, like any other count that is too large.
        let count = i64::try_from(output.count()).unwrap_or(i64::MAX);
        let counts = vec![count; self.members().len()];
        self.post_reduce_scatter(call, input, output, &counts, op)
    }

    fn post_scan(
        &self,
        call: RecordedCall,
        inclusive: bool,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        let contribution = input.as_ref().unwrap_or(&output);
        let mut begin = self.begin(call, contribution.all_bytes(1), None)?;
        let operation = begin.operation;
        self.usable_within(&operation)?;
        let fold = op.into().fold(self, contribution, operation)?;
        let from = contribution.operand(&operation)?;
        // Rank 0 gets no result of an exclusive scan, so its output does not matter (6.11.2).
        let gets = inclusive || self.rank() != 0;
        let into = match input {
            Some(_) if !gets => DataView::EMPTY,
            _ => output.operand(&operation)?,
        };
        if gets && input.is_some() {
            one_datatype(contribution, &output, operation)?;
            let (given, room) = (from.len(), into.len());
            if given != room {
                let reason = format!("{given} bytes are to go where there are {room}");
                return Err(operation.error(ErrorClass::Count, reason));
            }
        }
        let given = if input.is_some() {
            from.clone()
        } else {
            DataView::EMPTY
        };
        self.uses_operands(&mut begin, contribution, (given.clone(), into.clone()))?;
        let (_, into) = begin.staged_operands((given, into), contribution.element_bytes());
        let input = input.map(|_| from);
        let endpoint = self.process().endpoint();
        let members = self.members_of_context();
        let posted = endpoint.bcs_scan(members, &fold, inclusive, input, into, begin.blocking());
        self.started(begin, posted)
    }

    fn post_inclusive(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        self.post_scan(call, true, input, output, op)
    }

    fn post_exclusive(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        self.post_scan(call, false, input, output, op)
    }
}

collectives! {
    /// (6.10.1): combines the blocks of all ranks and gives each rank its own. `output` has the
    /// count of one block, `input` that of all blocks. Without `input`, all blocks begin where
    /// `output` begins.
    reduce_scatter_block "MPI_Reduce_scatter_block" ReduceScatterBlock,
    ireduce_scatter_block "MPI_Ireduce_scatter_block" IreduceScatterBlock, reduce_scatter_block_init:
    post_reduce_scatter_block(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>),
    comm => output.all_bytes(comm.members().len()), op op, alike CommonArguments::of(&output).by(&op);

    /// (6.10.2): as [`reduce_scatter_block`](Self::reduce_scatter_block), with a block of `counts`
    /// elements for each rank. `output` has this rank's count.
    reduce_scatter "MPI_Reduce_scatter" ReduceScatter,
    ireduce_scatter "MPI_Ireduce_scatter" IreduceScatter, reduce_scatter_init:
    post_reduce_scatter(input: Option<Buffer>, output: Buffer, counts: &[i64], op: impl Into<AnyOp>),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1)), op op,
    alike CommonArguments::NOTHING.by(&op);

    /// (6.11.1): combines what the lower ranks and this one contribute, in the order of the
    /// communicator. Without `input`, this rank contributes `output`.
    scan "MPI_Scan" Scan, iscan "MPI_Iscan" Iscan, scan_init:
    post_inclusive(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(1), op op,
    alike CommonArguments::of(input.as_ref().unwrap_or(&output)).by(&op);

    /// (6.11.2): combines what the lower ranks contribute, in the order of the communicator. Rank
    /// 0's `output` is left alone. Without `input`, this rank contributes `output`.
    exscan "MPI_Exscan" Exscan, iexscan "MPI_Iexscan" Iexscan, exscan_init:
    post_exclusive(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(1), op op,
    alike CommonArguments::of(input.as_ref().unwrap_or(&output)).by(&op);
}
