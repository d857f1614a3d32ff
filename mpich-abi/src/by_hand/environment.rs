//! Strings of MPICH's lengths, groups, and the end of a job.

use super::by_hand;
use crate::codes::{self, to_mpich};
use crate::entries::*;
use crate::handles::Handle;
use crate::numbers::{mpich, rank_ours, rank_to_mpich};
use crate::places::HandleResult;
use mpi_abi::c::*;
use smallvec::SmallVec;
use std::ffi::{CStr, c_char, c_int};

/// The words that follow our text in the version of the library. There is room for much more.
const OF_MPICH: &CStr = c" (for programs of MPICH's ABI)";

/// The longest string that a function of the standard ABI writes here.
const LONGEST: usize = 1024;

/// Calls a function that writes a string, and gives the program what fits its own length.
///
/// # Safety
/// The program's address is null, or has `room` bytes.
unsafe fn string(
    place: *mut c_char,
    room: c_int,
    call: impl FnOnce(*mut c_char) -> c_int,
) -> (c_int, c_int) {
    if place.is_null() {
        return (call(place), 0);
    }
    let mut text = [0_u8; LONGEST];
    let code = call(text.as_mut_ptr().cast());
    if code != MPI_SUCCESS {
        return (code, 0);
    }
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    let room = usize::try_from(room).unwrap_or(1);
    let text = text.to_bytes();
    let text = &text[..text.len().min(room - 1)];
    unsafe { place.copy_from_nonoverlapping(text.as_ptr().cast(), text.len()) };
    unsafe { *place.add(text.len()) = 0 };
    (code, c_int::try_from(text.len()).unwrap_or(0))
}

by_hand! {
    fn PMPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) {
        let (code, length) = string(name, mpich::MPI_MAX_PROCESSOR_NAME, |name| {
            entry_PMPI_Get_processor_name(name, resultlen)
        });
        if code == MPI_SUCCESS {
            *resultlen = length;
        }
        to_mpich(code)
    }

    /// Tools that have to know options of a launcher look for the name of an MPI in this text.
    fn PMPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) {
        let code = entry_PMPI_Get_library_version(version, resultlen);
        if code == MPI_SUCCESS {
            let length = usize::try_from(*resultlen).unwrap_or(0);
            let (end, more) = (version.add(length), OF_MPICH.to_bytes_with_nul());
            end.copy_from_nonoverlapping(more.as_ptr().cast(), more.len());
            *resultlen += c_int::try_from(more.len() - 1).unwrap_or(0);
        }
        to_mpich(code)
    }

    fn PMPI_Info_get_nthkey(info: c_int, n: c_int, key: *mut c_char) {
        let info = MPI_Info::ours(info);
        let (code, _) = string(key, mpich::MPI_MAX_INFO_KEY, |key| entry_PMPI_Info_get_nthkey(info, n, key));
        to_mpich(code)
    }

    fn PMPI_Open_port(info: c_int, port_name: *mut c_char) {
        let info = MPI_Info::ours(info);
        let (code, _) = string(port_name, mpich::MPI_MAX_PORT_NAME, |name| entry_PMPI_Open_port(info, name));
        to_mpich(code)
    }

    fn PMPI_Lookup_name(service_name: *const c_char, info: c_int, port_name: *mut c_char) {
        let info = MPI_Info::ours(info);
        let (code, _) = string(port_name, mpich::MPI_MAX_PORT_NAME, |name| {
            entry_PMPI_Lookup_name(service_name, info, name)
        });
        to_mpich(code)
    }

    /// This is not the standard ABI. MPICH's library says the same of itself, and mpi4py asks it.
    fn PMPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) {
        let code = entry_PMPI_Abi_get_version(abi_major, abi_minor);
        if code == MPI_SUCCESS {
            (*abi_major, *abi_minor) = (-1, -1);
        }
        to_mpich(code)
    }

    /// The code is the exit code of the job. Only a code of this library is translated, to its
    /// class.
    fn PMPI_Abort(comm: c_int, errorcode: c_int) {
        let is_instance = (0..mpich::MPI_ERR_LASTCODE).contains(&errorcode)
            && mpi_abi::instances::sentence(codes::ours(errorcode)).is_some();
        let code = if is_instance { errorcode & 0x7f } else { errorcode };
        to_mpich(entry_PMPI_Abort(MPI_Comm::ours(comm), code))
    }

    fn PMPI_Group_translate_ranks(group1: c_int, n: c_int, ranks1: *const c_int, group2: c_int, ranks2: *mut c_int) {
        let length = if ranks1.is_null() { 0 } else { usize::try_from(n).unwrap_or(0) };
        let ranks: SmallVec<[c_int; 64]> = (0..length).map(|nth| rank_ours(*ranks1.add(nth))).collect();
        let start = if ranks1.is_null() { ranks1 } else { ranks.as_ptr() };
        let (group1, group2) = (MPI_Group::ours(group1), MPI_Group::ours(group2));
        let code = entry_PMPI_Group_translate_ranks(group1, n, start, group2, ranks2);
        if code == MPI_SUCCESS {
            (0..length).for_each(|nth| *ranks2.add(nth) = rank_to_mpich(*ranks2.add(nth)));
        }
        to_mpich(code)
    }

    /// Only the root gives an array of info objects.
    fn PMPI_Comm_spawn_multiple(count: c_int, commands: *mut *mut c_char, argvs: *mut *mut *mut c_char, maxprocs: *const c_int, infos: *const c_int, root: c_int, comm: c_int, intercomm: *mut c_int, errcodes: *mut c_int) {
        let comm = MPI_Comm::ours(comm);
        let mut rank = -1;
        let is_root = entry_PMPI_Comm_rank(comm, &raw mut rank) == MPI_SUCCESS && rank == root;
        let length = if is_root { count } else { 0 };
        let infos = crate::arrays::List::<MPI_Info>::new(infos, length.into());
        let mut made = HandleResult::<MPI_Comm>::new(intercomm);
        codes::of_not_started();
        let code = entry_PMPI_Comm_spawn_multiple(count, commands, argvs, maxprocs, infos.start(), rank_ours(root), comm, made.place(), errcodes);
        made.store();
        to_mpich(code)
    }

    /// There are no events, so nothing is translated but the code.
    fn PMPI_T_event_get_info(event_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, _datatypes: *mut c_int, displacements: *mut MPI_Aint, num_elements: *mut c_int, enumtype: *mut MPI_T_enum, _info: *mut c_int, desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int) {
        let (datatypes, info) = (std::ptr::null_mut(), std::ptr::null_mut());
        to_mpich(entry_PMPI_T_event_get_info(event_index, name, name_len, verbosity, datatypes, displacements, num_elements, enumtype, info, desc, desc_len, bind))
    }
}
