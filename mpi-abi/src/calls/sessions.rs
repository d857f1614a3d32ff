//! Sessions and sets of processes (MPI 5.0, 11.3).

use super::calls;
use super::communicators::info as told;
use super::error_handling::{session_handle, session_handler};
use crate::answer::{ask_session, error, run_on_session, run_with_session_handler};
use crate::c::*;
use crate::objects::{INFOS, SESSIONS, Session, group_handle, list_mut, place, put, text};
use crate::state;
use bcs_mpi::mpi::info::{DEFAULT_MEMORY_KINDS, MEMORY_KINDS};
use bcs_mpi::mpi::{Comm, ErrorClass, Info, Result};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// The sets by name, and whether each has all processes. Names are URIs, and case does not matter
/// in them.
const SETS: [(&str, bool); 2] = [("mpi://WORLD", true), ("mpi://SELF", false)];

/// The thread levels that a program may request.
const LEVELS: [&str; 4] = [
    "MPI_THREAD_SINGLE",
    "MPI_THREAD_FUNNELED",
    "MPI_THREAD_SERIALIZED",
    "MPI_THREAD_MULTIPLE",
];

/// Returns the processes of a set.
fn set(name: &[u8]) -> Result<&'static Comm> {
    let found = SETS
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
    let Some((_, all)) = found else {
        let name = String::from_utf8_lossy(name);
        let reason = format!("there is no set of processes {name}, but mpi://WORLD and mpi://SELF");
        return Err(error(ErrorClass::Arg, reason));
    };
    let comm = state::all_or_own(*all);
    comm.map_err(|_| error(ErrorClass::Session, "no session is open"))
}

calls! {
    fn PMPI_Session_init(info: MPI_Info, errhandler: MPI_Errhandler, session: *mut MPI_Session) {
        let handler = session_handler(errhandler)?;
        run_with_session_handler(handler, || {
            let session = place(session)?;
            let told = told(info)?;
            let level = told.get("thread_level")?;
            if let Some(level) = level.filter(|level| !LEVELS.contains(&level.as_str())) {
                let reason = format!("thread_level is {level}, and not one of {LEVELS:?}");
                return Err(error(ErrorClass::InfoValue, reason));
            }
            // This returns the actual support: several threads may use any session at a time.
            let own = Info::new();
            own.set("thread_level", "MPI_THREAD_MULTIPLE")?;
            own.set(MEMORY_KINDS, DEFAULT_MEMORY_KINDS)?;
            state::open_session()?;
            *session = MPI_Session(SESSIONS.insert(Arc::new(Session::new(handler, own))));
            Ok(())
        })
    }

    fn PMPI_Session_finalize(session: *mut MPI_Session) {
        let handle = place(session)?;
        run_on_session(*handle, |session| {
            session.buffer.flush();
            Ok(())
        })?;
        if SESSIONS.remove(handle.0).is_some() {
            state::close_session();
        }
        *handle = MPI_SESSION_NULL;
        Ok(())
    }

    fn PMPI_Session_get_num_psets(session: MPI_Session, _info: MPI_Info, npset_names: *mut c_int) {
        run_on_session(session, |_| put(npset_names, c_int::try_from(SETS.len()).expect("they are few")))
    }

    fn PMPI_Session_get_nth_pset(session: MPI_Session, _info: MPI_Info, n: c_int, pset_len: *mut c_int, pset_name: *mut c_char) {
        run_on_session(session, |_| {
            let found = usize::try_from(n).ok().and_then(|n| SETS.get(n));
            let (name, _) = found.ok_or_else(|| {
                error(ErrorClass::Arg, format!("there is no set of processes {n}, but 0 to {}", SETS.len() - 1))
            })?;
            let length = place(pset_len)?;
            let room = usize::try_from(*length).unwrap_or(0);
            // With 0 the program requests the length of the name, with its zero.
            if room > 0 {
                let name = &name.as_bytes()[..name.len().min(room - 1)];
                let text = list_mut(pset_name.cast::<u8>(), *length)?;
                text[..name.len()].copy_from_slice(name);
                text[name.len()] = 0;
            }
            *length = c_int::try_from(name.len() + 1).expect("names are short");
            Ok(())
        })
    }

    fn PMPI_Session_get_info(session: MPI_Session, info_used: *mut MPI_Info) {
        run_on_session(session, |session| put(info_used, MPI_Info(INFOS.insert(session.info.dup()))))
    }

    fn PMPI_Session_get_pset_info(session: MPI_Session, pset_name: *const c_char, info: *mut MPI_Info) {
        run_on_session(session, |_| {
            let size = set(text(pset_name)?)?.size();
            let told = Info::new();
            told.set("mpi_size", &size.to_string())?;
            put(info, MPI_Info(INFOS.insert(told)))
        })
    }

    fn PMPI_Group_from_session_pset(session: MPI_Session, pset_name: *const c_char, newgroup: *mut MPI_Group) {
        run_on_session(session, |session| {
            let group = set(text(pset_name)?)?.group();
            put(newgroup, group_handle(group.of_session(&session.buffer)))
        })
    }

    fn PMPI_Session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) {
        run_on_session(session, |session| {
            session.set_handler(session_handler(errhandler)?);
            Ok(())
        })
    }

    fn PMPI_Session_get_errhandler(session: MPI_Session, errhandler: *mut MPI_Errhandler) {
        run_on_session(session, |session| put(errhandler, session_handle(session.handler())))
    }

    fn PMPI_Session_call_errhandler(session: MPI_Session, errorcode: c_int) {
        run_on_session(session, |own| {
            ask_session(session, own, errorcode);
            Ok(())
        })
    }
}
