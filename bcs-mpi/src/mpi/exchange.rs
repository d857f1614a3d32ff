//! Collectives that exchange data, and scans (MPI 5.0, 6.5 to 6.8, 6.10, 6.11, and 6.12 for those
//! that do not block).
//!
//! This module checks arguments and says where everybody's block is; which messages that makes is
//! said in [`crate::bcs`]. `MPI_IN_PLACE` is an input, or for scatters an output, of `None`.
//! Intercommunicators part here ([`super::intercommunicator`]).
//!
//! Counts of the vector collectives are 64 bits wide (`MPI_Count`), which includes those of the
//! older bindings.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::collective::blocking;
use super::comm::exhausted;
use super::error::{ErrorClass, Operation, Peer};
use super::op::{AnyOp, one_datatype};
use super::{Buffer, Comm, Datatype, Request, Result};
use crate::bcs::{self, Blocking, Fold, Members, Nodes, Piece, Pieces, TooManyRequests};
use crate::recording::{Begun, Primitive};
use bcs_core::job::{Collectives, Intranode};

/// The name of a call and its row in the MDS.
type Call = (&'static str, Primitive);

/// A block for each rank of a communicator, as the vector collectives name them. It promises
/// nothing about the memory; the calls that take it say what the caller has to promise.
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    pub(super) address: *mut u8,
    pub(super) counts: &'a [i64],
    pub(super) displacements: &'a [i64],
    pub(super) datatypes: Datatypes<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum Datatypes<'a> {
    /// Displacements count its extents.
    One(Datatype),
    /// Displacements count bytes.
    Each(&'a [Datatype]),
}

impl<'a> Blocks<'a> {
    /// Blocks of one datatype; displacements are in extents of it. A communicator of n ranks
    /// wants n counts and n displacements.
    pub fn new<T>(
        address: *mut T,
        counts: &'a [i64],
        displacements: &'a [i64],
        datatype: impl Into<Datatype>,
    ) -> Self {
        Self {
            address: address.cast(),
            counts,
            displacements,
            datatypes: Datatypes::One(datatype.into()),
        }
    }

    /// Blocks that are only read: they must be given only to calls that read them.
    pub fn read_only<T>(
        address: *const T,
        counts: &'a [i64],
        displacements: &'a [i64],
        datatype: impl Into<Datatype>,
    ) -> Self {
        Self::new(address.cast_mut(), counts, displacements, datatype)
    }

    /// Blocks each of a datatype of its own, as `MPI_Alltoallw` has them; displacements are in
    /// bytes.
    pub fn of_types<T>(
        address: *mut T,
        counts: &'a [i64],
        displacements: &'a [i64],
        datatypes: &'a [Datatype],
    ) -> Self {
        Self {
            address: address.cast(),
            counts,
            displacements,
            datatypes: Datatypes::Each(datatypes),
        }
    }

    fn block(&self, rank: usize, operation: Operation) -> Result<Piece> {
        let (count, displacement) = (self.counts[rank], self.displacements[rank]);
        let (datatype, unit) = match &self.datatypes {
            Datatypes::One(datatype) => (datatype, datatype.extent().1),
            Datatypes::Each(datatypes) => (&datatypes[rank], 1),
        };
        let Ok(elements) = usize::try_from(count) else {
            let reason = format!("the count for rank {rank} is {count}");
            return Err(operation.error(ErrorClass::Count, reason));
        };
        let distance = i128::from(displacement) * i128::from(unit);
        let start = i128::from(self.address.expose_provenance() as u64) + distance;
        let Ok(start) = usize::try_from(start) else {
            let reason = format!("the displacement for rank {rank}, {displacement}, leaves memory");
            return Err(operation.error(ErrorClass::Arg, reason));
        };
        let start = std::ptr::with_exposed_provenance_mut::<u8>(start);
        // An address of 0 is an error however far from it a block is said to be.
        let nowhere = self.address.is_null() && datatype.elementary().is_some();
        let start = if nowhere { self.address } else { start };
        let named = |mut error: Box<super::Error>| {
            error.reason = format!("the block for rank {rank}: {}", error.reason);
            error
        };
        let block = Buffer::new(start, elements, datatype);
        block.piece(operation).map_err(named)
    }
}

/// Who knows where the block of each rank is.
pub(super) trait Arrangement {
    /// Whether all blocks have one length, at all ranks.
    const UNIFORM: bool;

    /// The blocks for so many ranks.
    fn pieces(&self, ranks: usize, operation: Operation) -> Result<Vec<Piece>>;

    /// The same, for ranks that all give or take: without a list, if the blocks lie in a row.
    fn arranged(&self, ranks: usize, operation: Operation) -> Result<Pieces> {
        self.pieces(ranks, operation).map(Pieces::Each)
    }

    /// All bytes of all blocks, as far as they can be counted without an error.
    fn all_bytes(&self, ranks: usize) -> u64;
}

impl Arrangement for Blocks<'_> {
    const UNIFORM: bool = false;

    fn pieces(&self, ranks: usize, operation: Operation) -> Result<Vec<Piece>> {
        let types = match &self.datatypes {
            Datatypes::One(_) => ranks,
            Datatypes::Each(datatypes) => datatypes.len(),
        };
        let (counts, displacements) = (self.counts.len(), self.displacements.len());
        if [counts, displacements, types] != [ranks; 3] {
            let reason = format!(
                "{counts} counts, {displacements} displacements and {types} datatypes were given \
                 for {ranks} ranks"
            );
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        (0..ranks).map(|rank| self.block(rank, operation)).collect()
    }

    fn all_bytes(&self, _ranks: usize) -> u64 {
        let size = |rank: usize| match &self.datatypes {
            Datatypes::One(datatype) => datatype.size() as u64,
            Datatypes::Each(datatypes) => datatypes.get(rank).map_or(0, |of| of.size() as u64),
        };
        let block = |(rank, &count): (usize, &i64)| {
            u64::try_from(count).unwrap_or(0).saturating_mul(size(rank))
        };
        let blocks = self.counts.iter().enumerate().map(block);
        blocks.fold(0, u64::saturating_add)
    }
}

/// A buffer whose count is that of one block; the blocks are side by side.
impl Arrangement for Buffer {
    const UNIFORM: bool = true;

    fn pieces(&self, ranks: usize, operation: Operation) -> Result<Vec<Piece>> {
        let all = self.count().checked_mul(ranks);
        // If all of them are in the address space as one buffer, so is each.
        let all = all.map(|count| self.moved(self.start(), count).piece(operation));
        let Some(all) = all else {
            let reason = format!("{ranks} blocks are more than an address space");
            return Err(operation.error(ErrorClass::Count, reason));
        };
        if all?.len == 0 {
            return Ok(vec![Piece::EMPTY; ranks]);
        }
        let distance = i128::from(self.datatype().extent().1) * self.count() as i128;
        let block = |rank: usize| {
            let offset = isize::try_from(distance * rank as i128);
            let offset = offset.expect("the first element of a block is among all of them");
            let start = self.start().wrapping_offset(offset);
            self.moved(start, self.count()).piece(operation)
        };
        (0..ranks).map(block).collect()
    }

    #[inline(always)]
    fn arranged(&self, ranks: usize, operation: Operation) -> Result<Pieces> {
        if let Some(row) = self.row(ranks, operation) {
            return Ok(Pieces::Row(row));
        }
        self.pieces(ranks, operation).map(Pieces::Each)
    }

    fn all_bytes(&self, ranks: usize) -> u64 {
        let bytes = Buffer::bytes(self).map_or(0, |bytes| bytes as u64);
        bytes.saturating_mul(ranks as u64)
    }
}

/// The standard forbids that a place is written twice (MPI 5.0, 6.5). Looked for are only blocks
/// that lie side by side each: columns of a matrix overlap without a place in common.
pub(super) fn disjoint(pieces: &[Piece], operation: Operation) -> Result<()> {
    let plain = |piece: &Piece| piece.len > 0 && piece.layout.is_none();
    let mut order: Vec<usize> = (0..pieces.len()).filter(|&at| plain(&pieces[at])).collect();
    order.sort_unstable_by_key(|&at| pieces[at].address);
    for pair in order.windows(2) {
        let (one, other) = (pair[0], pair[1]);
        if pieces[one].address + pieces[one].len as u64 > pieces[other].address {
            let reason = format!(
                "the blocks that are received from ranks {} and {} overlap",
                one.min(other),
                one.max(other)
            );
            return Err(operation.error(ErrorClass::Arg, reason));
        }
    }
    Ok(())
}

/// What a rank sends itself must be as much as it receives of itself.
pub(super) fn same_length(sent: usize, received: usize, operation: Operation) -> Result<()> {
    if sent != received {
        let class = if sent > received {
            ErrorClass::Truncate
        } else {
            ErrorClass::Count
        };
        let reason = format!("this rank gives {sent} bytes to itself but takes {received}");
        return Err(operation.error(class, reason));
    }
    Ok(())
}

/// The lengths of blocks of operands. Their sum fits an address space.
pub(super) fn lengths(
    counts: &[i64],
    datatype: &Datatype,
    ranks: usize,
    operation: Operation,
) -> Result<Vec<usize>> {
    if counts.len() != ranks {
        let reason = format!("{} counts were given for {ranks} ranks", counts.len());
        return Err(operation.error(ErrorClass::Arg, reason));
    }
    let mut lens = Vec::with_capacity(ranks);
    let mut total = 0usize;
    for (rank, &count) in counts.iter().enumerate() {
        let len = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(datatype.operand_size()));
        let sum = len.and_then(|len| total.checked_add(len));
        let sum = sum.filter(|&sum| isize::try_from(sum).is_ok());
        let (Some(len), Some(sum)) = (len, sum) else {
            let reason = format!("the count for rank {rank} is {count}");
            return Err(operation.error(ErrorClass::Count, reason));
        };
        lens.push(len);
        total = sum;
    }
    Ok(lens)
}

/// The blocks of so many elements each that a buffer consists of.
pub(super) fn operands(of: &Buffer, counts: &[i64], operation: Operation) -> Result<Vec<Piece>> {
    let (_, extent) = of.datatype().extent();
    let mut start = of.start();
    let block = |&count: &i64| {
        let len = usize::try_from(count).expect("a count was checked");
        let block = of.moved(start, len).operand(operation);
        let distance = isize::try_from(extent.saturating_mul(count));
        // Of data that fit the address space, where they end does, too.
        start = start.wrapping_offset(distance.expect("an isize has 64 bits"));
        block
    };
    counts.iter().map(block).collect()
}

fn in_place_elsewhere(operation: Operation) -> Box<super::Error> {
    let reason = "MPI_IN_PLACE is for the root only";
    operation.error(ErrorClass::Buffer, reason)
}

/// A call that has passed its first checks.
pub(super) struct Begin {
    pub(super) operation: Operation,
    begun: (Begun, Primitive),
}

impl Begin {
    /// Whether the caller waits for it at once.
    fn blocking(&self) -> Blocking {
        blocking(self.begun.1)
    }
}

impl Comm {
    pub(super) fn begin(
        &self,
        (call, primitive): Call,
        bytes: u64,
        root: Option<i32>,
    ) -> Result<Begin> {
        let begun = (self.process().recording().begin(), primitive);
        let operation = Operation {
            call,
            bytes: Some(bytes),
            peer: root.map(Peer::Root),
            tag: None,
        };
        self.usable(operation)?;
        if let Some(root) = root {
            self.checked_root(root, operation)?;
        }
        Ok(Begin { operation, begun })
    }

    pub(super) fn members_of_context(&self) -> Members<'_> {
        Members {
            context: self.0.context,
            world: self.members(),
            me: self.0.group.me,
        }
    }

    /// The nodes of the members, if collectives are to go by leaders of these.
    pub(crate) fn nodes(&self) -> Option<Nodes> {
        let process = self.process();
        let settings = process.endpoint().settings();
        let by_leaders = settings.collectives == Collectives::Hierarchical
            && settings.intranode == Intranode::Smartmap;
        let node = |&rank: &u32| process.placement().node_of(rank);
        let mut nodes = self.members().iter().map(node);
        // Where all are on one node, each call would collect them for nothing.
        let first = nodes.next();
        if !by_leaders || nodes.all(|node| Some(node) == first) {
            return None;
        }
        Nodes::new(self.members().iter().map(node))
    }

    pub(super) fn started(
        &self,
        Begin { operation, begun }: Begin,
        posted: std::result::Result<bcs::Request, TooManyRequests>,
    ) -> Result<Request> {
        let request = posted.map_err(exhausted(operation))?;
        Ok(self.posted(request, operation, begun))
    }

    /// # Safety
    /// As for [`iscatter`](Self::iscatter).
    unsafe fn post_scatter(
        &self,
        call: Call,
        input: impl Arrangement,
        output: Option<Buffer>,
        root: i32,
    ) -> Result<Request> {
        if self.is_inter() {
            // SAFETY: the caller's promise.
            return unsafe { self.scatter_between(call, &input, output, root) };
        }
        let size = self.members().len();
        let at_root = root == self.rank();
        let bytes = match &output {
            Some(output) if !at_root => output.all_bytes(1),
            _ => input.all_bytes(size),
        };
        let begin = self.begin(call, bytes, Some(root))?;
        let operation = begin.operation;
        let into = output.map(|output| output.piece(operation)).transpose()?;
        let mut blocks = Pieces::NONE;
        if at_root {
            blocks = input.arranged(size, operation)?;
            if let Some(into) = &into {
                same_length(blocks.len_of(self.0.group.me), into.len, operation)?;
            }
        } else if into.is_none() {
            return Err(in_place_elsewhere(operation));
        }
        let root = usize::try_from(root).expect("it was checked");
        let endpoint = self.process().endpoint();
        // SAFETY: the caller's promise.
        let posted = unsafe {
            endpoint.bcs_scatter(
                self.members_of_context(),
                root,
                blocks,
                into,
                begin.blocking(),
            )
        };
        self.started(begin, posted)
    }

    /// # Safety
    /// As for [`igather`](Self::igather).
    unsafe fn post_gather(
        &self,
        call: Call,
        input: Option<Buffer>,
        output: impl Arrangement,
        root: i32,
    ) -> Result<Request> {
        if self.is_inter() {
            // SAFETY: the caller's promise.
            return unsafe { self.gather_between(call, input, &output, root) };
        }
        let size = self.members().len();
        let at_root = root == self.rank();
        let bytes = match &input {
            Some(input) if !at_root => input.all_bytes(1),
            _ => output.all_bytes(size),
        };
        let begin = self.begin(call, bytes, Some(root))?;
        let operation = begin.operation;
        let from = input.map(|input| input.piece(operation)).transpose()?;
        let mut blocks = Pieces::NONE;
        if at_root {
            blocks = output.arranged(size, operation)?;
            disjoint(blocks.list(), operation)?;
            if let Some(from) = &from {
                same_length(from.len, blocks.len_of(self.0.group.me), operation)?;
            }
        } else if from.is_none() {
            return Err(in_place_elsewhere(operation));
        }
        let root = usize::try_from(root).expect("it was checked");
        let endpoint = self.process().endpoint();
        // SAFETY: the caller's promise.
        let posted = unsafe {
            endpoint.bcs_gather(
                self.members_of_context(),
                root,
                from,
                blocks,
                begin.blocking(),
            )
        };
        self.started(begin, posted)
    }

    /// # Safety
    /// As for [`iallgather`](Self::iallgather).
    unsafe fn post_allgather(
        &self,
        call: Call,
        input: Option<Buffer>,
        output: impl Arrangement,
    ) -> Result<Request> {
        if self.is_inter() {
            // SAFETY: the caller's promise.
            return unsafe { self.allgather_between(call, input, &output) };
        }
        let size = self.members().len();
        let begin = self.begin(call, output.all_bytes(size), None)?;
        let operation = begin.operation;
        let from = input.map(|input| input.piece(operation)).transpose()?;
        let blocks = output.arranged(size, operation)?;
        disjoint(blocks.list(), operation)?;
        if let Some(from) = &from {
            same_length(from.len, blocks.len_of(self.0.group.me), operation)?;
        }
        let endpoint = self.process().endpoint();
        // SAFETY: the caller's promise.
        let posted = unsafe {
            endpoint.bcs_allgather(self.members_of_context(), from, blocks, begin.blocking())
        };
        self.started(begin, posted)
    }

    /// # Safety
    /// As for [`ialltoall`](Self::ialltoall).
    unsafe fn post_alltoall<A: Arrangement>(
        &self,
        call: Call,
        input: Option<A>,
        output: A,
    ) -> Result<Request> {
        if self.is_inter() {
            // SAFETY: the caller's promise.
            return unsafe { self.alltoall_between(call, input, &output) };
        }
        let size = self.members().len();
        let begin = self.begin(
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
        let endpoint = self.process().endpoint();
        let nodes = A::UNIFORM.then(|| self.nodes()).flatten();
        let members = self.members_of_context();
        // SAFETY: the caller's promise.
        let posted = unsafe { endpoint.bcs_alltoall(members, out, into, nodes, begin.blocking()) };
        self.started(begin, posted)
    }

    /// # Safety
    /// As for [`ireduce_scatter`](Self::ireduce_scatter).
    unsafe fn post_reduce_scatter(
        &self,
        call: Call,
        input: Option<Buffer>,
        output: Buffer,
        counts: &[i64],
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        if self.is_inter() {
            // SAFETY: the caller's promise.
            return unsafe {
                self.reduce_scatter_between(call, input, &output, counts, &op.into())
            };
        }
        let size = self.members().len();
        let blocks = Blocks::new(output.start(), counts, counts, output.datatype());
        let begin = self.begin(call, blocks.all_bytes(size), None)?;
        let operation = begin.operation;
        let fold = op.into().fold(self, &output, operation)?;
        let lens = lengths(counts, output.datatype(), size, operation)?;
        let me = self.0.group.me;
        let (offset, total) = (lens[..me].iter().sum::<usize>(), lens.iter().sum::<usize>());
        let into = output.operand(operation)?;
        if into.len != lens[me] {
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
                // If their bytes could be counted but not they, they have none.
                output.moved(output.start(), count.fold(0, usize::saturating_add))
            }
            Some(input) => {
                one_datatype(&input, &output, operation)?;
                input
            }
        };
        let from = input.operand(operation)?;
        if from.len != total {
            let reason = format!("{} bytes are given, and the counts make {total}", from.len);
            return Err(operation.error(ErrorClass::Count, reason));
        }
        let (endpoint, members) = (self.process().endpoint(), self.members_of_context());
        let posted = if let Fold::Arithmetic(op, datatype) = fold {
            let what = (op, datatype);
            // SAFETY: the caller's promise.
            unsafe { endpoint.bcs_reduce_scatter(members, what, from, offset, into) }
        } else {
            let blocks = operands(&input, counts, operation)?;
            // SAFETY: the caller's promise.
            unsafe {
                endpoint.bcs_fold_scatter(members, &fold, &blocks, into, in_place, begin.blocking())
            }
        };
        self.started(begin, posted)
    }

    /// # Safety
    /// As for [`ireduce_scatter_block`](Self::ireduce_scatter_block).
    unsafe fn post_reduce_scatter_block(
        &self,
        call: Call,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        if self.is_inter() {
            // SAFETY: the caller's promise.
            return unsafe { self.reduce_scatter_block_between(call, input, &output, &op.into()) };
        }
        // A count beyond what memory there is fails below, as any that is too large.
        let count = i64::try_from(output.count()).unwrap_or(i64::MAX);
        let counts = vec![count; self.members().len()];
        // SAFETY: the caller's promise.
        unsafe { self.post_reduce_scatter(call, input, output, &counts, op) }
    }

    /// # Safety
    /// As for [`iscan`](Self::iscan).
    unsafe fn post_scan(
        &self,
        call: Call,
        inclusive: bool,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        let contribution = input.as_ref().unwrap_or(&output);
        let begin = self.begin(call, contribution.all_bytes(1), None)?;
        let operation = begin.operation;
        self.usable_within(operation)?;
        let fold = op.into().fold(self, contribution, operation)?;
        let from = contribution.operand(operation)?;
        // Rank 0 gets nothing of an exclusive scan: where to does not matter (6.11.2).
        let gets = inclusive || self.rank() != 0;
        let into = match input {
            Some(_) if !gets => Piece::EMPTY,
            _ => output.operand(operation)?,
        };
        if gets && input.is_some() {
            one_datatype(contribution, &output, operation)?;
            if from.len != into.len {
                let reason = format!("{} bytes are to go where there are {}", from.len, into.len);
                return Err(operation.error(ErrorClass::Count, reason));
            }
        }
        let input = input.map(|_| from);
        let endpoint = self.process().endpoint();
        // SAFETY: the caller's promise.
        let members = self.members_of_context();
        // SAFETY: the caller's promise.
        let posted =
            unsafe { endpoint.bcs_scan(members, &fold, inclusive, input, into, begin.blocking()) };
        self.started(begin, posted)
    }

    /// # Safety
    /// As for [`iscan`](Self::iscan).
    unsafe fn post_inclusive(
        &self,
        call: Call,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        // SAFETY: the caller's promise.
        unsafe { self.post_scan(call, true, input, output, op) }
    }

    /// # Safety
    /// As for [`iexscan`](Self::iexscan).
    unsafe fn post_exclusive(
        &self,
        call: Call,
        input: Option<Buffer>,
        output: Buffer,
        op: impl Into<AnyOp>,
    ) -> Result<Request> {
        // SAFETY: the caller's promise.
        unsafe { self.post_scan(call, false, input, output, op) }
    }
}

/// A collective that blocks and one that does not. The bytes are what the MDS is told.
macro_rules! collectives {
    ($(
        $(#[doc = $text:literal])*
        $blocking:ident $name:literal $primitive:ident,
        $nonblocking:ident $iname:literal $iprimitive:ident:
        $post:ident($($argument:ident: $type:ty),*), $comm:ident => $bytes:expr;
    )*) => {
        impl Comm {
            $(
                #[doc = concat!("`", $name, "`")]
                $(#[doc = $text])*
                ///
                /// # Safety
                /// What is read is initialised and nobody writes it during the call; what is
                /// written may be, and nobody else uses it during the call.
                ///
                /// # Errors
                /// When an argument is wrong, the ranks disagree about a length, or the NIC
                /// reports a failure.
                pub unsafe fn $blocking(&self, $($argument: $type),*) -> Result<()> {
                    let call = ($name, Primitive::$primitive);
                    let $comm = self;
                    let bytes: u64 = $bytes;
                    let post = || {
                        // SAFETY: the caller's promise, for as long as this call waits.
                        let mut request = unsafe { $comm.$post(call, $($argument),*)? };
                        request.silent().map(|_| ())
                    };
                    self.process().recording().blocking(call.1, bytes, post)
                }

                #[doc = concat!("`", $iname, "`: starts a [`", stringify!($blocking), "`](Self::",
                    stringify!($blocking), ").")]
                ///
                /// # Safety
                /// What is read is initialised and nobody writes it until the request is done;
                /// what is written may be, and nobody else uses it until then. Lists of counts and
                /// displacements are needed for the call only.
                ///
                /// # Errors
                /// When an argument is wrong; the rest is the request's.
                pub unsafe fn $nonblocking(&self, $($argument: $type),*) -> Result<Request> {
                    let call = ($iname, Primitive::$iprimitive);
                    // SAFETY: the caller's promise.
                    unsafe { self.$post(call, $($argument),*) }
                }
            )*
        }
    };
}
pub(super) use collectives;

collectives! {
    /// (6.6): gives each rank the root's block for it. `input`, at the root only, has the count of
    /// one block; `None` as `output` leaves the root's own block where it is.
    scatter "MPI_Scatter" Scatter, iscatter "MPI_Iscatter" Iscatter:
    post_scatter(input: Buffer, output: Option<Buffer>, root: i32),
    comm => if comm.is_root(root) { input.all_bytes(comm.peers().members.len()) } else { 0 };

    /// (6.6): a [`scatter`](Self::scatter) whose blocks are anywhere and of any length.
    scatterv "MPI_Scatterv" Scatterv, iscatterv "MPI_Iscatterv" Iscatterv:
    post_scatter(input: Blocks<'_>, output: Option<Buffer>, root: i32),
    comm => if comm.is_root(root) { input.all_bytes(comm.peers().members.len()) } else { 0 };

    /// (6.5): collects each rank's `input` in the blocks of the root. `output`, at the root only,
    /// has the count of one block; `None` as `input` says that the root's own block is there.
    gather "MPI_Gather" Gather, igather "MPI_Igather" Igather:
    post_gather(input: Option<Buffer>, output: Buffer, root: i32),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1));

    /// (6.5): a [`gather`](Self::gather) whose blocks are anywhere and of any length.
    gatherv "MPI_Gatherv" Gatherv, igatherv "MPI_Igatherv" Igatherv:
    post_gather(input: Option<Buffer>, output: Blocks<'_>, root: i32),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1));

    /// (6.7): collects each rank's `input` in the blocks of everybody. `output` has the count of
    /// one block; `None` as `input` says that each rank's own block is there.
    allgather "MPI_Allgather" Allgather, iallgather "MPI_Iallgather" Iallgather:
    post_allgather(input: Option<Buffer>, output: Buffer),
    comm => input.as_ref().unwrap_or(&output).all_bytes(1);

    /// (6.7): an [`allgather`](Self::allgather) whose blocks are anywhere and of any length.
    allgatherv "MPI_Allgatherv" Allgatherv, iallgatherv "MPI_Iallgatherv" Iallgatherv:
    post_allgather(input: Option<Buffer>, output: Blocks<'_>),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1));

    /// (6.8): sends a block of `input` to each rank and receives one of `output` from each. Both
    /// have the count of one block; `None` as `input` replaces what is in `output`.
    alltoall "MPI_Alltoall" Alltoall, ialltoall "MPI_Ialltoall" Ialltoall:
    post_alltoall(input: Option<Buffer>, output: Buffer),
    comm => input.as_ref().unwrap_or(&output).all_bytes(comm.peers().members.len());

    /// (6.8): an [`alltoall`](Self::alltoall) whose blocks are anywhere and of any length.
    alltoallv "MPI_Alltoallv" Alltoallv, ialltoallv "MPI_Ialltoallv" Ialltoallv:
    post_alltoall(input: Option<Blocks<'_>>, output: Blocks<'_>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(comm.peers().members.len());

    /// (6.8): an [`alltoallv`](Self::alltoallv) whose blocks are of a datatype each
    /// ([`Blocks::of_types`]).
    alltoallw "MPI_Alltoallw" Alltoallw, ialltoallw "MPI_Ialltoallw" Ialltoallw:
    post_alltoall(input: Option<Blocks<'_>>, output: Blocks<'_>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(comm.peers().members.len());

    /// (6.10.1): combines everybody's blocks and gives each rank its own. `output` has the count
    /// of one block, `input` that of all; without it, all blocks are where `output` begins.
    reduce_scatter_block "MPI_Reduce_scatter_block" ReduceScatterBlock,
    ireduce_scatter_block "MPI_Ireduce_scatter_block" IreduceScatterBlock:
    post_reduce_scatter_block(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>),
    comm => output.all_bytes(comm.members().len());

    /// (6.10.2): as [`reduce_scatter_block`](Self::reduce_scatter_block), with blocks of as many
    /// elements as `counts` says. `output` has this rank's count.
    reduce_scatter "MPI_Reduce_scatter" ReduceScatter,
    ireduce_scatter "MPI_Ireduce_scatter" IreduceScatter:
    post_reduce_scatter(input: Option<Buffer>, output: Buffer, counts: &[i64], op: impl Into<AnyOp>),
    comm => input.as_ref().map_or(0, |input| input.all_bytes(1));

    /// (6.11.1): combines what the lower ranks and this one contribute, in the order of the
    /// communicator. Without `input`, what is in `output`.
    scan "MPI_Scan" Scan, iscan "MPI_Iscan" Iscan:
    post_inclusive(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(1);

    /// (6.11.2): combines what the lower ranks contribute, in the order of the communicator.
    /// Rank 0's `output` is left alone. Without `input`, what is in `output`.
    exscan "MPI_Exscan" Exscan, iexscan "MPI_Iexscan" Iexscan:
    post_exclusive(input: Option<Buffer>, output: Buffer, op: impl Into<AnyOp>),
    comm => input.as_ref().unwrap_or(&output).all_bytes(1);
}
