//! The functions that C calls to change pages: `mmap` and others. Where they affect the heap, other
//! ranks must see the same memory as the program ([`slot_heap::remapping`]).
#![expect(unsafe_code, reason = "functions of C")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the C library's")]

use crate::c_allocator::set_errno;
use libc::off_t;
use slot_heap::remapping;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

type PageCallResult = Result<usize, rustix::io::Errno>;

/// Converts the kernel's answer to C's.
pub(crate) fn to_c_result(answer: PageCallResult) -> isize {
    match answer {
        Ok(value) => value.cast_signed(),
        Err(errno) => {
            set_errno(errno.raw_os_error());
            -1
        }
    }
}

fn address(answer: PageCallResult) -> *mut c_void {
    // MAP_FAILED is -1.
    std::ptr::with_exposed_provenance_mut(to_c_result(answer).cast_unsigned())
}

fn success(answer: PageCallResult) -> c_int {
    if to_c_result(answer) == -1 { -1 } else { 0 }
}

/// See the C library's manual, here and below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    start: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    let offset = usize::try_from(offset.cast_unsigned()).expect("64 bits");
    // SAFETY: the caller's promise.
    address(unsafe { remapping::map(start.addr(), len, protection, flags, fd, offset) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    start: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { mmap(start, len, protection, flags, fd, offset) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(start: *mut c_void, len: usize) -> c_int {
    // SAFETY: the caller's promise.
    success(unsafe { remapping::unmap(start.addr(), len) })
}

/// The last argument is present only if the flags require it. Otherwise its value does not matter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    start: *mut c_void,
    len: usize,
    new_len: usize,
    flags: c_int,
    to: *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    address(unsafe { remapping::remap(start.addr(), len, new_len, flags, to.addr()) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(start: *mut c_void, len: usize, protection: c_int) -> c_int {
    // SAFETY: the caller's promise.
    success(unsafe { remapping::protect(start.addr(), len, protection, None) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pkey_mprotect(
    start: *mut c_void,
    len: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    // A key of -1 means `mprotect`, also where the kernel has no keys.
    let key = (key != -1).then_some(key);
    // SAFETY: the caller's promise.
    success(unsafe { remapping::protect(start.addr(), len, protection, key) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int {
    // SAFETY: the caller's promise.
    success(unsafe { remapping::advise(start.addr(), len, advice) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmat(id: c_int, start: *const c_void, flags: c_int) -> *mut c_void {
    let len = if start.is_null() { 0 } else { bytes_of(id) };
    // SAFETY: the caller's promise.
    address(unsafe { remapping::attach(id, start.addr(), flags, len) })
}

/// Returns the length of a segment, or 0 if it is not known.
fn bytes_of(id: c_int) -> usize {
    let mut about = MaybeUninit::<libc::shmid_ds>::uninit();
    // SAFETY: the call writes there what it knows.
    let known = unsafe { libc::shmctl(id, libc::IPC_STAT, about.as_mut_ptr()) } == 0;
    if !known {
        return 0;
    }
    // SAFETY: it is written.
    unsafe { about.assume_init() }.shm_segsz
}
