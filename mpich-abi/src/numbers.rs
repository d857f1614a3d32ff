//! Integers that are constants.
//!
//! A number that is no constant in MPICH must not become one of the standard, so that an invalid
//! argument stays one.

use mpi_abi::c::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, MPI_ROOT, MPI_UNDEFINED};
use std::ffi::c_int;

/// Pairs of a constant of the standard, and MPICH's.
pub type Pairs = [(c_int, c_int)];

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// The value of an argument that is no constant in MPICH, but one in the standard.
const INVALID: c_int = c_int::MIN;

/// Translates a constant of MPICH. Another number stays, unless it is a constant of the standard.
#[inline]
pub fn ours(pairs: &Pairs, theirs: c_int) -> c_int {
    match pairs.iter().find(|(_, of_mpich)| *of_mpich == theirs) {
        Some((of_standard, _)) => *of_standard,
        None if pairs.iter().any(|(of_standard, _)| *of_standard == theirs) => INVALID,
        None => theirs,
    }
}

/// Translates a constant of the standard. Another number stays.
#[inline]
pub fn to_mpich(pairs: &Pairs, ours: c_int) -> c_int {
    let found = pairs.iter().find(|(of_standard, _)| *of_standard == ours);
    found.map_or(ours, |(_, of_mpich)| *of_mpich)
}

/// A bit that no mode has.
const INVALID_BIT: c_int = 1 << 30;

/// Translates the bits of MPICH.
pub fn bits_ours(pairs: &Pairs, theirs: c_int) -> c_int {
    let known = |sum: c_int, (_, of_mpich): &(c_int, c_int)| sum | of_mpich;
    let given = pairs.iter().filter(|(_, of_mpich)| theirs & of_mpich != 0);
    let bits = given.fold(0, |sum, (of_standard, _)| sum | of_standard);
    match theirs & !pairs.iter().fold(0, known) {
        0 => bits,
        _ => bits | INVALID_BIT,
    }
}

/// Translates the bits of the standard.
pub fn bits_to_mpich(pairs: &Pairs, ours: c_int) -> c_int {
    let given = pairs
        .iter()
        .filter(|(of_standard, _)| ours & of_standard != 0);
    given.fold(0, |sum, (_, of_mpich)| sum | of_mpich)
}

/// Translates a rank.
#[inline(always)]
pub fn rank_ours(theirs: c_int) -> c_int {
    match theirs {
        0.. | MPI_UNDEFINED => theirs,
        mpich::MPI_PROC_NULL => MPI_PROC_NULL,
        mpich::MPI_ANY_SOURCE => MPI_ANY_SOURCE,
        mpich::MPI_ROOT => MPI_ROOT,
        MPI_ROOT => INVALID,
        _ => theirs,
    }
}

/// Translates a rank of the standard.
#[inline(always)]
pub fn rank_to_mpich(ours: c_int) -> c_int {
    match ours {
        0.. => ours,
        MPI_PROC_NULL => mpich::MPI_PROC_NULL,
        MPI_ANY_SOURCE => mpich::MPI_ANY_SOURCE,
        MPI_ROOT => mpich::MPI_ROOT,
        _ => ours,
    }
}

/// Translates a tag.
#[inline(always)]
pub fn tag_ours(theirs: c_int) -> c_int {
    match theirs {
        mpich::MPI_ANY_TAG => MPI_ANY_TAG,
        // It is no tag, and stays none.
        MPI_ANY_TAG => INVALID,
        _ => theirs,
    }
}

/// Translates a tag of the standard.
#[inline(always)]
pub fn tag_to_mpich(ours: c_int) -> c_int {
    match ours {
        MPI_ANY_TAG => mpich::MPI_ANY_TAG,
        _ => ours,
    }
}

/// Translates the displacement of a file's view.
pub fn displacement_ours(theirs: i64) -> i64 {
    let current = i64::from(mpi_abi::c::MPI_DISPLACEMENT_CURRENT);
    match theirs == i64::from(mpich::MPI_DISPLACEMENT_CURRENT) {
        true => current,
        false if theirs == current => i64::MIN,
        false => theirs,
    }
}

/// Translates a type of `MPI_Comm_split_type`. MPICH's own type for neighbours in a network has no
/// counterpart: here each node is such a neighbourhood.
pub fn split_type_ours(theirs: c_int) -> c_int {
    match theirs {
        mpich::MPIX_COMM_TYPE_NEIGHBORHOOD => mpi_abi::c::MPI_COMM_TYPE_SHARED,
        _ => ours(&SPLIT_TYPES, theirs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_come_back_and_other_numbers_become_none() {
        for (ours, theirs) in SPLIT_TYPES.iter().chain(&THREAD_LEVELS).chain(&COMBINERS) {
            let pairs = [(*ours, *theirs)];
            assert_eq!(super::ours(&pairs, *theirs), *ours);
            assert_eq!(to_mpich(&pairs, *ours), *theirs);
        }
        for theirs in -10..10 {
            assert_eq!(
                rank_to_mpich(rank_ours(theirs)),
                match theirs {
                    MPI_ROOT => INVALID,
                    _ => theirs,
                }
            );
        }
        assert_eq!(tag_ours(-1), MPI_ANY_TAG);
        assert_eq!((tag_ours(-2), tag_ours(7)), (INVALID, 7));
        assert_eq!(super::ours(&KEYS, 501), INVALID);
        assert_eq!(super::ours(&KEYS, 5000), 5000);
    }

    #[test]
    fn bits_come_back_and_an_unknown_one_stays_invalid() {
        let all = ASSERTIONS.iter().fold(0, |sum, (_, theirs)| sum | theirs);
        assert_eq!(bits_to_mpich(&ASSERTIONS, bits_ours(&ASSERTIONS, all)), all);
        assert_eq!(bits_ours(&ASSERTIONS, 1), INVALID_BIT);
    }
}
