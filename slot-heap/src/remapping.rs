//! Changes that a program makes to the pages of its heap by itself: `mmap`, `munmap`, `mremap`,
//! `mprotect`, `madvise`.
//!
//! The heap is a shared mapping of a file, and a program may take it for private memory. This has
//! three consequences.
//!
//! - *What others see.* They have mapped the same file. If the program maps something else over a
//!   range, or protects it, the slot's table ([`bcs_core::memory::slot::remapped_ranges`]) notes
//!   the range, and others access it through the kernel. Fresh anonymous memory over the heap is no
//!   such range: this module maps the slot's own memory there, emptied, which is equivalent.
//! - *What is dropped.* `MADV_DONTNEED` of a shared mapping drops nothing. Here it punches the
//!   pages out of the file, so that they read as zero, as private ones would.
//! - *What is moved.* `mremap` would leave two mappings of one piece of the file. Here the bytes
//!   are copied to fresh memory.
//!
//! Calls about other addresses go to the kernel unchanged. Calls about the heap run one at a time,
//! with all signals blocked: otherwise a handler that protects pages, as garbage collectors have,
//! would wait for itself. A fork waits for these calls, too.
#![expect(unsafe_code, reason = "mmap and its like")]

use crate::lock::Lock;
use crate::signals::{self, SignalBlockGuard};
use crate::system_call::system_call;
use crate::{committed, gate};
use bcs_core::memory::OwnSlot;
use bcs_core::memory::slot::remapped_ranges::RemapFlags;
use bcs_core::memory::slot::{HEAP_BYTES, PAGE_BYTES, own};
use libc::c_int;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::ops::Range;
use std::os::fd::AsRawFd as _;

type SyscallResult = Result<usize, Errno>;

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;
/// `madvise` advice of Linux that the `libc` crate does not have everywhere.
const MADV_DONTNEED_LOCKED: c_int = 24;
const MADV_GUARD_INSTALL: c_int = 102;
const MADV_GUARD_REMOVE: c_int = 103;
/// `MS_ASYNC`.
const ASYNCHRONOUS: usize = 1;

/// Held while pages of the heap change.
static CHANGES: Lock = Lock::new();

/// Exclusive permission to change pages of the heap. During a fork, parent and child both hold it.
#[derive(Debug)]
pub(crate) struct PageChangeGuard {
    _signals: SignalBlockGuard,
}

/// Waits until nobody else changes pages of the heap.
pub(crate) fn hold(signals: SignalBlockGuard) -> PageChangeGuard {
    CHANGES.take();
    PageChangeGuard { _signals: signals }
}

impl Drop for PageChangeGuard {
    fn drop(&mut self) {
        CHANGES.give_back();
    }
}

/// The heap, with its pages locked.
struct LockedHeap {
    own: &'static OwnSlot,
    _held: PageChangeGuard,
}

/// Locks the heap if the heap is in a slot and any of these bytes belong to it.
fn lock_if_touched(address: usize, len: usize) -> Option<LockedHeap> {
    if !committed::in_slot() || len == 0 {
        return None;
    }
    // The kernel refuses ranges that wrap around the end of the address space.
    let end = address.checked_add(len.checked_next_multiple_of(PAGE_BYTES)?)?;
    let own = own()?.ok()?;
    let base = own.slot().base();
    let is_touched = address < base + HEAP_BYTES && end > base;
    is_touched.then(|| LockedHeap {
        own,
        _held: hold(signals::block()),
    })
}

fn whole_pages(len: usize) -> usize {
    len.checked_next_multiple_of(PAGE_BYTES).unwrap_or(len)
}

impl LockedHeap {
    /// Returns which part of the heap these bytes are: offsets of whole pages.
    fn part(&self, address: usize, len: usize) -> Range<usize> {
        let base = self.own.slot().base();
        let end = address.saturating_add(whole_pages(len));
        let [start, end] = [address, end].map(|at| at.saturating_sub(base).min(HEAP_BYTES));
        start / PAGE_BYTES * PAGE_BYTES..end
    }

    fn is_all(&self, address: usize, len: usize) -> bool {
        self.own.slot().contains(address, whole_pages(len))
    }

    fn address(&self, offset: usize) -> usize {
        self.own.slot().base() + offset
    }

    fn pieces(&self, part: &Range<usize>) -> impl Iterator<Item = (Range<usize>, RemapFlags)> {
        self.own.remapped().pieces(part.clone())
    }

    fn change(&self, part: Range<usize>, to: impl Fn(RemapFlags) -> RemapFlags) {
        self.own.remapped().change(part, to);
    }

    /// Checks that the table can note one more replaced part. The error is the kernel's for too
    /// many mappings.
    fn has_room(&self) -> Result<(), Errno> {
        let room = self.own.remapped().has_room_for_one();
        room.map_err(|_| Errno::NOMEM)
    }

    /// Checks the same for a change of each piece of a part.
    fn has_room_for_pieces(&self, part: &Range<usize>) -> Result<(), Errno> {
        let room = self.own.remapped().has_room_for_pieces(part);
        room.map_err(|_| Errno::NOMEM)
    }

    /// Empties pages of the slot: they read as zero, and take no memory.
    fn empty(&self, part: &Range<usize>) -> Result<(), Errno> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(self.own.fd(), flags, part.start as u64, part.len() as u64)
    }

    /// Maps the slot's own pages, emptied, wherever something else lies in a part of the heap.
    fn renew(&self, part: &Range<usize>, protection: c_int) -> Result<(), Errno> {
        self.empty(part)?;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
        let fd = self.own.fd().as_raw_fd();
        let address = self.address(part.start);
        // SAFETY: the program, which owns these pages, wants fresh memory there.
        unsafe { raw_map(address, part.len(), protection, flags, fd, part.start) }?;
        self.change(part.clone(), |_| {
            with_protection(RemapFlags::NONE, protection)
        });
        Ok(())
    }

    /// Notes that the program has mapped something else there. Frees the memory that lay there
    /// before.
    fn replaced(&self, part: &Range<usize>) {
        if !part.is_empty() {
            self.change(part.clone(), |_| RemapFlags::REPLACED);
            let _less_memory_is_free = self.empty(part);
        }
    }
}

fn with_protection(before: RemapFlags, protection: c_int) -> RemapFlags {
    if before.has(RemapFlags::REPLACED) {
        before
    } else if protection & READ_WRITE == READ_WRITE {
        before.unprotected()
    } else {
        before.protected(protection.cast_unsigned())
    }
}

/// # Safety
/// That of `mmap`.
unsafe fn raw_map(
    address: usize,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: usize,
) -> SyscallResult {
    let [protection, flags, fd] = [protection, flags, fd].map(word);
    let arguments = [address, len, protection, flags, fd, offset];
    // SAFETY: the caller's promise.
    unsafe { system_call(libc::SYS_mmap, arguments) }
}

/// # Safety
/// That of `munmap`.
unsafe fn raw_unmap(address: usize, len: usize) -> SyscallResult {
    // SAFETY: the caller's promise.
    unsafe { system_call(libc::SYS_munmap, [address, len, 0, 0, 0, 0]) }
}

/// # Safety
/// That of `madvise`.
unsafe fn raw_advise(address: usize, len: usize, advice: c_int) -> SyscallResult {
    let arguments = [address, len, word(advice), 0, 0, 0];
    // SAFETY: the caller's promise.
    unsafe { system_call(libc::SYS_madvise, arguments) }
}

/// Extends an `int` as the C library does.
fn word(value: c_int) -> usize {
    (value as isize).cast_unsigned()
}

/// Returns whether the call maps fresh private pages of the ordinary kind.
fn is_fresh(flags: c_int) -> bool {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let beside = libc::MAP_NORESERVE | libc::MAP_STACK | libc::MAP_POPULATE;
    flags & !beside == kind
}

/// Does what `mmap` does, with its arguments.
///
/// # Errors
/// Those of `mmap`.
///
/// # Safety
/// That of `mmap`.
pub unsafe fn map(
    address: usize,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: usize,
) -> SyscallResult {
    // Without MAP_FIXED the call replaces nothing, so no part of a slot lay there.
    let replaces = flags & libc::MAP_FIXED != 0 && address.is_multiple_of(PAGE_BYTES);
    let touched = replaces.then(|| lock_if_touched(address, len)).flatten();
    let Some(heap) = touched else {
        // SAFETY: the caller's promise.
        return unsafe { raw_map(address, len, protection, flags, fd, offset) };
    };
    let part = heap.part(address, len);
    heap.has_room()?;
    let is_fresh = is_fresh(flags) && heap.is_all(address, len);
    if is_fresh && heap.renew(&part, protection).is_ok() {
        if flags & libc::MAP_POPULATE != 0 {
            // SAFETY: fresh pages.
            let _as_far_as_possible =
                unsafe { raw_advise(address, part.len(), libc::MADV_POPULATE_WRITE) };
        }
        return Ok(address);
    }
    // SAFETY: the caller's promise.
    let answer = unsafe { raw_map(address, len, protection, flags, fd, offset) }?;
    heap.replaced(&part);
    Ok(answer)
}

/// Does what `munmap` does, with its arguments.
///
/// # Errors
/// Those of `munmap`.
///
/// # Safety
/// That of `munmap`.
pub unsafe fn unmap(address: usize, len: usize) -> SyscallResult {
    let Some(heap) = lock_if_touched(address, len) else {
        // SAFETY: the caller's promise.
        return unsafe { raw_unmap(address, len) };
    };
    let part = heap.part(address, len);
    heap.has_room()?;
    // SAFETY: the caller's promise.
    let answer = unsafe { raw_unmap(address, len) }?;
    heap.replaced(&part);
    Ok(answer)
}

/// Does what `shmat` with an address does: attaches a segment of `len` bytes.
///
/// # Errors
/// Those of `shmat`.
///
/// # Safety
/// That of `shmat`.
pub unsafe fn attach(id: c_int, address: usize, flags: c_int, len: usize) -> SyscallResult {
    let heap = lock_if_touched(address, len);
    let part = heap.as_ref().map(|heap| heap.part(address, len));
    if let Some(heap) = &heap {
        heap.has_room()?;
    }
    let arguments = [word(id), address, word(flags), 0, 0, 0];
    // SAFETY: the caller's promise.
    let answer = unsafe { system_call(libc::SYS_shmat, arguments) }?;
    if let (Some(heap), Some(part)) = (&heap, &part) {
        heap.replaced(part);
    }
    Ok(answer)
}

/// Does what `mprotect` does, with its arguments, or `pkey_mprotect` with a key.
///
/// # Errors
/// Those of `mprotect`.
///
/// # Safety
/// That of `mprotect`.
pub unsafe fn protect(
    address: usize,
    len: usize,
    protection: c_int,
    key: Option<c_int>,
) -> SyscallResult {
    let number = match key {
        None => libc::SYS_mprotect,
        Some(_) => libc::SYS_pkey_mprotect,
    };
    let protect = |address, len| {
        let arguments = [address, len, word(protection), key.map_or(0, word), 0, 0];
        // SAFETY: the caller's promise.
        unsafe { system_call(number, arguments) }
    };
    let heap = address.is_multiple_of(PAGE_BYTES);
    let Some(heap) = heap.then(|| lock_if_touched(address, len)).flatten() else {
        return protect(address, len);
    };
    let part = heap.part(address, len);
    heap.has_room_for_pieces(&part)?;
    // The pages are protected piece by piece, as the kernel does, to know how far it came if it
    // fails.
    let pieces = || heap.pieces(&part).map(|(piece, _)| piece);
    let addresses = pieces().map(|piece| heap.address(piece.start)..heap.address(piece.end));
    let before = address..heap.address(part.start);
    let behind = heap.address(part.end)..address + whole_pages(len);
    let all = std::iter::once(before).chain(addresses).chain([behind]);
    let mut done = address;
    let mut answer = Ok(0);
    for some in all.filter(|some| !some.is_empty()) {
        answer = protect(some.start, some.len());
        if answer.is_err() {
            break;
        }
        done = some.end;
    }
    // The rights of a key belong to a thread, and the threads of other processes lack them.
    let has_key = key.is_some_and(|key| key > 0);
    let changed = heap.part(address, done - address);
    heap.change(changed, |before| {
        match has_key && !before.has(RemapFlags::REPLACED) {
            true => before.protected(protection.cast_unsigned()),
            false => with_protection(before, protection),
        }
    });
    answer
}

/// Does what `madvise` does, with its arguments.
///
/// # Errors
/// Those of `madvise`.
///
/// # Safety
/// That of `madvise`.
pub unsafe fn advise(address: usize, len: usize, advice: c_int) -> SyscallResult {
    if advice == libc::MADV_DONTNEED && gate::is_inside() {
        // The allocator gives back free pages. During a fork nobody changes pages, because the fork
        // has locked them. Pages that are not given back stay resident, which is no error.
        if !gate::is_closed_by_this_thread() {
            // SAFETY: the caller's promise.
            let _less_memory_is_free = unsafe { advise_now(address, len, advice) };
        }
        return Ok(0);
    }
    // SAFETY: the caller's promise.
    unsafe { advise_now(address, len, advice) }
}

/// # Safety
/// That of `madvise`.
unsafe fn advise_now(address: usize, len: usize, advice: c_int) -> SyscallResult {
    let changes = matches!(
        advice,
        libc::MADV_DONTNEED
            | MADV_DONTNEED_LOCKED
            | libc::MADV_FREE
            | libc::MADV_DONTFORK
            | libc::MADV_DOFORK
            | libc::MADV_WIPEONFORK
            | libc::MADV_KEEPONFORK
            | MADV_GUARD_INSTALL
            | MADV_GUARD_REMOVE
    );
    let about_pages = changes && address.is_multiple_of(PAGE_BYTES);
    let Some(heap) = about_pages.then(|| lock_if_touched(address, len)).flatten() else {
        // SAFETY: the caller's promise.
        return unsafe { raw_advise(address, len, advice) };
    };
    let part = heap.part(address, len);
    heap.has_room_for_pieces(&part)?;
    let base = heap.address(0);
    let (end, [start, behind]) = (
        address + whole_pages(len),
        [part.start, part.end].map(|offset| base + offset),
    );
    let mut answer = Ok(0);
    for (start, end) in [(address, start), (behind, end)] {
        if start < end {
            // SAFETY: the caller's promise.
            answer = answer.and(unsafe { raw_advise(start, end - start, advice) });
        }
    }
    for (piece, difference) in heap.pieces(&part) {
        // SAFETY: the caller's promise.
        let advise = || unsafe { raw_advise(base + piece.start, piece.len(), advice) };
        let empty = || heap.empty(&piece).map(|()| 0);
        let done = match advice {
            _ if difference.has(RemapFlags::REPLACED) => advise(),
            libc::MADV_DONTNEED | MADV_DONTNEED_LOCKED | libc::MADV_FREE => empty(),
            MADV_GUARD_INSTALL => advise().and_then(|_| empty()),
            MADV_GUARD_REMOVE => advise(),
            _ => Ok(0),
        };
        answer = answer.and(done);
    }
    if answer.is_ok() || advice != MADV_GUARD_INSTALL {
        heap.change(part, |before| after_advice(before, advice));
    }
    answer
}

fn after_advice(before: RemapFlags, advice: c_int) -> RemapFlags {
    if before.has(RemapFlags::REPLACED) {
        return before; // The kernel applies the advice.
    }
    match advice {
        libc::MADV_DONTFORK => before.with(RemapFlags::NOT_FORKED),
        libc::MADV_DOFORK => before.without(RemapFlags::NOT_FORKED),
        libc::MADV_WIPEONFORK => before.with(RemapFlags::WIPED),
        libc::MADV_KEEPONFORK => before.without(RemapFlags::WIPED),
        MADV_GUARD_INSTALL => before.with(RemapFlags::GUARDED),
        MADV_GUARD_REMOVE => before.without(RemapFlags::GUARDED),
        _ => before,
    }
}

/// Guards pages of a forked child's heap.
///
/// # Errors
/// The kernel's answer.
pub(crate) fn guard(address: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: as the program has guarded these pages.
    unsafe { raw_advise(address, len, MADV_GUARD_INSTALL) }.map(drop)
}

/// Does what `mremap` does, with its arguments; `to` is 0 if the flags fix no place.
///
/// # Errors
/// Those of `mremap`.
///
/// # Safety
/// That of `mremap`.
pub unsafe fn remap(
    from: usize,
    len: usize,
    new_len: usize,
    flags: c_int,
    to: usize,
) -> SyscallResult {
    let arguments = [from, len, new_len, word(flags), to, 0];
    // SAFETY: the caller's promise.
    let move_it = || unsafe { system_call(libc::SYS_mremap, arguments) };
    let is_placed = flags & libc::MREMAP_FIXED != 0;
    let from_heap = lock_if_touched(from, len.max(1));
    let Some(heap) =
        from_heap.or_else(|| is_placed.then(|| lock_if_touched(to, new_len)).flatten())
    else {
        return move_it();
    };
    if !from.is_multiple_of(PAGE_BYTES) || (is_placed && !to.is_multiple_of(PAGE_BYTES)) {
        return Err(Errno::INVAL);
    }
    let source = heap.part(from, len.max(1));
    let target = is_placed.then(|| heap.part(to, new_len));
    let target = target.unwrap_or_default();
    heap.has_room()?;
    let is_replaced = |(_, difference): &(_, RemapFlags)| difference.has(RemapFlags::REPLACED);
    if heap.pieces(&source).all(|piece| is_replaced(&piece)) {
        if !target.is_empty() {
            // The kernel may find a gap after it has unmapped the target. So this checks the source
            // first. SAFETY: on Linux the call only checks whether the whole range is mapped.
            let look = unsafe { system_call(libc::SYS_msync, [from, len, ASYNCHRONOUS, 0, 0, 0]) };
            look.map_err(|_| Errno::FAULT)?;
        }
        let answer = move_it()?;
        heap.replaced(&target);
        return Ok(answer);
    }
    let mut pieces = heap.pieces(&source);
    match (pieces.next(), pieces.next()) {
        (Some((_, difference)), None) if heap.is_all(from, len) => {
            drop(pieces);
            let moved = PageMove {
                from,
                len: whole_pages(len),
                new_len: whole_pages(new_len),
                flags,
                to,
                difference,
            };
            // SAFETY: the caller's promise.
            unsafe { moved.copy(&heap) }
        }
        // The kernel's answer for a range of several mappings.
        _ => Err(Errno::FAULT),
    }
}

/// A move of pages of the slot to another place, or to another length.
struct PageMove {
    from: usize,
    len: usize,
    new_len: usize,
    flags: c_int,
    to: usize,
    difference: RemapFlags,
}

impl PageMove {
    /// # Safety
    /// That of `mremap`.
    unsafe fn copy(&self, heap: &LockedHeap) -> SyscallResult {
        let has = |flag: c_int| self.flags & flag == flag;
        let known = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
        let stays = has(libc::MREMAP_DONTUNMAP);
        let must_move = has(libc::MREMAP_FIXED) || stays;
        let overlaps = has(libc::MREMAP_FIXED)
            && self.to < self.from + self.len
            && self.from < self.to.saturating_add(self.new_len);
        let is_wrong = self.flags & !known != 0
            || (must_move && !has(libc::MREMAP_MAYMOVE))
            || (stays && self.len != self.new_len)
            || overlaps;
        if is_wrong || self.len == 0 || self.new_len == 0 {
            return Err(Errno::INVAL);
        }
        let part = heap.part(self.from, self.len);
        if !must_move && self.new_len <= self.len {
            let rest = part.start + self.new_len..part.end;
            // SAFETY: the caller's promise.
            unsafe { self.give_up(heap, &rest) }?;
            return Ok(self.from);
        }
        if !has(libc::MREMAP_MAYMOVE) {
            return Err(Errno::NOMEM);
        }
        // SAFETY: the caller's promise.
        let to = unsafe { self.room(heap) }?;
        let bytes = self.len.min(self.new_len);
        let readable = self
            .difference
            .protection()
            .is_none_or(|bits| bits & 1 == 1);
        if readable {
            // SAFETY: pages of the program's heap, and fresh ones elsewhere.
            unsafe { std::ptr::copy_nonoverlapping(self.from as *const u8, to as *mut u8, bytes) };
        }
        if let Some(protection) = self.difference.protection() {
            let arguments = [to, self.new_len, protection as usize, 0, 0, 0];
            // SAFETY: the new pages get the protection of the old ones.
            unsafe { system_call(libc::SYS_mprotect, arguments) }?;
            let target = heap.part(to, self.new_len);
            heap.change(target, |before| {
                with_protection(before, protection.cast_signed())
            });
        }
        if stays {
            heap.empty(&part)?;
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.give_up(heap, &part) }?;
        }
        Ok(to)
    }

    /// Makes fresh memory at the new place.
    ///
    /// # Safety
    /// That of `mremap`.
    unsafe fn room(&self, heap: &LockedHeap) -> SyscallResult {
        let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let mut at = 0;
        if self.flags & libc::MREMAP_FIXED != 0 {
            if heap.is_all(self.to, self.new_len) {
                let part = heap.part(self.to, self.new_len);
                return heap.renew(&part, READ_WRITE).map(|()| self.to);
            }
            flags |= libc::MAP_FIXED;
            at = self.to;
        }
        // SAFETY: the caller's promise.
        let to = unsafe { raw_map(at, self.new_len, READ_WRITE, flags, -1, 0) }?;
        heap.replaced(&heap.part(to, self.new_len));
        Ok(to)
    }

    /// Unmaps pages of the heap.
    ///
    /// # Safety
    /// That of `munmap`.
    unsafe fn give_up(&self, heap: &LockedHeap, part: &Range<usize>) -> Result<(), Errno> {
        if !part.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { raw_unmap(heap.address(part.start), part.len()) }?;
            heap.replaced(part);
        }
        Ok(())
    }
}

/// Returns whether anything is different in these pages of the heap. Costs a load if no page of the
/// heap is different.
#[inline]
pub(crate) fn is_remapped(block: *const u8, len: usize) -> bool {
    let own = || own()?.ok();
    len >= PAGE_BYTES
        && own().is_some_and(|own| !own.remapped().is_empty())
        && is_different_here(block, len)
}

#[cold]
fn is_different_here(block: *const u8, len: usize) -> bool {
    let Some(heap) = lock_if_touched(block as usize, len) else {
        return false;
    };
    let part = heap.part(block as usize, len);
    heap.pieces(&part)
        .any(|(_, difference)| difference != RemapFlags::NONE)
}

/// Prepares a block for `free`. Where the program has mapped something else over whole pages of it,
/// this maps the slot's memory again, as if the C library had unmapped the block and mapped another
/// one. The program's mapping there is its own, and the next owner of the block must not write into
/// it.
pub(crate) fn restore_block(block: *mut u8, len: usize) {
    if !is_remapped(block, len) {
        return;
    }
    let start = (block as usize).next_multiple_of(PAGE_BYTES);
    let end = (block as usize + len) / PAGE_BYTES * PAGE_BYTES;
    let Some(heap) = lock_if_touched(start, end.saturating_sub(start)) else {
        return;
    };
    let part = heap.part(start, end - start);
    // One at a time, because each renewal changes the list of pieces.
    while let Some((piece, _)) = heap
        .pieces(&part)
        .find(|(_, difference)| *difference != RemapFlags::NONE)
    {
        if heap.renew(&piece, READ_WRITE).is_err() {
            crate::fatal::die_with_message(
                "the memory of a block that was freed cannot be had again",
                12,
            );
        }
    }
}
