//! Collectives that are made of messages, on communicators whose members are all on one node: the members
//! exchange directly what the messages would bring ([`crate::roads::smartmap`], exchanges).
//!
//! Any plan of messages among the members is such an exchange: what it sends is given, its rounds take. (Those
//! between neighbours, and between two groups, are not: a rank would wait for others with which it has
//! nothing to do.) Collectives of one round need no plan; if their blocks lie in rows, as those of
//! `MPI_Alltoall` do, nothing is allocated.
#![expect(unsafe_code, reason = "data is named by address, as the NIC needs it")]

use crate::data::{self, Piece, Pieces};
use crate::endpoint::{Endpoint, Request, State};
use crate::roads::smartmap::{self, Given, Gives, GroupId, MAX_MEMBERS, Takes};
use crate::roads::{Blocking, Handle, TooManyRequests};
use crate::schedules::{Members, OneRound, Plan, Side};
use bcs_core::wake::owner_lock::OwnerGuard;

impl State {
    /// The members of a context, if they exchange directly.
    fn group_of(&self, context: u32) -> Option<GroupId> {
        let group = self.contexts.get(context)?.near()?;
        let members = self.roads.near.as_ref()?.members(group);
        (members <= MAX_MEMBERS).then_some(group)
    }

    /// Whether there is room for one more request within the node.
    fn has_room_near(&self) -> bool {
        self.roads.near.as_ref().is_some_and(|near| near.room() > 0)
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
        let (known, near) = (self.contexts.get_mut(context), self.roads.near.as_mut());
        let (Some(known), Some(near)) = (known, near.filter(|near| near.room() > 0)) else {
            return Err(TooManyRequests);
        };
        let entered = known.enter(context, exchange.called);
        // SAFETY: the caller's promise.
        let posted = unsafe { near.exchange(group, exchange, entered, blocking)? };
        Ok(Handle::near(posted))
    }

    /// Whether the members of a context exchange directly. All find the same.
    pub(crate) fn exchanges(&self, context: u32) -> bool {
        self.group_of(context).is_some()
    }
}

impl From<&Piece> for Given {
    /// Of what lies side by side: pieces were packed.
    fn from(piece: &Piece) -> Self {
        assert!(
            piece.layout.is_none(),
            "pieces are packed before they are given"
        );
        Self {
            address: piece.address,
            len: piece.len,
        }
    }
}

/// What is given by these sends of a plan.
fn given(sends: &[(u32, Piece)], place: impl Fn(u32) -> usize, members: usize) -> Gives {
    let Some(((_, first), rest)) = sends.split_first() else {
        return Gives::Nothing;
    };
    if rest.iter().all(|(_, piece)| piece == first) {
        return Gives::Same(first.into());
    }
    let mut each = vec![Given::default(); members].into_boxed_slice();
    for (rank, piece) in sends {
        each[place(*rank)] = piece.into();
    }
    Gives::Each(each)
}

impl Side {
    /// What the member at this place gives by it.
    fn gives(&self, me: usize) -> Gives {
        match self {
            Self::Nothing => Gives::Nothing,
            Self::One(_, piece) | Self::Same(piece) => Gives::Same(piece.into()),
            Self::Each(Pieces::Row(row)) => Gives::Row(*row),
            Self::Each(Pieces::Each(pieces)) => {
                let given = |(place, piece): (usize, &Piece)| {
                    if place == me {
                        return Given::default();
                    }
                    piece.into()
                };
                Gives::Each(pieces.iter().enumerate().map(given).collect())
            }
        }
    }

    /// The pieces that it names one by one.
    fn pieces(&self) -> &[Piece] {
        match self {
            Self::Nothing => &[],
            Self::One(_, piece) | Self::Same(piece) => std::slice::from_ref(piece),
            Self::Each(pieces) => pieces.list(),
        }
    }

    fn pieces_mut(&mut self) -> &mut [Piece] {
        match self {
            Self::Nothing | Self::Each(Pieces::Row(_)) => &mut [],
            Self::One(_, piece) | Self::Same(piece) => std::slice::from_mut(piece),
            Self::Each(Pieces::Each(pieces)) => pieces,
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

impl OneRound {
    /// Whether nothing that this rank gives, itself among others, lies in pieces.
    pub(crate) fn is_plain(&self) -> bool {
        let own = self.own.as_ref();
        let own = own.is_none_or(|(from, to)| from.layout.is_none() && to.layout.is_none());
        own && self.out.pieces().iter().all(|it| it.layout.is_none())
    }

    /// Packs what the member at this place gives in pieces, and gives itself what is its own. No lock is
    /// held.
    ///
    /// # Safety
    /// What is given is initialised and nobody writes it; this rank's own may be written.
    pub(crate) unsafe fn pack(&mut self, me: usize) {
        let one_for_each = matches!(self.out, Side::Each(_));
        for (place, piece) in self.out.pieces_mut().iter_mut().enumerate() {
            if piece.layout.is_some() && !(one_for_each && place == me) {
                let to = self.scratch.piece(piece.len);
                // SAFETY: the caller's promise; the memory is fresh.
                unsafe { data::copy(piece, &to) };
                *piece = to;
            }
        }
        if let Some((from, to)) = self.own.take() {
            // SAFETY: the caller's promise.
            unsafe { data::copy(&from, &to) };
        }
    }
}

impl Endpoint {
    /// Posts a plan of messages as an exchange.
    ///
    /// # Safety
    /// As for [`post_schedule`](Self::post_schedule).
    pub(crate) unsafe fn post_exchange(
        &self,
        state: OwnerGuard<'_, State>,
        context: u32,
        plan: Plan,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let Plan {
            called,
            sends,
            rounds,
            scratch,
            ..
        } = plan;
        let called = called.expect("it is made of messages");
        self.arrive_by(state, context, blocking, |state| {
            let Some(group) = state.group_of(context).filter(|_| state.has_room_near()) else {
                return Err(TooManyRequests);
            };
            let near = state.roads.near.as_ref().expect("it has a group");
            let place = |rank| near.member(group, rank);
            let gives = given(&sends, place, near.members(group));
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

    /// Posts a collective of one round as an exchange. It [is plain](OneRound::is_plain), or was packed.
    ///
    /// # Safety
    /// As for [`bcs_scatter`](Self::bcs_scatter).
    #[inline]
    pub(crate) unsafe fn exchange_round(
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
            scratch,
            ..
        } = round;
        let gives = out.gives(members.me);
        let later = own.map(|(from, to)| (from.address, to.address, from.len));
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
