//! Buffers: an address, a count and a datatype.
#![expect(unsafe_code, reason = "who names memory by address promises something")]

use super::error::{ErrorClass, Operation};
use super::{Datatype, Result};
use crate::bcs::{ByteRange, DataView, EvenBlocks};
use std::sync::Arc;

/// A buffer as MPI calls name it: address, count, datatype.
///
/// Making one is a promise: its memory is as if borrowed by each operation that it is passed to. So
/// calls that take buffers are safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    address: *mut u8,
    count: usize,
    datatype: Datatype,
}

impl Buffer {
    /// No data.
    pub const EMPTY: Self = Self {
        address: std::ptr::null_mut(),
        count: 0,
        datatype: Datatype::BYTE,
    };

    /// Data to be read or written.
    ///
    /// # Safety
    /// As for [`ByteRange::new`], of the data of as many elements as a call takes: for many blocks,
    /// a buffer has the count of one. So while an operation has it, until its request is done, data
    /// that is read is initialised and is not written, and data that is written is not used
    /// otherwise. It is not promised that the memory exists.
    pub unsafe fn new<T>(address: *mut T, count: usize, datatype: impl Into<Datatype>) -> Self {
        Self {
            address: address.cast(),
            count,
            datatype: datatype.into(),
        }
    }

    /// Data that is only read.
    ///
    /// # Safety
    /// As for [`new`](Self::new). The buffer is given only to calls that read it.
    pub unsafe fn read_only<T>(
        address: *const T,
        count: usize,
        datatype: impl Into<Datatype>,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::new(address.cast_mut(), count, datatype) }
    }

    /// Returns its address, for a NIC.
    pub(crate) fn address(&self) -> u64 {
        self.address.expose_provenance() as u64
    }

    /// Returns its start.
    pub(crate) fn start(&self) -> *mut u8 {
        self.address
    }

    /// Returns how many elements of the datatype it holds.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the datatype.
    #[must_use]
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the buffer as the contribution to a reduction, whose datatype may differ from that
    /// of the result ([`Datatype::make_operand`]).
    #[must_use]
    #[inline]
    pub fn as_contribution(self) -> Self {
        match self.datatype.of_contribution().cloned() {
            None => self,
            Some(datatype) => Self { datatype, ..self },
        }
    }

    /// Returns the length of its data; `None` if that is too large for this machine.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> Option<usize> {
        self.count.checked_mul(self.datatype.size())
    }

    /// Returns its address and length if its elements are of a predefined type and lie side by
    /// side, as in most calls. For others use [`piece`](Self::piece) and
    /// [`operand`](Self::operand).
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<ByteRange> {
        let element = self.datatype.elementary()?;
        let (address, len) = (self.address(), self.bytes()?);
        let inside = address >= FIRST_PAGE && address.checked_add(len as u64).is_some();
        let side_by_side = element.data_size() == element.size();
        let usual = side_by_side && inside && isize::try_from(len).is_ok() && len > 0;
        usual.then(|| self.bytes_at(address, len))
    }

    /// Returns its memory, if a reduction may use it. Predefined elements are side by side here,
    /// with the gaps of pairs, as the arithmetic needs them.
    #[inline(always)]
    pub(crate) fn operand(&self, operation: &Operation) -> Result<DataView> {
        let size = self.datatype.operand_size();
        if size == self.datatype.size() {
            return self.piece(operation);
        }
        let piece = self.other_piece(operation)?;
        if piece.is_empty() {
            return Ok(piece);
        }
        // The operands are in the address space: the check above included the gaps of the elements.
        Ok(self.bytes_at(self.address(), self.count * size).into())
    }

    /// Returns the blocks of this number of buffers like this one, one after the other, if their
    /// bytes lie side by side and a call may use them.
    #[inline(always)]
    pub(crate) fn row(&self, blocks: usize, operation: Operation) -> Option<EvenBlocks> {
        let len = self.bytes()?;
        let distance = i64::try_from(len).ok()?;
        let row = |address| {
            // SAFETY: the maker of the buffer has promised the memory of all blocks of a call.
            unsafe { EvenBlocks::new(self.bytes_at(address, len), distance) }
        };
        let element = self.datatype.elementary();
        if element.is_some_and(|element| element.data_size() == element.size()) {
            let all = i64::try_from(len.checked_mul(blocks)?).ok()?;
            let ends = self.address().checked_add(all.cast_unsigned());
            let fits = ends.is_some() && (self.address() >= FIRST_PAGE || len == 0);
            return fits.then(|| row(self.address()));
        }
        let all = self.part(0, self.count.checked_mul(blocks)?);
        all.piece(&operation)
            .ok()?
            .plain()
            .map(|all| row(all.address()))
    }

    /// Returns a buffer of `count` elements that begins `from` bytes further on.
    pub(crate) fn part(&self, from: isize, count: usize) -> Self {
        let (address, datatype) = (self.address.wrapping_offset(from), self.datatype.clone());
        // SAFETY: the maker of the buffer has promised the memory of all elements of a call.
        unsafe { Self::new(address, count, datatype) }
    }

    /// Returns its first bytes.
    #[inline(always)]
    fn bytes_at(&self, address: u64, len: usize) -> ByteRange {
        // SAFETY: the promise of the buffer.
        unsafe { ByteRange::new(address, len) }
    }

    /// Returns its memory, if a call may use it.
    ///
    /// The data of a derived type may lie before the address, and its displacements may be
    /// addresses themselves (`MPI_BOTTOM`). So this checks whether the data are in the address
    /// space, and not whether the address is.
    #[inline(always)]
    pub(crate) fn piece(&self, operation: &Operation) -> Result<DataView> {
        let (address, len) = (self.address(), self.bytes().unwrap_or(usize::MAX));
        let inside = address >= FIRST_PAGE && address.checked_add(len as u64).is_some();
        let usual = inside && isize::try_from(len).is_ok() && len > 0;
        match self.datatype.layout(operation)? {
            None if usual => Ok(self.bytes_at(address, len).into()),
            _ => self.other_piece(operation),
        }
    }

    fn other_piece(&self, operation: &Operation) -> Result<DataView> {
        let (count, size) = (self.count, self.datatype.size());
        let layout = self.datatype.layout(operation)?;
        let len = self.bytes().filter(|&len| isize::try_from(len).is_ok());
        let Some(len) = len else {
            let reason = format!("{count} elements of {size} bytes are more than an address space");
            return Err(operation.error(ErrorClass::Count, reason));
        };
        if len == 0 {
            return Ok(DataView::EMPTY);
        }
        let Some(layout) = layout else {
            if self.address() < FIRST_PAGE {
                return Err(self.in_the_first_page(len, operation));
            }
            if self.address().checked_add(len as u64).is_none() {
                let reason = format!(
                    "{len} bytes at {:#x} leave the address space",
                    self.address()
                );
                return Err(operation.error(ErrorClass::Arg, reason));
            }
            return Ok(self.bytes_at(self.address(), len).into());
        };
        let (lower, extent) = self.datatype.true_extent();
        let (address, from) = (i128::from(self.address()), i128::from(lower));
        let last = i128::from(layout.extent()).checked_mul(count as i128 - 1);
        let ends = last.and_then(|last| {
            let low = (address + from).checked_add(last.min(0))?;
            let high = (address + from + i128::from(extent)).checked_add(last.max(0))?;
            Some((low, high))
        });
        match ends {
            Some((low, high)) if low >= FIRST_PAGE.into() && i64::try_from(high).is_ok() => {}
            Some((0.., _)) if self.address() < FIRST_PAGE => {
                return Err(self.in_the_first_page(len, operation));
            }
            _ => {
                let reason =
                    format!("{count} elements {last:?} bytes apart leave the address space");
                return Err(operation.error(ErrorClass::Arg, reason));
            }
        }
        let block = layout.single_block();
        let block = block.filter(|_| count == 1 || layout.is_contiguous());
        Ok(match block {
            Some((offset, _)) => {
                let address = self.address().wrapping_add_signed(offset);
                self.bytes_at(address, len).into()
            }
            // SAFETY: the promise of the buffer.
            None => unsafe { DataView::new(self.address(), len, Some(Arc::clone(layout))) },
        })
    }

    fn in_the_first_page(&self, len: usize, operation: &Operation) -> Box<super::Error> {
        let address = self.address();
        let reason = format!("the buffer has {len} bytes but its address is {address}");
        operation.error(ErrorClass::Buffer, reason)
    }
}

/// No process has memory below this address.
const FIRST_PAGE: u64 = 4096;
