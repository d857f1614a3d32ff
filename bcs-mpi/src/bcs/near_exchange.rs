//! Collectives that are made of messages, on communicators whose members are all on one node: the members
//! exchange directly what the messages would bring ([`crate::smartmap`], exchanges).
//!
//! Any plan of messages among the members is such an exchange: what it sends is given, its rounds take. (Those
//! between neighbours, and between two groups, are not: a rank would wait for others with which it has
//! nothing to do.) Collectives of one round need no plan; if their blocks lie in rows, as those of
//! `MPI_Alltoall` do, nothing is allocated.
#![expect(unsafe_code, reason = "data is named by address, as the NIC needs it")]

use super::Blocking;
use super::endpoint::{Endpoint, State};
use super::exchange::Members;
use super::one_round::{OneRound, Side};
use super::piece::{self, Piece, Pieces};
use super::requests::{Handle, Request, TooManyRequests};
use super::schedule::{Plan, Scratch};
use crate::smartmap::{self, Given, Gives, GroupId, MAX_MEMBERS, Takes};
use bcs_core::owner_lock::OwnerGuard;

impl State {
    /// The members of a context, if they exchange directly.
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
    #[inline]
    unsafe fn exchange(
        &mut self,
        context: u32,
        exchange: smartmap::Exchange,
        blocking: Blocking,
    ) -> Result<Handle, TooManyRequests> {
        let group = self.group_of(context).ok_or(TooManyRequests)?;
        let (known, near) = (self.contexts.get_mut(context), self.near.as_mut());
        let (Some(known), Some(near)) = (known, near.filter(|near| near.room() > 0)) else {
            return Err(TooManyRequests);
        };
        let entered = known.enter(context, exchange.called);
        // SAFETY: the caller's promise.
        Ok(unsafe { near.exchange(group, exchange, entered, blocking)? }.into())
    }

    /// Whether the members of a context exchange directly. All find the same.
    pub(super) fn exchanges(&self, context: u32) -> bool {
        self.group_of(context).is_some()
    }
}

/// What is given of a piece: itself, or a packed copy if it lies in pieces.
///
/// # Safety
/// It is initialised and nobody writes it.
unsafe fn packed(piece: &Piece, scratch: &mut Scratch) -> Given {
    let mut given = (piece.address, piece.len);
    if piece.layout.is_some() {
        let to = scratch.piece(piece.len);
        // SAFETY: the caller's promise; the memory is fresh.
        unsafe { piece::copy(piece, &to) };
        given = (to.address, to.len);
    }
    let (address, len) = given;
    Given { address, len }
}

/// What is given by these sends of a plan.
///
/// # Safety
/// What is sent is initialised and nobody writes it.
unsafe fn given(
    sends: &[(u32, Piece)],
    scratch: &mut Scratch,
    place: impl Fn(u32) -> usize,
    members: usize,
) -> Gives {
    let Some(((_, first), rest)) = sends.split_first() else {
        return Gives::Nothing;
    };
    if rest.iter().all(|(_, piece)| piece == first) {
        // SAFETY: the caller's promise.
        return Gives::Same(unsafe { packed(first, scratch) });
    }
    let mut each = vec![Given::default(); members].into_boxed_slice();
    for (rank, piece) in sends {
        // SAFETY: the caller's promise.
        each[place(*rank)] = unsafe { packed(piece, scratch) };
    }
    Gives::Each(each)
}

impl Side {
    /// What the member at this place gives by it.
    ///
    /// # Safety
    /// It is initialised and nobody writes it.
    unsafe fn gives(&self, me: usize, scratch: &mut Scratch) -> Gives {
        match self {
            Self::Nothing => Gives::Nothing,
            Self::One(_, piece) | Self::Same(piece) => {
                // SAFETY: the caller's promise.
                let given = unsafe { packed(piece, scratch) };
                Gives::Same(given)
            }
            Self::Each(Pieces::Row(row)) => Gives::Row(*row),
            Self::Each(Pieces::Each(pieces)) => {
                let given = |(place, piece): (usize, &Piece)| {
                    if place == me {
                        return Given::default();
                    }
                    // SAFETY: the caller's promise.
                    unsafe { packed(piece, scratch) }
                };
                Gives::Each(pieces.iter().enumerate().map(given).collect())
            }
        }
    }

    fn takes(self) -> Takes {
        match self {
            Self::Nothing => Takes::NOTHING,
            Self::One(_, piece) | Self::Same(piece) => Takes::One(piece),
            Self::Each(pieces) => Takes::Each(pieces),
        }
    }
}

impl Endpoint {
    /// Posts a plan of messages as an exchange.
    ///
    /// # Safety
    /// As for [`post_schedule`](Self::post_schedule).
    pub(super) unsafe fn post_exchange(
        &self,
        state: OwnerGuard<'_, State>,
        context: u32,
        plan: Plan,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let Plan {
            called,
            first,
            sends,
            rounds,
            mut scratch,
            ..
        } = plan;
        let called = called.expect("it is made of messages");
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
            unsafe { state.exchange(context, exchange, blocking) }
        })
    }

    /// Posts a collective of one round as an exchange.
    ///
    /// # Safety
    /// As for [`bcs_scatter`](Self::bcs_scatter).
    #[inline]
    pub(super) unsafe fn exchange_round(
        &self,
        state: OwnerGuard<'_, State>,
        members: Members<'_>,
        round: OneRound,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let (context, called) = (members.context, round.called(members));
        let OneRound {
            out,
            into,
            own,
            mut scratch,
            ..
        } = round;
        // SAFETY: the caller's promise.
        let gives = unsafe { out.gives(members.me, &mut scratch) };
        let mut later = None;
        if let Some((from, to)) = own {
            if from.layout.is_none() && to.layout.is_none() {
                later = Some((from.address, to.address, from.len));
            } else {
                // SAFETY: the caller's promise.
                unsafe { piece::copy(&from, &to) };
            }
        }
        let exchange = smartmap::Exchange {
            called,
            gives,
            takes: into.takes(),
            own: later,
            scratch,
        };
        self.arrive_by(state, context, blocking, |state| {
            // SAFETY: the caller's promise.
            unsafe { state.exchange(context, exchange, blocking) }
        })
    }
}
