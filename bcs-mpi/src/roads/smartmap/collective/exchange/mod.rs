//! Exchanges: collectives in which each member gives something else to each (collectives paper, IV.D).
//!
//! ```text
//!  enter ── head: how what I give lies ──► all have entered ── do all call the same?
//!             short: all of it is in my record      everybody takes what is his from the records  ── done
//!             long:  it stays where it is           judge, take it from memory to memory, say so  ── done
//! ```
//!
//! Gather, scatter, allgather and alltoall with all their variants, scans, and reductions by functions of
//! the program's are one thing here: what a member gives ([`Gives`]), what it takes ([`Takes`]), and who
//! gives to whom ([`Flow`]), which all members know. **Takers read**; nobody writes into another one's
//! memory.
//!
//! **Short or long is each giver's own affair.** If what it gives to all, which is its *stream*, fits its
//! record, it lies there, and the giver is done when it has what it takes: an area is not written
//! again before all have read it ([gates](bcs_core::coll_info)). Otherwise it says where its pieces are and waits until
//! those that read them have done so. What lies in pieces is packed before (by whoever posts it).
//!
//! **Lengths are allegations.** A taker knows how much it expects. If the giver says another length it
//! takes nothing and has failed, as with a message of another length; the exchange goes on, so nothing is
//! left for a later one.
//!
//! A fold takes in *rounds*, since its memory is for some contributions at a time: as many as it likes while
//! the exchange is open, because its givers wait anyway.
//!
//! Exchanges among the neighbours of a topology stay with messages: a rank would wait for all members
//! where it has to wait for its neighbours. So do those between two groups, and those of more members than
//! a record has room for a table of ([`MAX_MEMBERS`]).
//!
//! | | file |
//! |---|---|
//! | how what is given lies, for who gives and who takes | [`gift`] |
//! | entering, and waiting for who reads | [`machine`] |
//! | from records and from memory | [`taking`] |
//! | if not all memory can be reached: through the records in parts | [`parts`] |

mod gift;
mod machine;
mod parts;
mod taking;
#[cfg(test)]
mod tests;

use crate::data::LONG_BYTES;
use crate::data::{Piece, Pieces, Row, Scratch};
use crate::plan::{Local, Round};
use bcs_core::whereabouts::{self, Called};
pub(crate) use gift::MAX_MEMBERS;
pub(super) use machine::Exchanging;
use std::collections::VecDeque;

/// A member's part of an exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// All members must have called the same.
    pub(crate) called: Called,
    pub(crate) gives: Gives,
    pub(crate) takes: Takes,
    /// What it gives itself: from, to, and how much.
    pub(crate) own: Option<(u64, u64, usize)>,
    /// Memory that lasts until the exchange is over.
    pub(crate) scratch: Scratch,
}

/// What a member gives.
#[derive(Debug)]
pub(crate) enum Gives {
    Nothing,
    /// The same bytes to all it gives to.
    Same(Given),
    /// To each member its block of a row.
    Row(Row),
    /// To each member what is there for it; nothing to itself.
    Each(Box<[Given]>),
}

/// What is given to one member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    pub(crate) address: u64,
    pub(crate) len: usize,
}

/// What a member takes.
#[derive(Debug)]
pub(crate) enum Takes {
    /// From each that gives to it, into the piece for it.
    Each(Pieces),
    /// From the only one that gives to it.
    One(Piece),
    /// From some at a time.
    Rounds(VecDeque<Round>),
}

impl Exchange {
    /// Whether the member at this place of so many goes over long data in it, or calls functions of the
    /// program's.
    fn takes_long(&self, place: usize, members: usize) -> bool {
        let own = self.own.map_or(0, |(_, _, len)| len);
        let lens = [self.gives.len(place, members), self.takes.len(members), own];
        let calls = match &self.takes {
            Takes::Rounds(rounds) => rounds
                .iter()
                .any(|round| round.then.iter().any(Local::calls)),
            Takes::Each(_) | Takes::One(_) => false,
        };
        calls || lens.into_iter().any(|len| len > LONG_BYTES)
    }
}

impl Takes {
    /// How much it may be.
    fn len(&self, members: usize) -> usize {
        match self {
            Self::One(piece) => piece.len,
            Self::Each(Pieces::Row(row)) => row.len.saturating_mul(members),
            Self::Each(Pieces::Each(pieces)) => {
                let lens = pieces.iter().map(|piece| piece.len);
                lens.fold(0, usize::saturating_add)
            }
            Self::Rounds(rounds) => {
                let receives = rounds.iter().flat_map(|round| &round.receives);
                let lens = receives.map(|(_, piece)| piece.len);
                lens.fold(0, usize::saturating_add)
            }
        }
    }

    /// From nobody.
    pub(crate) const NOTHING: Self = Self::Rounds(VecDeque::new());
}

/// Who gives to whom, by their places among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Each to each other.
    All,
    /// This one to all others.
    From(usize),
    /// All others to this one.
    To(usize),
    /// Each to those after it.
    Upward,
}

impl Flow {
    fn of(exchange: whereabouts::Exchange, root: Option<usize>) -> Self {
        use whereabouts::Exchange;
        match (exchange, root) {
            (Exchange::Scatter, Some(root)) => Self::From(root),
            (_, Some(root)) => Self::To(root),
            (Exchange::Scan | Exchange::Exscan, None) => Self::Upward,
            (_, None) => Self::All,
        }
    }

    fn passes(self, from: usize, to: usize) -> bool {
        from != to
            && match self {
                Self::All => true,
                Self::From(root) => from == root,
                Self::To(root) => to == root,
                Self::Upward => from < to,
            }
    }
}
