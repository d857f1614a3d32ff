//! Attributes of datatypes (MPI 5.0, 7.7.4), and keys of windows.

use super::calls;
use crate::answer::{Outcome, error};
use crate::c::*;
use crate::keyvals::{Key, Keys, TYPE_KEYS, WIN_KEYS};
use crate::objects::{Attributes, DatatypeProperties, datatype_properties, place, put};
use crate::state;
use bcs_core::lockstep;
use bcs_mpi::mpi::{ErrorClass, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

fn attached(kept: &DatatypeProperties, key: &Key<MPI_Datatype>) -> Option<usize> {
    let attributes = lockstep::lock(&kept.attributes);
    let found = attributes.iter().find(|(known, _)| **known == *key);
    found.map(|(_, value)| *value)
}

/// Deletes a value, if the key's function agrees.
fn delete(
    of: MPI_Datatype,
    kept: &DatatypeProperties,
    key: &Key<MPI_Datatype>,
    value: usize,
) -> Result<()> {
    let last = key.delete(of, value)?;
    lockstep::lock(&kept.attributes).retain(|(known, _)| **known != *key);
    if last {
        TYPE_KEYS.forget(key.number());
    }
    Ok(())
}

/// Returns the attributes of a duplicate of a datatype.
///
/// # Errors
/// If a function of the program fails.
pub(super) fn copied(of: MPI_Datatype) -> Result<Attributes> {
    let attributes = lockstep::lock(&datatype_properties(of)?.attributes).clone();
    let mut copies = Vec::new();
    for (key, value) in attributes {
        if let Some(copy) = key.copy(of, value)? {
            copies.push((key, copy));
        }
    }
    Ok(copies)
}

/// Deletes all attributes of a datatype that is freed, the last one set first.
///
/// # Errors
/// If a function of the program fails: its attribute and those set before stay.
pub(super) fn delete_all(of: MPI_Datatype, kept: &DatatypeProperties) -> Result<()> {
    loop {
        let last = lockstep::lock(&kept.attributes).last().cloned();
        let Some((key, value)) = last else {
            return Ok(());
        };
        delete(of, kept, &key, value)?;
    }
}

/// Registers a key by its number.
fn made<O>(keys: &Keys<Arc<Key<O>>>, key: Key<O>, keyval: *mut c_int) -> Outcome {
    state::process()?;
    let keyval = place(keyval)?;
    *keyval = key.number();
    keys.add(*keyval, Arc::new(key));
    Ok(())
}

/// Frees a key: nothing more can be attached by it.
fn freed<O>(keys: &Keys<Arc<Key<O>>>, keyval: *mut c_int) -> Outcome {
    state::process()?;
    let keyval = place(keyval)?;
    if keys.get(*keyval)?.free() {
        keys.forget(*keyval);
    }
    *keyval = MPI_KEYVAL_INVALID;
    Ok(())
}

calls! {
    fn PMPI_Type_create_keyval(type_copy_attr_fn: MPI_Type_copy_attr_function, type_delete_attr_fn: MPI_Type_delete_attr_function, type_keyval: *mut c_int, extra_state: *mut c_void) {
        made(&TYPE_KEYS, Key::new(type_copy_attr_fn, type_delete_attr_fn, extra_state)?, type_keyval)
    }

    fn PMPI_Type_free_keyval(type_keyval: *mut c_int) {
        freed(&TYPE_KEYS, type_keyval)
    }

    fn PMPI_Win_create_keyval(win_copy_attr_fn: MPI_Win_copy_attr_function, win_delete_attr_fn: MPI_Win_delete_attr_function, win_keyval: *mut c_int, extra_state: *mut c_void) {
        made(&WIN_KEYS, Key::new(win_copy_attr_fn, win_delete_attr_fn, extra_state)?, win_keyval)
    }

    fn PMPI_Win_free_keyval(win_keyval: *mut c_int) {
        freed(&WIN_KEYS, win_keyval)
    }

    fn PMPI_Type_set_attr(datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void) {
        let kept = datatype_properties(datatype)?;
        let key = TYPE_KEYS.get(type_keyval)?;
        if key.is_freed() {
            return Err(error(ErrorClass::Keyval, format!("the key {type_keyval} was freed")).into());
        }
        if let Some(old) = attached(&kept, &key) {
            delete(datatype, &kept, &key, old)?;
        }
        key.attach();
        lockstep::lock(&kept.attributes).push((key, attribute_val.expose_provenance()));
        Ok(())
    }

    fn PMPI_Type_get_attr(datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) {
        let found = attached(&*datatype_properties(datatype)?, &*TYPE_KEYS.get(type_keyval)?);
        put(flag, c_int::from(found.is_some()))?;
        if let Some(found) = found {
            put(attribute_val.cast::<usize>(), found)?;
        }
        Ok(())
    }

    fn PMPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) {
        let kept = datatype_properties(datatype)?;
        let key = TYPE_KEYS.get(type_keyval)?;
        let Some(value) = attached(&kept, &key) else {
            let reason = format!("nothing is attached by the key {type_keyval}");
            return Err(error(ErrorClass::Keyval, reason).into());
        };
        Ok(delete(datatype, &kept, &key, value)?)
    }
}
