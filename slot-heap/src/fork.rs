//! Forks: a child gets a private copy of the heap, at the same addresses.
//!
//! Without the copy, parent and child would write into one heap. The parent makes the copy before
//! the fork, with the gate closed, in private memory beside the slot. Then the child moves it to
//! where the slot was, and the parent unmaps its own. So neither has to notify the other, and
//! nobody waits for a child that is killed. (A copy made by the child would need the parent to wait
//! for it.) The copy reads only the ranges for which the memfd has data, so holes stay holes.
//!
//! The child's memory is ordinary from then on: if it forks again, the kernel copies.
//!
//! While the copy is made, other threads may write into blocks that they own. The copy may or may
//! not contain these writes: POSIX allows the child of a process with threads nothing that depends
//! on them. Peers that write into the heap write into the parent's.
//!
//! Where the program has mapped something else over its heap ([`remapping`]), the child keeps what
//! the kernel gives it. Pages keep their protection in the child, and pages that the program has
//! excluded from forks are missing there.
//!
//! `vfork` and `posix_spawn` need none of this: the child borrows the memory and executes another
//! program. `_Fork` and `clone` run no handlers. A preloaded heap intercepts them and does the same
//! by [`fork_by`]. Without a preloaded heap such a child shares the heap, and must execute another
//! program at once.
//!
//! A thread whose stack lies in the heap cannot fork: parent and child would run on one stack until
//! the child has its copy.
#![expect(unsafe_code, reason = "mmap, mremap, pthread_atfork, _exit")]

use crate::fatal::die_with_message;
use crate::remapping::{self, PageChangeGuard};
use crate::{committed, gate, signals};
use bcs_core::memory::OwnSlot;
use bcs_core::memory::slot::remapped_ranges::RemapFlags;
use bcs_core::memory::slot::{HEAP_BYTES, RemappedRanges, SLOT_BYTES, mark_forked, own};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// The bytes copied at a time.
const PIECE_BYTES: usize = 64 << 20;

/// The address of the copy while a fork is under way; 0 if there is no copy. Only the thread that
/// has closed the gate uses this and the next variable.
static COPY: AtomicUsize = AtomicUsize::new(0);
/// Why there is no copy: an error number.
static FAILURE: AtomicI32 = AtomicI32::new(0);

/// Installs the handlers below. They are the first handlers installed, so they run last before a
/// fork, and first after it.
pub(crate) fn install() {
    // SAFETY: the handlers live as long as the program.
    let refused = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    if refused != 0 {
        die_with_message("no memory for the handlers of forks", refused);
    }
}

/// Keeps others from changing pages of the heap during a fork. Only the thread that has closed the
/// gate uses it.
struct ForkGuardCell(UnsafeCell<Option<PageChangeGuard>>);

// SAFETY: only the thread that has closed the gate uses it.
unsafe impl Sync for ForkGuardCell {}

static FORK_GUARD: ForkGuardCell = ForkGuardCell(UnsafeCell::new(None));

impl ForkGuardCell {
    fn exchange(&self, held: Option<PageChangeGuard>) -> Option<PageChangeGuard> {
        // SAFETY: the gate is closed, by this thread.
        let kept = unsafe { &mut *self.0.get() };
        std::mem::replace(kept, held)
    }
}

/// Makes a child by a function that runs no handlers. The function returns `child` in the child,
/// and something else in the parent.
///
/// # Errors
/// Fails, and makes no child, if the heap cannot be copied.
pub fn fork_by<R: Copy + PartialEq>(child: R, make: impl FnOnce() -> R) -> Result<R, Errno> {
    // SAFETY: as before a fork, here and below.
    unsafe { before() };
    let failure = FAILURE.load(Ordering::Relaxed);
    let made = match failure {
        0 => Ok(make()),
        errno => Err(Errno::from_raw_os_error(errno)),
    };
    if made == Ok(child) {
        // SAFETY: as above.
        unsafe { in_child() };
    } else {
        // SAFETY: as above.
        unsafe { in_parent() };
    }
    made
}

/// Gives its copy of the heap to a child that does not return from the function that made it.
pub fn become_forked() {
    // SAFETY: as in the child of a fork.
    unsafe { in_child() };
}

unsafe extern "C" fn before() {
    let Some(Ok(own)) = own() else { return };
    let on_the_stack = 0_u8;
    if own.slot().contains((&raw const on_the_stack).addr(), 1) {
        let why = "a thread whose stack lies in the heap cannot fork; run the job with --heap own";
        die_with_message(why, libc::ENOTSUP);
    }
    let signals = signals::block();
    gate::close();
    FORK_GUARD.exchange(Some(remapping::hold(signals)));
    match copy(own.fd()) {
        Ok(copy) => COPY.store(copy as usize, Ordering::Relaxed),
        Err(errno) => FAILURE.store(errno.raw_os_error(), Ordering::Relaxed),
    }
}

unsafe extern "C" fn in_parent() {
    if own().is_none_or(|own| own.is_err()) {
        return;
    }
    let copy = COPY.swap(0, Ordering::Relaxed);
    FAILURE.store(0, Ordering::Relaxed);
    if copy != 0 {
        forget(copy as *mut c_void);
    }
    let held = FORK_GUARD.exchange(None);
    gate::open();
    drop(held);
}

unsafe extern "C" fn in_child() {
    let Some(Ok(own)) = own() else { return };
    let copy = COPY.swap(0, Ordering::Relaxed);
    if copy == 0 {
        let errno = FAILURE.load(Ordering::Relaxed);
        die_with_message(
            "a forked child cannot have a copy of its parent's heap",
            errno,
        );
    }
    if let Err(errno) = move_in(copy, own) {
        let why = "a forked child cannot move its copy of the heap";
        die_with_message(why, errno.raw_os_error());
    }
    let fd = own.fd().as_raw_fd();
    mark_forked();
    // SAFETY: nobody gets the descriptor from here on, and the child has no threads that got it
    // before. Left open, it would keep the parent's memory alive.
    let _ = unsafe { libc::close(fd) };
    committed::say_again();
    let held = FORK_GUARD.exchange(None);
    gate::open_in_child();
    drop(held);
}

/// Moves the copy to where the slot was.
fn move_in(copy: usize, own: &OwnSlot) -> Result<(), Errno> {
    let base = own.slot().base();
    // The copy's table: the parent continues with the slot's.
    let table = NonNull::new((copy + HEAP_BYTES) as *mut u8).ok_or(Errno::FAULT)?;
    // SAFETY: a copy of the slot, until its last part is moved below.
    let table = unsafe { RemappedRanges::at(table) };
    if table.is_empty() {
        return move_part(copy, base, 0..SLOT_BYTES);
    }
    for (part, difference) in table.pieces(0..HEAP_BYTES) {
        let start = (base + part.start) as *mut c_void;
        let len = part.len();
        if difference.has(RemapFlags::REPLACED) {
            let useless = (copy + part.start) as *mut c_void;
            // SAFETY: a part of the copy, which nobody uses.
            unsafe { rustix::mm::munmap(useless, len) }?;
            continue;
        }
        move_part(copy, base, part.clone())?;
        if difference.has(RemapFlags::WIPED) {
            // SAFETY: the program wants these pages empty in a child.
            unsafe { rustix::mm::madvise(start, len, Advice::LinuxDontNeed) }?;
        }
        if difference.has(RemapFlags::GUARDED) {
            remapping::guard(base + part.start, len)?;
        }
        if let Some(protection) = difference.protection() {
            let protection = MprotectFlags::from_bits_retain(protection);
            // SAFETY: the program has protected these pages in this way.
            unsafe { rustix::mm::mprotect(start, len, protection) }?;
        }
        if difference.has(RemapFlags::NOT_FORKED) {
            // SAFETY: the program wants no child to have these pages.
            unsafe { rustix::mm::munmap(start, len) }?;
        }
    }
    move_part(copy, base, HEAP_BYTES..SLOT_BYTES)
}

fn move_part(copy: usize, base: usize, part: Range<usize>) -> Result<(), Errno> {
    let (from, to) = (copy + part.start, base + part.start);
    // SAFETY: the copy belongs to this process alone. It replaces the slot, which nobody reads
    // meanwhile: the process has no other thread.
    let moved = unsafe {
        rustix::mm::mremap_fixed(
            from as *mut c_void,
            part.len(),
            part.len(),
            MremapFlags::MAYMOVE,
            to as *mut c_void,
        )
    };
    moved.map(drop)
}

/// Makes a private copy of all data of the slot.
fn copy(slot: BorrowedFd<'_>) -> Result<*mut c_void, Errno> {
    // SAFETY: a fresh mapping at an address that the kernel chooses aliases nothing.
    let copy = unsafe {
        rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            SLOT_BYTES,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    }?;
    let filled = fill(copy, slot);
    if filled.is_err() {
        forget(copy);
    }
    filled.map(|()| copy)
}

fn fill(copy: *mut c_void, slot: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut at = 0;
    loop {
        // All who have the descriptor share the file's offset. This code uses only the returned
        // offsets.
        let data = match rustix::fs::seek(slot, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(()),
            Err(errno) => return Err(errno),
        };
        let hole = rustix::fs::seek(slot, SeekFrom::Hole(data))?;
        let (mut start, end) = (to_usize(data), to_usize(hole).min(SLOT_BYTES));
        while start < end {
            let len = (end - start).min(PIECE_BYTES);
            // SAFETY: this address lies within the copy, which is SLOT_BYTES long.
            let to = unsafe { copy.cast::<u8>().add(start) };
            provide(to, len)?;
            // SAFETY: fresh memory that nobody else knows; zero bytes are initialised ones.
            let to = unsafe { std::slice::from_raw_parts_mut(to, len) };
            let read = rustix::io::pread(slot, to, start as u64)?;
            if read == 0 {
                return Err(Errno::IO);
            }
            start += read;
        }
        at = hole;
    }
}

fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).expect("64 bits")
}

/// Has the kernel provide memory all at once. Fails if there is not enough.
fn provide(start: *mut u8, len: usize) -> Result<(), Errno> {
    // SAFETY: fresh memory of ours.
    match unsafe { rustix::mm::madvise(start.cast(), len, Advice::LinuxPopulateWrite) } {
        // Before Linux 5.14 the kernel provides pages one by one.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn forget(copy: *mut c_void) {
    // SAFETY: `copy` has mapped this memory, with this length, and nobody uses it.
    let _ = unsafe { rustix::mm::munmap(copy, SLOT_BYTES) };
}
