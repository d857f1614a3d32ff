//! Collectives on intercommunicators (MPI 5.0, 6.2.2 and 6.2.3): the contributions of one group go
//! to the other.
//!
//! In a collective with a root, the root passes [`ROOT`], the others of its group [`PROC_NULL`],
//! and the other group the root's rank in its group. Collectives without a root have an effect in
//! both directions. There are no scans and no `MPI_IN_PLACE`.
//!
//! Only arguments that the standard calls significant are checked. The buffers of ranks that pass
//! `PROC_NULL` are not.

use crate::bcs::{Contributions, DataView};
use crate::checked::UsedMemory;
use crate::mpi::blocks::{BlockLayout, disjoint, lengths, operand_of, operands};
use crate::mpi::collective::{CheckedCall, RecordedCall};
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::op::{AnyOp, one_datatype};
use crate::mpi::{Buffer, Comm, PROC_NULL, ROOT, Request, Result};
use bcs_core::wait_state::MessageCollective;

/// The role of a rank in a collective that has a root.
#[derive(Clone, Copy)]
enum IntercommRole {
    Root,
    /// In the root's group.
    Beside,
    /// In the other group, with the root's rank in the world.
    Opposite(u32),
}

fn in_place(operation: Operation) -> Box<crate::mpi::Error> {
    let reason = "there is no MPI_IN_PLACE on intercommunicators";
    operation.error(ErrorClass::Buffer, reason)
}

/// Returns the data of a call that cannot be in place.
fn given(data: Option<Buffer>, operation: Operation) -> Result<DataView> {
    data.ok_or_else(|| in_place(operation))?.piece(&operation)
}

impl Comm {
    /// Returns whether a rank that passes this root is the root.
    pub(in crate::mpi) fn is_root(&self, root: i32) -> bool {
        root == if self.is_inter() { ROOT } else { self.rank() }
    }

    /// Checks that there is such a root.
    pub(in crate::mpi) fn checked_root(&self, root: i32, operation: Operation) -> Result<()> {
        if self.is_inter() {
            return self.part(root, operation).map(|_| ());
        }
        self.world_rank(root, &operation).map(|_| ())
    }

    fn part(&self, root: i32, operation: Operation) -> Result<IntercommRole> {
        Ok(match root {
            ROOT => IntercommRole::Root,
            PROC_NULL => IntercommRole::Beside,
            rank => IntercommRole::Opposite(self.world_rank(rank, &operation)?),
        })
    }

    /// Returns the root's rank in the world, as far as this rank knows it.
    fn world_root(&self, part: IntercommRole) -> Option<u32> {
        match part {
            IntercommRole::Root => Some(self.process().world_rank()),
            IntercommRole::Beside => None,
            IntercommRole::Opposite(root) => Some(root),
        }
    }

    /// Returns the size of the other group.
    fn across(&self) -> usize {
        self.peers().members.len()
    }

    /// Returns the ranks of the other group, with their blocks. Each rank begins at a different
    /// place, so that not all send to the same rank first.
    fn with_each(&self, block: impl Fn(usize) -> DataView) -> Vec<(u32, DataView)> {
        let count = self.across();
        let places = (0..count).map(|step| (self.0.group.me + step) % count);
        let ranks = &self.peers().members;
        places.map(|place| (ranks[place], block(place))).collect()
    }

    fn between(
        &self,
        mut begin: CheckedCall,
        called: (MessageCollective, Option<u32>),
        out: Vec<(u32, DataView)>,
        into: Vec<(u32, DataView)>,
    ) -> Result<Request> {
        self.uses(&mut begin, || {
            let read = out
                .iter()
                .map(|(_, view)| UsedMemory::reads(view.clone(), 0));
            let written = into
                .iter()
                .map(|(_, view)| UsedMemory::writes(view.clone(), 0));
            read.chain(written).collect()
        })?;
        let into = begin.staged_parcels(into);
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_between(self.0.context, called, out, into);
        self.started(begin, posted)
    }

    fn fold_between(
        &self,
        mut begin: CheckedCall,
        called: (MessageCollective, Option<u32>),
        out: Vec<(u32, DataView)>,
        mut contributions: Contributions<'_>,
    ) -> Result<Request> {
        self.uses(&mut begin, || {
            let read = out
                .iter()
                .map(|(_, view)| UsedMemory::reads(view.clone(), 0));
            let written = UsedMemory::writes(contributions.output.clone(), 0);
            read.chain([written]).collect()
        })?;
        let operands = (DataView::EMPTY, contributions.output);
        (_, contributions.output) = begin.staged_operands(operands, 0);
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_fold_between(self.0.context, called, out, contributions);
        self.started(begin, posted)
    }

    pub(in crate::mpi) fn bcast_between(
        &self,
        call: RecordedCall,
        data: &Buffer,
        root: i32,
    ) -> Result<Request> {
        let begin = self.begin(call, data.all_bytes(1), Some(root))?;
        let operation = begin.operation;
        let (mut out, mut into) = (Vec::new(), Vec::new());
        let part = self.part(root, operation)?;
        let called = (MessageCollective::BroadcastBetween, self.world_root(part));
        match part {
            IntercommRole::Root => {
                let data = data.piece(&operation)?;
                out = self.with_each(|_| data.clone());
            }
            IntercommRole::Beside => {}
            IntercommRole::Opposite(root) => into.push((root, data.piece(&operation)?)),
        }
        self.between(begin, called, out, into)
    }

    pub(in crate::mpi) fn scatter_between(
        &self,
        call: RecordedCall,
        input: &impl BlockLayout,
        output: Option<Buffer>,
        root: i32,
    ) -> Result<Request> {
        let bytes = match &output {
            Some(output) if !self.is_root(root) => output.all_bytes(1),
            _ => input.all_bytes(self.across()),
        };
        let begin = self.begin(call, bytes, Some(root))?;
        let operation = begin.operation;
        let (mut out, mut into) = (Vec::new(), Vec::new());
        let part = self.part(root, operation)?;
        let called = (MessageCollective::Scatter, self.world_root(part));
        match part {
            IntercommRole::Root => {
                let blocks = input.pieces(self.across(), operation)?;
                out = self.with_each(|place| blocks[place].clone());
            }
            IntercommRole::Beside => {}
            IntercommRole::Opposite(root) => into.push((root, given(output, operation)?)),
        }
        self.between(begin, called, out, into)
    }

    pub(in crate::mpi) fn gather_between(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: &impl BlockLayout,
        root: i32,
    ) -> Result<Request> {
        let bytes = match &input {
            Some(input) if !self.is_root(root) => input.all_bytes(1),
            _ => output.all_bytes(self.across()),
        };
        let begin = self.begin(call, bytes, Some(root))?;
        let operation = begin.operation;
        let (mut out, mut into) = (Vec::new(), Vec::new());
        let part = self.part(root, operation)?;
        let called = (MessageCollective::Gather, self.world_root(part));
        match part {
            IntercommRole::Root => {
                let blocks = output.pieces(self.across(), operation)?;
                disjoint(&blocks, operation)?;
                into = self.with_each(|place| blocks[place].clone());
            }
            IntercommRole::Beside => {}
            IntercommRole::Opposite(root) => out.push((root, given(input, operation)?)),
        }
        self.between(begin, called, out, into)
    }

    pub(in crate::mpi) fn allgather_between(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: &impl BlockLayout,
    ) -> Result<Request> {
        let begin = self.begin(call, output.all_bytes(self.across()), None)?;
        let operation = begin.operation;
        let from = given(input, operation)?;
        let blocks = output.pieces(self.across(), operation)?;
        disjoint(&blocks, operation)?;
        let out = self.with_each(|_| from.clone());
        let into = self.with_each(|place| blocks[place].clone());
        let called = (MessageCollective::Allgather, None);
        self.between(begin, called, out, into)
    }

    pub(in crate::mpi) fn alltoall_between<A: BlockLayout>(
        &self,
        call: RecordedCall,
        input: Option<A>,
        output: &A,
    ) -> Result<Request> {
        let bytes = input.as_ref().unwrap_or(output).all_bytes(self.across());
        let begin = self.begin(call, bytes, None)?;
        let operation = begin.operation;
        let from = input.ok_or_else(|| in_place(operation))?;
        let from = from.pieces(self.across(), operation)?;
        let blocks = output.pieces(self.across(), operation)?;
        disjoint(&blocks, operation)?;
        let out = self.with_each(|place| from[place].clone());
        let into = self.with_each(|place| blocks[place].clone());
        let called = (MessageCollective::Alltoall, None);
        self.between(begin, called, out, into)
    }

    pub(in crate::mpi) fn reduce_between(
        &self,
        call: RecordedCall,
        input: &Buffer,
        output: &Buffer,
        op: &AnyOp,
        root: i32,
    ) -> Result<Request> {
        let data = if self.is_root(root) { output } else { input };
        let begin = self.begin(call, data.all_bytes(1), Some(root))?;
        let operation = begin.operation;
        let mut out = Vec::new();
        let part = self.part(root, operation)?;
        let called = (MessageCollective::ReduceBetween, self.world_root(part));
        match part {
            IntercommRole::Root => {
                let contributions = self.contributions(output, op, operation)?;
                return self.fold_between(begin, called, out, contributions);
            }
            IntercommRole::Beside => {}
            IntercommRole::Opposite(root) => {
                op.fold(self, input, operation)?;
                out.push((root, input.operand(&operation)?));
            }
        }
        self.between(begin, called, out, Vec::new())
    }

    /// Returns the blocks of `output` for the contributions of the other group, each as large as
    /// there is room for.
    fn contributions(
        &self,
        output: &Buffer,
        op: &AnyOp,
        operation: Operation,
    ) -> Result<Contributions<'_>> {
        let fold = op.fold(self, output, operation)?;
        let output = output.operand(&operation)?;
        Ok(Contributions {
            from: &self.peers().members,
            fold,
            bytes: output.len(),
            part: 0..output.len(),
            output,
        })
    }

    pub(in crate::mpi) fn allreduce_between(
        &self,
        call: RecordedCall,
        input: &Buffer,
        output: &Buffer,
        op: &AnyOp,
    ) -> Result<Request> {
        let begin = self.begin(call, input.all_bytes(1), None)?;
        let operation = begin.operation;
        let contributions = self.contributions(output, op, operation)?;
        one_datatype(input, output, operation)?;
        let (from, bytes) = (input.operand(&operation)?, contributions.bytes);
        if from.len() != bytes {
            let reason = format!("{} bytes are to be reduced into {bytes}", from.len());
            return Err(operation.error(ErrorClass::Count, reason));
        }
        if bytes > 0 && input.address() == output.address() {
            return Err(in_place(operation));
        }
        let out = self.with_each(|_| from.clone());
        let called = (MessageCollective::ReduceBetween, None);
        self.fold_between(begin, called, out, contributions)
    }

    /// Begins a reduction of which each rank gets the elements that `counts` defines. The other
    /// group's counts are unknown here, so each rank there gets all that this rank contributes, and
    /// takes its part.
    pub(in crate::mpi) fn reduce_scatter_between(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: &Buffer,
        counts: &[i64],
        op: &AnyOp,
    ) -> Result<Request> {
        let bytes = input.as_ref().map_or(0, |input| input.all_bytes(1));
        let begin = self.begin(call, bytes, None)?;
        let operation = begin.operation;
        let input = input.ok_or_else(|| in_place(operation))?;
        let (ranks, me) = (self.members().len(), self.0.group.me);
        let lens = lengths(counts, output.datatype(), ranks, operation)?;
        let (before, total) = (lens[..me].iter().sum::<usize>(), lens.iter().sum::<usize>());
        let mut contributions = self.contributions(output, op, operation)?;
        one_datatype(&input, output, operation)?;
        let (count, room) = (counts[me], output.count());
        if lens[me] != contributions.bytes {
            let reason = format!("{count} elements are to go where there are {room}");
            return Err(operation.error(ErrorClass::Count, reason));
        }
        let from = operand_of(&input, total, operation)?;
        contributions.bytes = total;
        contributions.part = before..before + lens[me];
        let out = self.with_each(|_| from.clone());
        let called = (MessageCollective::ReduceScatterBetween, None);
        self.fold_between(begin, called, out, contributions)
    }

    /// Begins a reduction of which all ranks of a group get the same number of elements. That
    /// determines the parts of the other group's ranks, so each gets only its part.
    pub(in crate::mpi) fn reduce_scatter_block_between(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: &Buffer,
        op: &AnyOp,
    ) -> Result<Request> {
        let begin = self.begin(call, output.all_bytes(self.members().len()), None)?;
        let operation = begin.operation;
        let input = input.ok_or_else(|| in_place(operation))?;
        let contributions = self.contributions(output, op, operation)?;
        one_datatype(&input, output, operation)?;
        let (own, across) = (self.members().len(), self.across());
        let (given, each) = (input.count(), output.count());
        if each.checked_mul(own) != Some(given) || !given.is_multiple_of(across) {
            let reason = format!(
                "{given} elements are given: they must be {each} for each of {own} ranks, and as \
                 many for each of {across} in the other group"
            );
            return Err(operation.error(ErrorClass::Count, reason));
        }
        let each = i64::try_from(given / across).expect("what is in memory");
        let blocks = operands(&input, &vec![each; across], operation)?;
        let out = self.with_each(|place| blocks[place].clone());
        let called = (MessageCollective::ReduceScatterBetween, None);
        self.fold_between(begin, called, out, contributions)
    }
}
