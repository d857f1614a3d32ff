//! Plans: schedules that are to be posted.

use super::blocks_by_leaders::BlocksByLeaders;
use crate::data::{self, DataView, LOCAL_SMALL_PIECE_BYTES, LONG_BYTES, Scratch};
use crate::steps::{CollectiveArguments, LocalStep, Round};
use bcs_core::descriptor::InvalidCall;
use bcs_core::wait_state::{CalledCollective, MessageCollective};
use std::collections::VecDeque;

/// A schedule that is to be posted.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The call of the rank, if it is not that of its [`part`](Self::part).
    pub(crate) called: Option<CalledCollective>,
    /// Steps before anything is sent.
    pub(crate) first: Vec<LocalStep>,
    /// The receiver (a world rank) and the data of each send.
    pub(crate) sends: Vec<(u32, DataView)>,
    pub(crate) rounds: VecDeque<Round>,
    /// A collective of the NIC, as a part of the first round. NICs number their collectives, so it
    /// must be posted with the schedule.
    pub(crate) part: Option<CollectiveArguments>,
    /// The part that goes by the leaders of nodes, beside the rounds.
    pub(crate) hierarchy: Option<Box<BlocksByLeaders>>,
    pub(crate) scratch: Scratch,
    /// The rank's call had a wrong argument: its messages are empty, and their mark holds this.
    pub(crate) invalid: Option<InvalidCall>,
}

impl Plan {
    /// Does the first steps, and packs sends that are not contiguous, without the lock. For an
    /// `exchange` it packs all of them, otherwise the long ones in small pieces.
    pub(crate) fn prepare(&mut self, exchange: bool) {
        for local in self.first.drain(..) {
            local.run();
        }
        let mut last: Option<(DataView, DataView)> = None;
        for (_, piece) in &mut self.sends {
            let small =
                piece.len() > LONG_BYTES && piece.is_in_pieces_below(LOCAL_SMALL_PIECE_BYTES);
            if !(small || exchange && piece.layout().is_some()) {
                continue;
            }
            // Data that go to all are packed once.
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

    /// Makes a plan for a call, with the world rank of its root.
    pub(crate) fn of(exchange: MessageCollective, root: Option<u32>) -> Self {
        Self {
            called: Some(CalledCollective::Messages(exchange, root)),
            ..Self::default()
        }
    }
}
