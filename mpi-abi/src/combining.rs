//! Functions of the program's that combine elements (MPI 5.0, 6.9.5).
//!
//! A function is told the datatype of the elements by a handle, and may compare that with those that it knows. So it
//! gets the very one that the reduction was given. Several handles stand for one datatype of the core, which is why an
//! operation is made anew for a reduction on one that is not the usual.

use crate::answer::error;
use crate::c::*;
use crate::caller;
use crate::objects::{
    DATATYPES, DerivedDatatype, OPS, canonical, datatype_handle, elementary, handle_of_datatype,
    op, predefined_op,
};
use bcs_mpi::mpi::{AnyOp, Datatype, Error, ErrorClass, Op, Result, UserOp};
use std::ffi::{c_int, c_void};

type Small = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
type Large = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype);

/// What `MPI_Op_create` was given, or `MPI_Op_create_c`.
#[derive(Clone, Copy, Debug)]
pub enum UserFunction {
    Small(Small),
    Large(Large),
}

impl From<Small> for UserFunction {
    fn from(function: Small) -> Self {
        Self::Small(function)
    }
}

impl From<Large> for UserFunction {
    fn from(function: Large) -> Self {
        Self::Large(function)
    }
}

impl UserFunction {
    /// How many elements it can be told of at a time.
    fn most(self) -> usize {
        match self {
            Self::Small(_) => c_int::MAX.unsigned_abs() as usize,
            Self::Large(_) => isize::MAX.unsigned_abs(),
        }
    }

    /// Calls it for so many elements, in parts if its count is too narrow for them.
    ///
    /// # Safety
    /// As for [`UserOp::create`].
    unsafe fn run(
        self,
        (invec, inoutvec): (*const u8, *mut u8),
        count: usize,
        (of, handle): (&Datatype, MPI_Datatype),
    ) {
        let extent = isize::try_from(of.extent().1).expect("an isize has 64 bits");
        let mut done = 0;
        while done < count {
            let part = (count - done).min(self.most());
            let distance = done.cast_signed().wrapping_mul(extent);
            let from = invec.wrapping_offset(distance).cast_mut().cast();
            let both = inoutvec.wrapping_offset(distance).cast();
            // The function may write what it is told.
            let mut handle = handle;
            match self {
                Self::Small(function) => {
                    let mut len = c_int::try_from(part).expect("it is no more than the most");
                    // SAFETY: the caller's promise.
                    unsafe { function(from, both, &raw mut len, &raw mut handle) };
                }
                Self::Large(function) => {
                    let mut len = MPI_Count::try_from(part).expect("it is no more than the most");
                    // SAFETY: the caller's promise.
                    unsafe { function(from, both, &raw mut len, &raw mut handle) };
                }
            }
            done += part;
        }
    }

    /// An operation that tells the function this handle, as long as it stands for the datatype.
    fn op(self, known: Option<MPI_Datatype>, commute: bool) -> UserOp {
        let function = move |invec, inoutvec, count, of: Datatype| {
            with_handle(&of, known, |handle| {
                // SAFETY: the core's promise.
                caller::preserve_address(|| unsafe {
                    self.run((invec, inoutvec), count, (&of, handle))
                });
            });
        };
        // SAFETY: the caller's promise, which is the standard's.
        unsafe { UserOp::create(function, commute) }
    }
}

/// An operation of the program's, and what it was made of.
#[derive(Clone, Debug)]
pub struct ProgramOp {
    op: UserOp,
    function: UserFunction,
    commute: bool,
}

impl ProgramOp {
    /// An operation, of a function.
    #[must_use]
    pub fn new(function: UserFunction, commute: bool) -> Self {
        Self {
            op: function.op(None, commute),
            function,
            commute,
        }
    }

    /// The core's form of it.
    #[must_use]
    pub fn op(&self) -> AnyOp {
        AnyOp::from(&self.op)
    }

    /// The same, which tells its function this handle.
    fn on(&self, handle: MPI_Datatype) -> AnyOp {
        let usual = elementary(handle).and_then(canonical) == Some(handle);
        match usual {
            true => self.op(),
            false => self.function.op(Some(handle), self.commute).into(),
        }
    }
}

/// The operation of a handle, for a reduction of elements of a datatype.
///
/// # Errors
/// When it is none.
#[inline]
pub fn op_on(handle: MPI_Op, datatype: MPI_Datatype) -> Result<AnyOp> {
    if let Some(op) = predefined_op(handle) {
        return match character(datatype) {
            None => Ok(op.into()),
            Some(name) => Err(no_number(op, name)),
        };
    }
    match OPS.get(handle.0) {
        Some(own) => Ok(own.on(datatype)),
        None => op(handle),
    }
}

/// The name of a datatype that is in no group of the table of predefined operations (MPI 5.0, 6.9.2), though what moves
/// its elements is the same as for one that is.
#[inline]
fn character(datatype: MPI_Datatype) -> Option<&'static str> {
    match datatype {
        MPI_CHAR => Some("MPI_CHAR"),
        MPI_CHARACTER => Some("MPI_CHARACTER"),
        MPI_WCHAR => Some("MPI_WCHAR"),
        MPI_PACKED => Some("MPI_PACKED"),
        _ => None,
    }
}

#[cold]
fn no_number(op: Op, name: &str) -> Box<Error> {
    let reason = format!(
        "{op} is not defined on {name}, which is no number (MPI 5.0, 6.9.2); of numbers of 8 bits say \
         MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR or MPI_INT8_T"
    );
    error(ErrorClass::Op, reason)
}

/// Finds a handle of a datatype, which stands for it during the call: the known one if that does, or any.
fn with_handle(of: &Datatype, known: Option<MPI_Datatype>, call: impl FnOnce(MPI_Datatype)) {
    let stands = |handle: &MPI_Datatype| match elementary(*handle) {
        Some(element) => of.elementary() == Some(element),
        None => DATATYPES.with(handle.0, |made| made.derived.datatype == *of) == Some(true),
    };
    if let Some(handle) = known.filter(stands).or_else(|| handle_of_datatype(of)) {
        return call(handle);
    }
    // The program has freed its own while the reduction was under way.
    let handle = datatype_handle(DerivedDatatype::unknown(of.clone()));
    call(handle);
    DATATYPES.remove(handle.0);
}
