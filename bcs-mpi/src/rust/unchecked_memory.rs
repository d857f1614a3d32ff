//! What another rank wrote is an allegation: of types that do not have a value for all bytes, what was received is
//! looked at before the program sees it, and what is no value is replaced by one and is an error.
//!
//! Until then nobody reads the memory as that type: it is borrowed or owned by the call or request that receives into
//! it. Types whose [`Equivalence::is_checked`] is false cost nothing here.
#![expect(unsafe_code, reason = "looks at memory by address")]

use super::equivalence::Equivalence;
use super::shape::Shape;
use crate::mpi::error::Operation;
use crate::mpi::{ErrorClass, Result};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Memory that others have written, or are writing.
#[derive(Clone, Debug)]
pub(super) struct UncheckedMemory {
    start: *mut u8,
    /// Which elements of what is there.
    shape: Arc<Shape>,
    amend: unsafe fn(*mut u8, &Shape) -> Option<usize>,
    of: fn() -> &'static str,
}

impl UncheckedMemory {
    /// Of so many elements; none if there is nothing to look at.
    #[inline]
    pub(super) fn of<T: Equivalence>(start: *mut T, len: usize) -> Option<Self> {
        match T::is_checked() {
            true => Self::of_shape(start, &Arc::new(Shape::all(len))),
            false => None,
        }
    }

    /// Of these elements.
    pub(super) fn of_shape<T: Equivalence>(start: *mut T, shape: &Arc<Shape>) -> Option<Self> {
        T::is_checked().then(|| Self {
            start: start.cast(),
            shape: shape.clone(),
            amend: amended::<T>,
            of: std::any::type_name::<T>,
        })
    }

    /// Makes it values, and says what was none.
    ///
    /// # Safety
    /// It is memory of that type, nobody else uses it, and nobody writes it any more.
    pub(super) unsafe fn settle<R>(self, call: &'static str, outcome: Result<R>) -> Result<R> {
        // SAFETY: the caller's promise.
        let wrong = unsafe { (self.amend)(self.start, &self.shape) };
        match (outcome, wrong) {
            (Ok(_), Some(nth)) => {
                let of = (self.of)();
                let reason = format!("element {nth} of what arrived is no value of {of}");
                Err(Operation::plain(call).error(ErrorClass::Other, reason))
            }
            (outcome, _) => outcome,
        }
    }
}

/// The first of the elements that was no value, of those in the shape. All are afterwards.
///
/// # Safety
/// As for [`UncheckedMemory::settle`].
unsafe fn amended<T: Equivalence>(start: *mut u8, shape: &Shape) -> Option<usize> {
    let mut wrong = None;
    for (nth, place) in shape.elements().enumerate() {
        let element = start.cast::<T>().wrapping_add(place);
        // SAFETY: the caller's promise.
        if !unsafe { T::amend(element) } {
            wrong = wrong.or(Some(nth));
        }
    }
    wrong
}

/// What a call that wrote a slice has come to.
///
/// # Safety
/// As for [`UncheckedMemory::settle`].
#[inline]
pub(super) unsafe fn settled<T: Equivalence, R>(
    slice: *mut [T],
    call: &'static str,
    outcome: Result<R>,
) -> Result<R> {
    match UncheckedMemory::of(slice.cast::<T>(), slice.len()) {
        None => outcome,
        // SAFETY: the caller's promise.
        Some(allegation) => unsafe { allegation.settle(call, outcome) },
    }
}

/// An element of a buffer that anybody may have written; whoever has written none ends the job, as all do whose
/// closures panic.
///
/// # Safety
/// There is such an element.
#[inline]
pub(super) unsafe fn element<T: Equivalence>(at: *const T) -> T {
    if !T::is_checked() {
        // SAFETY: the caller's promise, and any bytes are a value.
        return unsafe { at.read_unaligned() };
    }
    // SAFETY: the caller's promise; these may be any bytes.
    let mut copy = unsafe { at.cast::<MaybeUninit<T>>().read_unaligned() };
    // SAFETY: it is this function's own.
    let is_one = unsafe { T::amend(copy.as_mut_ptr()) };
    let name = std::any::type_name::<T>();
    assert!(is_one, "a rank has given what is no value of {name}");
    // SAFETY: it is a value, as was just asked.
    unsafe { copy.assume_init() }
}
