//! Contents of datatypes (MPI 5.0, 5.1.13), and markers of bounds, which MPI 3 removed.

use super::by_hand;
use crate::codes::to_mpich;
use crate::entries::*;
use crate::handles::Handle;
use crate::numbers::{self, DISTRIBUTIONS, mpich};
use crate::places::HandleResult;
use mpi_abi::c::*;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ptr::{null_mut, slice_from_raw_parts_mut};

/// Translates the constants among the integers that a datatype was made of. Large functions have
/// the sizes of arrays elsewhere.
fn translate_integers(combiner: c_int, integers: &mut [c_int], is_large: bool) {
    let is_distributed = combiner == MPI_COMBINER_DARRAY;
    if !is_distributed && combiner != MPI_COMBINER_SUBARRAY {
        return;
    }
    let translate = |one: &mut c_int| *one = numbers::to_mpich(&DISTRIBUTIONS, *one);
    integers.last_mut().into_iter().for_each(translate);
    if is_distributed {
        let ndims = integers.get(2).copied().unwrap_or(0);
        let ndims = usize::try_from(ndims).unwrap_or(0);
        let begin = if is_large { 3 } else { 3 + ndims };
        let distributions = integers.get_mut(begin..begin + ndims);
        distributions
            .unwrap_or_default()
            .iter_mut()
            .for_each(translate);
        let arguments = integers.get_mut(begin + ndims..begin + 2 * ndims);
        let arguments = arguments.unwrap_or_default().iter_mut();
        arguments
            .filter(|one| **one == MPI_DISTRIBUTE_DFLT_DARG)
            .for_each(translate);
    }
}

/// Calls a function that tells the contents of a datatype, and translates what it has written.
///
/// # Safety
/// The arrays have as many elements as the program said.
unsafe fn contents(
    (datatype, is_large): (MPI_Datatype, bool),
    (integers, max_integers): (*mut c_int, MPI_Count),
    (datatypes, max_datatypes): (*mut c_int, MPI_Count),
    call: impl FnOnce(*mut MPI_Datatype) -> c_int,
) -> c_int {
    let length = usize::try_from(max_datatypes).unwrap_or(0);
    let mut ours = SmallVec::<[MPI_Datatype; 16]>::from_elem(MPI_Datatype::UNWRITTEN, length);
    let place = if datatypes.is_null() {
        null_mut()
    } else {
        ours.as_mut_ptr()
    };
    let code = call(place);
    if code != MPI_SUCCESS {
        return to_mpich(code);
    }
    for (nth, ours) in ours.iter().enumerate() {
        if *ours != MPI_Datatype::UNWRITTEN {
            unsafe { *datatypes.add(nth) = ours.to_mpich() };
        }
    }
    let (mut counts, mut combiner) = ([0; 4], 0);
    let [ints, addresses, large, of_types] = &mut counts;
    let known = unsafe {
        entry_PMPI_Type_get_envelope_c(
            datatype,
            ints,
            addresses,
            large,
            of_types,
            &raw mut combiner,
        )
    };
    if known == MPI_SUCCESS && !integers.is_null() {
        let written = usize::try_from(counts[0].min(max_integers)).unwrap_or(0);
        let written = slice_from_raw_parts_mut(integers, written);
        translate_integers(combiner, unsafe { &mut *written }, is_large);
    }
    MPI_SUCCESS
}

/// Returns whether a datatype is a marker of a bound.
fn is_marker(datatype: c_int) -> bool {
    [mpich::MPI_LB, mpich::MPI_UB].contains(&datatype)
}

/// Makes a structure with markers of its bounds: one without them that is resized.
///
/// # Safety
/// The arrays have that many elements.
unsafe fn with_markers(
    count: usize,
    blocks: *const c_int,
    places: *const MPI_Aint,
    kinds: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    let (mut lower, mut upper) = (None, None);
    let mut kept: Vec<(c_int, MPI_Aint, MPI_Datatype)> = Vec::new();
    for nth in 0..count {
        let (block, place, kind) = unsafe { (*blocks.add(nth), *places.add(nth), *kinds.add(nth)) };
        match kind {
            mpich::MPI_LB => lower = Some(lower.map_or(place, |known: MPI_Aint| known.min(place))),
            mpich::MPI_UB => upper = Some(upper.map_or(place, |known: MPI_Aint| known.max(place))),
            _ => kept.push((block, place, MPI_Datatype::ours(kind))),
        }
    }
    let length = c_int::try_from(kept.len()).unwrap_or(c_int::MAX);
    let blocks: Vec<c_int> = kept.iter().map(|(block, _, _)| *block).collect();
    let places: Vec<MPI_Aint> = kept.iter().map(|(_, place, _)| *place).collect();
    let kinds: Vec<MPI_Datatype> = kept.iter().map(|(_, _, kind)| *kind).collect();
    let (mut plain, mut bounds) = (MPI_DATATYPE_NULL, [0; 2]);
    let (blocks, places) = (blocks.as_ptr(), places.as_ptr());
    let code = unsafe {
        entry_PMPI_Type_create_struct(length, blocks, places, kinds.as_ptr(), &raw mut plain)
    };
    if code != MPI_SUCCESS {
        return to_mpich(code);
    }
    let [begin, extent] = &mut bounds;
    unsafe { entry_PMPI_Type_get_extent(plain, begin, extent) };
    let (begin, end) = (bounds[0], bounds[0].wrapping_add(bounds[1]));
    let (begin, end) = (lower.unwrap_or(begin), upper.unwrap_or(end));
    let mut resized = HandleResult::<MPI_Datatype>::new(newtype);
    let extent = end.wrapping_sub(begin);
    let code = unsafe { entry_PMPI_Type_create_resized(plain, begin, extent, resized.place()) };
    unsafe { resized.store() };
    unsafe { entry_PMPI_Type_free(&raw mut plain) };
    to_mpich(code)
}

by_hand! {
    fn PMPI_Type_get_contents(datatype: c_int, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, integers: *mut c_int, addresses: *mut MPI_Aint, datatypes: *mut c_int) {
        let of = MPI_Datatype::ours(datatype);
        contents((of, false), (integers, max_integers.into()), (datatypes, max_datatypes.into()), |datatypes| {
            entry_PMPI_Type_get_contents(of, max_integers, max_addresses, max_datatypes, integers, addresses, datatypes)
        })
    }

    fn PMPI_Type_get_contents_c(datatype: c_int, max_integers: MPI_Count, max_addresses: MPI_Count, max_large_counts: MPI_Count, max_datatypes: MPI_Count, integers: *mut c_int, addresses: *mut MPI_Aint, large_counts: *mut MPI_Count, datatypes: *mut c_int) {
        let of = MPI_Datatype::ours(datatype);
        contents((of, true), (integers, max_integers), (datatypes, max_datatypes), |datatypes| {
            entry_PMPI_Type_get_contents_c(of, max_integers, max_addresses, max_large_counts, max_datatypes, integers, addresses, large_counts, datatypes)
        })
    }

    fn PMPI_Type_create_struct(count: c_int, blocks: *const c_int, places: *const MPI_Aint, kinds: *const c_int, newtype: *mut c_int) {
        let length = if kinds.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
        if (0..length).any(|nth| is_marker(*kinds.add(nth))) {
            return with_markers(length, blocks, places, kinds, newtype);
        }
        let kinds = crate::arrays::List::<MPI_Datatype>::new(kinds, count.into());
        let mut made = HandleResult::<MPI_Datatype>::new(newtype);
        let code = entry_PMPI_Type_create_struct(count, blocks, places, kinds.start(), made.place());
        made.store();
        to_mpich(code)
    }
}
