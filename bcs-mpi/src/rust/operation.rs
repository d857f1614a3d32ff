//! How a reduction combines two elements: by a predefined operation, or by a closure.
#![expect(unsafe_code, reason = "closures get elements out of untyped buffers")]

use super::equivalence::{Equivalence, read, write};
use super::unchecked_memory::{element, settled};
use crate::mpi::{self, AnyOp, Op, Result};
use std::marker::PhantomData;

/// An operation of a reduction of `T`: an [`Op`], if the standard defines it on this type (MPI 5.0,
/// 6.9.2), or a [`UserOp`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation of a reduction of `{T}`",
    label = "an `Op`, such as `Op::Sum`, or a reference to a `UserOp` is expected here",
    note = "a closure becomes an operation by `UserOp::new`"
)]
pub trait Operation<T: Equivalence>: private::Operation {}

mod private {
    /// An operation in the form of the untyped core.
    pub trait Operation {
        fn untyped(&self) -> crate::mpi::AnyOp;
    }
}

pub(super) use private::Operation as Untyped;

impl Untyped for Op {
    fn untyped(&self) -> AnyOp {
        (*self).into()
    }
}

impl<T: Equivalence> Operation<T> for Op {}

/// An operation that the program makes (`MPI_Op_create`): a closure of two elements.
///
/// The closure is assumed to be associative. It need not be commutative: its first argument always
/// comes from the lower ranks. It may be called in any call of this rank, may call MPI on other
/// communicators than that of the reduction, and ends the job if it panics.
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// // Of each element what the lowest rank says that says anything.
/// let first = bcs_mpi::UserOp::new(|left: i32, right| if left != 0 { left } else { right });
/// let mut said = [0; 3];
/// world.allreduce(&[0, 7, world.rank() as i32 + 1], &mut said, &first)?;
/// assert_eq!(said, [0, 7, 1]);
/// # universe.finalize()
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct UserOp<T> {
    op: mpi::UserOp,
    of: PhantomData<fn(T, T) -> T>,
}

impl<T: Equivalence> UserOp<T> {
    /// Makes an operation that need not be commutative. (`MPI_Op_create`)
    #[must_use]
    pub fn new(closure: impl Fn(T, T) -> T + Send + Sync + 'static) -> Self {
        Self::create(closure, false)
    }

    /// Makes an operation that is commutative (`MPI_Op_create`). The only difference is the answer
    /// of [`AnyOp::commutative`].
    #[must_use]
    pub fn commutative(closure: impl Fn(T, T) -> T + Send + Sync + 'static) -> Self {
        Self::create(closure, true)
    }

    fn create(closure: impl Fn(T, T) -> T + Send + Sync + 'static, commute: bool) -> Self {
        let function = move |invec: *const u8, inoutvec: *mut u8, count: usize, _| {
            let (invec, inoutvec) = (invec.cast::<T>(), inoutvec.cast::<T>());
            for at in 0..count {
                let (left, right) = (invec.wrapping_add(at), inoutvec.wrapping_add(at));
                // SAFETY: the function gets this number of elements; only calls that reduce slices
                // of `T` are given this operation.
                let left = unsafe { element(left) };
                // SAFETY: as above.
                let value = closure(left, unsafe { element(right) });
                // SAFETY: as above, and they are not used otherwise.
                unsafe { right.write_unaligned(value) };
            }
        };
        Self {
            // SAFETY: it uses this number of elements at either address and nothing else.
            op: unsafe { mpi::UserOp::create(function, commute) },
            of: PhantomData,
        }
    }
}

impl<T: Equivalence> Untyped for &UserOp<T> {
    fn untyped(&self) -> AnyOp {
        (&self.op).into()
    }
}

impl<T: Equivalence> Operation<T> for &UserOp<T> {}

/// Combines two slices, element by element and without communication: sets `result` to `data OP
/// result`. (`MPI_Reduce_local`)
///
/// # Errors
/// When the slices are of different lengths, or the operation is not defined on the type.
pub fn reduce_local<T: Equivalence>(
    data: &[T],
    result: &mut [T],
    op: impl Operation<T>,
) -> Result<()> {
    // SAFETY: borrowed for the call.
    let data = unsafe { read(data) };
    let slice = &raw mut *result;
    // SAFETY: as above.
    let result = unsafe { write(result) };
    let done = mpi::reduce_local(data, result, op.untyped());
    // SAFETY: as above.
    unsafe { settled(slice, "MPI_Reduce_local", done) }
}
