//! Taking what other members give: from their records or their memory.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::Takes;
use super::gift::{Giver, Lies};
use super::machine::Exchanging;
use crate::data::{Piece, bytes_mut, scatter};
use crate::roads::Outcome;
use crate::roads::smartmap::collective::Surroundings;
use crate::roads::smartmap::collective::group::Group;
use bcs_core::request::Failure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

impl Exchanging {
    /// Takes all that is given to this rank. `None` if a record is rubbish: then this rank ends.
    pub(super) fn take_all(&mut self, group: &mut Group, around: Surroundings<'_>) -> Option<()> {
        let (flow, me) = (self.flow, group.me());
        let takes = std::mem::replace(&mut self.exchange.takes, Takes::NOTHING);
        let givers = group.others().filter(move |&giver| flow.passes(giver, me));
        match takes {
            Takes::Each(pieces) => {
                for giver in self.way.along(givers) {
                    self.take(group, around, giver, &pieces.of(giver))?;
                }
            }
            Takes::One(piece) => {
                for giver in self.way.along(givers) {
                    self.take(group, around, giver, &piece)?;
                }
            }
            Takes::Rounds(rounds) => {
                for round in rounds {
                    for (rank, into) in round.receives {
                        let giver = group.place_of(rank, around.first);
                        self.take(group, around, giver, &into)?;
                    }
                    for local in round.then {
                        if self.ended.is_ok() {
                            // SAFETY: whoever posted it promised that the memory stays until it is
                            // over; what was to be taken is there.
                            unsafe { local.run() };
                        }
                    }
                }
            }
        }
        Some(())
    }

    /// Takes what one member gives.
    fn take(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        place: usize,
        into: &Piece,
    ) -> Option<()> {
        let giver = Self::giver(group, place);
        let Some(gift) = giver.gift(group.me()) else {
            group.suspects(place);
            return None;
        };
        if self.agrees(group, around, place, gift.len, into.len) && into.len > 0 {
            match gift.lies {
                Lies::Here { total, at } => laid(giver, (total, at), into),
                Lies::There { address, .. } => {
                    let from = (place, address);
                    if let Err(culprit) = group.fetch_along(around, self.way, from, into) {
                        self.blame(group.rank_of(culprit, around.first));
                    }
                }
            }
        }
        Some(())
    }

    /// Whether a member gives as much as this rank expects of it.
    pub(super) fn agrees(
        &mut self,
        group: &Group,
        around: Surroundings<'_>,
        place: usize,
        len: u64,
        expected: usize,
    ) -> bool {
        let failure = match len.cmp(&(expected as u64)) {
            std::cmp::Ordering::Less => Failure::Mismatch,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => Failure::Truncated,
        };
        self.note(group, around, place, failure, len, expected);
        false
    }

    /// Memory that this world rank named is not there.
    pub(super) fn blame(&mut self, rank: u32) {
        if self.ended.is_ok() {
            self.ended = Err(Box::new(Outcome {
                failure: Failure::MemberMemory,
                len: rank.into(),
                ..Outcome::default()
            }));
        }
    }

    /// The first failure is what the exchange comes to.
    fn note(
        &mut self,
        group: &Group,
        around: Surroundings<'_>,
        place: usize,
        failure: Failure,
        len: u64,
        expected: usize,
    ) {
        if self.ended.is_ok() {
            let place = u32::try_from(group.members()[place].place).expect("places are few");
            self.ended = Err(Box::new(Outcome {
                failure,
                source: around.first + place,
                len,
                expected: Some(expected as u64),
                ..Outcome::default()
            }));
        }
    }
}

/// Takes bytes that lie in a record.
pub(super) fn laid(giver: Giver<'_>, (total, at): (usize, usize), into: &Piece) {
    if into.layout.is_none() {
        // SAFETY: whoever posted it promised that.
        let bytes = unsafe { bytes_mut(into.address, into.len) };
        return giver.info.laid(giver.number, total, at, bytes);
    }
    let mut bytes = [0; PAYLOAD_BYTES];
    let bytes = &mut bytes[..into.len];
    giver.info.laid(giver.number, total, at, bytes);
    // SAFETY: whoever posted it promised that.
    unsafe { scatter(into, 0, bytes) };
}
