//! Groups (MPI 5.0, 7.3).

use super::calls;
use super::communicators::comparison;
use crate::answer::{Outcome, error};
use crate::c::*;
use crate::objects::{GROUPS, group, group_handle, list, list_mut, put};
use bcs_mpi::mpi::{ErrorClass, Group, Result};
use std::ffi::c_int;

/// Stores a group that was made from another.
fn made(place: *mut MPI_Group, group: Group) -> Outcome {
    Ok(put(place, group_handle(group))?)
}

/// Converts ranges to the core's form.
fn ranges(count: c_int, of: *mut [c_int; 3]) -> Result<Vec<(i32, i32, i32)>> {
    let ranges = list(of.cast_const(), count)?;
    Ok(ranges
        .iter()
        .map(|[first, last, stride]| (*first, *last, *stride))
        .collect())
}

calls! {
    fn PMPI_Group_size(group: MPI_Group, size: *mut c_int) {
        Ok(put(size, super::group(group)?.size())?)
    }

    fn PMPI_Group_rank(group: MPI_Group, rank: *mut c_int) {
        Ok(put(rank, super::group(group)?.rank().unwrap_or(MPI_UNDEFINED))?)
    }

    fn PMPI_Group_translate_ranks(group1: MPI_Group, n: c_int, ranks1: *const c_int, group2: MPI_Group, ranks2: *mut c_int) {
        let (one, other) = (group(group1)?, group(group2)?);
        let there = one.translate(list(ranks1, n)?, &other)?;
        list_mut(ranks2, n)?.copy_from_slice(&there);
        Ok(())
    }

    fn PMPI_Group_compare(group1: MPI_Group, group2: MPI_Group, result: *mut c_int) {
        Ok(put(result, comparison(group(group1)?.compare(&group(group2)?)))?)
    }

    fn PMPI_Group_union(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) {
        made(newgroup, group(group1)?.union(&group(group2)?))
    }

    fn PMPI_Group_intersection(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) {
        made(newgroup, group(group1)?.intersection(&group(group2)?))
    }

    fn PMPI_Group_difference(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) {
        made(newgroup, group(group1)?.difference(&group(group2)?))
    }

    fn PMPI_Group_incl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) {
        made(newgroup, super::group(group)?.include(list(ranks, n)?)?)
    }

    fn PMPI_Group_excl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) {
        made(newgroup, super::group(group)?.exclude(list(ranks, n)?)?)
    }

    fn PMPI_Group_range_incl(group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group) {
        made(newgroup, super::group(group)?.include_ranges(&super::ranges(n, ranges)?)?)
    }

    fn PMPI_Group_range_excl(group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group) {
        made(newgroup, super::group(group)?.exclude_ranges(&super::ranges(n, ranges)?)?)
    }

    fn PMPI_Group_free(group: *mut MPI_Group) {
        let handle = *list(group.cast_const(), 1)?.first().expect("it is one");
        // MPI_Group_incl and similar functions may return the empty group, which programs free like
        // any other.
        if handle != MPI_GROUP_EMPTY && GROUPS.remove(handle.0).is_none() {
            let reason = format!("{:#x} is no group that can be freed", handle.0);
            return Err(error(ErrorClass::Group, reason).into());
        }
        Ok(put(group, MPI_GROUP_NULL)?)
    }
}
