//! Plans: schedules that are to be posted.

use super::hierarchy::Hierarchy;
use crate::data::{self, LONG_BYTES, NEAR_SMALL_PIECE_BYTES, Piece, Scratch};
use crate::steps::{Local, Part, Round};
use bcs_core::descriptor::InvalidCall;
use bcs_core::whereabouts::{Called, Exchange};
use std::collections::VecDeque;

/// A schedule that is to be posted.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// What the rank called, if it is not what its [`part`](Self::part) says.
    pub(crate) called: Option<Called>,
    /// Before anything is sent.
    pub(crate) first: Vec<Local>,
    /// To whom (a world rank), and what.
    pub(crate) sends: Vec<(u32, Piece)>,
    pub(crate) rounds: VecDeque<Round>,
    /// A collective of the NIC, which is a part of the first round. NICs number them, so it must
    /// be posted with the schedule.
    pub(crate) part: Option<Part>,
    /// What goes by the leaders of nodes, beside the rounds.
    pub(crate) hierarchy: Option<Box<Hierarchy>>,
    pub(crate) scratch: Scratch,
    /// The rank's call had a wrong argument: its messages are empty, and say so.
    pub(crate) invalid: Option<InvalidCall>,
}

impl Plan {
    /// Does what comes first, and packs what is sent in pieces, without the lock: all if it is for an `exchange`,
    /// else what is long and in small ones.
    pub(crate) fn prepare(&mut self, exchange: bool) {
        for local in self.first.drain(..) {
            local.run();
        }
        let mut last: Option<(Piece, Piece)> = None;
        for (_, piece) in &mut self.sends {
            let small =
                piece.len() > LONG_BYTES && piece.is_in_pieces_below(NEAR_SMALL_PIECE_BYTES);
            if !(small || exchange && piece.layout().is_some()) {
                continue;
            }
            // What goes to all is packed once.
            let known = last.as_ref().filter(|(from, _)| from == piece);
            let packed = known.map(|(_, packed)| packed.clone());
            let packed = packed.unwrap_or_else(|| {
                let to = self.scratch.piece(piece.len());
                data::copy(piece, &to);
                last = Some((piece.clone(), to.clone()));
                to
            });
            *piece = packed;
        }
    }

    /// A plan for what the rank called, with the world rank of its root.
    pub(crate) fn of(exchange: Exchange, root: Option<u32>) -> Self {
        Self {
            called: Some(Called::Messages(exchange, root)),
            ..Self::default()
        }
    }
}
