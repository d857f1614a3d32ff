//! Collectives that are made of messages, on communicators whose members are all on one node: the
//! members exchange directly what the messages would bring ([`crate::transport::smartmap`],
//! exchanges).
//!
//! Any plan of messages among the members is such an exchange: it gives the sends of the plan, and
//! takes its rounds. (Those between neighbours, and between two groups, are not, because a rank
//! would wait for others with which it has nothing to do.) Collectives of one round need no plan.
//! If their blocks lie in rows, as those of `MPI_Alltoall` do, nothing is allocated.

use super::nic_collectives::with_room;
use crate::data::{self, ByteRange, DataView, DataViews};
use crate::endpoint::{Endpoint, EndpointState, Request};
use crate::schedules::{Members, OneRound, Plan, RoundBlocks};
use crate::transport::smartmap::{GivenBlocks, GroupId, LocalExchange, TakenBlocks};
use crate::transport::{Blocking, TooManyRequests, TransportHandle};
use bcs_core::wake::owner_lock::OwnerGuard;

/// Returns the bytes of a block, which must be contiguous.
fn packed(piece: &DataView) -> ByteRange {
    piece
        .plain()
        .expect("pieces are packed before they are given")
}

/// Returns what these sends of a plan give.
fn given(sends: &[(u32, DataView)], world: &[u32]) -> GivenBlocks {
    let Some(((_, first), rest)) = sends.split_first() else {
        return GivenBlocks::Nothing;
    };
    if rest.iter().all(|(_, piece)| piece == first) {
        return GivenBlocks::Same(packed(first));
    }
    let mut each = vec![ByteRange::EMPTY; world.len()].into_boxed_slice();
    for (rank, piece) in sends {
        let place = world.iter().position(|member| member == rank);
        each[place.expect("members send to members")] = packed(piece);
    }
    GivenBlocks::Each(each)
}

impl Plan {
    /// Converts it to an exchange.
    pub(super) fn exchange(self, members: Members<'_>) -> LocalExchange {
        LocalExchange {
            called: self.called.expect("it is made of messages"),
            gives: given(&self.sends, members.world),
            takes: TakenBlocks::Rounds(self.rounds),
            own: None,
            scratch: self.scratch,
        }
    }
}

impl RoundBlocks {
    /// Returns what the member at this place gives.
    fn gives(&self, me: usize) -> GivenBlocks {
        match self {
            Self::Nothing => GivenBlocks::Nothing,
            Self::One(_, piece) | Self::Same(piece) => GivenBlocks::Same(packed(piece)),
            Self::Each(DataViews::Row(row)) => GivenBlocks::Row(*row),
            Self::Each(DataViews::Each(pieces)) => {
                let given = |(place, piece): (usize, &DataView)| {
                    if place == me {
                        return ByteRange::EMPTY;
                    }
                    packed(piece)
                };
                GivenBlocks::Each(pieces.iter().enumerate().map(given).collect())
            }
        }
    }

    /// Returns the data views that it lists one by one.
    fn pieces(&self) -> &[DataView] {
        match self {
            Self::Nothing => &[],
            Self::One(_, piece) | Self::Same(piece) => std::slice::from_ref(piece),
            Self::Each(pieces) => pieces.list(),
        }
    }

    fn pieces_mut(&mut self) -> &mut [DataView] {
        match self {
            Self::Nothing | Self::Each(DataViews::Row(_)) => &mut [],
            Self::One(_, piece) | Self::Same(piece) => std::slice::from_mut(piece),
            Self::Each(DataViews::Each(pieces)) => pieces,
        }
    }

    fn takes(self) -> TakenBlocks {
        match self {
            Self::Nothing => TakenBlocks::NOTHING,
            Self::One(_, piece) | Self::Same(piece) => TakenBlocks::One(piece),
            Self::Each(pieces) => TakenBlocks::Each(pieces),
        }
    }
}

impl OneRound {
    /// Converts it to an exchange. It [is plain](Self::is_plain), or was packed.
    #[inline]
    pub(super) fn exchange(self, members: Members<'_>) -> LocalExchange {
        LocalExchange {
            called: self.called(members),
            gives: self.out.gives(members.me),
            takes: self.into.takes(),
            own: self.own.map(|(from, to)| (packed(&from), packed(&to))),
            scratch: self.scratch,
        }
    }

    /// Returns whether all that this rank gives, also to itself, is contiguous.
    pub(super) fn is_plain(&self) -> bool {
        let own = self.own.as_ref();
        let own = own.is_none_or(|(from, to)| from.layout().is_none() && to.layout().is_none());
        own && self.out.pieces().iter().all(|it| it.layout().is_none())
    }

    /// Packs the data of the member at this place that are not contiguous, and copies its own
    /// block. The caller holds no lock.
    pub(super) fn pack(&mut self, me: usize) {
        let one_for_each = matches!(self.out, RoundBlocks::Each(_));
        for (place, piece) in self.out.pieces_mut().iter_mut().enumerate() {
            if piece.layout().is_some() && !(one_for_each && place == me) {
                let to = self.scratch.piece(piece.len());
                data::copy(piece, &to);
                *piece = to;
            }
        }
        if let Some((from, to)) = self.own.take() {
            data::copy(&from, &to);
        }
    }
}

impl Endpoint {
    /// Posts an exchange of the members of a context, which are a group.
    #[inline]
    pub(super) fn post_exchange(
        &self,
        state: OwnerGuard<'_, EndpointState>,
        (context, group): (u32, GroupId),
        exchange: LocalExchange,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        self.arrive_by(state, context, blocking, |state| {
            let near = with_room(&mut state.mux.local)?;
            let known = state.contexts.get_mut(context);
            let known = known.expect("a communicator is used until it is freed");
            let entered = known.enter(context, exchange.called);
            let posted = near.exchange(group, exchange, entered, blocking)?;
            Ok(TransportHandle::local(posted))
        })
    }
}
