//! Arrays of handles and constants.

use crate::addresses::is_in_place;
use crate::handles::Handle;
use crate::numbers::{DISTRIBUTIONS, mpich, ours};
use mpi_abi::answer::comm_of;
use mpi_abi::c::{MPI_Comm, MPI_DISTRIBUTE_DFLT_DARG};
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// The number of elements for which no memory has to be allocated.
const FEW: usize = 16;

/// Reads an array of the program.
///
/// # Safety
/// It has that many elements.
unsafe fn read<T: Copy, R>(
    theirs: *const T,
    count: i64,
    translate: impl Fn(T) -> R,
) -> SmallVec<[R; FEW]> {
    let count = match theirs.is_null() {
        true => 0,
        false => usize::try_from(count).unwrap_or(0),
    };
    // SAFETY: the caller's promise.
    let element = |nth| unsafe { *theirs.add(nth) };
    (0..count).map(|nth| translate(element(nth))).collect()
}

/// Handles or constants that a call reads.
#[derive(Debug)]
pub struct List<T> {
    is_null: bool,
    ours: SmallVec<[T; FEW]>,
}

impl<H: Handle> List<H> {
    /// Reads the handles.
    ///
    /// # Safety
    /// The program's array is null, or has that many elements.
    pub unsafe fn new(theirs: *const H::Mpich, count: i64) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::of(theirs, count, H::ours) }
    }
}

impl<T> List<T> {
    /// Reads an array.
    ///
    /// # Safety
    /// The program's array is null, or has that many elements.
    unsafe fn of<R: Copy>(theirs: *const R, count: i64, translate: impl Fn(R) -> T) -> Self {
        Self {
            is_null: theirs.is_null(),
            // SAFETY: the caller's promise.
            ours: unsafe { read(theirs, count, translate) },
        }
    }

    /// Returns the array, or null if the program gives none.
    pub fn start(&self) -> *const T {
        match self.is_null {
            true => null(),
            false => self.ours.as_ptr(),
        }
    }
}

/// Handles that a call reads, and may change.
#[derive(Debug)]
pub struct Array<H: Handle> {
    theirs: *mut H::Mpich,
    ours: SmallVec<[H; FEW]>,
    given: SmallVec<[H; FEW]>,
}

impl<H: Handle> Array<H> {
    /// Reads the handles.
    ///
    /// # Safety
    /// The program's array is null, or has that many elements.
    pub unsafe fn new(theirs: *mut H::Mpich, count: i64) -> Self {
        // SAFETY: the caller's promise.
        let given = unsafe { read(theirs.cast_const(), count, H::ours) };
        let ours = SmallVec::from_slice(&given);
        Self {
            theirs,
            ours,
            given,
        }
    }

    /// Returns the handles, or null if the program gives none.
    pub fn place(&mut self) -> *mut H {
        match self.theirs.is_null() {
            true => null_mut(),
            false => self.ours.as_mut_ptr(),
        }
    }

    /// Gives the program what the call has changed.
    ///
    /// # Safety
    /// As [`Array::new`].
    pub unsafe fn store(self) {
        for (nth, (ours, given)) in self.ours.iter().zip(&self.given).enumerate() {
            if ours != given {
                // SAFETY: the caller's promise.
                unsafe { *self.theirs.add(nth) = ours.to_mpich() };
            }
        }
    }
}

/// Returns the number of blocks of a collective in which each member has a datatype: that of the
/// members, of the other group if there are two. 0 if the communicator is invalid, which the call
/// reports.
pub fn members(comm: <MPI_Comm as Handle>::Mpich) -> i64 {
    let Ok(comm) = comm_of(MPI_Comm::ours(comm)) else {
        return 0;
    };
    let comm = comm.comm();
    match comm.is_inter() {
        true => comm.remote_size().map_or(0, i64::from),
        false => comm.size().into(),
    }
}

/// Returns the same for the datatypes that are sent, which are not read if the data are in place.
pub fn senders(comm: <MPI_Comm as Handle>::Mpich, sendbuf: usize) -> i64 {
    match is_in_place(sendbuf) {
        true => 0,
        false => members(comm),
    }
}

/// Returns the number of neighbours that this rank sends to.
pub fn destinations(comm: <MPI_Comm as Handle>::Mpich) -> i64 {
    neighbours(comm, |(_, destinations)| destinations)
}

/// Returns the number of neighbours that this rank receives from.
pub fn sources(comm: <MPI_Comm as Handle>::Mpich) -> i64 {
    neighbours(comm, |(sources, _)| sources)
}

fn neighbours(
    comm: <MPI_Comm as Handle>::Mpich,
    side: impl FnOnce((usize, usize)) -> usize,
) -> i64 {
    let Ok(comm) = comm_of(MPI_Comm::ours(comm)) else {
        return 0;
    };
    let Ok((sources, destinations)) = comm.comm().neighbors() else {
        return 0;
    };
    i64::try_from(side((sources.len(), destinations.len()))).unwrap_or(0)
}

/// Translates distributions of `MPI_Type_create_darray`.
///
/// # Safety
/// The program's array is null, or has that many elements.
pub unsafe fn distribs(theirs: *const c_int, count: c_int) -> List<c_int> {
    let translate = |one| ours(&DISTRIBUTIONS, one);
    // SAFETY: the caller's promise.
    unsafe { List::of(theirs, count.into(), translate) }
}

/// Translates arguments of distributions.
///
/// # Safety
/// As [`distribs`].
pub unsafe fn dargs(theirs: *const c_int, count: c_int) -> List<c_int> {
    let translate = |one| match one {
        mpich::MPI_DISTRIBUTE_DFLT_DARG => MPI_DISTRIBUTE_DFLT_DARG,
        _ => one,
    };
    // SAFETY: the caller's promise.
    unsafe { List::of(theirs, count.into(), translate) }
}
