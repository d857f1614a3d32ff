//! Windows: how they come and go, and what a program keeps with them (MPI 5.0, 12.2).

use super::calls;
use super::communicators::text;
use super::environment::put_string;
use super::error_handling::{window_handle, window_handler};
use crate::answer::{Outcome, ask_window, comm_of, error, run_on_window};
use crate::c::*;
use crate::keyvals::WIN_KEYS;
use crate::objects::{INFOS, group_handle, place, put};
use crate::windows::{WINDOWS, WindowEntry, forget};
use bcs_mpi::mpi::window::Window;
use bcs_mpi::mpi::{Comm, ErrorClass, Info, Result};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// Returns the contents of an info handle; an empty info for `MPI_INFO_NULL`.
fn info(handle: MPI_Info) -> Result<Info> {
    match handle {
        MPI_INFO_NULL => Ok(Info::new()),
        _ => super::infos::info(handle),
    }
}

/// Makes a window; `name` is the function's name with the P. If it fails, the place holds
/// `MPI_WIN_NULL`.
fn made(
    name: &'static str,
    comm: MPI_Comm,
    win: *mut MPI_Win,
    make: impl FnOnce(&Comm) -> Result<Window>,
) -> Outcome {
    comm_of(comm)?.run_comm_creation(name, |comm| {
        put(win, MPI_WIN_NULL)?;
        let entry = WindowEntry::new(make(comm)?);
        put(win, MPI_Win(WINDOWS.insert(Arc::new(entry))))
    })
}

/// Makes a window with memory of its own, whose address the program gets.
fn made_with_memory(
    name: &'static str,
    comm: MPI_Comm,
    (baseptr, win): (*mut c_void, *mut MPI_Win),
    make: impl FnOnce(&Comm) -> Result<Window>,
) -> Outcome {
    made(name, comm, win, |comm| {
        let base = place(baseptr.cast::<*mut c_void>())?;
        let window = make(comm)?;
        let (address, ..) = window.own_memory();
        *base = std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0));
        Ok(window)
    })
}

fn set_attribute(win: MPI_Win, keyval: c_int, value: *mut c_void) -> Outcome {
    run_on_window(win, |entry| {
        let key = WIN_KEYS.get(keyval)?;
        if key.is_freed() {
            return Err(error(
                ErrorClass::Keyval,
                format!("the key {keyval} was freed"),
            ));
        }
        if let Some(old) = entry.attached(&key) {
            entry.delete(win, &key, old)?;
        }
        entry.attach(key, value.expose_provenance());
        Ok(())
    })
}

calls! {
    fn PMPI_Win_create | PMPI_Win_create_c(base: *mut c_void, size: MPI_Aint, disp_unit: D, info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) {
        made("PMPI_Win_create", comm, win, |comm| {
            let info = super::info(info)?;
            // SAFETY: the caller's promise, which is the standard's.
            unsafe { comm.win_create(base, size as i64, crate::objects::Number::wide(disp_unit), &info) }
        })
    }

    fn PMPI_Win_allocate | PMPI_Win_allocate_c(size: MPI_Aint, disp_unit: D, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win) {
        made_with_memory("PMPI_Win_allocate", comm, (baseptr, win), |comm| {
            comm.win_allocate(size as i64, crate::objects::Number::wide(disp_unit), &super::info(info)?)
        })
    }

    fn PMPI_Win_allocate_shared | PMPI_Win_allocate_shared_c(size: MPI_Aint, disp_unit: D, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win) {
        made_with_memory("PMPI_Win_allocate_shared", comm, (baseptr, win), |comm| {
            comm.win_allocate_shared(size as i64, crate::objects::Number::wide(disp_unit), &super::info(info)?)
        })
    }

    fn PMPI_Win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) {
        made("PMPI_Win_create_dynamic", comm, win, |comm| comm.win_create_dynamic(&super::info(info)?))
    }

    fn PMPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) {
        // SAFETY: the caller's promise, which is the standard's.
        run_on_window(win, |entry| unsafe { entry.window.attach(base, size as i64) })
    }

    fn PMPI_Win_detach(win: MPI_Win, base: *const c_void) {
        run_on_window(win, |entry| entry.window.detach(base))
    }

    fn PMPI_Win_shared_query | PMPI_Win_shared_query_c(win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut D, baseptr: *mut c_void) {
        run_on_window(win, |entry| {
            let found = entry.window.shared_query(rank)?;
            put(size, MPI_Aint::try_from(found.size).unwrap_or(MPI_Aint::MAX))?;
            put(disp_unit, D::try_from(found.disp_unit).unwrap_or(D::MAX))?;
            let base = usize::try_from(found.base).unwrap_or(0);
            put(baseptr.cast::<*mut c_void>(), std::ptr::with_exposed_provenance_mut(base))
        })
    }

    fn PMPI_Win_free(win: *mut MPI_Win) {
        let handle = place(win)?;
        run_on_window(*handle, |entry| {
            // An epoch that is still open is found before the functions of the program are called.
            entry.window.may_be_freed()?;
            entry.delete_all(*handle)?;
            entry.window.free()
        })?;
        forget(*handle);
        *handle = MPI_WIN_NULL;
        Ok(())
    }

    fn PMPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) {
        run_on_window(win, |entry| put(group, group_handle(entry.window.group())))
    }

    fn PMPI_Win_set_name(win: MPI_Win, win_name: *const c_char) {
        run_on_window(win, |entry| {
            entry.window.set_name(&text(win_name)?);
            Ok(())
        })
    }

    fn PMPI_Win_get_name(win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int) {
        // The null handle has a name, too (7.8).
        let name = match win {
            MPI_WIN_NULL => "MPI_WIN_NULL".to_owned(),
            win => run_on_window(win, |entry| Ok(entry.window.name()))?,
        };
        let room = MPI_MAX_OBJECT_NAME.unsigned_abs() as usize;
        Ok(put_string(win_name, resultlen, name.as_bytes(), room)?)
    }

    fn PMPI_Win_set_info(win: MPI_Win, info: MPI_Info) {
        run_on_window(win, |entry| entry.window.set_info(&super::info(info)?))
    }

    fn PMPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) {
        run_on_window(win, |entry| put(info_used, MPI_Info(INFOS.insert(entry.window.info()?))))
    }

    fn PMPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) {
        run_on_window(win, |entry| {
            entry.set_handler(window_handler(errhandler)?);
            Ok(())
        })
    }

    fn PMPI_Win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) {
        run_on_window(win, |entry| {
            *place(errhandler)? = window_handle(entry.handler());
            Ok(())
        })
    }

    fn PMPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) {
        run_on_window(win, |entry| {
            ask_window(win, entry, errorcode);
            Ok(())
        })
    }

    fn PMPI_Win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void) {
        set_attribute(win, win_keyval, attribute_val)
    }

    fn PMPI_Win_get_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) {
        run_on_window(win, |entry| {
            let found = match entry.predefined(win_keyval) {
                Some(found) => Some(found),
                None => entry.attached(&*WIN_KEYS.get(win_keyval)?),
            };
            put(flag, c_int::from(found.is_some()))?;
            found.map_or(Ok(()), |found| put(attribute_val.cast::<usize>(), found))
        })
    }

    fn PMPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) {
        run_on_window(win, |entry| {
            let key = WIN_KEYS.get(win_keyval)?;
            let Some(value) = entry.attached(&key) else {
                let reason = format!("nothing is attached by the key {win_keyval}");
                return Err(error(ErrorClass::Keyval, reason));
            };
            entry.delete(win, &key, value)
        })
    }
}
