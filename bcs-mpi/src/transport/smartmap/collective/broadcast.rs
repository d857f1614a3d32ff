//! A long broadcast: every member copies from the root's memory to its own, and the root waits
//! until all have.

use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::phase::{Phase, PhaseOutcome};
use super::phased::PhasedCollective;
use super::steps;
use crate::data::DataView;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// Begins when all have entered, and all can reach the root's memory.
pub(super) fn begin(
    collective: &mut PhasedCollective,
    root: u32,
    group: &mut LocalGroup,
    around: CollectiveEnvironment<'_>,
) -> PhaseOutcome {
    let bytes = collective.part.bytes;
    debug_assert!(bytes > PAYLOAD_BYTES);
    let root = group.member_of(root, around.ranks);
    if root == group.me {
        group.look_anew();
        return PhaseOutcome::Continue(Phase::Read);
    }
    let [from] = group.members[root].info.arguments(group.number);
    let into = DataView::from(collective.part.output);
    let direction = around.last_direction.turn(bytes as u64);
    collective.fetched(group.fetch_along(around, direction, (root, from), &into));
    let step = steps::end(collective.failure);
    collective.say(group, step);
    group.tell_if_all(around, steps::DONE, Phase::Read, Some(root));
    PhaseOutcome::Over
}

/// Waits at the root until all have copied.
pub(super) fn finish(collective: &mut PhasedCollective, group: &mut LocalGroup) -> PhaseOutcome {
    if !group.have_all(steps::DONE) {
        return PhaseOutcome::Waits;
    }
    collective.heed_any(group, steps::FAULTY);
    PhaseOutcome::Over
}
