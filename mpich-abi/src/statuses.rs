//! Statuses (MPI 5.0, 3.2.5).

use crate::codes;
use crate::numbers::{rank_ours, rank_to_mpich, tag_ours, tag_to_mpich};
use mpi_abi::c::MPI_Status;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// A status of MPICH.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MpichStatus {
    /// The lower half of the number of bytes.
    pub count_lo: c_int,
    /// The other bits of the number of bytes; the lowest bit is whether it was cancelled.
    pub count_hi_and_cancelled: c_int,
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
}

/// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE` as addresses.
const IGNORE: usize = 1;

/// The value of a field that no call has written.
const UNWRITTEN: c_int = c_int::MIN;

/// A status that no call has written.
const EMPTY: MPI_Status = MPI_Status {
    MPI_SOURCE: UNWRITTEN,
    MPI_TAG: 0,
    MPI_ERROR: UNWRITTEN,
    internal: [0; 5],
};

fn is_ignored(theirs: *mut MpichStatus) -> bool {
    theirs.addr() <= IGNORE
}

impl MpichStatus {
    /// Takes over what a call has written.
    #[inline(always)]
    pub fn take(&mut self, ours: &MPI_Status) {
        if ours.MPI_SOURCE != UNWRITTEN {
            let [low, high, cancelled, ..] = ours.internal;
            self.count_lo = low;
            self.count_hi_and_cancelled = high << 1 | cancelled & 1;
            self.MPI_SOURCE = rank_to_mpich(ours.MPI_SOURCE);
            self.MPI_TAG = tag_to_mpich(ours.MPI_TAG);
        }
        if ours.MPI_ERROR != UNWRITTEN {
            self.MPI_ERROR = codes::to_mpich(ours.MPI_ERROR);
        }
    }

    /// Returns the status of the standard ABI.
    pub fn ours(&self) -> MPI_Status {
        let high = self.count_hi_and_cancelled >> 1;
        let cancelled = self.count_hi_and_cancelled & 1;
        MPI_Status {
            MPI_SOURCE: rank_ours(self.MPI_SOURCE),
            MPI_TAG: tag_ours(self.MPI_TAG),
            MPI_ERROR: codes::ours(self.MPI_ERROR),
            internal: [self.count_lo, high, cancelled, 0, 0],
        }
    }
}

/// A status that a call writes.
#[derive(Debug)]
pub struct StatusResult {
    theirs: *mut MpichStatus,
    ours: MPI_Status,
}

impl StatusResult {
    /// Makes a place for the status.
    #[inline(always)]
    pub fn new(theirs: *mut MpichStatus) -> Self {
        let ours = EMPTY;
        Self { theirs, ours }
    }

    /// Returns the place, or `MPI_STATUS_IGNORE`.
    #[inline(always)]
    pub fn place(&mut self) -> *mut MPI_Status {
        match is_ignored(self.theirs) {
            true => null_mut(),
            false => &raw mut self.ours,
        }
    }

    /// Gives the program what the call has written.
    ///
    /// # Safety
    /// The program's address is valid, or `MPI_STATUS_IGNORE`.
    #[inline(always)]
    pub unsafe fn store(self) {
        if !is_ignored(self.theirs) {
            // SAFETY: the caller's promise.
            unsafe { &mut *self.theirs }.take(&self.ours);
        }
    }
}

/// A status that a call reads, and may change.
#[derive(Debug)]
pub struct KnownStatus {
    theirs: *mut MpichStatus,
    ours: MPI_Status,
}

impl KnownStatus {
    /// Reads the status.
    ///
    /// # Safety
    /// The program's address is valid, or `MPI_STATUS_IGNORE`.
    pub unsafe fn new(theirs: *mut MpichStatus) -> Self {
        let ours = match is_ignored(theirs) {
            true => EMPTY,
            // SAFETY: the caller's promise.
            false => unsafe { &*theirs }.ours(),
        };
        Self { theirs, ours }
    }

    /// Returns the status for a call that reads it, or `MPI_STATUS_IGNORE`.
    pub fn start(&self) -> *const MPI_Status {
        match is_ignored(self.theirs) {
            true => null(),
            false => &raw const self.ours,
        }
    }

    /// Returns the status for a call that changes it, or `MPI_STATUS_IGNORE`.
    pub fn place(&mut self) -> *mut MPI_Status {
        self.start().cast_mut()
    }

    /// Gives the program what the call has changed.
    ///
    /// # Safety
    /// As [`KnownStatus::new`].
    pub unsafe fn store(self) {
        if !is_ignored(self.theirs) {
            // SAFETY: the caller's promise.
            unsafe { &mut *self.theirs }.take(&self.ours);
        }
    }
}

/// Statuses that a call writes.
#[derive(Debug)]
pub struct StatusArray {
    theirs: *mut MpichStatus,
    ours: SmallVec<[MPI_Status; 8]>,
}

impl StatusArray {
    /// Makes places for the statuses.
    pub fn new(theirs: *mut MpichStatus, count: i64) -> Self {
        let count = match is_ignored(theirs) {
            true => 0,
            false => usize::try_from(count).unwrap_or(0),
        };
        let ours = SmallVec::from_elem(EMPTY, count);
        Self { theirs, ours }
    }

    /// Returns the places, or `MPI_STATUSES_IGNORE`.
    pub fn place(&mut self) -> *mut MPI_Status {
        match is_ignored(self.theirs) {
            true => null_mut(),
            false => self.ours.as_mut_ptr(),
        }
    }

    /// Gives the program what the call has written.
    ///
    /// # Safety
    /// The program has as many statuses as it said, or gave `MPI_STATUSES_IGNORE`.
    pub unsafe fn store(self) {
        for (nth, ours) in self.ours.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { &mut *self.theirs.add(nth) }.take(ours);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_comes_back() {
        let theirs = MpichStatus {
            count_lo: -5,
            count_hi_and_cancelled: 3 << 1 | 1,
            MPI_SOURCE: -1,
            MPI_TAG: -1,
            MPI_ERROR: 14,
        };
        let ours = theirs.ours();
        assert_eq!(ours.MPI_SOURCE, mpi_abi::c::MPI_PROC_NULL);
        assert_eq!(ours.MPI_TAG, mpi_abi::c::MPI_ANY_TAG);
        assert_eq!(ours.MPI_ERROR, mpi_abi::c::MPI_ERR_TRUNCATE);
        assert_eq!(ours.internal, [-5, 3, 1, 0, 0]);
        let mut again = MpichStatus::default();
        again.take(&ours);
        assert_eq!(again, theirs);
    }

    #[test]
    fn what_a_call_does_not_write_stays() {
        let mut theirs = MpichStatus {
            MPI_ERROR: 77,
            MPI_TAG: 5,
            ..MpichStatus::default()
        };
        let before = theirs;
        theirs.take(&EMPTY);
        assert_eq!(theirs, before);
        let received = MPI_Status {
            MPI_SOURCE: 3,
            MPI_TAG: 9,
            ..EMPTY
        };
        theirs.take(&received);
        assert_eq!(
            (theirs.MPI_SOURCE, theirs.MPI_TAG, theirs.MPI_ERROR),
            (3, 9, 77)
        );
        assert_eq!(size_of::<MpichStatus>(), 20);
    }
}
