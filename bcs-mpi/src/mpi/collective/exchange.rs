//! Collectives that exchange data (MPI 5.0, 6.5 to 6.8, and 6.12 for those that do not block).
//!
//! This module checks arguments and computes where each rank's block is; [`crate::bcs`] decides
//! which messages are sent. `MPI_IN_PLACE` is an input, or for scatters an output, of `None`.
//! Intercommunicators take their own path from here
//! ([`intercommunicator`](crate::mpi::Comm::intercomm_create)).
//!
//! Counts of the vector collectives are 64 bits wide (`MPI_Count`), which includes those of the
//! older bindings.

use super::call::{RecordedCall, collectives};
use crate::bcs::DataViews;
use crate::checked::UsedMemory;
pub use crate::mpi::blocks::Blocks;
use crate::mpi::blocks::{BlockLayout, disjoint, same_length};
use crate::mpi::buffer_claims::each_block;
use crate::mpi::checks::CommonArguments;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};
use crate::mpi::{Buffer, Comm, Request};
use crate::recording::Primitive;

fn in_place_elsewhere(operation: Operation) -> Box<Error> {
    let reason = "MPI_IN_PLACE is for the root only";
    operation.error(ErrorClass::Buffer, reason)
}

impl Comm {
    fn post_scatter(
        &self,
        call: RecordedCall,
        input: impl BlockLayout,
        output: Option<Buffer>,
        root: i32,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.scatter_between(call, &input, output, root);
        }
        let size = self.members().len();
        let at_root = root == self.rank();
        let bytes = match &output {
            Some(output) if !at_root => output.all_bytes(1),
            _ => input.all_bytes(size),
        };
        let mut begin = self.begin(call, bytes, Some(root))?;
        let operation = begin.operation;
        let element = output.as_ref().map_or(0, BlockLayout::element_bytes);
        let into = output.map(|output| output.piece(&operation)).transpose()?;
        let mut blocks = DataViews::NONE;
        if at_root {
            blocks = input.arranged(size, operation)?;
            if let Some(into) = &into {
                same_length(blocks.len_of(self.0.group.me), into.len(), operation)?;
            }
        } else if into.is_none() {
            return Err(in_place_elsewhere(operation));
        }
        self.uses(&mut begin, || {
            let read = |block| UsedMemory::reads(block, input.element_bytes());
            let mut used = each_block(&blocks, if at_root { size } else { 0 }, read);
            used.extend(into.clone().map(|into| UsedMemory::writes(into, element)));
            used
        })?;
        let into = into.map(|into| begin.staged(into, element));
        let root = usize::try_from(root).expect("it was checked");
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_scatter(
            self.members_of_context(),
            root,
            blocks,
            into,
            begin.blocking(),
        );
        self.started(begin, posted)
    }

    fn post_gather(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: impl BlockLayout,
        root: i32,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.gather_between(call, input, &output, root);
        }
        let size = self.members().len();
        let at_root = root == self.rank();
        let bytes = match &input {
            Some(input) if !at_root => input.all_bytes(1),
            _ => output.all_bytes(size),
        };
        let mut begin = self.begin(call, bytes, Some(root))?;
        let operation = begin.operation;
        let element = input.as_ref().map_or(0, BlockLayout::element_bytes);
        let from = input.map(|input| input.piece(&operation)).transpose()?;
        let mut blocks = DataViews::NONE;
        if at_root {
            blocks = output.arranged(size, operation)?;
            disjoint(blocks.list(), operation)?;
            if let Some(from) = &from {
                same_length(from.len(), blocks.len_of(self.0.group.me), operation)?;
            }
        } else if from.is_none() {
            return Err(in_place_elsewhere(operation));
        }
        self.uses(&mut begin, || {
            let write = |block| UsedMemory::writes(block, output.element_bytes());
            let mut used = each_block(&blocks, if at_root { size } else { 0 }, write);
            used.extend(from.clone().map(|from| UsedMemory::reads(from, element)));
            used
        })?;
        if at_root {
            blocks = begin.staged_blocks(blocks, size, output.element_bytes());
        }
        let root = usize::try_from(root).expect("it was checked");
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_gather(
            self.members_of_context(),
            root,
            from,
            blocks,
            begin.blocking(),
        );
        self.started(begin, posted)
    }

    fn post_allgather<A: BlockLayout>(
        &self,
        call: RecordedCall,
        input: Option<Buffer>,
        output: A,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.allgather_between(call, input, &output);
        }
        let size = self.members().len();
        let mut begin = self.begin(call, output.all_bytes(size), None)?;
        let operation = begin.operation;
        let element = input.as_ref().map_or(0, BlockLayout::element_bytes);
        let from = input.map(|input| input.piece(&operation)).transpose()?;
        let blocks = output.arranged(size, operation)?;
        disjoint(blocks.list(), operation)?;
        if let Some(from) = &from {
            same_length(from.len(), blocks.len_of(self.0.group.me), operation)?;
        }
        self.uses(&mut begin, || {
            let write = |block| UsedMemory::writes(block, output.element_bytes());
            let mut used = each_block(&blocks, size, write);
            used.extend(from.clone().map(|from| UsedMemory::reads(from, element)));
            used
        })?;
        let blocks = begin.staged_blocks(blocks, size, output.element_bytes());
        let endpoint = self.process().endpoint();
        let nodes = A::UNIFORM.then(|| self.nodes()).flatten();
        let members = self.members_of_context();
        let posted = endpoint.bcs_allgather(members, from, blocks, nodes, begin.blocking());
        self.started(begin, posted)
    }

    fn post_alltoall<A: BlockLayout>(
        &self,
        call: RecordedCall,
        input: Option<A>,
        output: A,
    ) -> Result<Request> {
        if self.is_inter() {
            return self.alltoall_between(call, input, &output);
        }
        let size = self.members().len();
        let mut begin = self.begin(
            call,
            input.as_ref().unwrap_or(&output).all_bytes(size),
            None,
        )?;
        let operation = begin.operation;
        let out = input
            .map(|input| input.arranged(size, operation))
            .transpose()?;
        let into = output.arranged(size, operation)?;
        disjoint(into.list(), operation)?;
        if let Some(out) = &out {
            let me = self.0.group.me;
            same_length(out.len_of(me), into.len_of(me), operation)?;
        }
        self.uses(&mut begin, || {
            let element = output.element_bytes();
            let mut used = each_block(&into, size, |block| UsedMemory::writes(block, element));
            let read = |block| UsedMemory::reads(block, element);
            used.extend(out.iter().flat_map(|out| each_block(out, size, read)));
            used
        })?;
        let into = begin.staged_blocks(into, size, output.element_bytes());
        let endpoint = self.process().endpoint();
        let nodes = A::UNIFORM.then(|| self.nodes()).flatten();
        let members = self.members_of_context();
        let posted = endpoint.bcs_alltoall(members, out, into, nodes, begin.blocking());
        self.started(begin, posted)
    }
}

collectives! {
    /// (6.6): gives each rank the root's block for it. Only the root needs `input`, which has the
    /// count of one block. `None` as `output` leaves the root's own block where it is.
    scatter "MPI_Scatter" Scatter, iscatter "MPI_Iscatter" Iscatter, scatter_init:
    post_scatter(input: Buffer, output: Option<Buffer>, root: i32),
    comm => if comm.is_root(root) { input.all_bytes(comm.peers().members.len()) } else { 0 }, root root,
    alike CommonArguments::of(output.as_ref().unwrap_or(&input))
        .with(comm.own_block(comm.is_root(root).then_some(&input), output.as_ref()));

    /// (6.6): a [`scatter`](Self::scatter) whose blocks are anywhere and of any length.
    scatterv "MPI_Scatterv" Scatterv, iscatterv "MPI_Iscatterv" Iscatterv, scatterv_init:
    post_scatter(input: Blocks<'_>, output: Option<Buffer>, root: i32),
    comm => if comm.is_root(root) { input.all_bytes(comm.peers().members.len()) } else { 0 }, root root,
    alike CommonArguments::of_any_length(
        (if comm.is_root(root) { input.typical() } else { output.clone() }).as_ref()
    ).with(comm.scattered_blocks(&input, output.as_ref(), root));

    /// (6.5): collects each rank's `input` in the blocks of the root. Only the root needs `output`,
    /// which has the count of one block. With `None` as `input` the root's own block is already
    /// there.
    gather "MPI_Gather" Gather, igather "MPI_Igather" Igather, gather_init:
    post_gather(input: Option<Buffer>, output: Buffer, root: i32),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1)), root root,
    alike CommonArguments::of(input.as_ref().unwrap_or(&output))
        .with(comm.own_block(input.as_ref(), comm.is_root(root).then_some(&output)));

    /// (6.5): a [`gather`](Self::gather) whose blocks are anywhere and of any length.
    gatherv "MPI_Gatherv" Gatherv, igatherv "MPI_Igatherv" Igatherv, gatherv_init:
    post_gather(input: Option<Buffer>, output: Blocks<'_>, root: i32),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1)), root root,
    alike CommonArguments::of_any_length(
        (if comm.is_root(root) { output.typical() } else { input.clone() }).as_ref()
    ).with(comm.gathered_blocks(input.as_ref(), &output, root));

    /// (6.7): collects each rank's `input` in the blocks of all ranks. `output` has the count of
    /// one block. With `None` as `input` each rank's own block is already there.
    allgather "MPI_Allgather" Allgather, iallgather "MPI_Iallgather" Iallgather, allgather_init:
    post_allgather(input: Option<Buffer>, output: Buffer),
    comm => input.as_ref().unwrap_or(&output).all_bytes(1),
    alike CommonArguments::of(input.as_ref().unwrap_or(&output))
        .with(comm.own_block(input.as_ref(), Some(&output)));

    /// (6.7): an [`allgather`](Self::allgather) whose blocks are anywhere and of any length.
    allgatherv "MPI_Allgatherv" Allgatherv, iallgatherv "MPI_Iallgatherv" Iallgatherv, allgatherv_init:
    post_allgather(input: Option<Buffer>, output: Blocks<'_>),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1)),
    alike CommonArguments::of_all_blocks(
        &output,
        input.clone().or_else(|| output.typical()).as_ref(),
    ).with(comm.own_block(input.as_ref(), Some(&output)));

    /// (6.8): sends a block of `input` to each rank and receives one of `output` from each. Both
    /// have the count of one block; `None` as `input` replaces what is in `output`.
    alltoall "MPI_Alltoall" Alltoall, ialltoall "MPI_Ialltoall" Ialltoall, alltoall_init:
    post_alltoall(input: Option<Buffer>, output: Buffer),
    comm => input.as_ref().unwrap_or(&output).all_bytes(comm.peers().members.len()),
    alike CommonArguments::of(input.as_ref().unwrap_or(&output))
        .with(comm.own_block(input.as_ref(), Some(&output)));

    /// (6.8): an [`alltoall`](Self::alltoall) whose blocks are anywhere and of any length.
    alltoallv "MPI_Alltoallv" Alltoallv, ialltoallv "MPI_Ialltoallv" Ialltoallv, alltoallv_init:
    post_alltoall(input: Option<Blocks<'_>>, output: Blocks<'_>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(comm.peers().members.len()),
    alike CommonArguments::NOTHING
        .with(comm.exchanged_blocks(input.as_ref().unwrap_or(&output), &output));

    /// (6.8): an [`alltoallv`](Self::alltoallv) whose blocks have a datatype each
    /// ([`Blocks::of_types`]).
    alltoallw "MPI_Alltoallw" Alltoallw, ialltoallw "MPI_Ialltoallw" Ialltoallw, alltoallw_init:
    post_alltoall(input: Option<Blocks<'_>>, output: Blocks<'_>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(comm.peers().members.len()),
    alike CommonArguments::NOTHING
        .with(comm.exchanged_blocks(input.as_ref().unwrap_or(&output), &output));
}
