//! The allocator functions that C calls. Each does what glibc's does, and sets errno.
#![expect(unsafe_code, reason = "functions of C")]
#![allow(
    clippy::missing_safety_doc,
    clippy::must_use_candidate,
    reason = "the contract is the C library's"
)]

use crate::libc_heap;
use slot_heap::heap;
use std::ffi::{c_int, c_void};

/// The alignment of every block, as in glibc: programs keep flags in the four low bits.
const ALIGNMENT: usize = 16;

const PAGE: usize = 4096;

/// The largest size of a block, so that differences of pointers into it fit a signed number.
const LONGEST: usize = isize::MAX as usize;

#[cold]
fn no_memory() -> *mut c_void {
    set_errno(libc::ENOMEM);
    std::ptr::null_mut()
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: no precondition.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: this thread's own.
    unsafe { errno.write(value) };
}

/// Returns the block, or null with errno set.
#[inline]
fn answer(block: *mut u8) -> *mut c_void {
    if block.is_null() {
        return no_memory();
    }
    block.cast()
}

/// Raises a size to the alignment, so that blocks of all sizes are aligned.
#[inline]
fn at_least_one_unit(size: usize) -> usize {
    size.max(ALIGNMENT)
}

/// See the C library's manual, here and below.
#[unsafe(no_mangle)]
pub extern "C" fn malloc(size: usize) -> *mut c_void {
    if !heap::ensure_preloaded() {
        // SAFETY: no precondition.
        return unsafe { libc_heap::malloc(size) };
    }
    if size > LONGEST {
        return no_memory();
    }
    answer(heap::allocate(at_least_one_unit(size)))
}

#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if !heap::ensure_preloaded() {
        // SAFETY: no precondition.
        return unsafe { libc_heap::calloc(count, size) };
    }
    match count.checked_mul(size) {
        Some(size) if size <= LONGEST => answer(heap::allocate_zeroed(at_least_one_unit(size))),
        _ => no_memory(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    if !heap::holds(block.cast()) {
        // SAFETY: the caller's promise, for a block that is not in the slot.
        return unsafe { libc_heap::realloc(block, size) };
    }
    if size == 0 {
        // SAFETY: the caller's promise.
        unsafe { free(block) };
        return std::ptr::null_mut();
    }
    if size > LONGEST {
        return no_memory();
    }
    // SAFETY: the caller's promise.
    answer(unsafe { heap::reallocate(block.cast(), at_least_one_unit(size)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's promise.
        Some(size) => unsafe { realloc(block, size) },
        None => no_memory(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if heap::holds(block.cast()) {
        // SAFETY: the caller's promise. The call does not change errno, unless it gives memory
        // back.
        unsafe { free_in_slot(block.cast()) };
    } else {
        // SAFETY: the caller's promise, for a block that is not in the slot, or null.
        unsafe { libc_heap::free(block) };
    }
}

/// Frees a block and preserves errno, as `free` does since glibc 2.33: cleaning up after a failure
/// does not hide the error.
#[inline]
unsafe fn free_in_slot(block: *mut u8) {
    // SAFETY: the caller's promise.
    let size = unsafe { heap::usable_size(block) };
    if size < heap::LARGE {
        // SAFETY: as above.
        return unsafe { heap::free_sized(block, size) };
    }
    // SAFETY: no precondition.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: this thread's own.
    let before = unsafe { errno.read() };
    // SAFETY: as above.
    unsafe { heap::free_sized(block, size) };
    set_errno(before);
}

/// Does what `free` does, under its name from before 1990. Old binaries use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfree(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { free(block) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let block = aligned(size, alignment);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { result.write(block) };
    0
}

/// Behaves as glibc's function does: it rounds up an alignment that is no power of two.
#[unsafe(no_mangle)]
pub extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    if alignment > LONGEST / 2 {
        set_errno(libc::EINVAL);
        return std::ptr::null_mut();
    }
    aligned(size, alignment.max(1).next_power_of_two())
}

#[unsafe(no_mangle)]
pub extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        set_errno(libc::EINVAL);
        return std::ptr::null_mut();
    }
    memalign(alignment, size)
}

#[unsafe(no_mangle)]
pub extern "C" fn valloc(size: usize) -> *mut c_void {
    aligned(size, PAGE)
}

#[unsafe(no_mangle)]
pub extern "C" fn pvalloc(size: usize) -> *mut c_void {
    match size.checked_next_multiple_of(PAGE) {
        Some(size) => aligned(size, PAGE),
        None => no_memory(),
    }
}

/// Allocates a block at a multiple of a power of two.
pub(crate) fn aligned(size: usize, alignment: usize) -> *mut c_void {
    if !heap::ensure_preloaded() {
        // SAFETY: no precondition.
        return unsafe { libc_heap::memalign(alignment, size) };
    }
    if size > LONGEST || alignment > LONGEST - size {
        return no_memory();
    }
    answer(heap::allocate_aligned(
        at_least_one_unit(size),
        alignment.max(ALIGNMENT),
    ))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if heap::holds(block.cast()) {
        // SAFETY: the caller's promise.
        return unsafe { heap::usable_size(block.cast()) };
    }
    if block.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise, for a block that is not in the slot.
    unsafe { libc_heap::usable_size(block) }
}

/// Returns 1 if memory was given back to the system.
#[unsafe(no_mangle)]
pub extern "C" fn malloc_trim(pad: usize) -> c_int {
    let kept = heap::trim();
    let beside = libc_heap::trim(pad);
    c_int::from(kept || beside != 0)
}
