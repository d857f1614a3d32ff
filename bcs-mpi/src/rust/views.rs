//! Views: elements of a slice that are not side by side, sent and received without being packed.
#![expect(
    unsafe_code,
    reason = "hands parts of slices to the untyped core by address"
)]

use super::communicator::Communicator;
use super::equivalence::Equivalence;
use super::matching::{Destination, Source, Status, Tag, as_peer, as_rank};
use super::scope::{Scope, ScopedRequest};
use super::scoped_messages::SendRequest;
use super::section::{Section, refused};
use super::unchecked_memory::UncheckedMemory;
use crate::mpi::{Buffer, Result};
use std::marker::PhantomData;

/// The elements of a slice that a [`Section`] selects.
#[derive(Clone, Debug)]
pub struct View<'a, T: Equivalence> {
    /// The start of the slice, which has all of the section.
    start: *const T,
    section: Section<T>,
    slice: PhantomData<&'a [T]>,
}

/// The same elements, to be received into. Nothing else uses them.
#[derive(Debug)]
pub struct ViewMut<'a, T: Equivalence> {
    start: *mut T,
    section: Section<T>,
    slice: PhantomData<&'a mut [T]>,
}

/// A receive into a view, in progress in a scope. [`wait`](Self::wait) returns the view.
#[derive(Debug)]
pub struct ReceiveViewRequest<'scope, 'env: 'scope, T: Equivalence> {
    pub(super) ticket: ScopedRequest<'scope, 'env>,
    pub(super) view: ViewMut<'env, T>,
}

// SAFETY: it is a shared borrow of elements that are `Sync`.
unsafe impl<T: Equivalence> Send for View<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Equivalence> Sync for View<'_, T> {}
// SAFETY: it is an exclusive borrow of elements that are `Send`.
unsafe impl<T: Equivalence> Send for ViewMut<'_, T> {}
// SAFETY: a shared borrow of one gives shared borrows of elements that are `Sync`.
unsafe impl<T: Equivalence> Sync for ViewMut<'_, T> {}

impl<T: Equivalence> Section<T> {
    /// Returns a view of these elements of a slice.
    ///
    /// # Errors
    /// When the slice is too short.
    pub fn of<'a>(&self, data: &'a [T]) -> Result<View<'a, T>> {
        self.checked(data)?;
        Ok(View::new(data, self))
    }

    /// Returns a view of the same elements, to be received into.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_mut<'a>(&self, data: &'a mut [T]) -> Result<ViewMut<'a, T>> {
        self.checked(data)?;
        let ([view], []) = ViewMut::apart([self], [], data);
        Ok(view)
    }

    /// Returns views of several sections of one slice, for example of the edges of a grid, which
    /// are sent, and of the elements beside them, which are received.
    ///
    /// # Errors
    /// When the slice is too short for a section, or a section to receive into has an element in
    /// common with another.
    pub fn disjoint<'a, const N: usize, const M: usize>(
        into: [&Self; N],
        out: [&Self; M],
        data: &'a mut [T],
    ) -> Result<ViewsApart<'a, T, N, M>> {
        let all = || into.iter().chain(&out);
        for section in all() {
            section.checked(data)?;
        }
        for (nth, section) in into.iter().enumerate() {
            let mut others = all().enumerate().skip(nth + 1);
            let meets = others.find(|(_, other)| !section.shape().is_apart_from(other.shape()));
            if let Some((other, _)) = meets {
                return refused(format!(
                    "sections {nth} and {other} of {} have elements in common, and at least one is received into",
                    N + M
                ));
            }
        }
        Ok(ViewMut::apart(into, out, data))
    }
}

impl<'a, T: Equivalence> View<'a, T> {
    /// Makes a view of a slice that has all of the section.
    pub(super) fn new(slice: &'a [T], section: &Section<T>) -> Self {
        Self {
            start: slice.as_ptr(),
            section: section.clone(),
            slice: PhantomData,
        }
    }

    /// Returns its elements, in their order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        let elements = self.section.shape().elements();
        // SAFETY: the slice has them, and they are not written while they are borrowed.
        elements.map(|nth| unsafe { self.start.wrapping_add(nth).read() })
    }

    /// # Safety
    /// The slice stays borrowed while an operation has the buffer.
    unsafe fn buffer(&self) -> Buffer {
        let first = self.start.wrapping_add(self.section.shape().first());
        let (count, datatype) = self.section.typed();
        // SAFETY: the caller's promise; the slice has all of the section.
        unsafe { Buffer::read_only(first, count, datatype) }
    }
}

/// Views of one slice to receive into, and views of it to send.
pub type ViewsApart<'a, T, const N: usize, const M: usize> =
    ([ViewMut<'a, T>; N], [View<'a, T>; M]);

impl<'a, T: Equivalence> ViewMut<'a, T> {
    /// Makes views of a slice that has all of each of these sections. Sections to receive into have
    /// no element in common with any other.
    pub(super) fn apart<const N: usize, const M: usize>(
        into: [&Section<T>; N],
        out: [&Section<T>; M],
        slice: &'a mut [T],
    ) -> ViewsApart<'a, T, N, M> {
        let start = slice.as_mut_ptr();
        let view_mut = |section: &Section<T>| Self {
            start,
            section: section.clone(),
            slice: PhantomData,
        };
        (
            into.map(view_mut),
            out.map(|section| view_mut(section).into_view()),
        )
    }

    /// Returns a view of the same elements, to be sent.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        View {
            start: self.start,
            section: self.section.clone(),
            slice: PhantomData,
        }
    }

    /// Returns the same view for a shorter borrow.
    #[must_use]
    pub fn into_view(self) -> View<'a, T> {
        View {
            start: self.start,
            section: self.section,
            slice: PhantomData,
        }
    }

    /// # Safety
    /// The slice stays borrowed while an operation has the buffer, and is settled before it is
    /// read.
    unsafe fn buffer(&mut self) -> Buffer {
        let first = self.start.wrapping_add(self.section.shape().first());
        let (count, datatype) = self.section.typed();
        // SAFETY: the caller's promise; the slice has all of the section, and these elements are
        // not used otherwise.
        unsafe { Buffer::new(first, count, datatype) }
    }

    fn alleged(&self) -> Option<UncheckedMemory> {
        UncheckedMemory::of_shape(self.start, self.section.shape())
    }

    /// # Safety
    /// The slice is no longer written.
    unsafe fn settled<R>(&mut self, call: &'static str, outcome: Result<R>) -> Result<R> {
        match self.alleged() {
            None => outcome,
            // SAFETY: the caller's promise, and it is borrowed exclusively.
            Some(allegation) => unsafe { allegation.settle(call, outcome) },
        }
    }
}

impl Communicator {
    /// Sends a view, as [`send`](Self::send) does. (`MPI_Send`)
    ///
    /// # Errors
    /// As `send`.
    #[track_caller]
    pub fn send_view<T: Equivalence>(
        &self,
        data: &View<'_, T>,
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { data.buffer() };
        self.0.send(data, to.into().rank(), tag)
    }

    /// Receives into a view, as [`recv`](Self::recv) does. Other elements of the slice stay
    /// unchanged. (`MPI_Recv`)
    ///
    /// # Errors
    /// As `recv`.
    #[track_caller]
    pub fn recv_view<T: Equivalence>(
        &self,
        data: &mut ViewMut<'_, T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        // SAFETY: borrowed for the call.
        let buffer = unsafe { data.buffer() };
        let came = self.0.recv(buffer, from.into().rank(), tag.into().tag());
        // SAFETY: it is over.
        unsafe { data.settled("MPI_Recv", came.map(Status::from)) }
    }

    /// Sends and receives views, as [`sendrecv`](Self::sendrecv) does. (`MPI_Sendrecv`)
    ///
    /// # Errors
    /// As `sendrecv`.
    #[track_caller]
    pub fn sendrecv_view<T: Equivalence, U: Equivalence>(
        &self,
        (out, to, out_tag): (&View<'_, T>, impl Into<Destination>, i32),
        (data, from, tag): (&mut ViewMut<'_, U>, impl Into<Source>, impl Into<Tag>),
    ) -> Result<Status> {
        // SAFETY: borrowed for the call.
        let out = unsafe { out.buffer() };
        // SAFETY: as above.
        let buffer = unsafe { data.buffer() };
        let out = (out, to.into().rank(), out_tag);
        let came = self
            .0
            .sendrecv(out, (buffer, from.into().rank(), tag.into().tag()));
        // SAFETY: it is over.
        unsafe { data.settled("MPI_Sendrecv", came.map(Status::from)) }
    }

    /// Shifts views, as [`shift`](Self::shift) does. (`MPI_Cart_shift` and `MPI_Sendrecv`)
    ///
    /// # Errors
    /// As `shift`.
    #[track_caller]
    pub fn shift_view<T: Equivalence>(
        &self,
        dimension: usize,
        displacement: i32,
        out: &View<'_, T>,
        into: &mut ViewMut<'_, T>,
        tag: i32,
    ) -> Result<Option<Status>> {
        let (from, to) = self.0.cart_shift(as_rank(dimension), displacement)?;
        let status = self.sendrecv_view((out, as_peer(to), tag), (into, as_peer(from), tag))?;
        Ok(as_peer(from).map(|_| status))
    }

    /// Starts a [`send_view`](Self::send_view). (`MPI_Isend`)
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn isend_view<'scope, 'env, T: Equivalence>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        data: View<'env, T>,
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<SendRequest<'scope, 'env>> {
        // SAFETY: borrowed for longer than the scope, which waits for the request.
        let data = unsafe { data.buffer() };
        let request = self.0.isend(data, to.into().rank(), tag)?;
        Ok(SendRequest(scope.add(request, None)))
    }

    /// Starts a [`recv_view`](Self::recv_view). (`MPI_Irecv`)
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn irecv_view<'scope, 'env, T: Equivalence>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        mut view: ViewMut<'env, T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ReceiveViewRequest<'scope, 'env, T>> {
        // SAFETY: borrowed for longer than the scope, which waits for the request and settles it.
        let buffer = unsafe { view.buffer() };
        let request = self.0.irecv(buffer, from.into().rank(), tag.into().tag())?;
        let ticket = scope.add(request, view.alleged());
        Ok(ReceiveViewRequest { ticket, view })
    }
}

impl<'env, T: Equivalence> ReceiveViewRequest<'_, 'env, T> {
    /// Waits until the message has come, and returns the view. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(mut self) -> Result<(ViewMut<'env, T>, Status)> {
        let status = self.ticket.wait()?;
        Ok((self.view, status))
    }

    /// Returns whether the message has come. If so, [`wait`](Self::wait) does not wait.
    /// (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        self.ticket.test()
    }

    /// Requests to cancel it. It must still be waited for. (`MPI_Cancel`)
    pub fn cancel(&self) {
        self.ticket.cancel();
    }
}
