//! Support of Fortran (MPI 5.0, 19.1 and 20.3): datatypes by precision and range, and properties of
//! its compilers.

use super::calls;
use crate::answer::error;
use crate::c::*;
use crate::combining;
use crate::objects::{
    DATATYPES, DatatypeContents, DatatypeEntry, DerivedDatatype, datatype, datatype_handle,
    list_mut, put,
};
use crate::state;
use bcs_core::lockstep;
use bcs_mpi::mpi::{ErrorClass, Info, Result};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

/// A kind of number: its minimum of decimal digits and of decimal exponents, and its datatype.
type FortranKind = (c_int, c_int, MPI_Datatype);

const REALS: [FortranKind; 3] = [
    (6, 37, MPI_REAL4),
    (15, 307, MPI_REAL8),
    (33, 4931, MPI_REAL16),
];

const COMPLEXES: [FortranKind; 3] = [
    (6, 37, MPI_COMPLEX8),
    (15, 307, MPI_COMPLEX16),
    (33, 4931, MPI_COMPLEX32),
];

const INTEGERS: [FortranKind; 4] = [
    (0, 2, MPI_INTEGER1),
    (0, 4, MPI_INTEGER2),
    (0, 9, MPI_INTEGER4),
    (0, 18, MPI_INTEGER8),
];

/// The datatypes that were requested: the same arguments always give the same handle.
static ASKED: Mutex<BTreeMap<(c_int, c_int, c_int), MPI_Datatype>> = Mutex::new(BTreeMap::new());

/// Asked by the glue of Fortran, for buffers of `mpi_f08` that are sections of arrays: whether a
/// reduction by this operation may put its result where one element of the datatype `result` lies,
/// and take its contribution from one of the datatype `contribution`, if that is not null. Both are
/// made of elements of the datatype `element`. By the standard, reductions have predefined
/// datatypes only.
#[unsafe(export_name = "bcs_make_operand")]
pub extern "C" fn make_operand(
    contribution: MPI_Datatype,
    result: MPI_Datatype,
    element: MPI_Datatype,
    op: MPI_Op,
) -> c_int {
    combining::make_operand([contribution, result], element, op).into()
}

/// Returns whether a datatype was requested by precision and range. Programs must not free such a
/// datatype.
pub(super) fn is_of_fortran(made: &DatatypeEntry) -> bool {
    matches!(
        made.derived.contents.combiner,
        MPI_COMBINER_F90_REAL | MPI_COMBINER_F90_COMPLEX | MPI_COMBINER_F90_INTEGER
    )
}

/// Returns the datatype of the first kind that is sufficient. `MPI_UNDEFINED` requires nothing.
fn asked(
    combiner: c_int,
    kinds: &[FortranKind],
    precision: c_int,
    range: c_int,
) -> Result<MPI_Datatype> {
    state::process().map_err(|_| error(ErrorClass::Other, "called before MPI_Init"))?;
    let mut known = lockstep::lock(&ASKED);
    if let Some(handle) = known.get(&(combiner, precision, range)) {
        return Ok(*handle);
    }
    let enough = |has: c_int, asked: c_int| asked == MPI_UNDEFINED || asked <= has;
    let found = kinds
        .iter()
        .find(|(digits, exponents, _)| enough(*digits, precision) && enough(*exponents, range));
    let is_asked = precision != MPI_UNDEFINED || range != MPI_UNDEFINED;
    let Some((_, _, predefined)) = found.filter(|_| is_asked) else {
        let reason = format!("no datatype has {precision} digits and a range of {range}");
        return Err(error(ErrorClass::Arg, reason));
    };
    let integers = match combiner {
        MPI_COMBINER_F90_INTEGER => vec![range],
        _ => vec![precision, range],
    };
    let contents = DatatypeContents {
        combiner,
        integers,
        addresses: Vec::new(),
        counts: Vec::new(),
        datatypes: Vec::new(),
    };
    let derived = DerivedDatatype {
        datatype: datatype(*predefined)?,
        contents: Arc::new(contents),
    };
    let handle = datatype_handle(derived);
    known.insert((combiner, precision, range), handle);
    debug_assert!(DATATYPES.with(handle.0, |_| ()).is_some());
    Ok(handle)
}

/// Makes an info object of pairs.
fn told(pairs: impl IntoIterator<Item = (String, String)>) -> Result<MPI_Info> {
    let info = Info::new();
    for (key, value) in pairs {
        info.set(&key, &value)?;
    }
    Ok(MPI_Info(crate::objects::INFOS.insert(info)))
}

/// Names of types that have datatypes of several lengths, with the lengths that the ABI names and
/// whether they exist.
const LENGTHS: [(&str, &[(c_int, bool)]); 4] = [
    (
        "logical",
        &[(1, true), (2, true), (4, true), (8, true), (16, false)],
    ),
    (
        "integer",
        &[(1, true), (2, true), (4, true), (8, true), (16, false)],
    ),
    ("real", &[(2, true), (4, true), (8, true), (16, true)]),
    ("complex", &[(4, true), (8, true), (16, true), (32, true)]),
];

fn already() -> crate::answer::Fault {
    let reason = "what Fortran does is known: it is that of its usual compilers";
    error(ErrorClass::Abi, reason).into()
}

calls! {
    fn PMPI_Type_create_f90_real(p: c_int, r: c_int, newtype: *mut MPI_Datatype) {
        Ok(put(newtype, asked(MPI_COMBINER_F90_REAL, &REALS, p, r)?)?)
    }

    fn PMPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: *mut MPI_Datatype) {
        Ok(put(newtype, asked(MPI_COMBINER_F90_COMPLEX, &COMPLEXES, p, r)?)?)
    }

    fn PMPI_Type_create_f90_integer(r: c_int, newtype: *mut MPI_Datatype) {
        Ok(put(newtype, asked(MPI_COMBINER_F90_INTEGER, &INTEGERS, MPI_UNDEFINED, r)?)?)
    }

    fn PMPI_Abi_get_info(info: *mut MPI_Info) {
        let sizes = [("aint", size_of::<MPI_Aint>()), ("count", size_of::<MPI_Count>()), ("offset", size_of::<MPI_Offset>())];
        let pairs = sizes.map(|(name, size)| (format!("mpi_{name}_size"), size.to_string()));
        Ok(put(info, told(pairs)?)?)
    }

    fn PMPI_Abi_get_fortran_info(info: *mut MPI_Info) {
        let sizes = [("logical", 4), ("integer", 4), ("real", 4), ("double_precision", 8)];
        let sizes = sizes.map(|(name, size)| (format!("mpi_{name}_size"), size.to_string()));
        let lengths = LENGTHS.iter().flat_map(|(name, lengths)| {
            lengths.iter().map(move |(length, there)| (format!("mpi_{name}{length}_supported"), there.to_string()))
        });
        let double = ("mpi_double_complex_supported".to_owned(), true.to_string());
        Ok(put(info, told(sizes.into_iter().chain(lengths).chain([double]))?)?)
    }

    fn PMPI_Abi_set_fortran_info(_info: MPI_Info) {
        Err(already())
    }

    fn PMPI_Abi_get_fortran_booleans(logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void, is_set: *mut c_int) {
        // Write 1 and 0 in any length: the first byte is enough, because the machine is
        // little-endian.
        let write = |place: *mut c_void, value: u8| -> Result<()> {
            let bytes = list_mut(place.cast::<u8>(), logical_size)?;
            bytes.fill(0);
            bytes.iter_mut().take(1).for_each(|first| *first = value);
            Ok(())
        };
        write(logical_true, 1)?;
        write(logical_false, 0)?;
        Ok(put(is_set, 1)?)
    }

    fn PMPI_Abi_set_fortran_booleans(_logical_size: c_int, _logical_true: *mut c_void, _logical_false: *mut c_void) {
        Err(already())
    }
}
