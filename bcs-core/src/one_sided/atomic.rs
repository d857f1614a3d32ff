//! Updates by atomic operations of the processor, in mapped memory.
#![expect(unsafe_code, reason = "atomics in memory that other processes update")]

use super::{Update, UpdateKind};
use crate::reduction::{DatatypeClass, Op};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The most bytes whose new contents are computed together. They lie in the first-level cache when
/// they are stored. Most of them were not changed meanwhile, so their new contents are right.
const BLOCK_BYTES: usize = 512;

/// An atomic word.
trait Word: Sized {
    /// Its value.
    type Value: Copy + Eq;

    /// Its bytes.
    const BYTES: usize;

    /// # Safety
    /// `at` is aligned and valid, and all concurrent accesses there are atomic.
    unsafe fn at<'a>(at: *mut u8) -> &'a Self;
    fn value(bytes: &[u8]) -> Self::Value;
    fn write(value: Self::Value, bytes: &mut [u8]);
    fn load(&self) -> Self::Value;
    fn swap(&self, new: Self::Value) -> Self::Value;
    fn exchange(&self, current: Self::Value, new: Self::Value) -> Result<Self::Value, Self::Value>;

    /// Applies an operation that the processor has for this word; `None` if it has none.
    fn fetch(&self, op: Op, operand: Self::Value) -> Option<Self::Value>;
}

macro_rules! word {
    ($atomic:ident, $value:ident) => {
        impl Word for $atomic {
            type Value = $value;

            const BYTES: usize = size_of::<$value>();

            #[inline(always)]
            unsafe fn at<'a>(at: *mut u8) -> &'a Self {
                // SAFETY: the caller's promise.
                unsafe { Self::from_ptr(at.cast()) }
            }

            #[inline(always)]
            fn value(bytes: &[u8]) -> $value {
                $value::from_ne_bytes(bytes.try_into().expect("a word"))
            }

            #[inline(always)]
            fn write(value: $value, bytes: &mut [u8]) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }

            #[inline(always)]
            fn load(&self) -> $value {
                self.load(Ordering::Acquire)
            }

            #[inline(always)]
            fn swap(&self, new: $value) -> $value {
                self.swap(new, Ordering::AcqRel)
            }

            #[inline(always)]
            fn exchange(&self, current: $value, new: $value) -> Result<$value, $value> {
                self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire)
            }

            #[inline(always)]
            fn fetch(&self, op: Op, operand: $value) -> Option<$value> {
                match op {
                    Op::Sum => Some(self.fetch_add(operand, Ordering::AcqRel)),
                    Op::Band => Some(self.fetch_and(operand, Ordering::AcqRel)),
                    Op::Bor => Some(self.fetch_or(operand, Ordering::AcqRel)),
                    Op::Bxor => Some(self.fetch_xor(operand, Ordering::AcqRel)),
                    _ => None,
                }
            }
        }
    };
}

word!(AtomicU8, u8);
word!(AtomicU16, u16);
word!(AtomicU32, u32);
word!(AtomicU64, u64);

impl Update {
    /// Updates elements in mapped memory, each in one step. `old` gets the previous contents. It is
    /// empty if the update does not [fetch](Self::fetches).
    ///
    /// The stores have release order and the loads have acquire order: whoever finds a stored
    /// element by an update also finds what its origin had written before.
    ///
    /// # Safety
    /// As many bytes as `len` are valid for reads and writes from `start` on, and other threads
    /// access them at the same time only by atomic operations or not as Rust data.
    ///
    /// # Panics
    /// If the update is not [atomic](Self::is_atomic) at this address, or lengths do not fit.
    #[inline]
    pub unsafe fn apply_atomically(
        self,
        start: NonNull<u8>,
        len: usize,
        operand: &[u8],
        old: &mut [u8],
    ) {
        self.check_lengths(len, operand, old);
        let address = start.addr().get() as u64;
        assert!(self.is_atomic(address), "{self:?} at {address:#x}");
        let at = (start, len);
        match self.datatype.size() {
            // SAFETY: the caller's promise; the alignment is that of the elements.
            1 => unsafe { self.apply::<AtomicU8>(at, operand, old) },
            // SAFETY: as above.
            2 => unsafe { self.apply::<AtomicU16>(at, operand, old) },
            // SAFETY: as above.
            4 => unsafe { self.apply::<AtomicU32>(at, operand, old) },
            // SAFETY: as above.
            _ => unsafe { self.apply::<AtomicU64>(at, operand, old) },
        }
    }

    /// # Safety
    /// As of [`apply_atomically`](Self::apply_atomically), for elements of this word.
    #[inline]
    unsafe fn apply<W: Word>(
        self,
        (start, len): (NonNull<u8>, usize),
        operand: &[u8],
        old: &mut [u8],
    ) {
        // SAFETY: an element within the caller's bytes.
        let word = |at: usize| unsafe { W::at(start.as_ptr().wrapping_add(at)) };
        let mut keep = |at: usize, value: W::Value| {
            if self.fetches {
                W::write(value, &mut old[at..at + W::BYTES]);
            }
        };
        let steps = (0..len).step_by(W::BYTES);
        let operand_at = |at: usize| W::value(&operand[at..at + W::BYTES]);
        match self.kind {
            UpdateKind::NoOp => steps.for_each(|at| keep(at, word(at).load())),
            UpdateKind::Replace => {
                steps.for_each(|at| keep(at, word(at).swap(operand_at(at))));
            }
            UpdateKind::CompareAndSwap => {
                let (compare, new) = (operand_at(0), operand_at(W::BYTES));
                let found = word(0).exchange(compare, new);
                keep(0, found.unwrap_or_else(|found| found));
            }
            UpdateKind::Reduce(op) if self.is_one_instruction(op) => steps.for_each(|at| {
                let found = word(at).fetch(op, operand_at(at));
                keep(at, found.expect("the processor has this operation"));
            }),
            UpdateKind::Reduce(_) => {
                for at in (0..len).step_by(BLOCK_BYTES) {
                    let end = len.min(at + BLOCK_BYTES);
                    let first =
                        NonNull::new(start.as_ptr().wrapping_add(at)).expect("it is mapped");
                    // SAFETY: a part of the caller's bytes.
                    unsafe { self.apply_block::<W>(first, &operand[at..end]) }
                        .chunks_exact(W::BYTES)
                        .take((end - at) / W::BYTES)
                        .zip((at..end).step_by(W::BYTES))
                        .for_each(|(found, at)| keep(at, W::value(found)));
                }
            }
        }
    }

    /// Returns whether the processor has the operation for whole numbers.
    const fn is_one_instruction(self, op: Op) -> bool {
        match op {
            Op::Sum => matches!(self.datatype.class(), DatatypeClass::Integer),
            Op::Band | Op::Bor | Op::Bxor => true,
            _ => false,
        }
    }

    /// Updates a block whose new contents are computed from a copy. An element that was changed
    /// meanwhile is computed again. Returns the previous contents.
    ///
    /// # Safety
    /// As of [`apply_atomically`](Self::apply_atomically), for as many bytes as `operand` has.
    unsafe fn apply_block<W: Word>(self, start: NonNull<u8>, operand: &[u8]) -> [u8; BLOCK_BYTES] {
        let len = operand.len();
        let (mut found, mut new) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
        // SAFETY: an element within the caller's bytes.
        let word = |at: usize| unsafe { W::at(start.as_ptr().wrapping_add(at)) };
        for at in (0..len).step_by(W::BYTES) {
            W::write(word(at).load(), &mut found[at..at + W::BYTES]);
        }
        new[..len].copy_from_slice(&found[..len]);
        self.compute(&mut new[..len], operand);
        for at in (0..len).step_by(W::BYTES) {
            let element = at..at + W::BYTES;
            let (found, new) = (&mut found[element.clone()], &mut new[element.clone()]);
            while let Err(other) = word(at).exchange(W::value(found), W::value(new)) {
                W::write(other, found);
                new.copy_from_slice(found);
                self.compute(new, &operand[element.clone()]);
            }
        }
        found
    }
}
