//! Handles and keys at an address of the program.

use crate::handles::Handle;
use crate::numbers::{KEYS, ours, to_mpich};
use std::ffi::c_int;
use std::ptr::null_mut;

/// A handle that a call writes.
#[derive(Debug)]
pub struct HandleResult<H: Handle> {
    theirs: *mut H::Mpich,
    ours: H,
}

impl<H: Handle> HandleResult<H> {
    /// Makes a place for the handle.
    #[inline(always)]
    pub fn new(theirs: *mut H::Mpich) -> Self {
        let ours = H::UNWRITTEN;
        Self { theirs, ours }
    }

    /// Returns the place, or null if the program gives none.
    #[inline(always)]
    pub fn place(&mut self) -> *mut H {
        match self.theirs.is_null() {
            true => null_mut(),
            false => &raw mut self.ours,
        }
    }

    /// Gives the program what the call has written.
    ///
    /// # Safety
    /// The program's address is valid.
    #[inline(always)]
    pub unsafe fn store(self) {
        if self.ours != H::UNWRITTEN {
            // SAFETY: the caller's promise. The call has written, so the address is not null.
            unsafe { *self.theirs = self.ours.to_mpich() };
        }
    }
}

/// A handle that a call reads, and may change.
#[derive(Debug)]
pub struct Given<H: Handle> {
    theirs: *mut H::Mpich,
    given: H,
    ours: H,
}

impl<H: Handle> Given<H> {
    /// Reads the handle.
    ///
    /// # Safety
    /// The program's address is null or valid.
    #[inline(always)]
    pub unsafe fn new(theirs: *mut H::Mpich) -> Self {
        let given = match theirs.is_null() {
            true => H::UNWRITTEN,
            // SAFETY: the caller's promise.
            false => H::ours(unsafe { *theirs }),
        };
        let ours = given;
        Self {
            theirs,
            given,
            ours,
        }
    }

    /// Returns the place, or null if the program gives none.
    #[inline(always)]
    pub fn place(&mut self) -> *mut H {
        match self.theirs.is_null() {
            true => null_mut(),
            false => &raw mut self.ours,
        }
    }

    /// Gives the program what the call has changed.
    ///
    /// # Safety
    /// The program's address is valid.
    #[inline(always)]
    pub unsafe fn store(self) {
        if self.ours != self.given {
            // SAFETY: the caller's promise.
            unsafe { *self.theirs = self.ours.to_mpich() };
        }
    }
}

/// The key of an attribute that a call frees.
#[derive(Debug)]
pub struct Key {
    theirs: *mut c_int,
    given: c_int,
    ours: c_int,
}

impl Key {
    /// Reads the key.
    ///
    /// # Safety
    /// The program's address is null or valid.
    pub unsafe fn new(theirs: *mut c_int) -> Self {
        let given = match theirs.is_null() {
            true => 0,
            // SAFETY: the caller's promise.
            false => ours(&KEYS, unsafe { *theirs }),
        };
        let ours = given;
        Self {
            theirs,
            given,
            ours,
        }
    }

    /// Returns the place, or null if the program gives none.
    pub fn place(&mut self) -> *mut c_int {
        match self.theirs.is_null() {
            true => null_mut(),
            false => &raw mut self.ours,
        }
    }

    /// Gives the program what the call has changed.
    ///
    /// # Safety
    /// The program's address is valid.
    pub unsafe fn store(self) {
        if self.ours != self.given {
            // SAFETY: the caller's promise.
            unsafe { *self.theirs = to_mpich(&KEYS, self.ours) };
        }
    }
}
