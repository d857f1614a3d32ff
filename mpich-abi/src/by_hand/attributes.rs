//! Keys with functions of the program, and predefined attributes (MPI 5.0, 7.7 and 17.1).

use super::by_hand;
use crate::callbacks::{AttributeFunctions, CopyFunction, DeleteFunction};
use crate::codes::{self, to_mpich};
use crate::entries::*;
use crate::handles::Handle;
use crate::numbers::{KEYS, WINDOW_FLAVORS, WINDOW_MODELS, mpich, ours, rank_to_mpich};
use mpi_abi::c::{MPI_Comm, MPI_Datatype, MPI_Win};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// Attributes whose values are constants or codes, and their values: a program gets the address.
static VALUES: [(c_int, AtomicI32); 5] = [
    (mpich::MPI_IO, AtomicI32::new(0)),
    (mpich::MPI_HOST, AtomicI32::new(0)),
    (mpich::MPI_LASTUSEDCODE, AtomicI32::new(0)),
    (mpich::MPI_WIN_CREATE_FLAVOR, AtomicI32::new(0)),
    (mpich::MPI_WIN_MODEL, AtomicI32::new(0)),
];

/// Replaces a predefined attribute by its value in MPICH's ABI.
///
/// # Safety
/// The call that gave the attribute has succeeded.
unsafe fn replace(key: c_int, value: *mut c_void, flag: *mut c_int) {
    let known = VALUES.iter().find(|(known, _)| *known == key);
    let Some((_, place)) = known.filter(|_| unsafe { *flag } != 0) else {
        return;
    };
    let value = value.cast::<*const c_int>();
    let ours = unsafe { **value };
    let theirs = match key {
        mpich::MPI_IO | mpich::MPI_HOST => rank_to_mpich(ours),
        mpich::MPI_LASTUSEDCODE => to_mpich(ours),
        mpich::MPI_WIN_MODEL => crate::numbers::to_mpich(&WINDOW_MODELS, ours),
        _ => crate::numbers::to_mpich(&WINDOW_FLAVORS, ours),
    };
    place.store(theirs, Ordering::Relaxed);
    unsafe { *value = place.as_ptr() };
}

by_hand! {
    fn PMPI_Comm_create_keyval(copy: CopyFunction<MPI_Comm>, delete: DeleteFunction<MPI_Comm>, keyval: *mut c_int, extra: *mut c_void) {
        let (copy, delete, extra) = AttributeFunctions::ours(copy, delete, extra);
        codes::to_mpich(entry_PMPI_Comm_create_keyval(copy, delete, keyval, extra))
    }

    fn PMPI_Keyval_create(copy: CopyFunction<MPI_Comm>, delete: DeleteFunction<MPI_Comm>, keyval: *mut c_int, extra: *mut c_void) {
        let (copy, delete, extra) = AttributeFunctions::ours(copy, delete, extra);
        codes::to_mpich(entry_PMPI_Keyval_create(copy, delete, keyval, extra))
    }

    fn PMPI_Type_create_keyval(copy: CopyFunction<MPI_Datatype>, delete: DeleteFunction<MPI_Datatype>, keyval: *mut c_int, extra: *mut c_void) {
        let (copy, delete, extra) = AttributeFunctions::ours(copy, delete, extra);
        codes::to_mpich(entry_PMPI_Type_create_keyval(copy, delete, keyval, extra))
    }

    fn PMPI_Win_create_keyval(copy: CopyFunction<MPI_Win>, delete: DeleteFunction<MPI_Win>, keyval: *mut c_int, extra: *mut c_void) {
        let (copy, delete, extra) = AttributeFunctions::ours(copy, delete, extra);
        codes::to_mpich(entry_PMPI_Win_create_keyval(copy, delete, keyval, extra))
    }

    fn PMPI_Comm_get_attr(comm: c_int, keyval: c_int, value: *mut c_void, flag: *mut c_int) {
        let code = entry_PMPI_Comm_get_attr(MPI_Comm::ours(comm), ours(&KEYS, keyval), value, flag);
        if code == 0 {
            replace(keyval, value, flag);
        }
        codes::to_mpich(code)
    }

    fn PMPI_Attr_get(comm: c_int, keyval: c_int, value: *mut c_void, flag: *mut c_int) {
        let code = entry_PMPI_Attr_get(MPI_Comm::ours(comm), ours(&KEYS, keyval), value, flag);
        if code == 0 {
            replace(keyval, value, flag);
        }
        codes::to_mpich(code)
    }

    fn PMPI_Win_get_attr(win: c_int, keyval: c_int, value: *mut c_void, flag: *mut c_int) {
        let code = entry_PMPI_Win_get_attr(MPI_Win::ours(win), ours(&KEYS, keyval), value, flag);
        if code == 0 {
            replace(keyval, value, flag);
        }
        codes::to_mpich(code)
    }
}

/// `MPI_DUP_FN` and the like: a duplicate has the attribute of its original. Programs know it by
/// this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _of: c_int,
    _key: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    unsafe { *copied.cast::<*mut c_void>() = value };
    unsafe { *flag = 1 };
    0
}
