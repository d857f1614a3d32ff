//! Info objects (MPI 5.0, chapter 10). A program may use them before `MPI_Init` and after
//! `MPI_Finalize`.

use super::calls;
use super::environment::put_string;
use crate::answer::error;
use crate::c::*;
use crate::objects::{INFOS, list_mut, place, put, text};
use crate::state;
use bcs_mpi::mpi::info::{MAX_INFO_KEY, MAX_INFO_VAL};
use bcs_mpi::mpi::{ErrorClass, Info, Result};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// Returns `MPI_INFO_ENV`. Before `MPI_Init` the number of ranks is not known.
fn env() -> Info {
    static ENV: OnceLock<Info> = OnceLock::new();
    if let Ok(process) = state::process() {
        let ranks = process.placement().ranks();
        return ENV.get_or_init(|| Info::env(ranks)).clone();
    }
    without_a_job()
}

/// Returns what is known of this process whether or not it is a rank now.
fn without_a_job() -> Info {
    let env = Info::env(1);
    let _it_is_set = env.delete("maxprocs");
    env
}

/// Returns the info object of a handle.
///
/// # Errors
/// If the handle is invalid.
pub(super) fn info(handle: MPI_Info) -> Result<Info> {
    if handle == MPI_INFO_ENV {
        return Ok(env());
    }
    INFOS.get(handle.0).ok_or_else(|| {
        let reason = match handle {
            MPI_INFO_NULL => "the info object is MPI_INFO_NULL".to_owned(),
            MPI_Info(number) => format!("{number:#x} is no info object"),
        };
        error(ErrorClass::Info, reason)
    })
}

/// Returns the same for a change.
fn changed(handle: MPI_Info) -> Result<Info> {
    if handle == MPI_INFO_ENV {
        return Err(error(ErrorClass::Info, "MPI_INFO_ENV cannot be changed"));
    }
    info(handle)
}

fn string<'a>(start: *const c_char, class: ErrorClass, what: &str, room: usize) -> Result<&'a str> {
    let bytes = text(start)?;
    if bytes.len() > room {
        let reason = format!("the {what} has {} bytes, and may have {room}", bytes.len());
        return Err(error(class, reason));
    }
    str::from_utf8(bytes).map_err(|_| {
        let reason = format!("the {what} {} is not UTF-8", bytes.escape_ascii());
        error(class, reason)
    })
}

fn key<'a>(start: *const c_char) -> Result<&'a str> {
    string(start, ErrorClass::InfoKey, "key", MAX_INFO_KEY)
}

/// Writes as much of a value as there is room for, with its zero.
fn write(value: &str, room: usize, to: *mut c_char) -> Result<()> {
    let Some(most) = room.checked_sub(1) else {
        return Ok(());
    };
    let value = &value.as_bytes()[..value.len().min(most)];
    let length = i64::try_from(value.len() + 1).unwrap_or(i64::MAX);
    let to = list_mut(to.cast::<u8>(), length)?;
    to[..value.len()].copy_from_slice(value);
    to[value.len()] = 0;
    Ok(())
}

/// Returns the length of a value, which is at most [`MAX_INFO_VAL`], or longer in `MPI_INFO_ENV`.
fn length(value: &str) -> c_int {
    c_int::try_from(value.len()).unwrap_or(c_int::MAX - 1)
}

fn room(length: c_int) -> Result<usize> {
    usize::try_from(length).map_err(|_| {
        let reason = format!("the room for the value is {length} bytes");
        error(ErrorClass::Arg, reason)
    })
}

calls! {
    fn PMPI_Info_create(info: *mut MPI_Info) {
        let info = place(info)?;
        *info = MPI_Info(INFOS.insert(Info::new()));
        Ok(())
    }

    fn PMPI_Info_create_env(_argc: c_int, _argv: *mut *mut c_char, info: *mut MPI_Info) {
        // The command line of this process is known without the program's arguments. The result is
        // the same before MPI_Init and after it.
        let info = place(info)?;
        *info = MPI_Info(INFOS.insert(without_a_job()));
        Ok(())
    }

    fn PMPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) {
        let copy = self::info(info)?.dup();
        let newinfo = place(newinfo)?;
        *newinfo = MPI_Info(INFOS.insert(copy));
        Ok(())
    }

    fn PMPI_Info_free(info: *mut MPI_Info) {
        let handle = place(info)?;
        changed(*handle)?;
        INFOS.remove(handle.0);
        *handle = MPI_INFO_NULL;
        Ok(())
    }

    fn PMPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char) {
        let info = changed(info)?;
        let key = self::key(key)?;
        Ok(info.set(key, string(value, ErrorClass::InfoValue, "value", MAX_INFO_VAL)?)?)
    }

    fn PMPI_Info_delete(info: MPI_Info, key: *const c_char) {
        Ok(changed(info)?.delete(self::key(key)?)?)
    }

    fn PMPI_Info_get(info: MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int) {
        let found = self::info(info)?.get(self::key(key)?)?;
        let room = room(valuelen)?;
        put(flag, c_int::from(found.is_some()))?;
        match found {
            // This length does not include the zero.
            Some(found) => Ok(write(&found, room + 1, value)?),
            None => Ok(()),
        }
    }

    fn PMPI_Info_get_string(info: MPI_Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int) {
        let found = self::info(info)?.get(self::key(key)?)?;
        let buflen = place(buflen)?;
        let room = room(*buflen)?;
        put(flag, c_int::from(found.is_some()))?;
        if let Some(found) = found {
            write(&found, room, value)?;
            *buflen = length(&found) + 1;
        }
        Ok(())
    }

    fn PMPI_Info_get_valuelen(info: MPI_Info, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int) {
        let found = self::info(info)?.get(self::key(key)?)?;
        put(flag, c_int::from(found.is_some()))?;
        match found {
            Some(found) => Ok(put(valuelen, length(&found))?),
            None => Ok(()),
        }
    }

    fn PMPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) {
        let keys = self::info(info)?.keys();
        Ok(put(nkeys, c_int::try_from(keys).unwrap_or(c_int::MAX))?)
    }

    fn PMPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) {
        let info = self::info(info)?;
        let Ok(nth) = usize::try_from(n) else {
            return Err(error(ErrorClass::Arg, format!("there is no key {n}")).into());
        };
        let mut length = 0;
        Ok(put_string(key, &raw mut length, info.nth_key(nth)?.as_bytes(), MAX_INFO_KEY + 1)?)
    }
}
