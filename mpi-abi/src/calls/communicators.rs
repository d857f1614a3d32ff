//! Communicators (MPI 5.0, chapter 7).

use super::calls;
use super::environment::put_string;
use super::error_handling::handler;
use super::requests::start_uncancellable;
use crate::answer::{CallComm, Outcome, comm_of, error, run_with_handler};
use crate::c::*;
use crate::objects::{COMMS, INFOS, comm_handle, group, group_handle, put, text as bytes};
use crate::state;
use bcs_core::lockstep;
use bcs_mpi::mpi::{Comm, Comparison, ErrorClass, ErrorHandler, Info, Request, Result};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Mutex;

/// Reads a string of C. Replaces bytes that are no UTF-8, because the core keeps names as text.
pub(super) fn text(place: *const c_char) -> Result<String> {
    if place.is_null() {
        return Err(error(ErrorClass::Arg, "a string is at address 0"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(place) }
        .to_string_lossy()
        .into_owned())
}

/// Returns the contents of an info handle; an empty info for `MPI_INFO_NULL`.
pub(super) fn info(handle: MPI_Info) -> Result<Info> {
    match handle {
        MPI_INFO_NULL => Ok(Info::new()),
        MPI_Info(number) => INFOS
            .get(number)
            .ok_or_else(|| error(ErrorClass::Info, format!("{number:#x} is no info object"))),
    }
}

/// Returns the ABI's code for the result of a comparison.
pub(super) fn comparison(of: Comparison) -> c_int {
    match of {
        Comparison::Identical => MPI_IDENT,
        Comparison::Congruent => MPI_CONGRUENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    }
}

/// Makes a communicator; `name` is the function's name with the P. Checks the place before it
/// involves any other rank. If it fails, the place holds `MPI_COMM_NULL`.
pub(super) fn made(
    name: &'static str,
    of: &CallComm,
    place: *mut MPI_Comm,
    make: impl FnOnce(&Comm) -> Result<Option<Comm>>,
) -> Outcome {
    of.run_comm_creation(name, |comm| {
        put(place, MPI_COMM_NULL)?;
        put(place, comm_handle(make(comm)?))
    })
}

/// Handles of communicators that are being made, and the error handlers that these will have:
/// programs may set them at once.
static RESERVED: Mutex<BTreeMap<usize, Option<ErrorHandler>>> = Mutex::new(BTreeMap::new());

/// Sets the error handler of a communicator that is being made. Returns whether the handle is such
/// a one.
pub(super) fn set_reserved_handler(handle: MPI_Comm, handler: &ErrorHandler) -> bool {
    let mut reserved = lockstep::lock(&RESERVED);
    let known = reserved.get_mut(&handle.0);
    known.is_some_and(|known| {
        *known = Some(handler.clone());
        true
    })
}

/// A handle that stands for a communicator as soon as it has been made.
struct ReservedHandle(MPI_Comm);

impl ReservedHandle {
    fn new() -> Self {
        let handle = MPI_Comm(COMMS.reserve());
        lockstep::lock(&RESERVED).insert(handle.0, None);
        Self(handle)
    }

    fn fill(self, comm: Comm) {
        let handler = lockstep::lock(&RESERVED).remove(&self.0.0).flatten();
        if let Some(handler) = handler {
            // The communicator is new, so nobody has freed it.
            _ = comm.set_error_handler(handler);
        }
        COMMS.fill(self.0.0, Some(comm));
        std::mem::forget(self);
    }
}

impl Drop for ReservedHandle {
    fn drop(&mut self) {
        lockstep::lock(&RESERVED).remove(&self.0.0);
        COMMS.fill(self.0.0, None);
    }
}

/// Starts to duplicate a communicator. The program has the handle from now on.
fn start_duplication(
    on: MPI_Comm,
    place: *mut MPI_Comm,
    request: *mut MPI_Request,
    begin: impl FnOnce(&Comm, Box<dyn FnOnce(Comm) + Send>) -> Result<Request>,
) -> Outcome {
    start_uncancellable(on, request, |comm| {
        put(place, MPI_COMM_NULL)?;
        let reserved = ReservedHandle::new();
        let handle = reserved.0;
        let begun = begin(comm, Box::new(|comm| reserved.fill(comm)))?;
        put(place, handle)?;
        Ok(begun)
    })
}

/// Frees a communicator of the program.
pub(super) fn free(comm: *mut MPI_Comm) -> Outcome {
    if comm.is_null() {
        return Err(error(ErrorClass::Arg, "the communicator is at address 0").into());
    }
    // SAFETY: the caller's promise.
    let handle = unsafe { *comm };
    let held = comm_of(handle)?;
    held.run(|comm| match handle {
        MPI_COMM_SELF => Err(error(ErrorClass::Comm, "MPI_COMM_SELF cannot be freed")),
        _ => comm.free(),
    })?;
    COMMS.remove(handle.0);
    Ok(put(comm, MPI_COMM_NULL)?)
}

calls! {
    fn PMPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int) {
        comm_of(comm)?.run(|comm| put(rank, comm.rank()))
    }

    fn PMPI_Comm_size(comm: MPI_Comm, size: *mut c_int) {
        comm_of(comm)?.run(|comm| put(size, comm.size()))
    }

    fn PMPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) {
        comm_of(comm)?.run(|comm| put(group, group_handle(comm.group())))
    }

    fn PMPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int) {
        let other = comm_of(comm2)?;
        comm_of(comm1)?.run(|comm| put(result, comparison(comm.compare(other.comm()))))
    }

    fn PMPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) {
        made("PMPI_Comm_dup", &comm_of(comm)?, newcomm, |comm| comm.dup().map(Some))
    }

    fn PMPI_Comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm) {
        made("PMPI_Comm_dup_with_info", &comm_of(comm)?, newcomm, |comm| comm.dup_with_info(&super::info(info)?).map(Some))
    }

    fn PMPI_Comm_idup(comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request) {
        start_duplication(comm, newcomm, request, |comm, then| comm.idup(then))
    }

    fn PMPI_Comm_idup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm, request: *mut MPI_Request) {
        start_duplication(comm, newcomm, request, |comm, then| comm.idup_with_info(&super::info(info)?, then))
    }

    fn PMPI_Comm_create_from_group(group: MPI_Group, stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler, newcomm: *mut MPI_Comm) {
        let (process, handler) = (state::process()?, handler(errhandler)?);
        run_with_handler(&handler.clone(), || {
            put(newcomm, MPI_COMM_NULL)?;
            let (group, info) = (super::group(group)?, super::info(info)?);
            if group.rank().is_none() {
                return Ok(()); // As in MPI_Comm_create_group: ranks outside of the group get none.
            }
            let made = process.create_from_group(&group, bytes(stringtag)?, &info, handler)?;
            put(newcomm, comm_handle(Some(made)))
        })
    }

    fn PMPI_Intercomm_create_from_groups(local_group: MPI_Group, local_leader: c_int, remote_group: MPI_Group, remote_leader: c_int, stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler, newintercomm: *mut MPI_Comm) {
        let (process, handler) = (state::process()?, handler(errhandler)?);
        run_with_handler(&handler.clone(), || {
            put(newintercomm, MPI_COMM_NULL)?;
            let (local, info) = (super::group(local_group)?, super::info(info)?);
            // Only the leader's remote communicator is significant.
            let remote = match local.rank() == Some(local_leader) {
                true => super::group(remote_group)?,
                false => local.clone(),
            };
            let made = process.intercomm_create_from_groups((&local, local_leader), (&remote, remote_leader), bytes(stringtag)?, &info, handler)?;
            put(newintercomm, comm_handle(Some(made)))
        })
    }

    fn PMPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: *mut MPI_Comm) {
        made("PMPI_Comm_split", &comm_of(comm)?, newcomm, |comm| {
            let color = match color {
                MPI_UNDEFINED => None,
                color => Some(u32::try_from(color).map_err(|_| {
                    error(ErrorClass::Arg, format!("the colour is {color}"))
                })?),
            };
            comm.split(color, key)
        })
    }

    fn PMPI_Comm_split_type(comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info, newcomm: *mut MPI_Comm) {
        made("PMPI_Comm_split_type", &comm_of(comm)?, newcomm, |comm| {
            let info = super::info(info)?;
            let resource = info.get("mpi_hw_resource_type")?;
            let by_node = resource.as_deref() == Some("mpi_shared_memory");
            match split_type {
                MPI_UNDEFINED => comm.split_by_node(false, key),
                MPI_COMM_TYPE_SHARED => comm.split_by_node(true, key),
                MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED if by_node => comm.split_by_node(true, key),
                // The library does not know which hardware cores share within a node.
                MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED | MPI_COMM_TYPE_HW_UNGUIDED => {
                    comm.split_by_node(false, key)
                }
                other => Err(error(ErrorClass::Arg, format!("{other} is no type of splitting"))),
            }
        })
    }

    fn PMPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm) {
        made("PMPI_Comm_create", &comm_of(comm)?, newcomm, |comm| comm.create(&super::group(group)?))
    }

    fn PMPI_Comm_create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: *mut MPI_Comm) {
        comm_of(comm)?.run(|comm| {
            put(newcomm, MPI_COMM_NULL)?;
            put(newcomm, comm_handle(comm.create_group(&super::group(group)?, tag)?))
        })
    }

    fn PMPI_Comm_free(comm: *mut MPI_Comm) {
        free(comm)
    }

    fn PMPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int) {
        comm_of(comm)?.run(|comm| put(flag, c_int::from(comm.is_inter())))
    }

    fn PMPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int) {
        comm_of(comm)?.run(|comm| put(size, comm.remote_size()?))
    }

    fn PMPI_Comm_remote_group(comm: MPI_Comm, group: *mut MPI_Group) {
        comm_of(comm)?.run(|comm| put(group, group_handle(comm.remote_group()?)))
    }

    fn PMPI_Intercomm_create(local_comm: MPI_Comm, local_leader: c_int, peer_comm: MPI_Comm, remote_leader: c_int, tag: c_int, newintercomm: *mut MPI_Comm) {
        let local = comm_of(local_comm)?;
        // Only the leader's peer communicator is significant.
        let peer = match local.comm().rank() == local_leader {
            true => Some(comm_of(peer_comm)?),
            false => None,
        };
        made("PMPI_Intercomm_create", &local, newintercomm, |comm| {
            let peer = peer.as_ref().map(|peer| peer.comm());
            comm.intercomm_create(local_leader, peer, remote_leader, tag).map(Some)
        })
    }

    fn PMPI_Intercomm_merge(intercomm: MPI_Comm, high: c_int, newintracomm: *mut MPI_Comm) {
        made("PMPI_Intercomm_merge", &comm_of(intercomm)?, newintracomm, |comm| comm.intercomm_merge(high != 0).map(Some))
    }

    fn PMPI_Comm_set_name(comm: MPI_Comm, comm_name: *const c_char) {
        comm_of(comm)?.run(|comm| {
            comm.set_name(&text(comm_name)?);
            Ok(())
        })
    }

    fn PMPI_Comm_get_name(comm: MPI_Comm, comm_name: *mut c_char, resultlen: *mut c_int) {
        // The null handle has a name, too (7.8).
        let name = match comm {
            MPI_COMM_NULL => "MPI_COMM_NULL".to_owned(),
            comm => comm_of(comm)?.comm().name(),
        };
        let room = MPI_MAX_OBJECT_NAME.unsigned_abs() as usize;
        Ok(put_string(comm_name, resultlen, name.as_bytes(), room)?)
    }

    fn PMPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) {
        comm_of(comm)?.run(|comm| {
            comm.set_info(&super::info(info)?);
            Ok(())
        })
    }

    fn PMPI_Comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) {
        comm_of(comm)?.run(|comm| put(info_used, MPI_Info(INFOS.insert(comm.info()))))
    }
}
