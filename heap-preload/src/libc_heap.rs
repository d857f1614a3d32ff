//! The C library's own heap, under names that no other library replaces.
#![expect(unsafe_code, reason = "calls of C")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    #[link_name = "__libc_malloc"]
    pub(crate) fn malloc(size: usize) -> *mut c_void;
    #[link_name = "__libc_calloc"]
    pub(crate) fn calloc(count: usize, size: usize) -> *mut c_void;
    #[link_name = "__libc_realloc"]
    pub(crate) fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    #[link_name = "__libc_free"]
    pub(crate) fn free(block: *mut c_void);
    #[link_name = "__libc_memalign"]
    pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void;
}

type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;
type Trim = unsafe extern "C" fn(usize) -> c_int;

/// Returns how many bytes of a block may be used.
///
/// # Safety
/// The block is the C library's, or null.
pub(crate) unsafe fn usable_size(block: *mut c_void) -> usize {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let Some(function) = of_libc(&FOUND, c"malloc_usable_size") else {
        return 0;
    };
    // SAFETY: the C library's function of that name has this type.
    let function = unsafe { std::mem::transmute::<*mut c_void, UsableSize>(function) };
    // SAFETY: the caller's promise.
    unsafe { function(block) }
}

/// Gives free memory back to the system (`malloc_trim`).
pub(crate) fn trim(pad: usize) -> c_int {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let Some(function) = of_libc(&FOUND, c"malloc_trim") else {
        return 0;
    };
    // SAFETY: the C library's function of that name has this type.
    let function = unsafe { std::mem::transmute::<*mut c_void, Trim>(function) };
    // SAFETY: no precondition.
    unsafe { function(pad) }
}

/// Finds a function of the C library that has no second name, and remembers it. The search goes by
/// the library's name, because another function of this name may be loaded behind this one.
pub(crate) fn of_libc(found: &AtomicPtr<c_void>, name: &std::ffi::CStr) -> Option<*mut c_void> {
    let known = found.load(Ordering::Relaxed);
    if !known.is_null() {
        return Some(known);
    }
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: the C library is loaded, and stays.
    let library = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), flags) };
    if library.is_null() {
        return None;
    }
    // SAFETY: an open library, and a string of C's.
    let function = unsafe { libc::dlsym(library, name.as_ptr()) };
    found.store(function, Ordering::Relaxed);
    (!function.is_null()).then_some(function)
}
