//! Memory of the library's, and the buffer of buffered sends (MPI 5.0, 9.2 and 3.6).

use super::calls;
use super::infos::info;
use crate::answer::error;
use crate::c::*;
use crate::objects::{Number as _, place, put};
use crate::state;
use bcs_core::lockstep;
use bcs_mpi::mpi::{ErrorClass, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Mutex;

/// What `MPI_Alloc_mem` has given out. Addresses that are not here are nobody's to free.
static ALLOCATED: Mutex<BTreeMap<usize, Layout>> = Mutex::new(BTreeMap::new());

/// A line of the cache.
const ALIGNMENT: usize = 64;

/// The alignment that a program asks for.
fn alignment(handle: MPI_Info) -> Result<usize> {
    if handle == MPI_INFO_NULL {
        return Ok(ALIGNMENT);
    }
    let asked = info(handle)?.get("mpi_minimum_memory_alignment")?;
    let asked = asked.and_then(|asked| asked.parse::<usize>().ok());
    // A number that is no alignment is a hint like any other that nobody understands.
    let asked = asked.filter(|asked| asked.is_power_of_two());
    Ok(asked.unwrap_or(ALIGNMENT).max(ALIGNMENT))
}

/// The buffer that the program has attached: the core only counts its bytes.
static ATTACHED: Mutex<Option<(usize, usize)>> = Mutex::new(None);

calls! {
    fn PMPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) {
        state::process()?;
        let base = place(baseptr.cast::<*mut c_void>())?;
        let Ok(bytes) = usize::try_from(size) else {
            return Err(error(ErrorClass::Arg, format!("the size is {size} bytes")).into());
        };
        let layout = Layout::from_size_align(bytes.max(1), alignment(info)?);
        // SAFETY: the layout has at least one byte.
        let memory = layout.as_ref().map_or(std::ptr::null_mut(), |layout| unsafe { alloc(*layout) });
        let Some(layout) = layout.ok().filter(|_| !memory.is_null()) else {
            return Err(error(ErrorClass::NoMem, format!("there are no {size} bytes")).into());
        };
        lockstep::lock(&ALLOCATED).insert(memory.expose_provenance(), layout);
        *base = memory.cast();
        Ok(())
    }

    fn PMPI_Free_mem(base: *mut c_void) {
        let layout = lockstep::lock(&ALLOCATED).remove(&base.addr());
        let Some(layout) = layout else {
            let reason = format!("{base:p} was not allocated by MPI_Alloc_mem, or was freed");
            return Err(error(ErrorClass::Base, reason).into());
        };
        // SAFETY: it was allocated with this layout, and is nobody's any more.
        unsafe { dealloc(base.cast(), layout) };
        Ok(())
    }

    fn PMPI_Buffer_attach | PMPI_Buffer_attach_c(buffer: *mut c_void, size: N) {
        let process = state::process()?;
        let Ok(bytes) = usize::try_from(size.wide()) else {
            return Err(error(ErrorClass::Arg, format!("the buffer has {size} bytes")).into());
        };
        // The core copies messages to memory of its own, so that a buffer may be as large as memory.
        let automatic = buffer.addr() == BUFFER_AUTOMATIC;
        if buffer.is_null() && bytes > 0 {
            return Err(error(ErrorClass::Arg, format!("a buffer of {bytes} bytes is at address 0")).into());
        }
        let (room, bytes) = if automatic { (usize::MAX, 0) } else { (bytes, bytes) };
        let mut attached = lockstep::lock(&ATTACHED);
        process.attach_buffer(room)?;
        *attached = Some((buffer.expose_provenance(), bytes));
        Ok(())
    }

    fn PMPI_Buffer_detach | PMPI_Buffer_detach_c(buffer_addr: *mut c_void, size: *mut N) {
        let process = state::process()?;
        let buffer = place(buffer_addr.cast::<*mut c_void>())?;
        let size = place(size)?;
        // No lock is held while the call waits.
        let Some((address, bytes)) = lockstep::lock(&ATTACHED).take() else {
            return Err(error(ErrorClass::Buffer, "no buffer is attached").into());
        };
        process.detach_buffer()?;
        *buffer = with_exposed_provenance_mut(address);
        Ok(put(size, N::try_from(bytes).unwrap_or(N::from(MPI_UNDEFINED)))?)
    }

    fn PMPI_Buffer_flush() {
        Ok(state::process()?.flush_buffer()?)
    }
}
