//! Blocks of data, one for each rank: where they are, and checks of them.
#![expect(unsafe_code, reason = "who names memory by address promises something")]

use super::error::{Error, ErrorClass, Operation, Result};
use super::{Buffer, Datatype};
use crate::bcs::{DataView, DataViews};

/// A block for each rank of a communicator, as the vector collectives name them. Making one is the
/// promise of a [`Buffer`] for the memory of all blocks. Counts, displacements and datatypes are
/// needed for the call only.
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    pub(super) address: *mut u8,
    pub(super) counts: &'a [i64],
    pub(super) displacements: &'a [i64],
    pub(super) datatypes: Datatypes<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum Datatypes<'a> {
    /// One type for all blocks. Displacements count its extents.
    One(Datatype),
    /// A type for each block. Displacements count bytes.
    Each(&'a [Datatype]),
}

impl<'a> Blocks<'a> {
    /// Blocks of one datatype; displacements are in extents of it. A communicator of n ranks needs
    /// n counts and n displacements.
    ///
    /// # Safety
    /// As for [`Buffer::new`], of the data of each block.
    pub unsafe fn new<T>(
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

    /// Makes blocks that are only read.
    ///
    /// # Safety
    /// As for [`Buffer::read_only`], of the data of each block.
    pub unsafe fn read_only<T>(
        address: *const T,
        counts: &'a [i64],
        displacements: &'a [i64],
        datatype: impl Into<Datatype>,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::new(address.cast_mut(), counts, displacements, datatype) }
    }

    /// Blocks with a datatype each, as in `MPI_Alltoallw`. Displacements are in bytes.
    ///
    /// # Safety
    /// As for [`Buffer::new`], of the data of each block.
    pub unsafe fn of_types<T>(
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

    /// Returns data of the datatype of all blocks, as many elements as the longest block has, at no
    /// address; `None` if blocks have different datatypes.
    pub(super) fn typical(&self) -> Option<Buffer> {
        let Datatypes::One(datatype) = &self.datatypes else {
            return None;
        };
        let count = usize::try_from(*self.counts.iter().max()?).ok()?;
        let nowhere = std::ptr::null_mut::<u8>();
        // SAFETY: no operation gets it.
        Some(unsafe { Buffer::new(nowhere, count, datatype) })
    }

    fn block(&self, rank: usize, operation: Operation) -> Result<DataView> {
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
        // An address of 0 is an error whatever the displacement, unless displacements are in bytes:
        // then they may be addresses themselves (MPI_BOTTOM).
        let counted = matches!(self.datatypes, Datatypes::One(_));
        let nowhere = self.address.is_null() && counted && datatype.elementary().is_some();
        let start = if nowhere { self.address } else { start };
        let named = |mut error: Box<Error>| {
            error.reason = format!("the block for rank {rank}: {}", error.reason);
            error
        };
        // SAFETY: the promise of the blocks.
        let block = unsafe { Buffer::new(start, elements, datatype) };
        block.piece(&operation).map_err(named)
    }
}

/// A source of each rank's block.
pub(super) trait BlockLayout {
    /// Whether all blocks have one length, at all ranks.
    const UNIFORM: bool;

    /// Returns the blocks of this number of ranks.
    fn pieces(&self, ranks: usize, operation: Operation) -> Result<Vec<DataView>>;

    /// Returns the same for ranks that all give or take. If the blocks lie in a row, no list is
    /// made.
    fn arranged(&self, ranks: usize, operation: Operation) -> Result<DataViews> {
        self.pieces(ranks, operation).map(DataViews::Each)
    }

    /// Returns the bytes of all blocks, as far as they can be counted without an error.
    fn all_bytes(&self, ranks: usize) -> u64;

    /// Returns the bytes of an element; 0 if blocks have different datatypes.
    fn element_bytes(&self) -> usize;

    /// Returns the datatype of a block, and its number of elements; `None` if there is no such
    /// block, or its count is negative.
    fn types(&self, at: usize) -> Option<(Datatype, u64)>;
}

impl BlockLayout for Blocks<'_> {
    const UNIFORM: bool = false;

    fn pieces(&self, ranks: usize, operation: Operation) -> Result<Vec<DataView>> {
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
        bytes_of(self.counts, |rank| match &self.datatypes {
            Datatypes::One(datatype) => datatype.size(),
            Datatypes::Each(datatypes) => datatypes.get(rank).map_or(0, Datatype::size),
        })
    }

    fn element_bytes(&self) -> usize {
        match &self.datatypes {
            Datatypes::One(datatype) => datatype.size(),
            Datatypes::Each(_) => 0,
        }
    }

    fn types(&self, at: usize) -> Option<(Datatype, u64)> {
        let count = u64::try_from(*self.counts.get(at)?).ok()?;
        let datatype = match &self.datatypes {
            Datatypes::One(datatype) => datatype,
            Datatypes::Each(datatypes) => datatypes.get(at)?,
        };
        Some((datatype.clone(), count))
    }
}

/// Returns the bytes of blocks with these counts of elements, as far as they can be counted.
pub(super) fn bytes_of(counts: &[i64], size: impl Fn(usize) -> usize) -> u64 {
    let block = |(rank, &count): (usize, &i64)| {
        let count = u64::try_from(count).unwrap_or(0);
        count.saturating_mul(size(rank) as u64)
    };
    let blocks = counts.iter().enumerate().map(block);
    blocks.fold(0, u64::saturating_add)
}

/// A buffer with the count of one block; the blocks are side by side.
impl BlockLayout for Buffer {
    const UNIFORM: bool = true;

    fn pieces(&self, ranks: usize, operation: Operation) -> Result<Vec<DataView>> {
        let all = self.count().checked_mul(ranks);
        // If all blocks as one buffer lie in the address space, each block does.
        let all = all.map(|count| self.part(0, count).piece(&operation));
        let Some(all) = all else {
            let reason = format!("{ranks} blocks are more than an address space");
            return Err(operation.error(ErrorClass::Count, reason));
        };
        if all?.is_empty() {
            return Ok(vec![DataView::EMPTY; ranks]);
        }
        let distance = i128::from(self.datatype().extent().1) * self.count() as i128;
        let block = |rank: usize| {
            let offset = isize::try_from(distance * rank as i128);
            let offset = offset.expect("the first element of a block is among all of them");
            self.part(offset, self.count()).piece(&operation)
        };
        (0..ranks).map(block).collect()
    }

    #[inline(always)]
    fn arranged(&self, ranks: usize, operation: Operation) -> Result<DataViews> {
        if let Some(row) = self.row(ranks, operation) {
            return Ok(DataViews::Row(row));
        }
        self.pieces(ranks, operation).map(DataViews::Each)
    }

    #[inline]
    fn all_bytes(&self, ranks: usize) -> u64 {
        let bytes = Buffer::bytes(self).map_or(0, |bytes| bytes as u64);
        bytes.saturating_mul(ranks as u64)
    }

    fn element_bytes(&self) -> usize {
        self.datatype().size()
    }

    fn types(&self, _at: usize) -> Option<(Datatype, u64)> {
        Some((self.datatype().clone(), self.count() as u64))
    }
}

/// Checks that no place is written twice, which the standard forbids (MPI 5.0, 6.5). It compares
/// only blocks that are contiguous each: columns of a matrix overlap without a place in common.
pub(super) fn disjoint(pieces: &[DataView], operation: Operation) -> Result<()> {
    let plain = |piece: &DataView| !piece.is_empty() && piece.layout().is_none();
    let mut order: Vec<usize> = (0..pieces.len()).filter(|&at| plain(&pieces[at])).collect();
    order.sort_unstable_by_key(|&at| pieces[at].address());
    for pair in order.windows(2) {
        let (one, other) = (pair[0], pair[1]);
        if pieces[one].address() + pieces[one].len() as u64 > pieces[other].address() {
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

/// Checks that a rank sends as much to itself as it receives from itself.
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

/// Returns the lengths of blocks of operands. Their sum fits an address space.
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

/// Returns a buffer of operands with `total` bytes, the sum of the counts.
pub(super) fn operand_of(of: &Buffer, total: usize, operation: Operation) -> Result<DataView> {
    let piece = of.operand(&operation)?;
    if piece.len() != total {
        let given = piece.len();
        let reason = format!("{given} bytes are given, and the counts make {total}");
        return Err(operation.error(ErrorClass::Count, reason));
    }
    Ok(piece)
}

/// Returns the blocks of a buffer, which have these counts of elements.
pub(super) fn operands(of: &Buffer, counts: &[i64], operation: Operation) -> Result<Vec<DataView>> {
    let (_, extent) = of.datatype().extent();
    let mut start = 0;
    let block = |&count: &i64| {
        let len = usize::try_from(count).expect("a count was checked");
        let block = of.part(start, len).operand(&operation);
        let distance = isize::try_from(extent.saturating_mul(count));
        // The data fit the address space, so the end of this block does, too.
        start = start.wrapping_add(distance.expect("an isize has 64 bits"));
        block
    };
    counts.iter().map(block).collect()
}
