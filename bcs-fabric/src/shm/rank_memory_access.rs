//! How a NIC moves bytes of ranks: between two ranks, and between a rank and itself.
//!
//! | where they are | how they are moved |
//! |---|---|
//! | in the rank's slot | by loads and stores: it is mapped here ([`slot_windows`]) |
//! | in an eager payload slot | the same: NIC memory is mapped here, or is when it is first needed |
//! | elsewhere: stacks, static memory, heaps of programs without a slot | by the kernel ([`cross_process`]) |
//!
//! So between two ranks with slots there is one copy and no system call. If one of them has its
//! bytes elsewhere, the kernel makes one copy, between that process and the slot of the other. It
//! copies only between its caller and one other process. So if neither lies in a slot, a message
//! goes through a bounce buffer of half an L2 cache, in which the second copy finds it.
//!
//! Data that do not lie side by side are pieces of the rank's side of a copy. In a slot they are
//! copied one by one; elsewhere the kernel takes as many at a time as one call may have. Gaps
//! between them are neither read nor written. If both sides are in pieces, there is a bounce
//! buffer, too.
//!
//! A rank whose process id is withdrawn has departed. The NIC reaches no memory of it any more, by
//! any of these methods.
//!
//! [`slot_windows`]: super::slot_windows
#![expect(unsafe_code, reason = "bytes of ranks are named by address")]

use super::cross_process::{self, LocalBytes, TransferDirection, remote_iovec};
use super::lent_memory::LentMemory;
use super::segment::Segment;
use crate::{DestinationSpan, FabricError, MemoryFault, MemoryUpdate, RankMemory, SourceSpan};
use bcs_core::descriptor::Payload;
use bcs_core::job::{CopyMethod, Settings};
use bcs_core::layout::{Location, RemoteRuns, Strip, copy_blocks};
use bcs_core::limits::{BOUNCE_BYTES, DEFAULT_EAGER_LIMIT, PIECES_BOUNCE_BYTES};
use bcs_core::memory::slot::prefault;
use bcs_core::memory::{NicMemory, UpdateLock};
use std::num::NonZeroU64;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The memory of ranks as one NIC thread reaches it.
#[derive(Debug)]
pub struct RankMemoryAccess {
    segment: Segment,
    /// NIC memory by world rank, of the ranks whose NIC this process hosts.
    nic_memory: Arc<Vec<Option<NicMemory>>>,
    /// Whether the NIC may map memory of ranks.
    maps: bool,
    eager_limit: usize,
    bounce: Vec<u8>,
}

/// The most pieces of a rank's memory that one call takes (UIO_MAXIOV).
const MAX_PIECES: usize = 1024;

/// Pieces of at least this size have calls of their own.
const LARGE_PIECE_BYTES: usize = 64 * 1024;

/// The kernel copies no more than 2 GiB in a call.
const MAX_CALL_BYTES: usize = 1 << 30;

/// A message in the memory of a rank, from a byte of it on.
#[derive(Clone, Copy, Debug)]
struct MessagePosition {
    rank: u32,
    location: Location,
    offset: u64,
}

impl MessagePosition {
    fn after(self, bytes: usize) -> Self {
        let offset = self.offset + bytes as u64;
        Self { offset, ..self }
    }
}

/// The source of a copy, and its address in this process if it is mapped.
struct CopySource {
    part: MessagePosition,
    here: Option<NonNull<u8>>,
}

impl RankMemoryAccess {
    /// Makes an access to the ranks that the segment describes.
    #[must_use]
    pub fn new(segment: Segment, nic_memory: Arc<Vec<Option<NicMemory>>>) -> Self {
        Self {
            segment,
            nic_memory,
            maps: true,
            eager_limit: DEFAULT_EAGER_LIMIT,
            bounce: Vec::new(),
        }
    }

    /// Applies the settings of the job: where the kernel's copy is as good, nothing is mapped.
    #[must_use]
    pub fn with_settings(self, settings: &Settings) -> Self {
        Self {
            maps: settings.road == CopyMethod::Slots,
            eager_limit: settings.eager_limit,
            ..self
        }
    }

    fn pid(&self, rank: u32, address: u64, len: usize) -> Result<libc::pid_t, MemoryFault> {
        self.segment
            .pid(rank)
            .map(|pid| pid.load(Ordering::Acquire).cast_signed())
            .filter(|&pid| pid > 0)
            .ok_or(MemoryFault { rank, address, len })
    }

    /// Returns where `len` bytes of a rank are in this process, if they lie in its slot. They are
    /// valid for reads and writes as long as `self`.
    fn mapped(&self, rank: u32, address: u64, len: usize) -> Option<NonNull<u8>> {
        let received = self.maps && self.pid(rank, address, len).is_ok();
        received.then(|| self.segment.resolve(rank, address, len))?
    }

    /// Does the same for a message that lies side by side.
    fn map_contiguous(&self, part: &MessagePosition, len: usize) -> Option<NonNull<u8>> {
        let Location {
            address,
            layout: None,
            ..
        } = part.location
        else {
            return None;
        };
        self.mapped(part.rank, address.wrapping_add(part.offset), len)
    }

    /// Moves bytes from one rank to another.
    pub(crate) fn copy(
        &mut self,
        from: &SourceSpan,
        to: &DestinationSpan,
    ) -> Result<(), FabricError> {
        let len = usize::try_from(from.len).expect("addresses have 64 bits here");
        if len == 0 {
            return Ok(());
        }
        let CopySource { part, here } = self.source(from, len)?;
        let into = MessagePosition {
            rank: to.rank,
            location: to.into,
            offset: to.offset,
        };
        let target = self.map_contiguous(&into, len);
        if let Some(target) = target {
            // SAFETY: as many bytes are mapped there.
            unsafe { prefault(target, len) };
        }
        // The other side may name the same slot's memory that the pieces lie in.
        let apart = from.rank != to.rank || matches!(from.payload, Payload::Slot { .. });
        let all_from = |start: NonNull<u8>| {
            let bytes = std::ptr::slice_from_raw_parts_mut(start.as_ptr(), len);
            // SAFETY: mapped as long as `self` lives, not borrowed, and of another rank than the
            // other side.
            unsafe { LocalBytes::new(bytes) }
        };
        match (here, target) {
            (Some(source), Some(target)) => {
                // SAFETY: as many bytes are mapped at both, as long as `self` lives. They may
                // overlap, and others may write there meanwhile: then the bytes are invalid, by
                // their owner's fault.
                unsafe { std::ptr::copy(source.as_ptr(), target.as_ptr(), len) };
                Ok(())
            }
            (Some(source), None) if apart => self
                .exchange(TransferDirection::Out, &into, all_from(source))
                .map_err(|_| FabricError::DestinationMemory),
            (None, Some(target)) if apart => self
                .exchange(TransferDirection::In, &part, all_from(target))
                .map_err(|_| FabricError::SourceMemory),
            _ => self.copy_through_bounce(&part, &into, len),
        }
    }

    /// Reads bytes of a message where its sender has them, from `offset` of the span on.
    pub(crate) fn read_span(
        &mut self,
        from: &SourceSpan,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), FabricError> {
        let len = bytes.len();
        let some = SourceSpan {
            offset: from.offset + offset,
            len: len as u64,
            ..*from
        };
        // SAFETY: borrowed for this.
        let ours = unsafe { LocalBytes::new(&raw mut *bytes) };
        let CopySource { part, here } = self.source(&some, len)?;
        if let Some(here) = here {
            // SAFETY: as many bytes are mapped there as long as `self` lives, and ours are
            // elsewhere.
            unsafe { std::ptr::copy(here.as_ptr(), ours.start(), len) };
            return Ok(());
        }
        self.exchange(TransferDirection::In, &part, ours)
            .map_err(|_| FabricError::SourceMemory)
    }

    /// Returns where `len` bytes of a message are, from `offset` of the span on, if they lie side
    /// by side in memory that is mapped here.
    pub(crate) fn lend_source(
        &self,
        from: &SourceSpan,
        offset: u64,
        len: usize,
    ) -> Option<LentMemory> {
        let some = SourceSpan {
            offset: from.offset.checked_add(offset)?,
            len: len as u64,
            ..*from
        };
        let start = self.source(&some, len).ok()?.here?;
        // SAFETY: as many bytes are mapped there as long as `self` lives. They are only read.
        Some(unsafe { LentMemory::new(start, len) })
    }

    /// Writes bytes of a message to where its receive wants them, from `offset` of the span on.
    pub(crate) fn write_span(
        &mut self,
        to: &DestinationSpan,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FabricError> {
        let into = MessagePosition {
            rank: to.rank,
            location: to.into,
            offset: to.offset + offset,
        };
        // SAFETY: on their way out they are only read.
        let ours = unsafe { LocalBytes::new((&raw const *bytes).cast_mut()) };
        self.exchange(TransferDirection::Out, &into, ours)
            .map_err(|_| FabricError::DestinationMemory)
    }

    /// Returns where `len` bytes of a message belong, from `offset` of the span on, if they lie
    /// side by side in a slot that is mapped here. It is for the kernel, which may write there.
    pub(crate) fn lend_destination(
        &self,
        to: &DestinationSpan,
        offset: u64,
        len: usize,
    ) -> Option<LentMemory> {
        let part = MessagePosition {
            rank: to.rank,
            location: to.into,
            offset: to.offset.checked_add(offset)?,
        };
        let start = self.map_contiguous(&part, len).filter(|_| len > 0)?;
        // SAFETY: as many bytes are mapped there.
        unsafe { prefault(start, len) };
        // SAFETY: as many bytes are mapped there as long as `self` lives.
        Some(unsafe { LentMemory::new(start, len) })
    }

    fn source(&self, from: &SourceSpan, len: usize) -> Result<CopySource, FabricError> {
        let part = |location| MessagePosition {
            rank: from.rank,
            location,
            offset: from.offset,
        };
        match from.payload {
            Payload::Slot { slot, address } => {
                let here = self.nic_memory(from.rank).map(|memory| {
                    let offset = usize::try_from(from.offset).unwrap_or(usize::MAX);
                    let start = memory.payload_at(slot as usize, offset, len);
                    start.ok_or(FabricError::SourceMemory)
                });
                Ok(CopySource {
                    part: part(Location::contiguous(address)),
                    here: here.transpose()?,
                })
            }
            Payload::Memory(location) => {
                let part = part(location);
                let here = self.map_contiguous(&part, len);
                Ok(CopySource { part, here })
            }
            Payload::Inline(_) | Payload::Cancel => {
                unreachable!("inline bytes travel with the descriptor")
            }
        }
    }

    /// Returns the NIC memory of a rank, of this process or another.
    fn nic_memory(&self, rank: u32) -> Option<&NicMemory> {
        if let Some(Some(memory)) = self.nic_memory.get(rank as usize) {
            return Some(memory);
        }
        let received = self.maps && self.pid(rank, 0, 0).is_ok();
        received.then(|| self.segment.nic_memory(rank, self.eager_limit))?
    }

    fn copy_through_bounce(
        &mut self,
        from: &MessagePosition,
        into: &MessagePosition,
        len: usize,
    ) -> Result<(), FabricError> {
        let in_slot =
            |part: &MessagePosition| self.mapped(part.rank, part.location.address, 0).is_some();
        let at_once = if in_slot(from) && in_slot(into) {
            PIECES_BOUNCE_BYTES
        } else {
            BOUNCE_BYTES
        };
        let mut bounce = std::mem::take(&mut self.bounce);
        if bounce.len() < at_once.min(len) {
            bounce.resize(at_once.min(len), 0);
        }
        let mut move_all = || {
            for moved in (0..len).step_by(at_once) {
                let bytes = &raw mut bounce[..(len - moved).min(at_once)];
                // SAFETY: of the bounce buffer, which is ours alone.
                let bytes = unsafe { LocalBytes::new(bytes) };
                self.exchange(TransferDirection::In, &from.after(moved), bytes)
                    .map_err(|_| FabricError::SourceMemory)?;
                self.exchange(TransferDirection::Out, &into.after(moved), bytes)
                    .map_err(|_| FabricError::DestinationMemory)?;
            }
            Ok(())
        };
        let outcome = move_all();
        self.bounce = bounce;
        outcome
    }

    /// Moves bytes of a message between this process and where they are in a rank.
    fn exchange(
        &mut self,
        way: TransferDirection,
        part: &MessagePosition,
        bytes: LocalBytes,
    ) -> Result<(), MemoryFault> {
        let MessagePosition {
            rank,
            location,
            offset,
        } = *part;
        match location.layout {
            None => {
                let address = location.address.wrapping_add(offset);
                self.move_bytes(way, rank, address, bytes)
            }
            Some(layout) => self.exchange_pieces(way, part, layout, bytes),
        }
    }

    /// Does the same for a message with a layout. A layout is an untrusted claim: whatever it
    /// holds, no more pieces are moved than there are bytes.
    fn exchange_pieces(
        &mut self,
        way: TransferDirection,
        part: &MessagePosition,
        layout: NonZeroU64,
        bytes: LocalBytes,
    ) -> Result<(), MemoryFault> {
        let rank = part.rank;
        let fault = MemoryFault {
            rank,
            address: layout.get(),
            len: bytes.len(),
        };
        let mut pieces = Vec::new();
        let this = &*self;
        let look = |address, words: &mut [u8]| {
            // SAFETY: borrowed for this.
            let words = unsafe { LocalBytes::new(&raw mut *words) };
            this.move_bytes(TransferDirection::In, rank, address, words)
                .is_ok()
        };
        let mut batch = PieceBatch {
            memory: this,
            way,
            rank,
            bytes,
            pieces: &mut pieces,
            waiting: 0..0,
        };
        let mut move_all = || {
            let end = part.offset + bytes.len() as u64;
            let walk = RemoteRuns::pieces(look, layout.get(), part.offset, end);
            let mut walk = walk.map_err(|_| fault)?;
            while let Some(strip) = walk.advance().map_err(|_| fault)? {
                batch.add(part.location.address, strip)?;
            }
            batch.flush()
        };
        move_all()
    }

    /// Moves bytes between this process and a rank that has them side by side.
    fn move_bytes(
        &self,
        way: TransferDirection,
        rank: u32,
        address: u64,
        bytes: LocalBytes,
    ) -> Result<(), MemoryFault> {
        if let Some(there) = self.mapped(rank, address, bytes.len()) {
            if way == TransferDirection::Out {
                // SAFETY: as many bytes are mapped there.
                unsafe { prefault(there, bytes.len()) };
            }
            let (from, to) = way.source_and_destination(bytes.start(), there.as_ptr());
            // SAFETY: as many bytes are mapped there as long as `self` lives; and the promise of
            // the bytes.
            unsafe { std::ptr::copy(from, to, bytes.len()) };
            return Ok(());
        }
        for start in (0..bytes.len()).step_by(MAX_CALL_BYTES) {
            let some = bytes.part(start..bytes.len().min(start + MAX_CALL_BYTES));
            let piece = [remote_iovec(address.wrapping_add(start as u64), some.len())];
            self.move_pieces(way, rank, &piece, some)?;
        }
        Ok(())
    }

    /// Has the kernel move bytes of this process from or to pieces of a rank, which have as many
    /// bytes in all.
    fn move_pieces(
        &self,
        way: TransferDirection,
        rank: u32,
        pieces: &[libc::iovec],
        bytes: LocalBytes,
    ) -> Result<(), MemoryFault> {
        let len = bytes.len();
        let address = pieces
            .first()
            .map_or(0, |piece| piece.iov_base.addr() as u64);
        let pid = self.pid(rank, address, len)?;
        let moved = match (way, self.segment.memory_file(rank)) {
            (TransferDirection::Out, Some(file)) => {
                cross_process::exchange_by_file(way, file, pieces, bytes)
            }
            _ => cross_process::exchange(way, pid, pieces, bytes),
        };
        moved.map_err(|_| MemoryFault { rank, address, len })
    }
}

impl TransferDirection {
    /// Returns the source and the destination, of a place of this process and one of a rank.
    fn source_and_destination(self, ours: *mut u8, theirs: *mut u8) -> (*const u8, *mut u8) {
        match self {
            Self::In => (theirs, ours),
            Self::Out => (ours, theirs),
        }
    }
}

/// The pieces of a message, while they are moved.
struct PieceBatch<'a> {
    memory: &'a RankMemoryAccess,
    way: TransferDirection,
    rank: u32,
    /// The message, in this process.
    bytes: LocalBytes,
    /// The pieces that wait for a call of the kernel.
    pieces: &'a mut Vec<libc::iovec>,
    /// Where these pieces are in the message.
    waiting: Range<usize>,
}

impl PieceBatch<'_> {
    /// Moves the next pieces, or adds them to those that wait.
    fn add(&mut self, base: u64, strip: Strip) -> Result<(), MemoryFault> {
        let block = usize::try_from(strip.block).expect("at most all bytes");
        let count = usize::try_from(strip.count).expect("at most all bytes");
        if let Some(first) = self.mapped(base, strip) {
            self.flush()?;
            let ours = self.next(block * count);
            let (from, to) = self
                .way
                .source_and_destination(ours.start(), first.as_ptr());
            let stride = isize::try_from(strip.stride).expect("addresses have 64 bits here");
            let (from_distance, to_distance) = match self.way {
                TransferDirection::In => (stride, block.cast_signed()),
                TransferDirection::Out => (block.cast_signed(), stride),
            };
            // SAFETY: all blocks lie in the slot, which is mapped as long as the memory lives; the
            // bytes are elsewhere, by their promise.
            unsafe { copy_blocks(from, to, (from_distance, to_distance), strip) };
            self.skip(ours.len());
            return Ok(());
        }
        for offset in strip.offsets() {
            let address = base.wrapping_add_signed(offset);
            if block >= LARGE_PIECE_BYTES {
                self.flush()?;
                let ours = self.next(block);
                self.memory.move_bytes(self.way, self.rank, address, ours)?;
                self.skip(block);
                continue;
            }
            self.pieces.push(remote_iovec(address, block));
            self.waiting.end += block;
            if self.pieces.len() == MAX_PIECES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Returns where the first of these pieces is in this process, if all of them lie in the rank's
    /// slot.
    fn mapped(&self, base: u64, strip: Strip) -> Option<NonNull<u8>> {
        let span = strip.span(base)?;
        let len = usize::try_from(span.end - span.start).ok()?;
        let start = self.memory.mapped(self.rank, span.start, len)?;
        let first = base.wrapping_add_signed(strip.offset) - span.start;
        // SAFETY: within what is mapped.
        Some(unsafe { start.add(usize::try_from(first).ok()?) })
    }

    /// Returns the next `bytes` bytes of the message, behind those that wait.
    fn next(&self, bytes: usize) -> LocalBytes {
        self.bytes.part(self.waiting.end..self.waiting.end + bytes)
    }

    /// Skips `bytes` bytes of the message, which have been moved. No piece waits.
    fn skip(&mut self, bytes: usize) {
        self.waiting = self.waiting.end + bytes..self.waiting.end + bytes;
    }

    /// Has the kernel move the pieces that wait.
    fn flush(&mut self) -> Result<(), MemoryFault> {
        if !self.pieces.is_empty() {
            let bytes = self.bytes.part(self.waiting.clone());
            self.memory
                .move_pieces(self.way, self.rank, self.pieces, bytes)?;
            self.pieces.clear();
            self.skip(0);
        }
        Ok(())
    }
}

impl RankMemory for RankMemoryAccess {
    fn read(&mut self, rank: u32, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        // SAFETY: borrowed for this.
        let bytes = unsafe { LocalBytes::new(&raw mut *bytes) };
        self.move_bytes(TransferDirection::In, rank, address, bytes)
    }

    fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        // SAFETY: on their way out they are only read.
        let bytes = unsafe { LocalBytes::new((&raw const *bytes).cast_mut()) };
        self.move_bytes(TransferDirection::Out, rank, address, bytes)
    }

    fn update(
        &mut self,
        rank: u32,
        address: u64,
        update: &mut MemoryUpdate<'_>,
    ) -> Result<bool, MemoryFault> {
        let MemoryUpdate {
            update: what, len, ..
        } = *update;
        let mapped = self.mapped(rank, address, len);
        if let Some(start) = mapped.filter(|_| what.is_atomic(address)) {
            let MemoryUpdate { operand, old, .. } = update;
            // SAFETY: as many bytes are mapped there as long as `self` lives. Ranks of the node
            // update them by the same atomics; what else they do with them is their own affair.
            unsafe { what.apply_atomically(start, len, operand, old) };
            return Ok(true);
        }
        let memory = self.nic_memory.get(rank as usize).and_then(Option::as_ref);
        let lock = memory.and_then(NicMemory::update_lock);
        let held = lock.map(UpdateLock::take_or_ask);
        if matches!(held, Some(None)) {
            return Ok(false);
        }
        let mut contents = vec![0; len];
        // SAFETY: borrowed for this.
        let bytes = unsafe { LocalBytes::new(&raw mut *contents) };
        self.move_bytes(TransferDirection::In, rank, address, bytes)?;
        update.apply_to_copy(&mut contents);
        // SAFETY: as above.
        let bytes = unsafe { LocalBytes::new(&raw mut *contents) };
        self.move_bytes(TransferDirection::Out, rank, address, bytes)?;
        drop(held);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
