//! Memory from the library (MPI 5.0, 9.2).

use super::calls;
use super::infos::info;
use crate::answer::error;
use crate::c::*;
use crate::objects::place;
use crate::state;
use bcs_core::lockstep;
use bcs_mpi::mpi::{ErrorClass, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;

/// The blocks of `MPI_Alloc_mem`. Other addresses cannot be freed.
static ALLOCATED: Mutex<BTreeMap<usize, Layout>> = Mutex::new(BTreeMap::new());

/// The size of a cache line.
const ALIGNMENT: usize = 64;

/// Returns the alignment that a program requests.
fn alignment(handle: MPI_Info) -> Result<usize> {
    if handle == MPI_INFO_NULL {
        return Ok(ALIGNMENT);
    }
    let asked = info(handle)?.get("mpi_minimum_memory_alignment")?;
    let asked = asked.and_then(|asked| asked.parse::<usize>().ok());
    // A number that is no alignment is ignored, like any unknown hint.
    let asked = asked.filter(|asked| asked.is_power_of_two());
    Ok(asked.unwrap_or(ALIGNMENT).max(ALIGNMENT))
}

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
        // SAFETY: it was allocated with this layout, and nobody owns it any more.
        unsafe { dealloc(base.cast(), layout) };
        Ok(())
    }
}
