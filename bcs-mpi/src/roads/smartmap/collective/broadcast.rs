//! A long broadcast: every member copies from the root's memory to its own, and the root waits until
//! all have.

use super::group::Group;
use super::phase::{Look, Phase};
use super::phased::Phased;
use super::steps;
use super::surroundings::Surroundings;
use crate::data::Piece;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// All have entered, and all can reach the root's memory.
pub(super) fn begin(
    collective: &mut Phased,
    root: u32,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let bytes = collective.part.bytes;
    debug_assert!(bytes > PAYLOAD_BYTES);
    let root = group.member_of(root, around.first);
    if root == group.me {
        group.look_anew();
        return Look::Goes(Phase::Read);
    }
    let [from] = group.members[root].info.said(group.number);
    let into = Piece::from(collective.part.output);
    let direction = around.last_direction.turn(bytes as u64);
    collective.fetched(group.fetch_along(around, direction, (root, from), &into));
    let step = steps::end(collective.failure);
    collective.say(group, step);
    group.tell_if_all(around, steps::DONE, Phase::Read, Some(root));
    Look::Over
}

/// The root waits.
pub(super) fn finish(collective: &mut Phased, group: &mut Group) -> Look {
    if !group.have_all(steps::DONE) {
        return Look::Waits;
    }
    collective.heed_any(group, steps::FAULTY);
    Look::Over
}
