//! The process and its environment (MPI 5.0, chapters 9 and 11).

use super::calls;
use crate::answer::comm_of;
use crate::c::*;
use crate::instances;
use crate::objects::{INFOS, list_mut, put};
use crate::state;
use bcs_mpi::mpi::{Info, Result, ThreadLevel};
use std::ffi::{c_char, c_int};

/// Writes as much of a string with its length as fits `room` with its zero.
pub(super) fn put_string(
    place: *mut c_char,
    length: *mut c_int,
    text: &[u8],
    room: usize,
) -> Result<()> {
    let text = &text[..text.len().min(room - 1)];
    let bytes = i64::try_from(text.len() + 1).expect("a string fits");
    let place = list_mut(place.cast::<u8>(), bytes)?;
    place[..text.len()].copy_from_slice(text);
    place[text.len()] = 0;
    put(length, c_int::try_from(text.len()).expect("a string fits"))
}

/// Returns the lowest level of the standard that satisfies the request, or the highest level.
fn level(required: c_int) -> ThreadLevel {
    let levels = [
        ThreadLevel::Single,
        ThreadLevel::Funneled,
        ThreadLevel::Serialized,
    ];
    let enough = levels.into_iter().find(|level| required <= *level as c_int);
    enough.unwrap_or(ThreadLevel::Multiple)
}

calls! {
    fn PMPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) {
        Ok(state::init(ThreadLevel::Single)?)
    }

    fn PMPI_Init_thread(_argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        let level = level(required);
        state::init(level)?;
        Ok(put(provided, level as c_int)?)
    }

    fn PMPI_Query_thread(provided: *mut c_int) {
        Ok(put(provided, state::process()?.thread_level() as c_int)?)
    }

    fn PMPI_Is_thread_main(flag: *mut c_int) {
        Ok(put(flag, c_int::from(state::process()?.is_main_thread()))?)
    }

    fn PMPI_Initialized(flag: *mut c_int) {
        Ok(put(flag, c_int::from(state::is_initialized()))?)
    }

    fn PMPI_Finalized(flag: *mut c_int) {
        Ok(put(flag, c_int::from(state::is_finalized()))?)
    }

    fn PMPI_Finalize() {
        state::finalize()
    }

    fn PMPI_Abort(comm: MPI_Comm, errorcode: c_int) {
        // An invalid handle is no reason to continue.
        let comm = comm_of(comm).or_else(|_| comm_of(MPI_COMM_SELF))?;
        comm.run(|comm| {
            let reason = format!("rank {} called MPI_Abort", comm.process().world_rank());
            comm.process().abort(instances::known_to_others(errorcode), &reason)
        })
    }

    fn PMPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        put(version, MPI_VERSION)?;
        Ok(put(subversion, MPI_SUBVERSION)?)
    }

    fn PMPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) {
        let room = MPI_MAX_LIBRARY_VERSION_STRING.unsigned_abs() as usize;
        Ok(put_string(version, resultlen, bcs_mpi::library_version().as_bytes(), room)?)
    }

    fn PMPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) {
        put(abi_major, MPI_ABI_VERSION)?;
        Ok(put(abi_minor, MPI_ABI_SUBVERSION)?)
    }

    fn PMPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) {
        let host = bcs_mpi::processor_name();
        let room = MPI_MAX_PROCESSOR_NAME.unsigned_abs() as usize;
        Ok(put_string(name, resultlen, host.as_bytes(), room)?)
    }

    fn PMPI_Get_hw_resource_info(hw_info: *mut MPI_Info) {
        // The resource types for MPI_Comm_split_type, with whether this process is bound to one
        // such resource: it is bound to its node.
        let info = Info::new();
        info.set("mpi_shared_memory", "true")?;
        Ok(put(hw_info, MPI_Info(INFOS.insert(info)))?)
    }

    fn PMPI_Pcontrol(level: c_int) {
        state::process()?.pcontrol(level);
        Ok(())
    }
}

/// `MPI_Wtime`: seconds since some time.
#[unsafe(export_name = "entry_PMPI_Wtime")]
pub unsafe extern "C" fn PMPI_Wtime() -> f64 {
    bcs_mpi::wtime()
}

/// `MPI_Wtick`: the resolution of [`PMPI_Wtime`] in seconds.
#[unsafe(export_name = "entry_PMPI_Wtick")]
pub unsafe extern "C" fn PMPI_Wtick() -> f64 {
    bcs_mpi::wtick()
}

/// `MPI_Aint_add`: adds a number of bytes to an address.
#[unsafe(export_name = "entry_PMPI_Aint_add")]
pub unsafe extern "C" fn PMPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`: returns the number of bytes between two addresses.
#[unsafe(export_name = "entry_PMPI_Aint_diff")]
pub unsafe extern "C" fn PMPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}
