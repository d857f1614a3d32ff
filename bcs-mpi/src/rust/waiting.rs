//! Waits and tests for several requests at once.

use super::collectives::CollectiveRequest;
use super::equivalence::Equivalence;
use super::lender::Lender;
use super::matching::Status;
use super::owned::OwnedRequest;
use super::scope::AbortOnDrop;
use super::scoped_messages::{ReceiveRequest, SendRequest};
use super::views::{ReceiveViewRequest, ViewMut};
use crate::mpi::{self, Result};

/// A request that can be waited for with others of its kind, by [`wait_all`], [`wait_any`] and
/// [`wait_some`], and tested with them, by [`test_all`], [`test_any`] and [`test_some`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request",
    label = "a request of a send, a receive or a collective is expected here",
    note = "requests of different kinds are waited for one by one, by their own `wait`"
)]
pub trait Pending: private::Pending {
    /// The result of its `wait`.
    type Done;

    /// Returns the result when its request has ended like this. The argument is ignored if the
    /// request was known to be done before.
    #[doc(hidden)]
    fn came_to(self, end: Result<mpi::Status>) -> Result<Self::Done>;
}

mod private {
    /// A method that only this crate's requests have.
    #[expect(private_interfaces, reason = "nobody else can call it")]
    pub trait Pending: Sized {
        fn lender(&mut self) -> &mut dyn super::Lender;
    }
}

/// The untyped requests of all, lent to a call. The caller of this type makes the call itself: if a
/// function here made it, that function would be reported as the program's place.
struct LentRequests<'a, R: Pending> {
    requests: &'a mut [R],
    untyped: Vec<mpi::Request>,
    /// Lent requests are in no scope's list, so no scope would wait for them after a panic.
    unfinished: AbortOnDrop,
}

impl<'a, R: Pending> LentRequests<'a, R> {
    fn of(requests: &'a mut [R]) -> Self {
        let unfinished = AbortOnDrop;
        let lend = |request: &mut R| request.lender().lend();
        let untyped = requests.iter_mut().map(lend).collect();
        Self {
            requests,
            untyped,
            unfinished,
        }
    }

    fn are_back(self) {
        for (request, untyped) in self.requests.iter_mut().zip(self.untyped) {
            request.lender().give_back(untyped);
        }
        std::mem::forget(self.unfinished);
    }
}

/// Returns the index of a request that a test of its own has found done.
fn known<R: Pending>(requests: &mut [R]) -> Option<usize> {
    let mut places = requests.iter_mut();
    places.position(|request| request.lender().is_known())
}

fn came_to<R: Pending>(
    requests: impl IntoIterator<Item = R>,
    ends: Vec<Result<mpi::Status>>,
) -> Result<Vec<R::Done>> {
    let mut failure = None;
    let mut done = Vec::with_capacity(ends.len());
    for (request, end) in requests.into_iter().zip(ends) {
        match request.came_to(end) {
            Ok(one) => done.push(one),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(done), Err)
}

/// Takes one request out of the list.
fn taken<R: Pending>(
    requests: &mut Vec<R>,
    (index, end): (usize, Result<mpi::Status>),
) -> Result<Option<(usize, R::Done)>> {
    let done = requests.remove(index).came_to(end)?;
    Ok(Some((index, done)))
}

/// Takes the completed requests out of the list. Returns each with its former index.
fn sorted_out<R: Pending>(
    requests: &mut Vec<R>,
    mut ends: Vec<(usize, Result<mpi::Status>)>,
) -> Vec<(usize, Result<R::Done>)> {
    ends.sort_unstable_by_key(|&(index, _)| index);
    let mut ends = ends.into_iter().peekable();
    let (mut done, mut left) = (Vec::with_capacity(ends.len()), Vec::new());
    for (index, mut request) in requests.drain(..).enumerate() {
        let end = ends.next_if(|&(of, _)| of == index);
        match end {
            Some((_, end)) => done.push((index, request.came_to(end))),
            None if request.lender().is_known() => {
                done.push((index, request.came_to(Ok(mpi::Status::EMPTY))));
            }
            None => left.push(request),
        }
    }
    *requests = left;
    done
}

/// Waits until all requests are done, and returns the result of each, in their order.
/// (`MPI_Waitall`)
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// let (out, mut into) = (vec![1.5; world.size()], vec![0.0; world.size()]);
/// bcs_mpi::scope(|scope| {
///     let mut receives = Vec::new();
///     for (from, place) in into.chunks_mut(1).enumerate() {
///         receives.push(world.irecv(scope, place, from, 7)?);
///     }
///     for (to, part) in out.chunks(1).enumerate() {
///         world.isend(scope, part, to, 7)?;
///     }
///     for (place, status) in bcs_mpi::wait_all(receives)? {
///         assert_eq!((place[0], status.count::<f64>()), (1.5, Some(1)));
///     }
///     Ok(())
/// })?;
/// # universe.finalize()
/// # }
/// ```
///
/// # Errors
/// The error of the first that failed. All are done then, too.
#[track_caller]
pub fn wait_all<R: Pending>(mut requests: Vec<R>) -> Result<Vec<R::Done>> {
    let mut lent = LentRequests::of(&mut requests);
    let ends = mpi::request::waitall(&mut lent.untyped);
    lent.are_back();
    came_to(requests, ends)
}

/// Returns the results of all requests, if all are done. The list is empty then. (`MPI_Testall`)
///
/// # Errors
/// As [`wait_all`].
#[track_caller]
pub fn test_all<R: Pending>(requests: &mut Vec<R>) -> Result<Option<Vec<R::Done>>> {
    let mut lent = LentRequests::of(requests);
    let ends = mpi::request::testall(&mut lent.untyped);
    lent.are_back();
    match ends {
        Some(ends) => came_to(requests.drain(..), ends).map(Some),
        None => Ok(None),
    }
}

/// Waits until a request is done, takes it out of the list, and returns its former index and its
/// result; `None` if the list is empty. (`MPI_Waitany`)
///
/// # Errors
/// When the request failed; it is taken out, too.
#[track_caller]
pub fn wait_any<R: Pending>(requests: &mut Vec<R>) -> Result<Option<(usize, R::Done)>> {
    if let Some(index) = known(requests) {
        return taken(requests, (index, Ok(mpi::Status::EMPTY)));
    }
    let mut lent = LentRequests::of(requests);
    let end = mpi::request::waitany(&mut lent.untyped);
    lent.are_back();
    match end {
        Some(done) => taken(requests, done),
        None => Ok(None),
    }
}

/// Does the same as [`wait_any`] if a request is done already; else returns `None`. (`MPI_Testany`)
///
/// # Errors
/// As [`wait_any`].
#[track_caller]
pub fn test_any<R: Pending>(requests: &mut Vec<R>) -> Result<Option<(usize, R::Done)>> {
    if let Some(index) = known(requests) {
        return taken(requests, (index, Ok(mpi::Status::EMPTY)));
    }
    let mut lent = LentRequests::of(requests);
    let end = mpi::request::testany(&mut lent.untyped);
    lent.are_back();
    match end {
        Some(done) => taken(requests, done),
        None => Ok(None),
    }
}

/// Waits until a request is done, takes all completed ones out of the list, and returns for each
/// its former index and its result or error; an empty list if the list is empty. (`MPI_Waitsome`)
#[track_caller]
pub fn wait_some<R: Pending>(requests: &mut Vec<R>) -> Vec<(usize, Result<R::Done>)> {
    let is_one_known = known(requests).is_some();
    let mut lent = LentRequests::of(requests);
    let ends = match is_one_known {
        true => mpi::request::testsome(&mut lent.untyped),
        false => mpi::request::waitsome(&mut lent.untyped),
    };
    lent.are_back();
    sorted_out(requests, ends)
}

/// Does the same as [`wait_some`] for the requests that are done already, possibly none.
/// (`MPI_Testsome`)
#[track_caller]
pub fn test_some<R: Pending>(requests: &mut Vec<R>) -> Vec<(usize, Result<R::Done>)> {
    let mut lent = LentRequests::of(requests);
    let ends = mpi::request::testsome(&mut lent.untyped);
    lent.are_back();
    sorted_out(requests, ends)
}

#[expect(private_interfaces, reason = "nobody else can call it")]
impl private::Pending for SendRequest<'_, '_> {
    fn lender(&mut self) -> &mut dyn Lender {
        &mut self.0
    }
}

impl Pending for SendRequest<'_, '_> {
    type Done = ();

    fn came_to(mut self, end: Result<mpi::Status>) -> Result<()> {
        self.0.came_to(end).map(|_| ())
    }
}

#[expect(private_interfaces, reason = "nobody else can call it")]
impl<T: Equivalence> private::Pending for ReceiveRequest<'_, '_, T> {
    fn lender(&mut self) -> &mut dyn Lender {
        &mut self.0.ticket
    }
}

impl<'env, T: Equivalence> Pending for ReceiveRequest<'_, 'env, T> {
    type Done = (&'env mut [T], Status);

    fn came_to(self, end: Result<mpi::Status>) -> Result<Self::Done> {
        self.0.came_to(end)
    }
}

#[expect(private_interfaces, reason = "nobody else can call it")]
impl<T: Equivalence> private::Pending for ReceiveViewRequest<'_, '_, T> {
    fn lender(&mut self) -> &mut dyn Lender {
        &mut self.ticket
    }
}

impl<'env, T: Equivalence> Pending for ReceiveViewRequest<'_, 'env, T> {
    type Done = (ViewMut<'env, T>, Status);

    fn came_to(mut self, end: Result<mpi::Status>) -> Result<Self::Done> {
        let status = self.ticket.came_to(end)?;
        Ok((self.view, status))
    }
}

#[expect(private_interfaces, reason = "nobody else can call it")]
impl<T: Equivalence> private::Pending for CollectiveRequest<'_, '_, T> {
    fn lender(&mut self) -> &mut dyn Lender {
        &mut self.0.ticket
    }
}

impl<'env, T: Equivalence> Pending for CollectiveRequest<'_, 'env, T> {
    type Done = &'env mut [T];

    fn came_to(self, end: Result<mpi::Status>) -> Result<Self::Done> {
        Ok(self.0.came_to(end)?.0)
    }
}

#[expect(private_interfaces, reason = "nobody else can call it")]
impl<T: Equivalence> private::Pending for OwnedRequest<T> {
    fn lender(&mut self) -> &mut dyn Lender {
        self
    }
}

impl<T: Equivalence> Pending for OwnedRequest<T> {
    type Done = (Vec<T>, Status);

    fn came_to(mut self, end: Result<mpi::Status>) -> Result<Self::Done> {
        let status = self.done.map_or(end.map(Status::from), Ok);
        self.whole(status)
    }
}

impl<T: Equivalence> OwnedRequest<T> {
    /// Waits until all requests are done, and returns the buffer and the status of each, in their
    /// order. (`MPI_Waitall`)
    ///
    /// # Errors
    /// The error of the first that failed. All are done then, too, and the buffers are dropped.
    #[track_caller]
    pub fn wait_all(requests: Vec<Self>) -> Result<Vec<(Vec<T>, Status)>> {
        wait_all(requests)
    }

    /// Waits until a request is done, takes it out of the list, and returns its former index, its
    /// buffer and its status; `None` if the list is empty. (`MPI_Waitany`)
    ///
    /// # Errors
    /// As [`wait`](Self::wait); the failed one is taken out, too.
    #[track_caller]
    pub fn wait_any(requests: &mut Vec<Self>) -> Result<Option<(usize, Vec<T>, Status)>> {
        let done = wait_any(requests)?;
        Ok(done.map(|(index, (buffer, status))| (index, buffer, status)))
    }
}
