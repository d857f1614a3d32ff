//! The operations of an allocator, as plain functions.
//!
//! Sizes are in bytes. A null pointer means that there is no memory. Small blocks take the short
//! path: through the gate, to mimalloc, and a check whether the block reaches beyond what was in
//! use.
//!
//! A block outside the slot belongs to the ordinary heap, even where there is a slot: it was
//! allocated before the slot was made, or during that.
#![expect(unsafe_code, reason = "an allocator")]

pub use crate::large::LARGE;
use crate::{committed, gate, large, ordinary_heap, purging, remapping, setup};
use bcs_core::memory::slot::{PAGE_BYTES, own};
use libmimalloc_sys as mi;

/// mimalloc gives blocks of this size and more pages of their own. It takes some 100 ns to note
/// that these are to be purged, and then that they are not. So each thread keeps the last block of
/// this size that it has freed: a loop that allocates and frees one block does not enter mimalloc.
const MEDIUM: usize = 128 << 10;

/// The alignment that mimalloc gives by itself to blocks of at least that size.
const NATURAL_ALIGNMENT: usize = 16;

/// Returns whether a block lies in the slot.
#[inline]
#[must_use]
pub fn holds(block: *const u8) -> bool {
    committed::offset_of(block).is_some()
}

fn is_elsewhere(block: *const u8) -> bool {
    !block.is_null() && !holds(block)
}

/// For a preloaded heap: returns whether blocks come from the slot. Makes the slot if it is wanted
/// and not made yet. If not, blocks must come from the C library's heap, beside this one.
#[inline]
#[must_use]
pub fn ensure_preloaded() -> bool {
    committed::in_slot() || {
        setup::set_up_preloaded();
        committed::in_slot()
    }
}

/// For a preloaded heap: returns the same, after it has waited for a thread that makes the slot.
#[must_use]
pub fn finish_preloaded() -> bool {
    setup::finish_preloaded();
    committed::in_slot()
}

/// Gives back the memory of freed blocks, except of those that other threads have freed. Returns
/// whether there was any.
#[must_use]
pub fn trim() -> bool {
    if !committed::in_slot() {
        return false;
    }
    let inside = gate::enter();
    let before = resident();
    let kept = large::free_cached();
    purging::purge(&inside);
    kept || resident() < before
}

/// Returns how much memory the slot takes, in the file's own unit; 0 without a slot.
fn resident() -> i64 {
    let Some(Ok(own)) = own() else { return 0 };
    rustix::fs::fstat(own.fd()).map_or(0, |about| about.st_blocks)
}

/// Returns whether a kept block fits the request, and is not much too large.
fn fits(kept: *mut u8, size: usize, alignment: usize) -> bool {
    // SAFETY: a block of the heap that mimalloc counts as in use.
    let usable = unsafe { mi::mi_usable_size(kept.cast()) };
    let slack = usable.checked_sub(size);
    slack.is_some_and(|slack| slack <= size / 4) && kept.addr().is_multiple_of(alignment)
}

/// Sets the heap up, if nobody has yet. Returns whether it lies in a slot after all.
#[cold]
fn is_in_slot_after_all() -> bool {
    setup::set_up_once();
    committed::in_slot()
}

const fn is_natural(size: usize, alignment: usize) -> bool {
    alignment <= NATURAL_ALIGNMENT && alignment <= size
}

/// Allocates a block (`malloc`).
#[inline]
#[must_use]
pub fn allocate(size: usize) -> *mut u8 {
    // The request has the alignment of any C type of that size: a block of 8 bytes needs no more
    // than 8.
    allocate_aligned(size, NATURAL_ALIGNMENT.min(size.next_power_of_two()))
}

/// Allocates a block of zeroes (`calloc`).
#[inline]
#[must_use]
pub fn allocate_zeroed(size: usize) -> *mut u8 {
    allocate_zeroed_aligned(size, NATURAL_ALIGNMENT.min(size.next_power_of_two()))
}

/// Allocates a block at a multiple of a power of two (`aligned_alloc`).
#[inline]
#[must_use]
pub fn allocate_aligned(size: usize, alignment: usize) -> *mut u8 {
    if !committed::in_slot() {
        return match is_in_slot_after_all() {
            true => allocate_aligned(size, alignment),
            false => ordinary_heap::allocate(size, alignment),
        };
    }
    let inside = gate::enter();
    if size >= MEDIUM {
        if size >= LARGE {
            return large::allocate(size, alignment, false);
        }
        if let Some(block) = inside.take_kept(|kept| fits(kept, size, alignment)) {
            return block;
        }
    }
    let block = if is_natural(size, alignment) {
        // SAFETY: no precondition.
        unsafe { mi::mi_malloc(size) }
    } else {
        // SAFETY: the alignment is a power of two.
        unsafe { mi::mi_malloc_aligned(size, alignment) }
    };
    committed::note(block.cast(), size);
    block.cast()
}

/// Allocates a block of zeroes at a multiple of a power of two.
#[inline]
#[must_use]
pub fn allocate_zeroed_aligned(size: usize, alignment: usize) -> *mut u8 {
    if !committed::in_slot() {
        return match is_in_slot_after_all() {
            true => allocate_zeroed_aligned(size, alignment),
            false => ordinary_heap::allocate_zeroed(size, alignment),
        };
    }
    let _inside = gate::enter();
    if size >= LARGE {
        return large::allocate(size, alignment, true);
    }
    let block = if is_natural(size, alignment) {
        // SAFETY: no precondition.
        unsafe { mi::mi_zalloc(size) }
    } else {
        // SAFETY: the alignment is a power of two.
        unsafe { mi::mi_zalloc_aligned(size, alignment) }
    };
    committed::note(block.cast(), size);
    block.cast()
}

/// Makes a block longer or shorter, and may move it (`realloc`). If it returns null, the block is
/// unchanged.
///
/// # Safety
/// The block is one of this heap's and not freed, or null; it is freed unless the result is null.
#[inline]
pub unsafe fn reallocate(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { reallocate_aligned(block, size, NATURAL_ALIGNMENT.min(size.next_power_of_two())) }
}

/// Does the same as [`reallocate`], at a multiple of a power of two.
///
/// # Safety
/// As for [`reallocate`].
#[inline]
pub unsafe fn reallocate_aligned(block: *mut u8, size: usize, alignment: usize) -> *mut u8 {
    if block.is_null() && !committed::in_slot() {
        return allocate_aligned(size, alignment);
    }
    if !committed::in_slot() || is_elsewhere(block) {
        // SAFETY: the caller's promise.
        return unsafe { ordinary_heap::reallocate(block, size, alignment) };
    }
    let _inside = gate::enter();
    // SAFETY: the caller's promise; null has no size.
    let held = unsafe { mi::mi_usable_size(block.cast()) };
    if size >= LARGE || held >= LARGE || remapping::is_remapped(block, held) {
        // SAFETY: the caller's promise, and its usable size.
        return unsafe { large::reallocate(block, held, size, alignment) };
    }
    let moved = if is_natural(size, alignment) {
        // SAFETY: the caller's promise.
        unsafe { mi::mi_realloc(block.cast(), size) }
    } else {
        // SAFETY: the caller's promise; the alignment is a power of two.
        unsafe { mi::mi_realloc_aligned(block.cast(), size, alignment) }
    };
    committed::note(moved.cast(), size);
    moved.cast()
}

/// Frees a block (`free`).
///
/// # Safety
/// As for [`reallocate`].
#[inline]
pub unsafe fn free(block: *mut u8) {
    if block.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let size = unsafe { usable_size(block) };
    // SAFETY: as above, and at most that size was requested.
    unsafe { free_sized(block, size) };
}

/// Frees a block for which the caller knows the requested size.
///
/// # Safety
/// As for [`reallocate`].
#[inline]
pub unsafe fn free_sized(block: *mut u8, size: usize) {
    if !holds(block) {
        // SAFETY: the caller's promise.
        return unsafe { ordinary_heap::free(block) };
    }
    let inside = gate::enter();
    if size >= PAGE_BYTES {
        remapping::restore_block(block, size);
    }
    let freed = match size {
        // SAFETY: the caller's promise.
        LARGE.. => return unsafe { large::free(block) },
        MEDIUM.. => inside.keep(block),
        _ => block,
    };
    // SAFETY: the caller's promise, for this block or the one before; null is no block.
    unsafe { mi::mi_free(freed.cast()) };
}

/// Returns how many bytes of a block may be used (`malloc_usable_size`); 0 for null.
///
/// # Safety
/// As for [`reallocate`].
#[inline]
#[must_use]
pub unsafe fn usable_size(block: *const u8) -> usize {
    if !holds(block) {
        // SAFETY: the caller's promise.
        return unsafe { ordinary_heap::usable_size(block) };
    }
    // SAFETY: the caller's promise; the memory that it reads does not change while the block lives.
    unsafe { mi::mi_usable_size(block.cast()) }
}
