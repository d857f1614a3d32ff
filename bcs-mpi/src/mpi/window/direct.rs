//! Operations that end at once: their data lie side by side on both sides, and the target's memory
//! is mapped here.
//!
//! The first operation at a target in an epoch takes the long way: it checks the epoch, and takes
//! the lock of the target if that is to be taken. If this rank can use the target's memory by loads
//! and stores, it then notes that the target is *open* in this epoch. The next operations there
//! need to look at nothing else. Each call that may change an epoch makes all targets closed
//! ([`Epochs::lock`](super::epoch_state::Epochs::lock)).
#![expect(unsafe_code, reason = "ranks use each other's memory")]

use super::direct_targets::{FAR, IN_SLOT, MAPPED, UNKNOWN, epoch_word};
use super::operands::TargetData;
use super::state::{Window, WindowFlavor, WindowPart};
use crate::bcs::ByteRange;
use crate::mpi::Buffer;
use bcs_core::one_sided::{Update, UpdateKind};
use bcs_core::reduction;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// Flushes that end at once and do not advance this rank's other operations, for each that does
/// (law 5). To advance them takes about as long as these together.
const FLUSHES_BETWEEN: u64 = 15;

/// The longest element that the processor updates in one step.
const ELEMENT_BYTES: usize = 8;

/// Returns the elements of a buffer and where they lie, if they are of one predefined type without
/// gaps and lie side by side.
#[inline(always)]
fn plain(buffer: &Buffer) -> Option<(reduction::Datatype, ByteRange)> {
    let element = buffer.datatype().elementary()?;
    let has_gaps = element.size() != element.data_size();
    Some((element, buffer.plain().filter(|_| !has_gaps)?))
}

/// Copies an element of this rank.
///
/// # Safety
/// Its bytes are initialised, and `into` has as many.
#[inline(always)]
unsafe fn take(element: ByteRange, into: &mut [u8]) {
    // SAFETY: the caller's promise.
    unsafe {
        copy(
            crate::data::start(element.address()),
            into.as_mut_ptr(),
            into.len(),
        );
    }
}

impl Window {
    /// Notes that a target is open in the epoch of this number, in which an operation has entered
    /// it.
    #[inline]
    pub(super) fn note_open(&self, target: usize, number: u64, is_passive: bool) {
        let direct = &self.0.direct_targets;
        let mut known = direct.memory[target].load(Ordering::Relaxed);
        if known == UNKNOWN {
            known = self.look_at_memory(target);
            direct.memory[target].store(known, Ordering::Relaxed);
        }
        if known != FAR {
            direct.open[target].store(epoch_word(number, is_passive), Ordering::Release);
        }
    }

    #[cold]
    fn look_at_memory(&self, target: usize) -> u8 {
        let (part, process) = (self.part(target), self.process());
        let is_watched = process.recording().is_on() || process.is_checked();
        if is_watched || self.0.flavor == WindowFlavor::Dynamic {
            return FAR;
        }
        let len = usize::try_from(part.size).expect("addresses have 64 bits here");
        let owner = self.world_rank(part.owner);
        match self.direct() {
            direct if direct.is_in_slot(owner, part.base, len) => IN_SLOT,
            direct if direct.maps(owner, part.base, len) => MAPPED,
            _ => FAR,
        }
    }

    /// Returns the memory of a target that is open.
    #[inline(always)]
    fn open_part(&self, target: i32) -> Option<(&WindowPart, u8)> {
        let place = usize::try_from(target).ok()?;
        let direct = &self.0.direct_targets;
        let open = direct.open.get(place)?.load(Ordering::Acquire);
        let is_open = open >> 1 == self.0.epochs.number();
        let known = direct.memory[place].load(Ordering::Relaxed);
        (is_open && !self.process().is_finalized()).then(|| (self.part(place), known))
    }

    /// Returns where data of this length begin at a target that is open.
    #[inline(always)]
    fn open_memory(
        &self,
        target: i32,
        data: TargetData<'_>,
        element: reduction::Datatype,
    ) -> Option<(NonNull<u8>, usize, u8)> {
        let (part, known) = self.open_part(target)?;
        if data.datatype.elementary() != Some(element) {
            return None;
        }
        let len = data.count.checked_mul(element.size())?;
        let start = u64::try_from(data.displacement).ok()?;
        let start = start.checked_mul(part.disp_unit)?;
        let end = start.checked_add(len as u64)?;
        if end > part.size {
            return None;
        }
        let address = usize::try_from(part.base + start).ok()?;
        let start = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(address))?;
        Some((start, len, known))
    }

    /// Puts at once. Returns false if that is not possible: then nothing has happened.
    #[inline(always)]
    pub(super) fn put_at_once(&self, origin: &Buffer, target: i32, data: TargetData<'_>) -> bool {
        let Some((element, from)) = plain(origin) else {
            return false;
        };
        match self.open_memory(target, data, element) {
            Some((to, len, _)) if len == from.len() => {
                let from = crate::data::start(from.address());
                // SAFETY: as many bytes are at both places: the origin's by the promise of its
                // buffer, the target's by that of its window.
                unsafe { copy(from, to.as_ptr(), len) };
                true
            }
            _ => false,
        }
    }

    /// Gets at once. Returns false if that is not possible: then nothing has happened.
    #[inline(always)]
    pub(super) fn get_at_once(&self, into: &Buffer, target: i32, data: TargetData<'_>) -> bool {
        let Some((element, into)) = plain(into) else {
            return false;
        };
        match self.open_memory(target, data, element) {
            Some((from, len, _)) if len == into.len() => {
                let into = crate::data::start(into.address());
                // SAFETY: as in `put_at_once`.
                unsafe { copy(from.as_ptr(), into, len) };
                true
            }
            _ => false,
        }
    }

    /// Updates an element at once. `compare` and `result` are there if the function has them.
    /// Returns false if that is not possible: then nothing has happened.
    #[inline(always)]
    pub(super) fn update_at_once(
        &self,
        kind: UpdateKind,
        (origin, compare, result): (&Buffer, Option<&Buffer>, Option<&Buffer>),
        (target, data): (i32, TargetData<'_>),
    ) -> bool {
        let Some(element) = data.datatype.elementary() else {
            return false;
        };
        let Some((start, len, IN_SLOT)) = self.open_memory(target, data, element) else {
            return false;
        };
        let update = Update {
            kind,
            datatype: element,
            fetches: result.is_some(),
        };
        // Several elements are updated under the target's lock, too.
        let is_one = len == element.size();
        if !is_one || !update.is_atomic(start.addr().get() as u64) || !kind.allowed(element) {
            return false;
        }
        let fits = |buffer: &Buffer| {
            let (own, range) = plain(buffer)?;
            (own == element && range.len() == len).then_some(range)
        };
        let result = match result {
            None => ByteRange::EMPTY,
            Some(result) => match fits(result) {
                Some(result) => result,
                None => return false,
            },
        };
        // They are copied, because a wrong program may name one place as operand and as result.
        let (mut operands, mut old) = ([0; 2 * ELEMENT_BYTES], [0; ELEMENT_BYTES]);
        let sent = match (kind, compare) {
            (UpdateKind::NoOp, _) => 0,
            (UpdateKind::CompareAndSwap, Some(compare)) => {
                let (Some(new), Some(compare)) = (fits(origin), fits(compare)) else {
                    return false;
                };
                // SAFETY: the promise of the buffer.
                unsafe { take(compare, &mut operands[..len]) };
                // SAFETY: as above.
                unsafe { take(new, &mut operands[len..2 * len]) };
                2 * len
            }
            _ => {
                let Some(origin) = fits(origin) else {
                    return false;
                };
                // SAFETY: the promise of the buffer.
                unsafe { take(origin, &mut operands[..len]) };
                len
            }
        };
        let old = &mut old[..result.len()];
        // SAFETY: as many bytes are mapped there, and others update them by the same atomics.
        unsafe { update.apply_atomically(start, len, &operands[..sent], old) };
        if !old.is_empty() {
            let result = crate::data::start(result.address());
            // SAFETY: the promise of the buffer.
            unsafe { copy(old.as_ptr(), result, len) };
        }
        true
    }

    /// Returns whether a flush of this target has nothing to wait for, and no other operations to
    /// advance this time.
    #[inline(always)]
    pub(super) fn is_flushed(&self, target: i32) -> bool {
        let direct = &self.0.direct_targets;
        let Some(open) = usize::try_from(target)
            .ok()
            .and_then(|at| direct.open.get(at))
        else {
            return false;
        };
        let is_open = open.load(Ordering::Acquire) == epoch_word(self.0.epochs.number(), true);
        if !is_open || !self.0.outstanding.is_empty() {
            return false;
        }
        fence(Ordering::AcqRel);
        // A count that another thread loses does no harm.
        let flushes = direct.flushes.load(Ordering::Relaxed);
        direct
            .flushes
            .store(flushes.wrapping_add(1), Ordering::Relaxed);
        flushes % (FLUSHES_BETWEEN + 1) != FLUSHES_BETWEEN
    }
}

/// Copies bytes. Most operations that end at once are of one word.
///
/// # Safety
/// As many bytes may be read and written at both places.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    if len == 8 {
        // SAFETY: the caller's promise; no alignment is needed.
        let word = unsafe { from.cast::<u64>().read_unaligned() };
        // SAFETY: as above.
        unsafe { to.cast::<u64>().write_unaligned(word) };
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(from, to, len) };
}
