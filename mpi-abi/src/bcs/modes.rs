//! The types of the header, and the modes of a call.

use crate::answer::error;
use bcs_mpi::bcs::Blocking;
use bcs_mpi::mpi::{ErrorClass, Result};
use std::ffi::c_int;

/// `BCS_NON_BLOCKING` or `BCS_BLOCKING`. From C it may be any number.
pub type BCS_Blocking = c_int;
/// `BCS_NON_ALL` or `BCS_ALL`.
pub type BCS_All = c_int;
/// `BCS_NON_VECTORIAL` or `BCS_VECTORIAL`.
pub type BCS_Vectorial = c_int;

/// A handle of a posted operation.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BCS_Request(pub usize);

/// The result of a receive or a probe.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BCS_Status {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    pub bytes: usize,
}

/// Checks that a number is one of two choices.
fn choice(name: &str, number: c_int) -> Result<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => {
            let reason = format!("{name} is 0 or 1, not {number}");
            Err(error(ErrorClass::Arg, reason))
        }
    }
}

/// Returns whether the call waits.
pub(super) fn blocking(number: BCS_Blocking) -> Result<Blocking> {
    Ok(match choice("BCS_Blocking", number)? {
        true => Blocking::Yes,
        false => Blocking::No,
    })
}

/// Returns whether all ranks get the result.
pub(super) fn all(number: BCS_All) -> Result<bool> {
    choice("BCS_All", number)
}

/// Returns whether blocks have lengths and places of their own.
pub(super) fn vectorial(number: BCS_Vectorial) -> Result<bool> {
    choice("BCS_Vectorial", number)
}
