//! Windows over typed memory (MPI 5.0, chapter 12).
//!
//! An epoch is a closure, so it cannot be forgotten: when it ends, all its operations are complete,
//! and the borrows of their buffers end with it. Two kinds of windows say who may use a rank's own
//! part when. That of a [`FenceWindow`] is used by other ranks in epochs of all ranks alone, and is
//! an ordinary slice between them. That of a [`LockWindow`] may be used by other ranks at any time,
//! so a rank accesses its own part as that of another rank.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use crate::mpi::error::Operation;
use crate::mpi::window::{AccumulateOp, LockKind, NOPRECEDE, NOSUCCEED, TargetData, Window};
use crate::mpi::{ErrorClass, Info, Result};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A window whose epochs are those of all ranks (`MPI_Win_fence`).
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// // Each rank tells its right neighbour its number.
/// let mut window = world.fence_window(1, 0)?;
/// let (me, right) = ([world.rank() as i32], (world.rank() + 1) % world.size());
/// window.epoch(|all| all.put(&me, right, 0))?;
/// let left = (world.rank() + world.size() - 1) % world.size();
/// assert_eq!(window.local(), [left as i32]);
/// window.free()?;
/// # universe.finalize()
/// # }
/// ```
///
/// If it is dropped without [`free`](Self::free), its memory stays until the process ends: other
/// ranks may still use it.
#[derive(Debug)]
pub struct FenceWindow<T> {
    window: Window,
    of: PhantomData<T>,
}

/// A window whose epochs are those of one rank, which locks others (`MPI_Win_lock`).
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// // A counter at rank 0.
/// let window = world.lock_window(1, 0_i64)?;
/// let number = window.lock_all(|all| all.fetch_and_op(1, bcs_mpi::Op::Sum, 0, 0))?;
/// assert!((0..world.size() as i64).contains(&number));
/// window.free()?;
/// # universe.finalize()
/// # }
/// ```
///
/// If it is dropped without [`free`](Self::free), its memory stays until the process ends.
#[derive(Debug)]
pub struct LockWindow<T> {
    window: Window,
    of: PhantomData<T>,
}

/// An epoch: the operations that a rank makes until it ends. Elements of other ranks are named by
/// rank and index.
#[derive(Debug)]
pub struct Epoch<'epoch, 'env, T> {
    window: &'epoch Window,
    env: PhantomData<(&'env mut &'env (), T)>,
}

/// Makes a window of `len` elements at this rank.
#[track_caller]
fn window<T: Equivalence>(
    of: &Communicator,
    len: usize,
    value: T,
    call: &'static str,
) -> Result<Window> {
    if T::is_checked() {
        let reason =
            "other ranks could write invalid values: not all bytes are values of this type";
        return Err(Operation::plain(call).error(ErrorClass::Type, reason));
    }
    let size = len
        .checked_mul(size_of::<T>())
        .and_then(|size| i64::try_from(size).ok());
    // A size that is too large is refused by the core, at all ranks.
    let size = size.unwrap_or(-1);
    let unit = i64::try_from(size_of::<T>().max(1)).expect("a type fits memory");
    let window = of.untyped().win_allocate(size, unit, &Info::new())?;
    for nth in 0..len {
        // SAFETY: the memory has room for as many elements, aligned to a cache line, and no other
        // rank knows that the window is there before the barrier below.
        unsafe { start::<T>(&window).wrapping_add(nth).write(value) };
    }
    of.barrier()?;
    Ok(window)
}

/// Returns the first element of this rank's part.
fn start<T>(window: &Window) -> *mut T {
    let (base, ..) = window.own_memory();
    std::ptr::with_exposed_provenance_mut(usize::try_from(base).expect("it is an address"))
}

fn len_of(window: &Window) -> usize {
    let (_, size, unit) = window.own_memory();
    usize::try_from(size / unit).expect("it is in memory")
}

impl Communicator {
    /// Makes a window in which this rank has `len` elements, which hold `value` at first. All ranks
    /// call it; their lengths may differ. (`MPI_Win_allocate`)
    ///
    /// # Errors
    /// When there is no memory, or not all bytes are values of the type (`bool`).
    #[track_caller]
    pub fn fence_window<T: Equivalence>(&self, len: usize, value: T) -> Result<FenceWindow<T>> {
        let window = window(self, len, value, "fence_window")?;
        let of = PhantomData;
        Ok(FenceWindow { window, of })
    }

    /// Makes a window in which this rank has `len` elements, which hold `value` at first. All ranks
    /// call it; their lengths may differ. (`MPI_Win_allocate`)
    ///
    /// # Errors
    /// As [`fence_window`](Self::fence_window).
    #[track_caller]
    pub fn lock_window<T: Equivalence>(&self, len: usize, value: T) -> Result<LockWindow<T>> {
        let window = window(self, len, value, "lock_window")?;
        let of = PhantomData;
        Ok(LockWindow { window, of })
    }
}

impl<T: Equivalence> FenceWindow<T> {
    /// Returns this rank's elements.
    #[must_use]
    pub fn local(&self) -> &[T] {
        // SAFETY: other ranks access them only in epochs, and during those this window is borrowed
        // mutably: all ranks begin and end an epoch together.
        unsafe { std::slice::from_raw_parts(start(&self.window), len_of(&self.window)) }
    }

    /// Returns this rank's elements, to be written.
    #[must_use]
    pub fn local_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `local`.
        unsafe { std::slice::from_raw_parts_mut(start(&self.window), len_of(&self.window)) }
    }

    /// Runs an epoch, which all ranks begin and end together. (`MPI_Win_fence`)
    ///
    /// # Errors
    /// The error of `body`, or of an operation.
    #[track_caller]
    pub fn epoch<'env, R>(
        &mut self,
        body: impl FnOnce(&Epoch<'_, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        self.window.fence(NOPRECEDE)?;
        run(&self.window, body, || self.window.fence(NOSUCCEED))
    }

    /// Frees the window. All ranks call it. (`MPI_Win_free`)
    ///
    /// # Errors
    /// When a rank is gone.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.window.free()
    }
}

impl<T: Equivalence> LockWindow<T> {
    /// Runs an epoch of accesses to one rank, which excludes other ranks if `kind` says so.
    /// (`MPI_Win_lock`)
    ///
    /// # Errors
    /// The error of `body`, or of an operation; or there is no such rank, or it is locked by this
    /// rank.
    #[track_caller]
    pub fn lock<'env, R>(
        &self,
        kind: LockKind,
        rank: usize,
        body: impl FnOnce(&Epoch<'_, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        let rank = number(rank);
        self.window.lock(kind, rank, 0)?;
        run(&self.window, body, || self.window.unlock(rank))
    }

    /// Runs an epoch of accesses to all ranks, which it shares with others. (`MPI_Win_lock_all`)
    ///
    /// # Errors
    /// The error of `body`, or of an operation.
    #[track_caller]
    pub fn lock_all<'env, R>(
        &self,
        body: impl FnOnce(&Epoch<'_, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        self.window.lock_all(0)?;
        run(&self.window, body, || self.window.unlock_all())
    }

    /// Frees the window. All ranks call it. (`MPI_Win_free`)
    ///
    /// # Errors
    /// When a rank is gone.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.window.free()
    }
}

/// Runs the body of an epoch, and ends the epoch even if the body panics.
#[track_caller]
fn run<'env, T, R>(
    window: &Window,
    body: impl FnOnce(&Epoch<'_, 'env, T>) -> Result<R>,
    end: impl FnOnce() -> Result<()>,
) -> Result<R> {
    let env = PhantomData;
    let epoch = Epoch { window, env };
    match catch_unwind(AssertUnwindSafe(|| body(&epoch))) {
        Ok(returned) => {
            let ended = end();
            let value = returned?;
            ended.map(|()| value)
        }
        Err(panic) => {
            // The buffers are borrowed until here. Other ranks are not waited for.
            let _ended = window.complete_all();
            resume_unwind(panic)
        }
    }
}

/// Converts a rank or an index. A number that is too large is not one of them.
fn number(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}

impl<'env, T: Equivalence> Epoch<'_, 'env, T> {
    /// Writes elements of a rank, from an index on. (`MPI_Put`)
    ///
    /// # Errors
    /// When there are no such elements.
    #[track_caller]
    pub fn put(&self, from: &'env [T], rank: usize, index: usize) -> Result<()> {
        // SAFETY: borrowed until the epoch has ended.
        let buffer = unsafe { read(from) };
        let datatype = T::datatype();
        let data = there(&datatype, from.len(), index);
        self.window.put(&buffer, number(rank), data)
    }

    /// Reads elements of a rank, from an index on. They are there when the epoch has ended.
    /// (`MPI_Get`)
    ///
    /// # Errors
    /// When there are no such elements.
    #[track_caller]
    pub fn get(&self, into: &'env mut [T], rank: usize, index: usize) -> Result<()> {
        let len = into.len();
        // SAFETY: borrowed until the epoch has ended.
        let buffer = unsafe { write(into) };
        let datatype = T::datatype();
        self.window
            .get(&buffer, number(rank), there(&datatype, len, index))
    }

    /// Combines elements of a rank with others, each in one step. (`MPI_Accumulate`)
    ///
    /// # Errors
    /// When there are no such elements, or the operation is not defined on them.
    #[track_caller]
    pub fn accumulate(
        &self,
        from: &'env [T],
        op: impl Into<AccumulateOp>,
        rank: usize,
        index: usize,
    ) -> Result<()> {
        // SAFETY: borrowed until the epoch has ended.
        let buffer = unsafe { read(from) };
        let datatype = T::datatype();
        let data = there(&datatype, from.len(), index);
        self.window.accumulate(&buffer, number(rank), data, op)
    }

    /// Reads one element of a rank, and waits until it is there. (`MPI_Get`)
    ///
    /// # Errors
    /// When there is no such element.
    #[track_caller]
    pub fn read(&self, rank: usize, index: usize) -> Result<T>
    where
        T: Default,
    {
        let mut into = [T::default()];
        // SAFETY: it stays until the operation is complete, below.
        let buffer = unsafe { write(&mut into) };
        let datatype = T::datatype();
        let posted = self
            .window
            .get(&buffer, number(rank), there(&datatype, 1, index));
        self.completed(posted, number(rank))?;
        Ok(into[0])
    }

    /// Combines one element of a rank with a value in one step, and returns what it was before.
    /// (`MPI_Fetch_and_op`)
    ///
    /// # Errors
    /// When there is no such element, or the operation is not defined on it.
    #[track_caller]
    pub fn fetch_and_op(
        &self,
        value: T,
        op: impl Into<AccumulateOp>,
        rank: usize,
        index: usize,
    ) -> Result<T> {
        let (value, mut old) = ([value], [value]);
        // SAFETY: it stays until the operation is complete, below.
        let from = unsafe { read(&value) };
        // SAFETY: as above.
        let into = unsafe { write(&mut old) };
        let rank = number(rank);
        let posted = self.window.fetch_and_op(&from, &into, rank, at(index), op);
        self.completed(posted, rank)?;
        Ok(old[0])
    }

    /// Replaces one element of a rank by `new` if it equals `compare`, in one step, and returns
    /// what it was before. (`MPI_Compare_and_swap`)
    ///
    /// # Errors
    /// When there is no such element, it is no integer, or the epoch is not one of locks.
    #[track_caller]
    pub fn compare_and_swap(&self, compare: T, new: T, rank: usize, index: usize) -> Result<T> {
        let (values, mut old) = ([new, compare], [compare]);
        // SAFETY: it stays until the operation is complete, below.
        let new = unsafe { read(&values[..1]) };
        // SAFETY: as above.
        let compare = unsafe { read(&values[1..]) };
        // SAFETY: as above.
        let into = unsafe { write(&mut old) };
        let (rank, both) = (number(rank), (&new, &compare));
        let posted = self.window.compare_and_swap(both, &into, rank, at(index));
        self.completed(posted, rank)?;
        Ok(old[0])
    }

    /// Waits until all operations at a rank are complete, whether or not the last one was posted.
    fn completed(&self, posted: Result<()>, rank: i32) -> Result<()> {
        let complete = usize::try_from(rank).map_or(Ok(()), |rank| self.window.complete_at(rank));
        posted.and(complete)
    }

    /// Waits until all operations at a rank are complete. (`MPI_Win_flush`)
    ///
    /// # Errors
    /// When an operation has failed, or the epoch is not one of locks.
    #[track_caller]
    pub fn flush(&self, rank: usize) -> Result<()> {
        self.window.flush(number(rank))
    }
}

fn at(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

/// Names elements of another rank.
fn there(datatype: &crate::mpi::Datatype, count: usize, index: usize) -> TargetData<'_> {
    TargetData {
        displacement: at(index),
        count,
        datatype,
    }
}
