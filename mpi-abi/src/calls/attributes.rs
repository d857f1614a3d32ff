//! Attributes of communicators (MPI 5.0, 7.7 and 17.1).

use super::calls;
use crate::answer::{Outcome, comm_of};
use crate::c::*;
use crate::keyvals::{COMM_KEYS, CommKey, CopyFunction, DeleteFunction, Key};
use crate::objects::{place, put};
use crate::state;
use bcs_mpi::mpi::Comm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// The predefined attributes, from `MPI_TAG_UB` on: a program gets their addresses.
static PREDEFINED: [AtomicI32; 7] = [const { AtomicI32::new(0) }; 7];

/// Returns a predefined attribute of a communicator, if the key is predefined. The attribute may be
/// unset.
fn predefined(comm: &Comm, keyval: c_int) -> Option<Option<usize>> {
    let attributes = comm.process().predefined_attributes();
    let value = match keyval {
        MPI_TAG_UB => attributes.tag_ub,
        MPI_IO => attributes.io,
        // No rank is the host.
        MPI_HOST => MPI_PROC_NULL,
        MPI_WTIME_IS_GLOBAL => c_int::from(attributes.wtime_is_global),
        MPI_LASTUSEDCODE => attributes.last_used_code,
        MPI_UNIVERSE_SIZE | MPI_APPNUM => {
            let value = match keyval {
                MPI_APPNUM => attributes.application,
                _ => attributes.universe_size,
            };
            match value {
                Some(value) => value,
                None => return Some(None),
            }
        }
        _ => return None,
    };
    let nth = usize::try_from(keyval.checked_sub(MPI_TAG_UB)?).ok()?;
    let place = PREDEFINED.get(nth)?;
    place.store(value, Ordering::Relaxed);
    Some(Some(place.as_ptr().expose_provenance()))
}

fn create(
    copy: CopyFunction<MPI_Comm>,
    delete: DeleteFunction<MPI_Comm>,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> Outcome {
    state::process()?;
    let keyval = place(keyval)?;
    let key = CommKey::new(Key::new(copy, delete, extra)?);
    *keyval = key.key.number();
    COMM_KEYS.add(*keyval, key);
    Ok(())
}

fn free(keyval: *mut c_int) -> Outcome {
    state::process()?;
    let keyval = place(keyval)?;
    let key = COMM_KEYS.get(*keyval)?;
    if key.key.free() {
        COMM_KEYS.forget(*keyval);
    }
    // The key may have been freed before.
    let _freed = key.core.free();
    *keyval = MPI_KEYVAL_INVALID;
    Ok(())
}

fn set(comm: MPI_Comm, keyval: c_int, value: *mut c_void) -> Outcome {
    comm_of(comm)?.run(|comm| {
        let key = COMM_KEYS.get(keyval)?;
        comm.set_attr(&key.core, value.expose_provenance())?;
        key.key.attach();
        Ok(())
    })
}

fn get(comm: MPI_Comm, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> Outcome {
    comm_of(comm)?.run(|comm| {
        let found = match predefined(comm, keyval) {
            Some(found) => found,
            None => comm.attr(&COMM_KEYS.get(keyval)?.core)?,
        };
        put(flag, c_int::from(found.is_some()))?;
        found.map_or(Ok(()), |found| put(value.cast::<usize>(), found))
    })
}

fn delete(comm: MPI_Comm, keyval: c_int) -> Outcome {
    comm_of(comm)?.run(|comm| comm.delete_attr(&COMM_KEYS.get(keyval)?.core))
}

calls! {
    fn PMPI_Comm_create_keyval(comm_copy_attr_fn: MPI_Comm_copy_attr_function, comm_delete_attr_fn: MPI_Comm_delete_attr_function, comm_keyval: *mut c_int, extra_state: *mut c_void) {
        create(comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state)
    }

    fn PMPI_Comm_free_keyval(comm_keyval: *mut c_int) {
        free(comm_keyval)
    }

    fn PMPI_Comm_set_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void) {
        set(comm, comm_keyval, attribute_val)
    }

    fn PMPI_Comm_get_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) {
        get(comm, comm_keyval, attribute_val, flag)
    }

    fn PMPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) {
        delete(comm, comm_keyval)
    }

    fn PMPI_Keyval_create(copy_fn: MPI_Copy_function, delete_fn: MPI_Delete_function, keyval: *mut c_int, extra_state: *mut c_void) {
        create(copy_fn, delete_fn, keyval, extra_state)
    }

    fn PMPI_Keyval_free(keyval: *mut c_int) {
        free(keyval)
    }

    fn PMPI_Attr_put(comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void) {
        set(comm, keyval, attribute_val)
    }

    fn PMPI_Attr_get(comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) {
        get(comm, keyval, attribute_val, flag)
    }

    fn PMPI_Attr_delete(comm: MPI_Comm, keyval: c_int) {
        delete(comm, keyval)
    }
}
