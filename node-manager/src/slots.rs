//! Whose heap lies in a slot, as far as its node manager believes it.

use crate::control::SlotReport;
use crate::limits::MAX_REASON;
use crate::rank_process::{RankProcess, SlotState};
use bcs_core::memory::slot;
use std::os::fd::OwnedFd;

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
