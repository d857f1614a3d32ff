//! Whose heap lies in a slot, as far as its node manager believes it.

use crate::control::{FromManager, SlotReport};
use crate::conversation::Conversation;
use crate::limits::MAX_REASON;
use crate::rank_process::{RankProcess, SlotState};
use bcs_core::job::Placement;
use bcs_core::job::welcome::Answer;
use bcs_core::memory::slot;
use rustix::io::Errno;
use std::os::fd::{AsFd as _, OwnedFd};

/// What came with a Hello is an allegation: only what is made as a slot is made is handed to others.
pub(crate) fn judge(descriptor: Option<OwnedFd>, why: Option<String>) -> SlotState {
    let Some(descriptor) = descriptor else {
        let why = why.map(|why| why.chars().take(MAX_REASON).collect());
        return SlotState::None(why);
    };
    match slot::check(&descriptor) {
        Ok(()) => SlotState::Slot(descriptor),
        Err(bad) => SlotState::None(Some(format!("what it gave as its slot is none: {bad}"))),
    }
}

/// The rank at a place of the node of another one, which has this index; if there is one.
pub(crate) fn owner<'a>(
    ranks: &'a [RankProcess],
    placement: &Placement,
    index: usize,
    place: u32,
) -> Option<&'a RankProcess> {
    let mut here = placement.ranks_of(ranks[index].node);
    let owner = here.nth(usize::try_from(place).ok()?)?;
    ranks.iter().find(|rank| rank.rank == owner)
}

/// Gives the slot of a rank, or says that there is none.
pub(crate) fn hand_over(owner: Option<&RankProcess>, to: &Conversation) -> Result<(), Errno> {
    match owner.map(|owner| &owner.slot) {
        Some(SlotState::Slot(fd)) => to.answer(&Answer::Slot, &[fd.as_fd()]),
        Some(SlotState::Unknown) => to.answer(&Answer::NoSlot { yet: true }, &[]),
        Some(SlotState::None(_)) | None => to.answer(&Answer::NoSlot { yet: false }, &[]),
    }
}

/// What to say of a rank that others fetch much from, and not from its slot. If it has one, that was no heap,
/// and there is no better road.
pub(crate) fn slow_road(owner: &RankProcess) -> Option<FromManager> {
    match &owner.slot {
        SlotState::None(why) => Some(FromManager::SlowRoad {
            rank: owner.rank,
            why: why.clone(),
        }),
        SlotState::Slot(_) | SlotState::Unknown => None,
    }
}

/// What `bcs run -v` is told.
pub(crate) fn report(ranks: &[RankProcess]) -> SlotReport {
    let known = ranks
        .iter()
        .filter(|rank| !matches!(rank.slot, SlotState::Unknown));
    let with_slot = ranks
        .iter()
        .filter(|rank| matches!(rank.slot, SlotState::Slot(_)));
    let refused = ranks.iter().find_map(|rank| match &rank.slot {
        SlotState::None(Some(why)) => Some((rank.rank, why.clone())),
        _ => None,
    });
    SlotReport {
        received: known.count(),
        with_slot: with_slot.count(),
        refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Stream;
    use crate::output::OutputPipe;
    use crate::rank_process::Stage;
    use bcs_core::job::NodeId;

    fn rank(slot: SlotState) -> RankProcess {
        let output = [Stream::Out, Stream::Err].map(|stream| OutputPipe::new(None, stream));
        RankProcess {
            rank: 7,
            node: NodeId(0),
            pid: rustix::process::getpid(),
            pidfd: None,
            conversation: Conversation::open().unwrap().0,
            stage: Stage::Finalized,
            slot,
            recorder: None,
            ended_ns: None,
            output,
            left: None,
            failed: false,
        }
    }

    #[test]
    fn a_slow_road_is_said_only_of_who_has_no_slot() {
        let why = Some("no memory".to_owned());
        let news = FromManager::SlowRoad {
            rank: 7,
            why: why.clone(),
        };
        assert_eq!(slow_road(&rank(SlotState::None(why))), Some(news));
        let file = std::fs::File::open("/dev/null").unwrap();
        let slot = SlotState::Slot(file.into());
        assert_eq!(slow_road(&rank(slot)), None, "it sends from its stack");
        assert_eq!(slow_road(&rank(SlotState::Unknown)), None);
    }

    #[test]
    fn what_is_no_slot_is_not_handed_out() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let judged = judge(Some(file.into()), None);
        assert!(matches!(judged, SlotState::None(Some(why)) if why.contains("is none")));
        let judged = judge(None, Some("x".repeat(10_000)));
        assert!(matches!(judged, SlotState::None(Some(why)) if why.len() == MAX_REASON));
        assert!(matches!(judge(None, None), SlotState::None(None)));
    }
}
