//! Handles.
//!
//! ```text
//! bit 31 30    29 ... 26   25 ... 0
//!     1  0     the kind    the index, from 4096 on      an object of the program
//!     0  1     the kind    MPICH's number               a predefined object
//! ```
//!
//! These are the kinds of MPICH, so tools that look at handles know them. The index is the Fortran
//! form that the crate `mpi-abi` gives a handle. It has no generation, so a stale handle stands for
//! the object that has its place now, as with MPICH; one of another kind, or a random number, is
//! refused. In Fortran a handle is the same integer, as MPICH's header says (`MPI_Comm_c2f`).

use crate::entries::entry_PMPI_Win_fromint;
use mpi_abi::c::*;
use mpi_abi::objects::{
    COMMS, DATATYPES, ERROR_HANDLERS, GROUPS, INFOS, MESSAGES, OPS, REQUESTS, SESSIONS,
};
use mpi_abi::table::FIRST;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

include!(concat!(env!("OUT_DIR"), "/handles.rs"));

/// The bits that say what a handle is.
const IS: c_int = !INDEX;
const INDEX: c_int = (1 << 26) - 1;

/// A handle of the standard ABI, and its form in MPICH.
pub trait Handle: Copy + PartialEq {
    /// Its type in MPICH.
    type Mpich: Copy;
    /// A number that no handle has.
    const UNWRITTEN: Self;

    /// Translates a handle of MPICH. An invalid one becomes an invalid one.
    fn ours(theirs: Self::Mpich) -> Self;

    /// Translates a handle of the standard ABI.
    fn to_mpich(self) -> Self::Mpich;
}

/// Returns a handle that is invalid in the standard ABI, for an invalid one of MPICH. If possible
/// it is the same number, because messages show it.
#[cold]
fn invalid(theirs: c_int) -> usize {
    let number = theirs.cast_unsigned() as usize;
    match number >= FIRST {
        true => number,
        false => number | 1 << 63,
    }
}

/// The handles that programs were given last, by their indices: 0 where none was. A program has no
/// handle that it was not given, so no lock of a table is needed to find one here. If its object is
/// gone, it is stale, which the call reports.
type Given = [AtomicUsize; 1 << 12];

/// Translates the handle of an object that the program has made: the index is that of its table.
#[inline]
fn made(
    theirs: c_int,
    (kind, given): (c_int, &Given),
    of_integer: impl FnOnce(c_int) -> Option<usize>,
) -> usize {
    let index = theirs & INDEX;
    let place = (index.unsigned_abs() as usize).checked_sub(FIRST);
    let Some(place) = place.filter(|_| theirs & IS == kind) else {
        return invalid(theirs);
    };
    match given
        .get(place)
        .map(|handle| handle.load(Ordering::Relaxed))
    {
        Some(handle) if handle != 0 => handle,
        _ => of_integer(index).unwrap_or_else(|| invalid(theirs)),
    }
}

/// Translates a handle of the standard ABI whose objects in MPICH have these bits.
#[inline(always)]
fn to_mpich(ours: usize, (kind, given): (c_int, &Given)) -> c_int {
    if let Some(theirs) = PREDEFINED.get(ours) {
        return *theirs;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lower half is the index"
    )]
    let index = (ours as u32).cast_signed() & INDEX;
    let place = (index.unsigned_abs() as usize).wrapping_sub(FIRST);
    if let Some(place) = given.get(place) {
        let known = place.load(Ordering::Relaxed);
        if known != ours && is_later(ours, known) {
            place.store(ours, Ordering::Relaxed);
        }
    }
    kind | index
}

/// Returns whether a handle was made after another one with its index. A function of the program
/// may get the handle of an object that is being freed, when a new object has its place already.
/// Generations, the highest 24 bits, wrap.
#[inline]
fn is_later(ours: usize, known: usize) -> bool {
    known == 0 || ours.wrapping_sub(known).cast_signed() > 0
}

macro_rules! handles {
    ($($name:ident $kind:literal $predefined:ident $of_integer:expr;)*) => {
        mod given {
            use super::Given;
            use std::sync::atomic::AtomicUsize;
            $(pub(super) static $name: Given = [const { AtomicUsize::new(0) }; 1 << 12];)*
        }
        $(
            impl Handle for $name {
                type Mpich = c_int;
                const UNWRITTEN: Self = $name(usize::MAX);

                #[inline]
                fn ours(theirs: c_int) -> Self {
                    if let Some(ours) = $predefined(theirs) {
                        return $name(ours);
                    }
                    $name(made(theirs, ($kind << 26, &given::$name), $of_integer))
                }

                #[inline]
                fn to_mpich(self) -> c_int {
                    to_mpich(self.0, ($kind << 26, &given::$name))
                }
            }
        )*
    };
}
// The two highest bits are 10 for all but messages: MPICH's messages are requests.
handles! {
    MPI_Comm -31 predefined_mpi_comm |index| COMMS.of_integer(index);
    MPI_Group -30 predefined_mpi_group |index| GROUPS.of_integer(index);
    MPI_Datatype -29 predefined_datatype |index| DATATYPES.of_integer(index);
    MPI_Errhandler -27 predefined_mpi_errhandler |index| ERROR_HANDLERS.of_integer(index);
    MPI_Op -26 predefined_mpi_op |index| OPS.of_integer(index);
    MPI_Info -25 predefined_mpi_info |index| INFOS.of_integer(index);
    MPI_Win -24 predefined_mpi_win window;
    MPI_Request -21 predefined_mpi_request |index| REQUESTS.of_integer(index);
    MPI_Session -18 predefined_mpi_session |index| SESSIONS.of_integer(index);
    MPI_Message -5 predefined_mpi_message |index| MESSAGES.of_integer(index);
}

/// Returns the window of an index.
fn window(index: c_int) -> Option<usize> {
    // SAFETY: it looks into a table.
    let window = unsafe { entry_PMPI_Win_fromint(index) };
    (window != MPI_WIN_NULL).then_some(window.0)
}

#[inline]
fn predefined_datatype(theirs: c_int) -> Option<usize> {
    let (known, ours) = DATATYPES_BY_INDEX[(theirs & 0x7f).unsigned_abs() as usize];
    match known == theirs {
        true => Some(ours),
        false => predefined_mpi_datatype(theirs),
    }
}

/// A file is a pointer in both ABIs. Only the null handle differs.
impl Handle for MPI_File {
    type Mpich = usize;
    const UNWRITTEN: Self = MPI_File(usize::MAX);

    fn ours(theirs: usize) -> Self {
        match theirs {
            0 => MPI_FILE_NULL,
            _ if theirs == MPI_FILE_NULL.0 => MPI_File(usize::MAX - 1),
            _ => MPI_File(theirs),
        }
    }

    fn to_mpich(self) -> usize {
        match self {
            MPI_FILE_NULL => 0,
            MPI_File(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::mpich;

    #[test]
    fn predefined_handles_come_back() {
        let half = MPI_Datatype::ours(mpich::MPI_REAL2);
        assert_eq!(half, MPI_Datatype::ours(mpich::MPIX_C_FLOAT16));
        assert_eq!(half.to_mpich(), mpich::MPIX_C_FLOAT16);
        assert_eq!(MPI_Comm::ours(mpich::MPI_COMM_WORLD), MPI_COMM_WORLD);
        assert_eq!(MPI_COMM_NULL.to_mpich(), mpich::MPI_COMM_NULL);
        assert_eq!(MPI_Datatype::ours(mpich::MPI_FLOAT_INT), MPI_FLOAT_INT);
        assert_eq!(MPI_FLOAT_INT.to_mpich(), mpich::MPI_FLOAT_INT);
        for theirs in DATATYPES_BY_INDEX.map(|(theirs, _)| theirs) {
            if ![0, mpich::MPI_REAL2].contains(&theirs) {
                assert_eq!(MPI_Datatype::ours(theirs).to_mpich(), theirs);
            }
        }
        assert_eq!(MPI_Op::ours(mpich::MPI_NO_OP), MPI_NO_OP);
        assert_eq!(MPI_Request::ours(mpich::MPI_REQUEST_NULL), MPI_REQUEST_NULL);
        assert_eq!(MPI_Message::ours(mpich::MPI_MESSAGE_NULL), MPI_MESSAGE_NULL);
        assert_eq!(
            (MPI_File::ours(0), MPI_FILE_NULL.to_mpich()),
            (MPI_FILE_NULL, 0)
        );
    }

    #[test]
    fn objects_of_the_program_have_mpichs_kinds() {
        let info = MPI_Info(INFOS.insert(bcs_info()));
        let theirs = info.to_mpich();
        assert_eq!(theirs.cast_unsigned() >> 26, 0b10_0111);
        assert_eq!(MPI_Info::ours(theirs), info);
        let comm = MPI_Comm::ours(theirs);
        assert_eq!(
            comm.0,
            theirs.cast_unsigned() as usize,
            "another kind is invalid"
        );
        INFOS.remove(info.0);
        assert!(INFOS.get(MPI_Info::ours(theirs).0).is_none(), "it is stale");
        assert_eq!(
            MPI_Info::ours(304).0,
            304 | 1 << 63,
            "MPI_INFO_NULL of the standard"
        );
    }

    #[test]
    fn an_old_handle_does_not_take_the_place_of_a_new_one() {
        let [old, new] = [5, 6].map(|generation| mpi_abi::table::handle(2, 3000, generation));
        let theirs = MPI_Datatype(new).to_mpich();
        assert_eq!(MPI_Datatype(old).to_mpich(), theirs);
        assert_eq!(MPI_Datatype::ours(theirs).0, new);
        let [last, first] =
            [0xff_ffff, 1].map(|generation| mpi_abi::table::handle(2, 0, generation));
        assert!(is_later(first, last) && !is_later(last, first) && is_later(last, 0));
    }

    fn bcs_info() -> bcs_mpi::mpi::Info {
        bcs_mpi::mpi::Info::new()
    }
}
