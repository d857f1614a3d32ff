//! `MPI_Pack_external`, `MPI_Unpack_external` and `MPI_Pack_external_size` (MPI 5.0, 5.3): packed
//! data that programs on other machines, and of other implementations, can read.
//!
//! The representation `external32` (14.5.2) is big-endian and has no gaps. Elements are as wide as
//! in memory, except those of [`Datatype::LONG`] and [`Datatype::WCHAR`]. A value that does not fit
//! there is an error, and is not cut. A `long double` becomes an IEEE binary128. A true value
//! becomes 1.
//!
//! Data are packed by the layout of their type first, and converted then. So conversion sees only
//! bytes side by side, and never reads the program's memory.

mod element;
#[cfg(test)]
mod tests;

use crate::bcs::{gather, scatter};
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::pack::part;
use crate::mpi::{Buffer, Datatype, Result};

/// The only representation that the standard defines for these calls.
pub const EXTERNAL32: &str = "external32";

fn known(representation: &[u8], operation: Operation) -> Result<()> {
    if representation == EXTERNAL32.as_bytes() {
        return Ok(());
    }
    let named = String::from_utf8_lossy(representation);
    let reason = format!("the data representation is {named:?}, and only {EXTERNAL32:?} is known");
    Err(operation.error(ErrorClass::UnsupportedDatarep, reason))
}

impl Buffer {
    /// `MPI_Pack_external`: copies its data to `out` from byte `position` on, and advances
    /// `position`.
    ///
    /// # Errors
    /// When an argument is wrong, there is not enough room, or a value does not fit its width.
    pub fn pack_external(
        &self,
        representation: &[u8],
        out: &mut [u8],
        position: &mut usize,
    ) -> Result<()> {
        let operation = Operation::plain("MPI_Pack_external");
        known(representation, operation)?;
        let piece = self.piece(&operation)?;
        let len = self.external_size(operation)?;
        let range = part(*position, len, out.len(), operation)?;
        let mut native = vec![0; piece.len()];
        gather(&piece, 0, &mut native);
        let (mut native, mut external) = (native.as_slice(), &mut out[range.clone()]);
        self.datatype()
            .runs(self.count() as u64, &mut |named, count| {
                let count = usize::try_from(count).expect("as many as in memory");
                let from = native.split_off(..count * named.element.data_size());
                let to = external.split_off_mut(..count * named.external_size());
                let (from, to) = from.zip(to).expect("both have all elements");
                element::pack(named, from, to, operation)
            })?;
        *position = range.end;
        Ok(())
    }

    /// `MPI_Unpack_external`: fills it from `packed`, from byte `position` on, and advances
    /// `position`.
    ///
    /// # Errors
    /// When an argument is wrong, or there are not enough bytes.
    pub fn unpack_external(
        &self,
        representation: &[u8],
        packed: &[u8],
        position: &mut usize,
    ) -> Result<()> {
        let operation = Operation::plain("MPI_Unpack_external");
        known(representation, operation)?;
        let piece = self.piece(&operation)?;
        let len = self.external_size(operation)?;
        let range = part(*position, len, packed.len(), operation)?;
        let mut native = vec![0; piece.len()];
        let (mut to, mut external) = (native.as_mut_slice(), &packed[range.clone()]);
        self.datatype()
            .runs(self.count() as u64, &mut |named, count| {
                let count = usize::try_from(count).expect("as many as in memory");
                let to = to.split_off_mut(..count * named.element.data_size());
                let from = external.split_off(..count * named.external_size());
                let (from, to) = from.zip(to).expect("both have all elements");
                element::unpack(named, from, to);
                Ok(())
            })?;
        scatter(&piece, 0, &native);
        *position = range.end;
        Ok(())
    }

    fn external_size(&self, operation: Operation) -> Result<usize> {
        self.datatype()
            .external_size(self.count() as u64, operation)
    }
}

impl Datatype {
    /// `MPI_Pack_external_size`: returns the bytes of `count` elements.
    ///
    /// # Errors
    /// When the representation is unknown, the count is negative, or the bytes exceed an address
    /// space.
    pub fn pack_external_size(&self, representation: &[u8], count: i64) -> Result<usize> {
        let operation = Operation::plain("MPI_Pack_external_size");
        known(representation, operation)?;
        let count = u64::try_from(count)
            .map_err(|_| operation.error(ErrorClass::Count, format!("the count is {count}")))?;
        self.external_size(count, operation)
    }

    fn external_size(&self, count: u64, operation: Operation) -> Result<usize> {
        let bytes = count.checked_mul(self.external_bytes());
        let bytes = bytes.and_then(|bytes| isize::try_from(bytes).ok());
        bytes.map(isize::cast_unsigned).ok_or_else(|| {
            let reason = format!("the bytes of {count} elements cannot be counted");
            operation.error(ErrorClass::Count, reason)
        })
    }
}
