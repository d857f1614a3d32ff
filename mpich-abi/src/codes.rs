//! Error codes and classes (MPI 5.0, 9.4).
//!
//! ```text
//!             MPICH                                        the standard ABI, by the crate mpi-abi
//! class       0 to 127                                     0 to 62; 1001 to 1018 for MPI_T
//! instance    number << 7 | class, below MPI_ERR_LASTCODE  2^30 | class << 23 | number
//! last code   2^30 - 1                                     16383
//! program's   from there up                                from there up
//! ```
//!
//! As with MPICH, the lowest seven bits of a code are its class. Both directions are total, and
//! each code comes back: a function of the program may return any number, and gets it back from the
//! call that called it.

use crate::numbers::{ERROR_CLASSES, mpich};
use mpi_abi::c::{MPI_ERR_LASTCODE, MPI_ERR_SPAWN, MPI_SUCCESS};
use mpi_abi::calls::CODE_OF_NOT_STARTED;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Before ranks are spawned: the codes of those that are not started are written below this layer.
pub(crate) fn of_not_started() {
    CODE_OF_NOT_STARTED.store(to_mpich(MPI_ERR_SPAWN), Ordering::Relaxed);
}

const CLASS_BITS: u32 = 7;
const CLASSES: usize = 1 << CLASS_BITS;
const CLASS: c_int = (1 << CLASS_BITS) - 1;
const IS_INSTANCE: c_int = 1 << 30;
const NUMBER_BITS: u32 = 23;
const NUMBER: c_int = (1 << NUMBER_BITS) - 1;

/// MPICH's classes by the standard's. Other numbers of the standard stand for the other
/// numbers of MPICH.
const TO_MPICH: [u8; CLASSES] = classes();
const TO_OURS: [u8; CLASSES] = inverse(TO_MPICH);

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "classes are small"
)]
const fn classes() -> [u8; CLASSES] {
    const NONE: u8 = u8::MAX;
    let mut table = [NONE; CLASSES];
    let mut taken = [false; CLASSES];
    let mut nth = 0;
    while nth < ERROR_CLASSES.len() {
        let (ours, theirs) = ERROR_CLASSES[nth];
        if (ours as usize) < CLASSES {
            table[ours as usize] = theirs as u8;
            taken[theirs as usize] = true;
        }
        nth += 1;
    }
    let (mut ours, mut free) = (0, 0);
    while ours < CLASSES {
        if table[ours] == NONE {
            while taken[free] {
                free += 1;
            }
            table[ours] = free as u8;
            taken[free] = true;
        }
        ours += 1;
    }
    table
}

#[expect(clippy::cast_possible_truncation, reason = "classes are small")]
const fn inverse(table: [u8; CLASSES]) -> [u8; CLASSES] {
    let mut inverse = [0; CLASSES];
    let mut nth = 0;
    while nth < CLASSES {
        inverse[table[nth] as usize] = nth as u8;
        nth += 1;
    }
    inverse
}

fn class(table: &[u8; CLASSES], class: c_int) -> c_int {
    table[usize::try_from(class & CLASS).unwrap_or(0)].into()
}

/// Classes of the standard that are above the others: those of the tool information interface.
fn tool_classes() -> impl Iterator<Item = &'static (c_int, c_int)> {
    let classes = ERROR_CLASSES.iter();
    classes.filter(|(ours, _)| *ours > CLASS)
}

/// Translates a code of the standard ABI.
#[inline(always)]
pub fn to_mpich(code: c_int) -> c_int {
    match code {
        MPI_SUCCESS => MPI_SUCCESS,
        _ => error_to_mpich(code),
    }
}

#[cold]
fn error_to_mpich(code: c_int) -> c_int {
    match code {
        0..=CLASS => class(&TO_MPICH, code),
        _ if code >= IS_INSTANCE => {
            let number = code & NUMBER;
            number << CLASS_BITS | class(&TO_MPICH, code >> NUMBER_BITS)
        }
        _ if code >= MPI_ERR_LASTCODE => mpich::MPI_ERR_LASTCODE + (code - MPI_ERR_LASTCODE),
        _ => {
            let found = tool_classes().find(|(ours, _)| *ours == code);
            found.map_or(code, |(_, theirs)| *theirs)
        }
    }
}

/// Translates a code of MPICH's ABI.
#[inline(always)]
pub fn ours(code: c_int) -> c_int {
    match code {
        MPI_SUCCESS => MPI_SUCCESS,
        _ => error_ours(code),
    }
}

#[cold]
fn error_ours(code: c_int) -> c_int {
    if code < 0 {
        return code;
    }
    if code >= mpich::MPI_ERR_LASTCODE {
        return MPI_ERR_LASTCODE + (code - mpich::MPI_ERR_LASTCODE);
    }
    if code > CLASS {
        let of_class = class(&TO_OURS, code);
        return IS_INSTANCE | of_class << NUMBER_BITS | code >> CLASS_BITS;
    }
    let of_tools = tool_classes().find(|(_, theirs)| *theirs == code);
    of_tools.map_or_else(|| class(&TO_OURS, code), |(ours, _)| *ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::c;

    #[test]
    fn classes_are_translated_by_their_names() {
        let both = [
            (c::MPI_ERR_TRUNCATE, mpich::MPI_ERR_TRUNCATE),
            (c::MPI_ERR_IN_STATUS, mpich::MPI_ERR_IN_STATUS),
            (c::MPI_T_ERR_INVALID_INDEX, mpich::MPI_T_ERR_INVALID_INDEX),
            (c::MPI_ERR_LASTCODE, mpich::MPI_ERR_LASTCODE),
            (c::MPI_ERR_LASTCODE + 3, mpich::MPI_ERR_LASTCODE + 3),
        ];
        for (standard, of_mpich) in both {
            assert_eq!(to_mpich(standard), of_mpich);
            assert_eq!(ours(of_mpich), standard);
        }
    }

    #[test]
    fn a_code_comes_back_and_its_lowest_bits_are_its_class() {
        let instance = IS_INSTANCE | c::MPI_ERR_TRUNCATE << NUMBER_BITS | 5;
        let theirs = to_mpich(instance);
        assert_eq!(theirs & 0x7f, mpich::MPI_ERR_TRUNCATE);
        assert!(theirs < mpich::MPI_ERR_LASTCODE);
        let few = [-1, c_int::MIN, 1000, 12_345, 1 << 29, 0x3fff_fffe];
        for code in (0..300).chain(few) {
            assert_eq!(to_mpich(ours(code)), code, "{code}");
        }
    }
}
