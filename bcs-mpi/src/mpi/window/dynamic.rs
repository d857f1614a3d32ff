//! Memory that a rank attaches to a dynamic window (MPI 5.0, 12.2.4).
//!
//! Origins do not know the list: they get an address from the target. An address that cannot be
//! read or written there is an error of the operation.

#![expect(unsafe_code, reason = "attached memory is named by address")]

use super::state::{Window, WindowFlavor};
use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::lockstep;

impl Window {
    /// `MPI_Win_attach`: lets other ranks access memory of this one.
    ///
    /// # Safety
    /// The memory stays until it is detached or the window is freed. Other ranks may read and write
    /// it as the program's epochs allow.
    ///
    /// # Errors
    /// When the window is not dynamic, or a part of the memory is attached.
    pub unsafe fn attach<T>(&self, base: *mut T, size: i64) -> Result<()> {
        let operation = Operation::plain("MPI_Win_attach");
        self.usable(operation)?;
        self.check_dynamic(operation)?;
        let address = base.expose_provenance() as u64;
        let Ok(len) = u64::try_from(size) else {
            let reason = format!("the memory has {size} bytes");
            return Err(operation.error(ErrorClass::Size, reason));
        };
        let Some(end) = address
            .checked_add(len)
            .filter(|_| address != 0 || len == 0)
        else {
            let reason = format!("{len} bytes at {address:#x} are no memory");
            return Err(operation.error(ErrorClass::RmaAttach, reason));
        };
        let mut attached = lockstep::lock(&self.0.attached);
        let overlaps = |&&(at, bytes): &&(u64, u64)| at < end && address < at + bytes;
        if let Some(&(at, bytes)) = attached.iter().find(overlaps) {
            let reason = format!(
                "{len} bytes at {address:#x} overlap {bytes} bytes at {at:#x}, which are attached"
            );
            return Err(operation.error(ErrorClass::RmaAttach, reason));
        }
        attached.push((address, len));
        Ok(())
    }

    /// `MPI_Win_detach`: ends the access to attached memory.
    ///
    /// # Errors
    /// When the window is not dynamic, or no attached memory begins there.
    pub fn detach<T>(&self, base: *const T) -> Result<()> {
        let operation = Operation::plain("MPI_Win_detach");
        self.usable(operation)?;
        self.check_dynamic(operation)?;
        let address = base.addr() as u64;
        let mut attached = lockstep::lock(&self.0.attached);
        let place = attached.iter().position(|&(at, _)| at == address);
        let Some(place) = place else {
            let reason = format!("no attached memory begins at {address:#x}");
            return Err(operation.error(ErrorClass::RmaAttach, reason));
        };
        attached.remove(place);
        Ok(())
    }

    fn check_dynamic(&self, operation: Operation) -> Result<()> {
        if self.0.flavor == WindowFlavor::Dynamic {
            return Ok(());
        }
        let reason = format!("{} was not made by MPI_Win_create_dynamic", self.title());
        Err(operation.error(ErrorClass::RmaFlavor, reason))
    }

    /// Returns whether all of these bytes of this rank are attached.
    pub(super) fn is_attached(&self, address: u64, len: u64) -> bool {
        let Some(end) = address.checked_add(len) else {
            return false;
        };
        let attached = lockstep::lock(&self.0.attached);
        let contains = |&(at, bytes): &(u64, u64)| at <= address && end <= at + bytes;
        attached.iter().any(contains)
    }
}
