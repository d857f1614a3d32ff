//! Requests on borrowed buffers.
//!
//! A forgotten request would leave its buffer to the NIC after its borrow has ended. So a scope
//! that cannot be forgotten owns the requests on borrowed buffers: it ends when its function
//! returns, after all of them.
//!
//! A scope belongs to one thread, so its list has no lock. It lists only operations in progress:
//! those that were done when they were posted need no wait.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::equivalence::Equivalence;
use super::lender::Lender;
use super::matching::Status;
use super::unchecked_memory::UncheckedMemory;
use crate::mpi::{self, Result};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The owner of requests on borrowed buffers: see [`scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    under_way: RefCell<ScopeRequests>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

#[derive(Debug, Default)]
struct ScopeRequests {
    /// The requests, by the numbers of their handles. Those that were waited for are inactive.
    requests: Vec<mpi::Request>,
    /// The memory to check when the request of that number is done.
    alleged: Vec<(usize, UncheckedMemory)>,
}

/// The state of a request as its handle knows it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    /// It is done, with this status.
    Done(Status),
    /// Its scope keeps it under this number.
    UnderWay(usize),
}

/// A borrowed slice. It is not a reference while other ranks may write it.
#[derive(Debug)]
pub(super) struct BorrowedSlice<'env, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'env mut [T]>,
}

/// A slice that a request of a scope writes.
#[derive(Debug)]
pub(super) struct LentSlice<'scope, 'env: 'scope, T> {
    pub(super) ticket: ScopedRequest<'scope, 'env>,
    slice: BorrowedSlice<'env, T>,
}

/// A request of a scope.
#[derive(Debug)]
pub(super) struct ScopedRequest<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    progress: Progress,
}

impl ScopedRequest<'_, '_> {
    #[track_caller]
    pub(super) fn wait(&mut self) -> Result<Status> {
        match self.progress {
            Progress::Done(status) => Ok(status),
            Progress::UnderWay(number) => {
                let end = self.scope.under_way.borrow_mut().requests[number].wait();
                self.came_to(end)
            }
        }
    }

    #[track_caller]
    pub(super) fn test(&mut self) -> Result<bool> {
        if let Progress::UnderWay(number) = self.progress {
            let end = self.scope.under_way.borrow_mut().requests[number].test();
            if let Some(end) = end.transpose() {
                self.came_to(end)?;
            }
        }
        Ok(self.is_known())
    }

    pub(super) fn cancel(&self) {
        if let Progress::UnderWay(number) = self.progress {
            self.scope.under_way.borrow().requests[number].cancel();
        }
    }

    /// Ends it with this result, which is ignored if it was done before.
    pub(super) fn came_to(&mut self, end: Result<mpi::Status>) -> Result<Status> {
        let number = match self.progress {
            Progress::Done(status) => return Ok(status),
            Progress::UnderWay(number) => number,
        };
        let end = self.scope.settled(number, end.map(Status::from));
        if let Ok(status) = end {
            self.progress = Progress::Done(status);
        }
        end
    }
}

impl Lender for ScopedRequest<'_, '_> {
    fn is_known(&self) -> bool {
        matches!(self.progress, Progress::Done(_))
    }

    fn lend(&mut self) -> mpi::Request {
        match self.progress {
            Progress::Done(_) => mpi::Request::inactive(),
            Progress::UnderWay(number) => {
                let requests = &mut self.scope.under_way.borrow_mut().requests;
                std::mem::replace(&mut requests[number], mpi::Request::inactive())
            }
        }
    }

    fn give_back(&mut self, request: mpi::Request) {
        if let Progress::UnderWay(number) = self.progress {
            self.scope.under_way.borrow_mut().requests[number] = request;
        }
    }
}

impl<'env, T: Equivalence> BorrowedSlice<'env, T> {
    pub(super) fn new(slice: &'env mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// Returns the slice as a buffer of the untyped core.
    ///
    /// # Safety
    /// The buffer is only passed to a call whose request the scope gets.
    pub(super) unsafe fn buffer(&self) -> mpi::Buffer {
        // SAFETY: borrowed exclusively for longer than the scope, which waits for the request.
        unsafe { mpi::Buffer::new(self.start, self.len, T::datatype()) }
    }

    /// Lends the slice to a request, which the scope now owns.
    #[inline(always)]
    pub(super) fn lent<'scope>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        request: mpi::Request,
    ) -> LentSlice<'scope, 'env, T> {
        let alleged = UncheckedMemory::of(self.start, self.len);
        LentSlice {
            ticket: scope.add(request, alleged),
            slice: self,
        }
    }
}

impl<'env, T: Equivalence> LentSlice<'_, 'env, T> {
    #[track_caller]
    pub(super) fn wait(mut self) -> Result<(&'env mut [T], Status)> {
        let status = self.ticket.wait()?;
        Ok((self.slice(), status))
    }

    /// Does the same when its request has ended with this result.
    pub(super) fn came_to(mut self, end: Result<mpi::Status>) -> Result<(&'env mut [T], Status)> {
        let status = self.ticket.came_to(end)?;
        Ok((self.slice(), status))
    }

    /// Returns the slice of a request that is done.
    fn slice(self) -> &'env mut [T] {
        let BorrowedSlice { start, len, .. } = self.slice;
        // SAFETY: made from a slice that was borrowed exclusively for this long, and the request
        // is done; `self`, which could have given it back before, is consumed.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

/// Runs `body` with a scope for requests on borrowed buffers. At its end, the scope waits for all
/// requests that `body` has started and not waited for.
///
/// If `body` fails or panics, the scope cancels the receives among them first. It waits for the
/// sends, for ever if no rank receives them.
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
/// The buffer cannot be read while it is being received into:
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
/// The request cannot leave the scope:
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
/// The error of `body`, or else the first error of a request that no call has returned before.
#[track_caller]
pub fn scope<'env, R>(
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
) -> Result<R> {
    let scope = Scope {
        under_way: RefCell::new(ScopeRequests {
            requests: SPARE.try_with(Cell::take).unwrap_or_default(),
            alleged: Vec::new(),
        }),
        scope: PhantomData,
        env: PhantomData,
    };
    let answer = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let mut under_way = scope.under_way.take();
    if !matches!(answer, Ok(Ok(_))) {
        under_way
            .requests
            .iter()
            .for_each(mpi::Request::cancel_receive);
    }
    let end = match under_way.is_nothing() {
        true => Ok(()),
        false => under_way.end(),
    };
    under_way.requests.clear();
    if under_way.requests.capacity() <= KEPT_REQUESTS {
        let _gone = SPARE.try_with(|spare| spare.set(under_way.requests));
    }
    let answer = answer.unwrap_or_else(|panic| resume_unwind(panic))?;
    end.map(|()| answer)
}

/// The thread's next scope reuses a list of up to this length. It holds a window of messages for
/// each of some neighbours, and takes some 100 KiB. For a longer list, the cost of an allocation
/// does not matter.
const KEPT_REQUESTS: usize = 1024;

thread_local! {
    /// The list of the last scope, which is empty.
    static SPARE: Cell<Vec<mpi::Request>> = const { Cell::new(Vec::new()) };
}

impl ScopeRequests {
    fn is_nothing(&self) -> bool {
        self.requests.is_empty() && self.alleged.is_empty()
    }

    /// Waits for all requests. Returns the first error that no call has returned before.
    #[track_caller]
    fn end(&mut self) -> Result<()> {
        // No panic comes between here and the end of the last request: waiting does not panic,
        // unless the library has a bug, and then the guard ends the process.
        let unfinished = AbortOnDrop;
        for request in &mut self.requests {
            if !request.is_active() {
                // Its result has been returned.
                *request = mpi::Request::inactive();
            }
        }
        let mut ends = mpi::request::waitall(&mut self.requests);
        for (number, allegation) in self.alleged.drain(..) {
            let end = std::mem::replace(&mut ends[number], Ok(mpi::Status::EMPTY));
            // SAFETY: its slice is borrowed for longer than the scope; no handle has given it back,
            // and its request is done.
            ends[number] = unsafe { allegation.settle("MPI_Waitall", end) };
        }
        std::mem::forget(unfinished);
        match ends.into_iter().find(Result::is_err) {
            Some(Err(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// A guard for the time when a request may still write a buffer that is about to be freed. Then the
/// process can only end.
pub(super) struct AbortOnDrop;

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Adds a request, and the memory that it writes if that must be checked.
    #[inline(always)]
    pub(super) fn add(
        &'scope self,
        request: mpi::Request,
        alleged: Option<UncheckedMemory>,
    ) -> ScopedRequest<'scope, 'env> {
        let progress = match (request.known(), &alleged) {
            (Some(status), None) => Progress::Done(status.into()),
            _ => Progress::UnderWay(self.listed(request, alleged)),
        };
        ScopedRequest {
            scope: self,
            progress,
        }
    }

    #[inline(always)]
    fn listed(&self, request: mpi::Request, alleged: Option<UncheckedMemory>) -> usize {
        let mut under_way = self.under_way.borrow_mut();
        let number = under_way.requests.len();
        under_way.requests.push(request);
        if let Some(alleged) = alleged {
            under_way.alleged.push((number, alleged));
        }
        number
    }

    /// Checks the data that the request of this number has written.
    fn settled(&self, number: usize, end: Result<Status>) -> Result<Status> {
        let alleged = &mut self.under_way.borrow_mut().alleged;
        match alleged.iter().position(|&(of, _)| of == number) {
            None => end,
            // SAFETY: its slice is borrowed for longer than the scope, no handle has given it back,
            // and the request is done.
            Some(at) => unsafe { alleged.swap_remove(at).1.settle("MPI_Wait", end) },
        }
    }
}
