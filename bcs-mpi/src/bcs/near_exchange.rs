//! Collectives that are made of messages, on communicators whose members are all on one node: the members
//! exchange directly what the messages would bring ([`crate::smartmap`], exchanges).
//!
//! Any plan of messages among the members is such an exchange: what it sends is given, its rounds take. (Those
//! between neighbours, and between two groups, are not: a rank would wait for others with which it has
//! nothing to do.) Blocks that lie in a
//! row, which is what `MPI_Alltoall` and its like have, need no plan: then nothing is allocated.
#![expect(unsafe_code, reason = "data is named by address, as the NIC needs it")]

use super::Blocking;
use super::endpoint::{Endpoint, State};
use super::piece::{self, Piece, Row};
use super::requests::{Handle, Request, TooManyRequests};
use super::schedule::{Plan, Scratch};
use crate::smartmap::{self, Given, Gives, GroupId, MAX_MEMBERS, Takes};
use bcs_core::whereabouts::Called;
use std::sync::MutexGuard;

impl State {
    /// The members of a context, if they exchange directly. All members find the same.
    fn group_of(&self, context: u32) -> Option<GroupId> {
        let group = self.contexts.get(context)?.near()?;
        let members = self.near.as_ref()?.members(group);
        (members <= MAX_MEMBERS).then_some(group)
    }

    /// Whether there is room for one more request within the node.
    fn has_room_near(&self) -> bool {
        self.near.as_ref().is_some_and(|near| near.room() > 0)
    }

    /// # Safety
    /// The memory that the exchange names stays until the request is done, as for
    /// [`bcs_scatter`](Endpoint::bcs_scatter).
    unsafe fn exchange(
        &mut self,
        context: u32,
        group: GroupId,
        exchange: smartmap::Exchange,
    ) -> Result<Handle, TooManyRequests> {
        let (known, near) = (self.contexts.get_mut(context), self.near.as_mut());
        let (Some(known), Some(near)) = (known, near.filter(|near| near.room() > 0)) else {
            return Err(TooManyRequests);
        };
        let entered = known.enter(context, exchange.called);
        // SAFETY: the caller's promise.
        Ok(Handle::Near(unsafe {
            near.exchange(group, exchange, entered)?
        }))
    }

    /// Whether a plan is done by an exchange. All members find the same.
    pub(super) fn exchanges_near(&self, context: u32, plan: &Plan) -> bool {
        plan.among.is_some() && self.group_of(context).is_some()
    }
}

/// What is given by these sends, packed if it lies in pieces; `of` are the members.
///
/// # Safety
/// What is sent is initialised and nobody writes it.
unsafe fn given(
    sends: &[(u32, Piece)],
    scratch: &mut Scratch,
    place: impl Fn(u32) -> usize,
    members: usize,
) -> Gives {
    let mut packed = |piece: &Piece| {
        if piece.layout.is_none() {
            return Given {
                address: piece.address,
                len: piece.len,
            };
        }
        let to = scratch.piece(piece.len);
        // SAFETY: the caller's promise; the memory is fresh.
        unsafe { piece::copy(piece, &to) };
        Given {
            address: to.address,
            len: to.len,
        }
    };
    let Some(((_, first), rest)) = sends.split_first() else {
        return Gives::Nothing;
    };
    if rest.iter().all(|(_, piece)| piece == first) {
        let Given { address, len } = packed(first);
        return Gives::Same { address, len };
    }
    let mut each = vec![Given::default(); members].into_boxed_slice();
    for (rank, piece) in sends {
        each[place(*rank)] = packed(piece);
    }
    Gives::Each(each)
}

impl Endpoint {
    /// Posts a plan of messages as an exchange.
    ///
    /// # Safety
    /// As for [`post_schedule`](Self::post_schedule).
    pub(super) unsafe fn post_exchange(
        &self,
        state: MutexGuard<'_, State>,
        context: u32,
        plan: Plan,
    ) -> Result<Request, TooManyRequests> {
        let Plan {
            called,
            first,
            sends,
            rounds,
            among,
            mut scratch,
            ..
        } = plan;
        let called = called.expect("it is made of messages");
        let blocking = among.unwrap_or(Blocking::No);
        self.arrive_by(state, context, blocking, |state| {
            let Some(group) = state.group_of(context).filter(|_| state.has_room_near()) else {
                return Err(TooManyRequests);
            };
            for local in first {
                // SAFETY: the caller's promise.
                unsafe { local.run() };
            }
            let near = state.near.as_ref().expect("it has a group");
            let place = |rank| near.member(group, rank);
            // SAFETY: the caller's promise.
            let gives = unsafe { given(&sends, &mut scratch, place, near.members(group)) };
            let exchange = smartmap::Exchange {
                called,
                gives,
                takes: Takes::Rounds(rounds),
                own: None,
                scratch,
            };
            // SAFETY: the caller's promise; scratch memory lives as long as the exchange.
            unsafe { state.exchange(context, group, exchange) }
        })
    }

    /// Posts an exchange of blocks that lie in rows, if members exchange directly: `gives` and `takes` are
    /// this rank's, and `own` is what it gives itself.
    ///
    /// # Safety
    /// As for [`bcs_scatter`](Self::bcs_scatter).
    pub(super) unsafe fn post_rows(
        &self,
        context: u32,
        called: Called,
        gives: Gives,
        takes: Option<Row>,
        own: Option<(Piece, Piece)>,
        blocking: Blocking,
    ) -> Option<Result<Request, TooManyRequests>> {
        let state = self.lock();
        let group = state.group_of(context)?;
        let exchange = smartmap::Exchange {
            called,
            gives,
            takes: takes.map_or(Takes::NOTHING, Takes::Row),
            own: own.map(|(from, to)| (from.address, to.address, from.len)),
            scratch: Scratch::default(),
        };
        Some(self.arrive_by(state, context, blocking, |state| {
            // SAFETY: the caller's promise.
            unsafe { state.exchange(context, group, exchange) }
        }))
    }
}
