//! Checks of data that another rank wrote, for types that do not have a value for all bytes.
//! Received data are checked before the program reads them. Invalid data are replaced by a value
//! and are an error.
//!
//! Until then nothing reads the memory as that type: the call or request that receives into it
//! borrows or owns it. Types whose [`Equivalence::is_checked`] is false cost nothing here.
#![expect(unsafe_code, reason = "looks at memory by address")]

use super::equivalence::Equivalence;
use super::shape::Shape;
use crate::mpi::error::Operation;
use crate::mpi::{ErrorClass, Result};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Memory that other ranks have written, or are writing.
#[derive(Clone, Debug)]
pub(super) struct UncheckedMemory {
    start: *mut u8,
    /// The elements to check.
    shape: Arc<Shape>,
    amend: unsafe fn(*mut u8, &Shape) -> Option<usize>,
    of: fn() -> &'static str,
}

impl UncheckedMemory {
    /// Describes a slice of this length; `None` if its type needs no check.
    #[inline]
    pub(super) fn of<T: Equivalence>(start: *mut T, len: usize) -> Option<Self> {
        match T::is_checked() {
            true => Self::of_shape(start, &Arc::new(Shape::all(len))),
            false => None,
        }
    }

    /// Describes these elements.
    pub(super) fn of_shape<T: Equivalence>(start: *mut T, shape: &Arc<Shape>) -> Option<Self> {
        T::is_checked().then(|| Self {
            start: start.cast(),
            shape: shape.clone(),
            amend: amended::<T>,
            of: std::any::type_name::<T>,
        })
    }

    /// Replaces invalid elements by values, and reports them as an error.
    ///
    /// # Safety
    /// The memory is of that type, is not used otherwise, and is no longer written.
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

/// Makes all elements of the shape valid. Returns the first that was not.
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

/// Returns the result of a call that wrote a slice, after a check of the slice.
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

/// Returns an element of a buffer that another rank may have written. Invalid data cause a panic,
/// and so end the job, as in any closure of an operation.
///
/// # Safety
/// The address is that of an element.
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
    // SAFETY: it is a value, as was just checked.
    unsafe { copy.assume_init() }
}
