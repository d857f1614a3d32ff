//! `MPI_Pack`, `MPI_Unpack` and `MPI_Pack_size` (MPI 5.0, 5.2).
//!
//! All ranks of a job are on machines of one kind, so the packed form is the bytes of the elements
//! in the order of the type map, and nothing else. It may be sent and received as `MPI_PACKED`,
//! which moves bytes as `MPI_BYTE` does.

use crate::bcs::{gather, scatter};
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::{Buffer, Comm, Datatype, Result};

/// Returns the part of a packed buffer that a call uses.
pub(super) fn part(
    position: usize,
    len: usize,
    total: usize,
    operation: Operation,
) -> Result<std::ops::Range<usize>> {
    let end = position.checked_add(len).filter(|&end| end <= total);
    end.map(|end| position..end).ok_or_else(|| {
        let reason = format!("from byte {position} on, {total} bytes have no room for {len}");
        operation.error(ErrorClass::Truncate, reason)
    })
}

impl Comm {
    /// `MPI_Pack`: copies `data` to `out` from byte `position` on, and advances `position`.
    ///
    /// # Errors
    /// When an argument is wrong, or there is not enough room.
    pub fn pack(&self, data: &Buffer, out: &mut [u8], position: &mut usize) -> Result<()> {
        let operation = Operation::plain("MPI_Pack");
        self.usable(&operation)?;
        let piece = data.piece(&operation)?;
        let range = part(*position, piece.len(), out.len(), operation)?;
        *position = range.end;
        gather(&piece, 0, &mut out[range]);
        Ok(())
    }

    /// `MPI_Unpack`: fills `data` from `packed`, from byte `position` on, and advances `position`.
    ///
    /// # Errors
    /// When an argument is wrong, or there are not enough bytes.
    pub fn unpack(&self, packed: &[u8], position: &mut usize, data: &Buffer) -> Result<()> {
        let operation = Operation::plain("MPI_Unpack");
        self.usable(&operation)?;
        let piece = data.piece(&operation)?;
        let range = part(*position, piece.len(), packed.len(), operation)?;
        *position = range.end;
        scatter(&piece, 0, &packed[range]);
        Ok(())
    }

    /// `MPI_Pack_size`: returns the bytes of `count` packed elements.
    ///
    /// # Errors
    /// When the count is negative or the bytes exceed an address space.
    pub fn pack_size(&self, count: i64, datatype: &Datatype) -> Result<usize> {
        let operation = Operation::plain("MPI_Pack_size");
        self.usable(&operation)?;
        let elements = usize::try_from(count).ok();
        let bytes = elements.and_then(|count| count.checked_mul(datatype.size()));
        bytes
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| {
                let size = datatype.size();
                let reason = format!("the bytes of {count} elements of {size} cannot be counted");
                operation.error(ErrorClass::Count, reason)
            })
    }
}
