//! The contents of datatypes, and their names (MPI 5.0, 5.1.13 and 7.8).

use super::calls;
use super::environment::put_string;
use crate::answer::{Outcome, error};
use crate::c::*;
use crate::objects::{
    DatatypeContents, Ingredient, datatype, datatype_entry, datatype_handle, datatype_properties,
    elementary, list_mut, put, text,
};
use bcs_core::lockstep;
use bcs_mpi::mpi::{ErrorClass, Result};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Returns the contents of a derived datatype; `None` for a predefined one.
fn contents(handle: MPI_Datatype) -> Result<Option<Arc<DatatypeContents>>> {
    match elementary(handle) {
        Some(_) => Ok(None),
        None => Ok(Some(datatype_entry(handle)?.derived.contents)),
    }
}

/// Returns the same, for a function that cannot represent large counts.
fn small_contents(handle: MPI_Datatype) -> Result<Option<Arc<DatatypeContents>>> {
    let contents = contents(handle)?;
    let counts = contents
        .as_ref()
        .map_or(0, |contents| contents.counts.len());
    if counts > 0 {
        let reason =
            format!("the datatype was made of {counts} large counts: ask the function with _c");
        return Err(error(ErrorClass::Type, reason));
    }
    Ok(contents)
}

fn made_of_nothing() -> Box<bcs_mpi::mpi::Error> {
    error(
        ErrorClass::Type,
        "a predefined datatype was made of nothing",
    )
}

/// Writes the arguments of one kind, if there is room for all.
fn write<T: Copy>(what: &str, from: &[T], room: i64, to: *mut T) -> Result<()> {
    let length = i64::try_from(from.len()).unwrap_or(i64::MAX);
    if room < length {
        let reason = format!("there is room for {room} of {length} {what}");
        return Err(error(ErrorClass::Arg, reason));
    }
    list_mut(to, length)?.copy_from_slice(from);
    Ok(())
}

/// Writes the datatypes; derived ones get new handles. This comes last, because the program must
/// free these handles.
fn write_datatypes(from: &[Ingredient], room: i64, to: *mut MPI_Datatype) -> Outcome {
    let length = i64::try_from(from.len()).unwrap_or(i64::MAX);
    if room < length {
        let reason = format!("there is room for {room} of {length} datatypes");
        return Err(error(ErrorClass::Arg, reason).into());
    }
    for (place, ingredient) in list_mut(to, length)?.iter_mut().zip(from) {
        *place = match ingredient {
            Ingredient::Predefined(handle) => *handle,
            Ingredient::Derived(derived) => datatype_handle(derived.clone()),
        };
    }
    Ok(())
}

/// Returns the C name of a predefined handle: the first of its synonyms.
fn default_name(handle: MPI_Datatype) -> &'static str {
    let mut lines = include_str!("../../standard/constants.txt").lines();
    let name = lines.find_map(|line| {
        let mut words = line.split('\t').skip(1);
        let (name, kind, value) = (words.next()?, words.next()?, words.next()?);
        let matches = kind == "MPI_Datatype" && value.parse() == Ok(handle.0);
        matches.then_some(name)
    });
    name.unwrap_or_default()
}

/// The pairs of a value and an index (6.9.4).
const PAIRS: [(MPI_Datatype, MPI_Datatype, MPI_Datatype); 9] = [
    (MPI_FLOAT, MPI_INT, MPI_FLOAT_INT),
    (MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT),
    (MPI_LONG, MPI_INT, MPI_LONG_INT),
    (MPI_INT, MPI_INT, MPI_2INT),
    (MPI_SHORT, MPI_INT, MPI_SHORT_INT),
    (MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT),
    (MPI_REAL, MPI_REAL, MPI_2REAL),
    (
        MPI_DOUBLE_PRECISION,
        MPI_DOUBLE_PRECISION,
        MPI_2DOUBLE_PRECISION,
    ),
    (MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER),
];

/// The predefined types of a class, by their bytes (19.1.5).
const SIZED: [(c_int, c_int, MPI_Datatype); 12] = [
    (MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1),
    (MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2),
    (MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4),
    (MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8),
    (MPI_TYPECLASS_REAL, 2, MPI_REAL2),
    (MPI_TYPECLASS_REAL, 4, MPI_REAL4),
    (MPI_TYPECLASS_REAL, 8, MPI_REAL8),
    (MPI_TYPECLASS_REAL, 16, MPI_REAL16),
    (MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4),
    (MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8),
    (MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16),
    (MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32),
];

fn how_many<T, N: TryFrom<usize> + From<c_int>>(list: &[T]) -> N {
    N::try_from(list.len()).unwrap_or(N::from(MPI_UNDEFINED))
}

calls! {
    fn PMPI_Type_get_envelope(datatype: MPI_Datatype, num_integers: *mut c_int, num_addresses: *mut c_int, num_datatypes: *mut c_int, combiner: *mut c_int) {
        let contents = small_contents(datatype)?;
        let contents = contents.as_deref();
        put(num_integers, contents.map_or(0, |of| how_many(&of.integers)))?;
        put(num_addresses, contents.map_or(0, |of| how_many(&of.addresses)))?;
        put(num_datatypes, contents.map_or(0, |of| how_many(&of.datatypes)))?;
        Ok(put(combiner, contents.map_or(MPI_COMBINER_NAMED, |of| of.combiner))?)
    }

    fn PMPI_Type_get_envelope_c(datatype: MPI_Datatype, num_integers: *mut MPI_Count, num_addresses: *mut MPI_Count, num_large_counts: *mut MPI_Count, num_datatypes: *mut MPI_Count, combiner: *mut c_int) {
        let contents = contents(datatype)?;
        let contents = contents.as_deref();
        put(num_integers, contents.map_or(0, |of| how_many(&of.integers)))?;
        put(num_addresses, contents.map_or(0, |of| how_many(&of.addresses)))?;
        put(num_large_counts, contents.map_or(0, |of| how_many(&of.counts)))?;
        put(num_datatypes, contents.map_or(0, |of| how_many(&of.datatypes)))?;
        Ok(put(combiner, contents.map_or(MPI_COMBINER_NAMED, |of| of.combiner))?)
    }

    fn PMPI_Type_get_contents(datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint, array_of_datatypes: *mut MPI_Datatype) {
        let contents = small_contents(datatype)?.ok_or_else(made_of_nothing)?;
        write("integers", &contents.integers, max_integers.into(), array_of_integers)?;
        write("addresses", &contents.addresses, max_addresses.into(), array_of_addresses)?;
        write_datatypes(&contents.datatypes, max_datatypes.into(), array_of_datatypes)
    }

    fn PMPI_Type_get_contents_c(datatype: MPI_Datatype, max_integers: MPI_Count, max_addresses: MPI_Count, max_large_counts: MPI_Count, max_datatypes: MPI_Count, array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint, array_of_large_counts: *mut MPI_Count, array_of_datatypes: *mut MPI_Datatype) {
        let contents = contents(datatype)?.ok_or_else(made_of_nothing)?;
        write("integers", &contents.integers, max_integers, array_of_integers)?;
        write("addresses", &contents.addresses, max_addresses, array_of_addresses)?;
        write("large counts", &contents.counts, max_large_counts, array_of_large_counts)?;
        write_datatypes(&contents.datatypes, max_datatypes, array_of_datatypes)
    }

    fn PMPI_Type_get_name(datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int) {
        let given = match datatype {
            MPI_DATATYPE_NULL => None,
            _ => lockstep::lock(&datatype_properties(datatype)?.name).clone(),
        };
        let name = given.unwrap_or_else(|| default_name(datatype).into());
        let room = MPI_MAX_OBJECT_NAME.unsigned_abs() as usize;
        Ok(put_string(type_name, resultlen, &name, room)?)
    }

    fn PMPI_Type_set_name(datatype: MPI_Datatype, type_name: *const c_char) {
        let kept = datatype_properties(datatype)?;
        let name = text(type_name)?;
        let room = MPI_MAX_OBJECT_NAME.unsigned_abs() as usize;
        let name = &name[..name.len().min(room - 1)];
        let of = self::datatype(datatype)?;
        if of.elementary().is_none() {
            // The core's messages use the name, too.
            of.set_name(&String::from_utf8_lossy(name))?;
        }
        *lockstep::lock(&kept.name) = Some(name.to_vec());
        Ok(())
    }

    fn PMPI_Type_get_value_index(value_type: MPI_Datatype, index_type: MPI_Datatype, pair_type: *mut MPI_Datatype) {
        datatype(value_type)?;
        datatype(index_type)?;
        let pair = PAIRS.iter().find(|(value, index, _)| (*value, *index) == (value_type, index_type));
        Ok(put(pair_type, pair.map_or(MPI_DATATYPE_NULL, |(_, _, pair)| *pair))?)
    }

    fn PMPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype) {
        let found = SIZED.iter().find(|(class, bytes, _)| (*class, *bytes) == (typeclass, size));
        let Some((_, _, found)) = found else {
            let reason = format!("there is no datatype of {size} bytes in the class {typeclass}");
            return Err(error(ErrorClass::Arg, reason).into());
        };
        Ok(put(datatype, *found)?)
    }
}
