//! The memory of other ranks: how a receiver fetches a message from that of its sender.
#![expect(unsafe_code, reason = "the kernel copies between processes")]

use super::slots::Slots;
use crate::data::{self, DataView, LOCAL_SMALL_PIECE_BYTES, scatter_from};
use bcs_core::job;
use bcs_core::layout::{Location, RemoteRuns};
use bcs_core::smartmap::{NodeMemory, READ_ONLY};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Why a message could not be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FetchError {
    /// The sender's memory is not at the address that it sent.
    Fault,
    /// That memory cannot be reached. The sender has to bring it.
    Closed,
}

/// Bytes fetched at a time of a message in pieces. The second copy finds them in the first-level
/// cache.
const BOUNCE_BYTES: usize = 16 * 1024;

/// The kernel copies no more than 2 GiB in a call.
const MAX_CALL_BYTES: usize = 1 << 30;

/// The methods to reach the memory of other ranks, the best one first.
#[derive(Clone, Debug)]
pub(crate) struct PeerMemory {
    /// Heaps in slots are read in place.
    slots: Option<Arc<Slots>>,
    /// Whether slots may be used.
    by_slots: bool,
    /// The kernel copies other memory (`process_vm_readv`).
    process: bool,
    /// All ranks are in this process. The memory of those at places before this one is at the
    /// addresses that they send.
    #[cfg(test)]
    here: usize,
}

impl PeerMemory {
    /// Neither is used: all data go through the queues.
    #[cfg(test)]
    pub(in crate::transport) const CLOSED: Self = Self {
        slots: None,
        by_slots: false,
        process: false,
        here: 0,
    };

    /// Returns access to memory of ranks that are all in this process, as if this many of them had
    /// their memory in slots.
    #[cfg(test)]
    pub(in crate::transport) const fn here(places: usize) -> Self {
        Self {
            process: true,
            here: places,
            ..Self::CLOSED
        }
    }

    /// Opens all methods of this process. Where Yama guards memory (`ptrace_scope` 1), only
    /// ancestors may read the memory of a process, unless it has allowed others.
    pub(crate) fn open() -> Self {
        // SAFETY: it only changes who may read this process: processes of the same user.
        let _without_yama = unsafe {
            let any = libc::PR_SET_PTRACER_ANY;
            libc::prctl(libc::PR_SET_PTRACER, any, 0, 0, 0)
        };
        Self {
            slots: None,
            by_slots: true,
            process: true,
            #[cfg(test)]
            here: 0,
        }
    }

    /// Returns the same, but without methods better than this.
    pub(crate) fn up_to(self, best: job::CopyMethod) -> Self {
        Self {
            by_slots: self.by_slots && best == job::CopyMethod::Slots,
            process: self.process && best != job::CopyMethod::Queues,
            ..self
        }
    }

    pub(super) fn use_slots(&mut self, slots: Arc<Slots>) {
        self.slots = Some(slots).filter(|_| self.by_slots);
    }

    /// Returns whether the kernel copies from the rank at that place. The contents at the address
    /// do not matter.
    pub(super) fn opens(&self, node: &NodeMemory, place: usize, address: u64) -> bool {
        let process = readable(node, place);
        let looked = || read(process, address, &mut [0]);
        self.process && process > 0 && looked() != Err(FetchError::Closed)
    }

    /// Returns whether memory of this rank lies outside of its slot, although others could read a
    /// copy in the slot.
    pub(super) fn is_beside(&self, address: u64, len: usize) -> bool {
        let slots = self.slots.as_ref().filter(|slots| slots.own().is_some());
        slots.is_some_and(|slots| slots.resolve(slots.place(), address, len).is_none())
    }

    /// Returns where the memory of another rank is mapped here, if it lies in a slot.
    pub(super) fn resolve(&self, place: usize, address: u64, len: usize) -> Option<NonNull<u8>> {
        #[cfg(test)]
        if place < self.here {
            return NonNull::new(crate::data::start(address));
        }
        self.slots.as_ref()?.resolve(place, address, len)
    }

    /// Fetches a part of a message into the same part of a data view.
    pub(super) fn fetch(
        &self,
        node: &NodeMemory,
        place: usize,
        from: Location,
        into: &DataView,
        part: Range<usize>,
    ) -> Result<(), FetchError> {
        let (first, len) = (from.address.wrapping_add(part.start as u64), part.len());
        let slots = self.slots.as_ref().filter(|_| from.layout.is_none());
        if let Some(slots) = slots {
            if let Some(start) = slots.resolve(place, first, len) {
                // SAFETY: these bytes are mapped there as long as the slots live.
                unsafe { copy_from_slot(start, into, part) };
                return Ok(());
            }
            slots.copied_beside(place, len);
        }
        // To find its pieces one by one would take longer than to have the sender bring them.
        let in_small_pieces = from.layout.is_some() && from.grain < LOCAL_SMALL_PIECE_BYTES;
        if !self.process || in_small_pieces {
            return Err(FetchError::Closed);
        }
        let process = readable(node, place);
        if process <= 0 {
            return Err(FetchError::Closed);
        }
        let first = part.start as u64;
        data::fill::<BOUNCE_BYTES, _>(into, part, |at, bytes| {
            fetch_pieces(process, from, first + at as u64, bytes)
        })
    }
}

impl PeerMemory {
    /// Returns whether bytes can be brought to a rank at a place with this process number.
    pub(super) fn leads_to(&self, (place, process): (usize, u32), into: u64, len: usize) -> bool {
        let writable = self.process && process != 0 && process & READ_ONLY == 0;
        writable || self.resolve(place, into, len).is_some()
    }

    /// Brings bytes to the address that the rank at a place with this process number wants.
    pub(super) fn bring(
        &self,
        (place, process): (usize, u32),
        data: &[u8],
        into: u64,
    ) -> Result<(), FetchError> {
        let slots = self.slots.as_ref();
        if let Some(start) = slots.and_then(|slots| slots.resolve(place, into, data.len())) {
            // SAFETY: these bytes are mapped there as long as the slots live, and their rank has
            // promised that they may be written.
            unsafe { std::ptr::copy(data.as_ptr(), start.as_ptr(), data.len()) };
            return Ok(());
        }
        // A negative number marks a process that may only be read.
        let process = process.cast_signed();
        if !self.process || process <= 0 {
            return Err(FetchError::Closed);
        }
        if let Some(slots) = slots {
            slots.copied_beside(place, data.len());
        }
        write(process, data, into)
    }
}

impl PeerMemory {
    /// Reads bytes of another rank that are not mapped here.
    pub(super) fn read_from(
        &self,
        node: &NodeMemory,
        place: usize,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), FetchError> {
        let process = readable(node, place);
        if !self.process || process <= 0 {
            return Err(FetchError::Closed);
        }
        read(process, address, bytes)
    }

    /// Writes bytes of another rank that are not mapped here.
    pub(super) fn write_to(
        &self,
        node: &NodeMemory,
        place: usize,
        bytes: &[u8],
        into: u64,
    ) -> Result<(), FetchError> {
        let process = node.process_id(place).load(Ordering::Acquire);
        // A negative number marks a process that may only be read.
        let process = process.cast_signed();
        if !self.process || process <= 0 {
            return Err(FetchError::Closed);
        }
        if let Some(slots) = &self.slots {
            slots.copied_beside(place, bytes.len());
        }
        let mut into = into;
        for chunk in bytes.chunks(MAX_CALL_BYTES) {
            write(process, chunk, into)?;
            into = into.wrapping_add(chunk.len() as u64);
        }
        Ok(())
    }
}

/// Returns the process of the rank at a place, for reading; 0 while it has none.
fn readable(node: &NodeMemory, place: usize) -> i32 {
    let process = node.process_id(place).load(Ordering::Acquire);
    (process & !READ_ONLY).cast_signed()
}

/// Copies a part of a message from a mapped slot. If its owner writes there meanwhile, the bytes
/// are invalid.
///
/// # Safety
/// `start` is valid for reads of as many bytes.
unsafe fn copy_from_slot(start: NonNull<u8>, into: &DataView, part: Range<usize>) {
    if let Some(into) = into.plain() {
        let to = data::start(into.part(part.clone()).address());
        // SAFETY: the promise of a data view, and the caller's.
        return unsafe { std::ptr::copy(start.as_ptr(), to, part.len()) };
    }
    let bytes = std::ptr::slice_from_raw_parts(start.as_ptr(), part.len());
    // SAFETY: the caller's promise.
    unsafe { scatter_from(into, part.start, bytes) };
}

/// Fetches the bytes of a message from `offset` on, wherever its pieces are.
fn fetch_pieces(
    process: i32,
    from: Location,
    offset: u64,
    bytes: &mut [u8],
) -> Result<(), FetchError> {
    let Some(layout) = from.layout else {
        return read(process, from.address.wrapping_add(offset), bytes);
    };
    let end = offset + bytes.len() as u64;
    let mut closed = false;
    let look = |address, into: &mut [u8]| match read(process, address, into) {
        Ok(()) => true,
        Err(why) => {
            closed |= why == FetchError::Closed;
            false
        }
    };
    let mut walk = RemoteRuns::pieces(look, layout.get(), offset, end);
    let mut moved = 0;
    let mut move_all = || {
        let walk = walk.as_mut().map_err(|_| FetchError::Fault)?;
        while let Some(strip) = walk.advance().map_err(|_| FetchError::Fault)? {
            let len = usize::try_from(strip.block).expect("at most all bytes");
            for place in strip.offsets() {
                let address = from.address.wrapping_add_signed(place);
                read(process, address, &mut bytes[moved..moved + len])?;
                moved += len;
            }
        }
        Ok(())
    };
    let fetched = move_all();
    drop(walk);
    if closed {
        return Err(FetchError::Closed);
    }
    fetched
}

/// Has the kernel copy from another process.
fn read(process: i32, address: u64, bytes: &mut [u8]) -> Result<(), FetchError> {
    let mut from = address;
    for chunk in bytes.chunks_mut(MAX_CALL_BYTES) {
        let start = usize::try_from(from).map_err(|_| FetchError::Fault)?;
        let local = libc::iovec {
            iov_base: chunk.as_mut_ptr().cast(),
            iov_len: chunk.len(),
        };
        let remote = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(start),
            iov_len: chunk.len(),
        };
        // SAFETY: `local` is a borrowed slice; the kernel checks the remote side.
        let moved = unsafe {
            libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0)
        };
        has_moved(moved, chunk.len())?;
        from = from.wrapping_add(chunk.len() as u64);
    }
    Ok(())
}

/// Has the kernel copy to another process, less than its limit for a call.
fn write(process: i32, data: &[u8], into: u64) -> Result<(), FetchError> {
    let start = usize::try_from(into).map_err(|_| FetchError::Fault)?;
    let local = libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: data.len(),
    };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(start),
        iov_len: data.len(),
    };
    // SAFETY: `local` is a borrowed slice, which is only read; the kernel checks the remote side.
    let moved =
        unsafe { libc::process_vm_writev(process, &raw const local, 1, &raw const remote, 1, 0) };
    has_moved(moved, data.len())
}

/// Converts the kernel's result of a copy.
fn has_moved(moved: isize, len: usize) -> Result<(), FetchError> {
    if moved < 0 {
        let error = std::io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => FetchError::Closed,
            // The other rank is dead, and its node manager ends the job. An error of this rank
            // would hide the cause.
            Some(libc::ESRCH) => FetchError::Closed,
            _ => FetchError::Fault,
        });
    }
    if !usize::try_from(moved).is_ok_and(|moved| moved == len) {
        return Err(FetchError::Fault);
    }
    Ok(())
}
