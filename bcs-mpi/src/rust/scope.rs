//! Requests on borrowed buffers.
//!
//! A request that is forgotten would leave its buffer to the NIC when its borrow has ended. So the
//! truth about requests on borrowed buffers is kept by a scope that cannot be forgotten: it ends
//! when its function returns, after all of them.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, read};
use super::matching::{Source, Status, Tag, as_rank};
use crate::mpi::{self, Result};
use bcs_core::lockstep;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard};

/// Where requests on borrowed buffers live: see [`scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    /// By the numbers of their handles; those that were waited for are inactive.
    requests: Mutex<Vec<mpi::Request>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A send under way in a scope.
#[derive(Debug)]
pub struct SendRequest<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    number: usize,
}

/// A receive under way in a scope. [`wait`](Self::wait) gives the slice back.
#[derive(Debug)]
pub struct ReceiveRequest<'scope, 'env: 'scope, T: Equivalence>(Lent<'scope, 'env, T>);

/// A slice that is borrowed, but not as a reference while others may write it.
#[derive(Debug)]
pub(super) struct Borrowed<'env, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'env mut [T]>,
}

/// A slice that a request of a scope writes.
#[derive(Debug)]
pub(super) struct Lent<'scope, 'env: 'scope, T> {
    scope: &'scope Scope<'scope, 'env>,
    number: usize,
    slice: Borrowed<'env, T>,
    /// What a test found.
    done: Option<Status>,
}

impl<'env, T: Equivalence> Borrowed<'env, T> {
    pub(super) fn new(slice: &'env mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// The same for the untyped core.
    ///
    /// # Safety
    /// It is only given to a call whose request the scope gets.
    pub(super) unsafe fn buffer(&self) -> mpi::Buffer {
        // SAFETY: borrowed exclusively for longer than the scope, which waits for the request.
        unsafe { mpi::Buffer::new(self.start, self.len, T::datatype()) }
    }

    /// It is lent to a request, which is now the scope's.
    pub(super) fn lent<'scope>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        request: mpi::Request,
    ) -> Lent<'scope, 'env, T> {
        Lent {
            scope,
            number: scope.add(request),
            slice: self,
            done: None,
        }
    }
}

impl<'env, T: Equivalence> Lent<'_, 'env, T> {
    #[track_caller]
    pub(super) fn wait(self) -> Result<(&'env mut [T], Status)> {
        let status = match self.done {
            Some(status) => status,
            None => self.scope.wait(self.number)?,
        };
        let Borrowed { start, len, .. } = self.slice;
        // SAFETY: made from a slice that was borrowed exclusively for this long, and the request
        // is done; `self`, which could have given it back before, is consumed.
        Ok((
            unsafe { std::slice::from_raw_parts_mut(start, len) },
            status,
        ))
    }

    #[track_caller]
    pub(super) fn test(&mut self) -> Result<bool> {
        if self.done.is_none() {
            self.done = self.scope.test(self.number)?;
        }
        Ok(self.done.is_some())
    }
}

/// Runs `body` with a scope for requests on borrowed buffers. All requests that `body` has started
/// and not waited for are waited for at its end.
///
/// If `body` fails or panics, the receives among them are cancelled first; its sends are waited
/// for, which lasts for ever if nobody receives them.
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// use bcs_mpi::{Source, Tag};
/// let universe = bcs_mpi::Universe::init()?;
/// let world = universe.world();
/// let (out, mut into) = ([1.0, 2.0], [0.0; 2]);
/// bcs_mpi::scope(|scope| {
///     world.irecv(scope, &mut into, Source::Rank(world.rank()), Tag::Is(7))?;
///     world.isend(scope, &out, world.rank(), 7)?;
///     Ok(())
/// })?;
/// assert_eq!(into, out);
/// # Ok(())
/// # }
/// ```
///
/// A request cannot outlive its buffer:
///
/// ```compile_fail,E0597
/// # use bcs_mpi::{Source, Tag};
/// # fn receive(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// bcs_mpi::scope(|scope| {
///     let mut into = [0.0; 2];
///     world.irecv(scope, &mut into, Source::Any, Tag::Any)?; // `into` does not live long enough
///     Ok(())
/// })
/// # }
/// ```
///
/// Nobody can look at the buffer while it is being received into:
///
/// ```compile_fail,E0502
/// # use bcs_mpi::{Source, Tag};
/// # fn receive(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// let mut into = [0.0; 2];
/// bcs_mpi::scope(|scope| {
///     let request = world.irecv(scope, &mut into, Source::Any, Tag::Any)?;
///     println!("{}", into[0]); // `into` is borrowed
///     request.wait()?;
///     Ok(())
/// })
/// # }
/// ```
///
/// Nor can the request leave the scope:
///
/// ```compile_fail
/// # use bcs_mpi::{Source, Tag};
/// # fn receive(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// let mut into = [0.0; 2];
/// let request = bcs_mpi::scope(|scope| world.irecv(scope, &mut into, Source::Any, Tag::Any))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// What `body` failed with, or else the first failure of a request that it had not been told of.
#[track_caller]
pub fn scope<'env, R>(
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
) -> Result<R> {
    let scope = Scope {
        requests: Mutex::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    let answer = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let mut requests = std::mem::take(&mut *scope.requests());
    if !matches!(answer, Ok(Ok(_))) {
        requests.iter().for_each(mpi::Request::cancel);
    }
    // No panic comes between here and the end of the last request: waiting does not panic, short
    // of a bug in the library, and then the guard ends the process.
    let unfinished = AbortOnDrop;
    // The others have said what they came to.
    requests.retain(mpi::Request::is_active);
    let ends = mpi::request::waitall(&mut requests);
    std::mem::forget(unfinished);
    let answer = answer.unwrap_or_else(|panic| resume_unwind(panic))?;
    ends.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(answer)
}

/// A request may still write a buffer whose owner is about to go: nothing can be done but end.
struct AbortOnDrop;

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn requests(&self) -> MutexGuard<'_, Vec<mpi::Request>> {
        lockstep::lock(&self.requests)
    }

    pub(super) fn add(&self, request: mpi::Request) -> usize {
        let mut requests = self.requests();
        requests.push(request);
        requests.len() - 1
    }

    /// Waits for one request, without keeping other threads from the scope.
    #[track_caller]
    pub(super) fn wait(&self, number: usize) -> Result<Status> {
        let mut request = Taken::of(self, number);
        request.request.wait().map(Status::from)
    }

    #[track_caller]
    pub(super) fn test(&self, number: usize) -> Result<Option<Status>> {
        let mut request = Taken::of(self, number);
        Ok(request.request.test()?.map(Status::from))
    }
}

/// A request that was taken out of its scope's list, and goes back whatever happens.
struct Taken<'a, 'scope, 'env> {
    scope: &'a Scope<'scope, 'env>,
    number: usize,
    request: mpi::Request,
}

impl<'a, 'scope, 'env> Taken<'a, 'scope, 'env> {
    fn of(scope: &'a Scope<'scope, 'env>, number: usize) -> Self {
        let request = std::mem::replace(&mut scope.requests()[number], mpi::Request::inactive());
        Self {
            scope,
            number,
            request,
        }
    }
}

impl Drop for Taken<'_, '_, '_> {
    fn drop(&mut self) {
        let request = std::mem::replace(&mut self.request, mpi::Request::inactive());
        self.scope.requests()[self.number] = request;
    }
}

/// The calls that start sends. They differ in when a send is done.
macro_rules! sends {
    ($($(#[doc = $text:literal])* $call:ident;)*) => {
        impl Communicator {
            $(
                $(#[doc = $text])*
                ///
                /// # Errors
                /// When an argument is wrong.
                #[track_caller]
                pub fn $call<'scope, 'env, T: Equivalence>(
                    &self,
                    scope: &'scope Scope<'scope, 'env>,
                    data: &'env [T],
                    to: usize,
                    tag: i32,
                ) -> Result<SendRequest<'scope, 'env>> {
                    // SAFETY: borrowed for longer than the scope, which waits for the request.
                    let data = unsafe { read(data) };
                    let request = self.untyped().$call(data, as_rank(to), tag)?;
                    let number = scope.add(request);
                    Ok(SendRequest { scope, number })
                }
            )*
        }
    };
}

sends! {
    /// Starts to send a slice. (`MPI_Isend`)
    isend;

    /// Starts to send a slice; it is done when the receive was matched. (`MPI_Issend`)
    issend;

    /// Starts to send a slice whose receive is posted already. (`MPI_Irsend`)
    irsend;
}

impl Communicator {
    /// Starts to receive into a slice. (`MPI_Irecv`)
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn irecv<'scope, 'env, T: Equivalence>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        data: &'env mut [T],
        from: Source,
        tag: Tag,
    ) -> Result<ReceiveRequest<'scope, 'env, T>> {
        let (slice, comm) = (Borrowed::new(data), self.untyped());
        // SAFETY: the scope gets the request.
        let buffer = unsafe { slice.buffer() };
        let request = comm.irecv(buffer, from.rank(), tag.tag())?;
        Ok(ReceiveRequest(slice.lent(scope, request)))
    }
}

impl SendRequest<'_, '_> {
    /// Waits until the slice may be used again. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(self) -> Result<()> {
        self.scope.wait(self.number).map(|_| ())
    }

    /// Whether it is done. (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        Ok(self.scope.test(self.number)?.is_some())
    }
}

impl<'env, T: Equivalence> ReceiveRequest<'_, 'env, T> {
    /// Waits until the message has come, and gives the slice back. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(self) -> Result<(&'env mut [T], Status)> {
        self.0.wait()
    }

    /// Whether the message has come; then [`wait`](Self::wait) does not wait. (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        self.0.test()
    }

    /// Asks to cancel it; it has still to be waited for. (`MPI_Cancel`)
    pub fn cancel(&self) {
        self.0.scope.requests()[self.0.number].cancel();
    }
}
