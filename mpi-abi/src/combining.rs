//! Functions of the program that combine elements (MPI 5.0, 6.9.5).
//!
//! A function gets the datatype of the elements as a handle, and may compare that with those that
//! it knows. So it gets the very handle that the program passed to the reduction. Several handles
//! stand for one datatype of the core, so a reduction on an unusual handle makes an operation of
//! its own.

use crate::answer::error;
use crate::c::*;
use crate::caller;
use crate::objects::{
    DATATYPES, DerivedDatatype, OPS, canonical, datatype_handle, elementary, handle_of_datatype,
    op, predefined_op,
};
use bcs_mpi::mpi::window::AccumulateOp;
use bcs_mpi::mpi::{AnyOp, Datatype, Error, ErrorClass, Op, Result, UserOp};
use std::ffi::{c_int, c_void};

type Small = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
type Large = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype);

/// The function given to `MPI_Op_create`, or to `MPI_Op_create_c`.
#[derive(Clone, Copy, Debug)]
pub enum UserFunction {
    Small(Small),
    Large(Large),
    /// A function of another ABI: its address, what calls it, and the most elements that one call
    /// can take.
    Other {
        function: usize,
        call: OtherCall,
        most: usize,
    },
}

/// Calls a function of another ABI: with the elements of both vectors, their number, and their
/// datatype.
pub type OtherCall = unsafe fn(usize, [*mut c_void; 2], MPI_Count, MPI_Datatype);

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
    /// Returns how many elements one call of the function can take.
    fn most(self) -> usize {
        match self {
            Self::Small(_) => c_int::MAX.unsigned_abs() as usize,
            Self::Large(_) => isize::MAX.unsigned_abs(),
            Self::Other { most, .. } => most,
        }
    }

    /// Calls the function for `len` elements, in parts if its count is too narrow for them.
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
            let both: *mut c_void = inoutvec.wrapping_offset(distance).cast();
            // The function may overwrite its arguments.
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
                Self::Other { function, call, .. } => {
                    let len = MPI_Count::try_from(part).expect("it is no more than the most");
                    // SAFETY: the caller's promise.
                    unsafe { call(function, [from, both], len, handle) };
                }
            }
            done += part;
        }
    }

    /// Makes an operation that passes this handle to the function, as long as the handle stands for
    /// the datatype.
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

/// An operation of the program, and the function that it was made of.
#[derive(Clone, Debug)]
pub struct ProgramOp {
    op: UserOp,
    function: UserFunction,
    commute: bool,
}

impl ProgramOp {
    /// Makes an operation of a function.
    #[must_use]
    pub fn new(function: UserFunction, commute: bool) -> Self {
        Self {
            op: function.op(None, commute),
            function,
            commute,
        }
    }

    /// Returns the core's form of the operation.
    #[must_use]
    pub fn op(&self) -> AnyOp {
        AnyOp::from(&self.op)
    }

    /// Returns the same, with this handle for its function.
    fn on(&self, handle: MPI_Datatype) -> AnyOp {
        let usual = elementary(handle).and_then(canonical) == Some(handle);
        match usual {
            true => self.op(),
            false => self.function.op(Some(handle), self.commute).into(),
        }
    }
}

/// Returns the operation of a handle, for a reduction of elements of a datatype.
///
/// # Errors
/// If the handle is invalid.
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

/// Lets a predefined operation combine the data of a derived datatype for the places of a section
/// of an array, and read the contributions by another one, if there is one. Returns whether it can:
/// all data are of the predefined datatype `element`, and the operation is defined on it.
pub fn make_operand(
    [contribution, result]: [MPI_Datatype; 2],
    element: MPI_Datatype,
    op: MPI_Op,
) -> bool {
    let (Some(op), Some(of)) = (predefined_op(op), elementary(element)) else {
        return false;
    };
    if !op.allowed(of) || character(element).is_some() {
        return false;
    }
    let derived =
        |handle: MPI_Datatype| DATATYPES.with(handle.0, |made| made.derived.datatype.clone());
    let contribution = derived(contribution);
    derived(result).is_some_and(|result| result.make_operand(of, contribution.as_ref()))
}

/// Returns the operation of a handle, for an accumulate of elements of a datatype. Functions of the
/// program are not allowed there (12.3.4).
///
/// # Errors
/// If the handle is invalid, or of such a function.
pub fn accumulate_op(handle: MPI_Op, datatype: MPI_Datatype) -> Result<AccumulateOp> {
    match (handle, predefined_op(handle)) {
        (MPI_REPLACE, _) => Ok(AccumulateOp::Replace),
        (MPI_NO_OP, _) => Ok(AccumulateOp::NoOp),
        // `MPI_CHAR` is no number by the standard's table. But OSU's benchmarks and MPICH's own
        // tests add characters in windows, and no library refuses that. They are numbers of 8 bits
        // here.
        (_, Some(op)) => match character(datatype).filter(|_| datatype != MPI_CHAR) {
            None => Ok(op.into()),
            Some(name) => Err(no_number(op, name)),
        },
        (_, None) => {
            op(handle)?;
            let reason = "an accumulate takes predefined operations only (MPI 5.0, 12.3.4)";
            Err(error(ErrorClass::Op, reason))
        }
    }
}

/// Returns the name of a datatype that is in no group of the table of predefined operations (MPI
/// 5.0, 6.9.2), although its elements are moved like those of a datatype in the table.
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

/// Passes a handle that stands for the datatype during the call: the known one if it is still
/// valid, or any other.
fn with_handle(of: &Datatype, known: Option<MPI_Datatype>, call: impl FnOnce(MPI_Datatype)) {
    let stands = |handle: &MPI_Datatype| match elementary(*handle) {
        Some(element) => of.elementary() == Some(element),
        None => DATATYPES.with(handle.0, |made| made.derived.datatype == *of) == Some(true),
    };
    if let Some(handle) = known.filter(stands).or_else(|| handle_of_datatype(of)) {
        return call(handle);
    }
    // The program has freed its handle while the reduction was under way.
    let handle = datatype_handle(DerivedDatatype::unknown(of.clone()));
    call(handle);
    DATATYPES.remove(handle.0);
}
