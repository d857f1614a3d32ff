//! Collectives of one round, which are posted as messages or as an exchange of the members.
#![expect(unsafe_code, reason = "data is named by address, as the NIC needs it")]

use super::Blocking;
use super::endpoint::Endpoint;
use super::exchange::Members;
use super::piece::{Piece, Pieces};
use super::requests::{Request, TooManyRequests};
use super::schedule::{Local, Plan, Round, Scratch};
use bcs_core::whereabouts::{Called, Exchange};

/// A collective of one round: what a rank gives, what it takes, and its own block.
#[derive(Debug)]
pub(super) struct OneRound {
    what: Exchange,
    root: Option<usize>,
    pub(super) out: Side,
    pub(super) into: Side,
    /// From where and where to.
    pub(super) own: Option<(Piece, Piece)>,
    /// Memory that lasts as long.
    pub(super) scratch: Scratch,
}

/// What is given to others or taken from them.
#[derive(Debug)]
pub(super) enum Side {
    Nothing,
    /// To or from one.
    One(usize, Piece),
    /// The same to all others.
    Same(Piece),
    /// To or from each other what is there for it.
    Each(Pieces),
}

impl Side {
    /// By messages: world ranks and their pieces.
    fn messages(&self, members: Members<'_>) -> Vec<(u32, Piece)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::One(place, piece) => vec![(members.world[*place], piece.clone())],
            Self::Same(piece) => members.others(|_| piece.clone()),
            Self::Each(pieces) => members.others(|place| pieces.of(place)),
        }
    }
}

impl OneRound {
    pub(super) fn new(what: Exchange, root: Option<usize>) -> Self {
        Self {
            what,
            root,
            out: Side::Nothing,
            into: Side::Nothing,
            own: None,
            scratch: Scratch::default(),
        }
    }

    /// What the rank calls, with its root as a rank of the world.
    pub(super) fn called(&self, members: Members<'_>) -> Called {
        Called::Messages(self.what, self.root.map(|root| members.world[root]))
    }

    fn plan(self, members: Members<'_>) -> Plan {
        let called = self.called(members);
        let sends = self.out.messages(members);
        let receives = self.into.messages(members);
        let own = self.own.map(|(from, to)| Local::Copy { from, to });
        Plan {
            called: Some(called),
            first: own.into_iter().collect(),
            sends,
            rounds: [Round {
                receives,
                then: Vec::new(),
            }]
            .into(),
            scratch: self.scratch,
            ..Plan::default()
        }
    }
}

impl Endpoint {
    /// Posts a collective of one round: by an exchange of the members, if they are all on one node.
    ///
    /// # Safety
    /// As for [`bcs_scatter`](Self::bcs_scatter).
    #[inline]
    pub(super) unsafe fn post_round(
        &self,
        members: Members<'_>,
        round: OneRound,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let state = self.lock();
        if state.exchanges(members.context) {
            // SAFETY: the caller's promise.
            return unsafe { self.exchange_round(state, members, round, blocking) };
        }
        drop(state);
        // SAFETY: the caller's promise.
        unsafe { self.post_schedule(members.context, round.plan(members)) }
    }
}
