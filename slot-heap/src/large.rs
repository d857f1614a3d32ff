//! Large blocks in the slot: huge pages for them, and their memory given back.
//!
//! mimalloc gives its free memory back once a second ([`crate::purging`]). A large block takes too
//! much memory to wait so long: it is punched out of the file when it is freed. A program that
//! allocates and frees the same block again and again would then fault on all its pages each time.
//! Therefore a few freed blocks are *kept* unchanged, and the next block of that size is one of
//! them. Kept blocks are bounded in number, in bytes and in time ([`KEPT_SECONDS`]).
//!
//! The allocator requests huge pages when it makes a block. Where the slot's file is in a folder
//! that has them, they come at the first touch of each. Elsewhere the kernel by default gives none
//! to shared memory at a fault, and the allocator asks for them explicitly (MADV_COLLAPSE). This
//! call provides the whole block at once, whether or not all of it will be used. So the allocator
//! does not use it for a block of more than an eighth of the free memory. A failure of the call is
//! no error.
#![expect(unsafe_code, reason = "an allocator; madvise")]

use crate::committed;
use crate::lock::Lock;
use crate::{remapping, seconds};
use bcs_core::memory::OwnSlot;
use bcs_core::memory::slot::own;
use libmimalloc_sys as mi;
use rustix::fs::FallocateFlags;
use rustix::mm::Advice;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Blocks of this size and more are large.
pub const LARGE: usize = 4 << 20;

const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// The most freed blocks that are kept, and their bytes: enough for the scratch space of programs,
/// and little compared with a node's memory.
const KEPT_BLOCKS: usize = 8;
const KEPT_BYTES: usize = 64 << 20;

/// How long an unused block is kept. New faults on all kept bytes take some 25 ms, half a percent
/// of this time.
const KEPT_SECONDS: i64 = 5;

/// The largest block that gets huge pages at once is this fraction of the free memory.
const FREE_PARTS: u64 = 8;

/// Linux: `madvise` advice, since 6.1.
const MADV_COLLAPSE: c_int = 25;

/// A block that its owner has freed, but mimalloc has not freed yet.
#[derive(Clone, Copy)]
struct CachedBlock {
    block: *mut u8,
    usable: usize,
    /// When it was freed, in seconds of the system's clock.
    since: i64,
}

/// The kept blocks, the oldest first.
struct BlockCache {
    lock: Lock,
    kept: UnsafeCell<([CachedBlock; KEPT_BLOCKS], usize)>,
}

// SAFETY: the kept blocks are only accessed with the lock taken.
unsafe impl Sync for BlockCache {}

const NONE: CachedBlock = CachedBlock {
    block: std::ptr::null_mut(),
    usable: 0,
    since: 0,
};

static STORE: BlockCache = BlockCache::new();

impl BlockCache {
    const fn new() -> Self {
        Self {
            lock: Lock::new(),
            kept: UnsafeCell::new(([NONE; KEPT_BLOCKS], 0)),
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut [CachedBlock; KEPT_BLOCKS], &mut usize) -> R) -> R {
        self.lock.with(|| {
            // SAFETY: the lock is taken, and `act` does not come back here.
            let (kept, count) = unsafe { &mut *self.kept.get() };
            act(kept, count)
        })
    }

    /// Takes a kept block that fits and is not much too large, if there is one.
    fn take(&self, size: usize, alignment: usize) -> Option<*mut u8> {
        let fits = |kept: &CachedBlock| {
            let slack = kept.usable.checked_sub(size);
            slack.is_some_and(|slack| slack <= size / 4)
                && (kept.block as usize).is_multiple_of(alignment)
        };
        self.with(|kept, count| {
            let index = kept[..*count].iter().position(fits)?;
            Some(take_out(kept, count, index).block)
        })
    }

    /// Takes the block that has been kept for longest, if it was freed at or before `latest`.
    fn take_oldest(&self, latest: i64) -> Option<CachedBlock> {
        self.with(|kept, count| {
            let is_due = kept[..*count].first()?.since <= latest;
            is_due.then(|| take_out(kept, count, 0))
        })
    }

    /// Keeps a block, and passes to `drop` the older blocks for which there is no room any more.
    fn keep(&self, new: CachedBlock, mut drop: impl FnMut(CachedBlock)) {
        loop {
            let dropped = self.with(|kept, count| {
                let bytes: usize = kept[..*count].iter().map(|kept| kept.usable).sum();
                if *count < KEPT_BLOCKS && bytes + new.usable <= KEPT_BYTES {
                    kept[*count] = new;
                    *count += 1;
                    return None;
                }
                Some(take_out(kept, count, 0))
            });
            match dropped {
                None => return,
                Some(oldest) => drop(oldest),
            }
        }
    }
}

/// Removes one of the kept blocks; those behind it move up.
fn take_out(kept: &mut [CachedBlock; KEPT_BLOCKS], count: &mut usize, index: usize) -> CachedBlock {
    let taken = kept[index];
    kept.copy_within(index + 1..*count, index);
    *count -= 1;
    taken
}

/// Allocates a block of at least [`LARGE`] bytes. The caller is inside the gate, here and below.
#[cold]
pub(crate) fn allocate(size: usize, alignment: usize, zeroed: bool) -> *mut u8 {
    if let Some(block) = STORE.take(size, alignment) {
        if zeroed {
            // SAFETY: the block has at least that many bytes, and nobody owns it yet.
            unsafe { block.write_bytes(0, size) };
        }
        committed::note(block, size);
        return block;
    }
    // SAFETY: the alignment is a power of two.
    let block: *mut u8 = unsafe { mi::mi_malloc_aligned(size, alignment.max(HUGE_PAGE)) }.cast();
    if block.is_null() {
        return block;
    }
    committed::note(block, size);
    if zeroed {
        zero(block, size);
    }
    collapse(block, size);
    block
}

/// Reallocates a block of `held` bytes to `size` bytes, where either is large.
///
/// # Safety
/// The block is one of the heap's, or null; it is freed unless the result is null.
#[cold]
pub(crate) unsafe fn reallocate(
    block: *mut u8,
    held: usize,
    size: usize,
    alignment: usize,
) -> *mut u8 {
    let fits = size <= held && size >= held / 2;
    if fits && !block.is_null() && (block as usize).is_multiple_of(alignment) {
        committed::note(block, size);
        return block;
    }
    let new: *mut u8 = if size >= LARGE {
        allocate(size, alignment, false)
    } else {
        // SAFETY: the alignment is a power of two.
        let new = unsafe { mi::mi_malloc_aligned(size, alignment) }.cast();
        committed::note(new, size);
        new
    };
    if !new.is_null() && !block.is_null() {
        // SAFETY: both are at least that long, and different blocks.
        unsafe { std::ptr::copy_nonoverlapping(block, new, held.min(size)) };
        // SAFETY: the caller's promise.
        unsafe { free(block) };
    }
    new
}

/// Frees a block, which should be large.
///
/// # Safety
/// The block is one of the heap's.
#[cold]
pub(crate) unsafe fn free(block: *mut u8) {
    // SAFETY: the caller's promise.
    let usable = unsafe { mi::mi_usable_size(block.cast()) };
    remapping::restore_block(block, usable);
    let freed = CachedBlock {
        block,
        usable,
        since: seconds::now(),
    };
    if usable < LARGE {
        // SAFETY: the caller's promise.
        unsafe { mi::mi_free(block.cast()) };
    } else if usable > KEPT_BYTES / 2 {
        drop_kept(freed);
    } else {
        STORE.keep(freed, drop_kept);
    }
}

/// Frees the blocks that are kept, and gives their memory back. Returns whether there were any.
pub(crate) fn free_cached() -> bool {
    give_up_kept_until(i64::MAX)
}

/// Frees the blocks that have been kept for [`KEPT_SECONDS`]. Any allocation may call this, also
/// one in a signal handler whose thread has the lock. Then the blocks are freed a second later.
pub(crate) fn free_expired(now: i64) {
    if STORE.lock.is_free() {
        give_up_kept_until(now - KEPT_SECONDS);
    }
}

/// Frees the blocks that were freed by the program at or before `latest`. Returns whether there
/// were any.
fn give_up_kept_until(latest: i64) -> bool {
    let mut given_back = false;
    while let Some(kept) = STORE.take_oldest(latest) {
        drop_kept(kept);
        given_back = true;
    }
    given_back
}

fn drop_kept(kept: CachedBlock) {
    give_back(kept.block, kept.usable);
    // SAFETY: its owner has freed it, and nobody has got it since.
    unsafe { mi::mi_free(kept.block.cast()) };
}

/// Returns the whole pages of a range: where they start, and how many bytes they are.
fn pages(block: *mut u8, len: usize, size: usize) -> (usize, usize) {
    let start = (block as usize).next_multiple_of(size);
    let end = (block as usize + len) / size * size;
    (start, end.saturating_sub(start))
}

/// Gives the memory of a freed block back, so that it reads as zero. Returns whether that was
/// possible.
fn give_back(block: *mut u8, len: usize) -> bool {
    let (start, len) = pages(block, len, PAGE);
    if let Some(Ok(own)) = own() {
        let offset = (start - own.slot().base()) as u64;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // The call punches the file, and so does not affect what the program may have mapped there.
        let punched = rustix::fs::fallocate(own.fd(), flags, offset, len as u64);
        return punched.is_ok() && !remapping::is_remapped(block, len);
    }
    // A forked child's heap is private memory.
    // SAFETY: pages of a block that nobody uses.
    unsafe { rustix::mm::madvise(start as *mut _, len, Advice::LinuxDontNeed) }.is_ok()
}

/// Makes a new block read as zero without touching its pages.
fn zero(block: *mut u8, size: usize) {
    let (start, len) = pages(block, size, PAGE);
    let before = start - block as usize;
    if !give_back(block, size) {
        // SAFETY: all of the block, which nobody owns yet.
        return unsafe { block.write_bytes(0, size) };
    }
    // SAFETY: the part of the block before its first whole page.
    unsafe { block.write_bytes(0, before) };
    // SAFETY: within the block: its whole pages end here.
    let rest = unsafe { block.add(before + len) };
    // SAFETY: the part of the block after its last whole page.
    unsafe { rest.write_bytes(0, size - before - len) };
}

/// Asks for huge pages.
fn collapse(block: *mut u8, size: usize) {
    static USELESS: AtomicBool = AtomicBool::new(false);
    let (start, len) = pages(block, size, HUGE_PAGE);
    if len == 0 {
        return;
    }
    // SAFETY: this changes which pages the kernel will use, not what they hold.
    let _none_is_an_error =
        unsafe { rustix::mm::madvise(start as *mut _, len, Advice::LinuxHugepage) };
    let has_them = own().is_some_and(|own| own.is_ok_and(OwnSlot::has_huge_pages));
    if has_them || USELESS.load(Ordering::Relaxed) {
        return;
    }
    let system = rustix::system::sysinfo();
    let free = system.freeram as u64 * u64::from(system.mem_unit);
    if len as u64 > free / FREE_PARTS {
        return;
    }
    // SAFETY: this changes which pages the kernel uses, not what they hold.
    let collapsed = unsafe { libc::madvise(start as *mut _, len, MADV_COLLAPSE) };
    if collapsed != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        USELESS.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_goes_the_oldest_first_and_not_before_its_time() {
        let store = BlockCache::new();
        for since in [7, 8, 12] {
            let freed = CachedBlock {
                block: std::ptr::without_provenance_mut(HUGE_PAGE),
                usable: LARGE,
                since,
            };
            store.keep(freed, |_| panic!("there is room"));
        }
        let given_up = |now: i64| store.take_oldest(now - KEPT_SECONDS).map(|kept| kept.since);
        assert_eq!(given_up(11), None);
        assert_eq!(given_up(13), Some(7));
        assert_eq!(given_up(13), Some(8));
        assert_eq!(given_up(13), None);
        assert!(store.take(LARGE, 16).is_some());
        assert_eq!(given_up(i64::MAX), None);
    }
}
