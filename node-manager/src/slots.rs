//! Which ranks have their heap in a slot, as their node manager knows it.

use crate::control::{FromManager, SlotReport};
use crate::limits::MAX_REASON;
use crate::rank_connection::RankConnection;
use crate::rank_process::{RankProcess, SlotState};
use bcs_core::job::Placement;
use bcs_core::job::handshake::NodeManagerReply;
use bcs_core::memory::slot;
use rustix::io::Errno;
use std::os::fd::{AsFd as _, OwnedFd};

/// Checks the descriptor of a Hello. It is not trusted: only one that was made as a slot is passed
/// on to others.
pub(crate) fn check_slot(descriptor: Option<OwnedFd>, why: Option<String>) -> SlotState {
    let why = why.map(|why| why.chars().take(MAX_REASON).collect());
    let Some(fd) = descriptor else {
        return SlotState::None(why);
    };
    match slot::check(&fd) {
        Ok(()) => SlotState::Slot {
            fd,
            without_heap: why,
        },
        Err(bad) => SlotState::None(Some(format!("what it gave as its slot is none: {bad}"))),
    }
}

/// Returns the rank at a place on the node of the rank with this index, if there is one.
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

/// Sends the slot of a rank, or the answer that there is none.
pub(crate) fn hand_over(owner: Option<&RankProcess>, to: &RankConnection) -> Result<(), Errno> {
    match owner.map(|owner| &owner.slot) {
        Some(SlotState::Slot { fd, .. }) => to.answer(&NodeManagerReply::Slot, &[fd.as_fd()]),
        Some(SlotState::Unknown) => to.answer(&NodeManagerReply::NoSlot { yet: true }, &[]),
        Some(SlotState::None(_)) | None => to.answer(&NodeManagerReply::NoSlot { yet: false }, &[]),
    }
}

/// Makes the hint for a rank from or to which others copy much outside of its slot. If its heap is
/// in a slot, that data was not in the heap, and there is no faster path.
pub(crate) fn slow_road(owner: &RankProcess) -> Option<FromManager> {
    let rank = owner.rank;
    let why = match has_heap(owner) {
        Some(Err(why)) => why,
        Some(Ok(())) | None => return None,
    };
    // Add the advice only if there is no slot and no reason for that in the rank. A program that
    // was refused a slot has the line already. One with a library's memory in its slot is not in
    // Rust.
    let why = match &owner.slot {
        SlotState::None(None) => Some(match why {
            Some(why) => format!("{why}; {ADVICE}"),
            None => ADVICE.to_owned(),
        }),
        _ => why,
    };
    Some(FromManager::SlowCopyHint { rank, why })
}

/// The advice to the program's author.
const ADVICE: &str = "a program in Rust has it in one by this line, outside of its functions: bcs_mpi::slot_heap!();";

/// Returns whether the program's heap is in the rank's slot, or the reason why not, if known;
/// `None` before Hello.
fn has_heap(rank: &RankProcess) -> Option<Result<(), Option<String>>> {
    let no_preload = rank.no_preload.as_deref();
    match &rank.slot {
        SlotState::Unknown => None,
        SlotState::Slot {
            without_heap: None, ..
        } => Some(Ok(())),
        SlotState::Slot {
            without_heap: Some(what),
            ..
        } => Some(Err(Some(match no_preload {
            Some(why) => format!("{what}: {why}"),
            None => what.clone(),
        }))),
        SlotState::None(Some(why)) => Some(Err(Some(why.clone()))),
        SlotState::None(None) => Some(Err(no_preload.map(str::to_owned))),
    }
}

/// Makes the report for `bcs run -v`.
pub(crate) fn report(ranks: &[RankProcess]) -> SlotReport {
    let mut report = SlotReport::default();
    for rank in ranks {
        let Some(has_heap) = has_heap(rank) else {
            continue;
        };
        report.received += 1;
        match has_heap {
            Ok(()) => report.with_slot += 1,
            Err(Some(why)) if report.refused.is_none() => {
                report.refused = Some((rank.rank, why));
            }
            Err(_) => {}
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Stream;
    use crate::output::OutputPipe;
    use crate::pmi::{PmiConnection, PmiStage};
    use crate::rank_process::RankStage;
    use bcs_core::job::NodeId;
    use bcs_core::mapped_code::MappedCode;

    fn rank(slot: SlotState) -> RankProcess {
        let output = [Stream::Out, Stream::Err].map(|stream| OutputPipe::new(None, stream));
        RankProcess {
            rank: 7,
            node: NodeId(0),
            pid: rustix::process::getpid(),
            pidfd: None,
            elsewhere: None,
            conversation: RankConnection::open().unwrap().0,
            stage: RankStage::Finalized,
            pmi: PmiConnection::open().unwrap().0,
            pmi_stage: PmiStage::Unknown,
            slot,
            no_preload: None,
            recorder: None,
            ended_ns: None,
            output,
            code: MappedCode::default(),
            last_call_at: None,
            left: None,
            foreign_mpi: None,
            has_written: false,
            failed: false,
            application: 0,
            spawned: None,
            asks: false,
            dismissed: false,
        }
    }

    fn slot(without_heap: Option<&str>) -> SlotState {
        SlotState::Slot {
            fd: std::fs::File::open("/dev/null").unwrap().into(),
            without_heap: without_heap.map(str::to_owned),
        }
    }

    #[test]
    fn a_slow_road_is_said_only_of_who_has_no_slot() {
        let why = Some("no memory".to_owned());
        let news = FromManager::SlowCopyHint {
            rank: 7,
            why: why.clone(),
        };
        assert_eq!(slow_road(&rank(SlotState::None(why))), Some(news));
        let whole = rank(slot(None));
        assert_eq!(slow_road(&whole), None, "it sends from its stack");
        assert_eq!(slow_road(&rank(SlotState::Unknown)), None);
    }

    #[test]
    fn a_slot_without_the_programs_heap_does_not_count() {
        let mut library = rank(slot(Some("only the library")));
        library.no_preload = Some("--heap own".to_owned());
        let mut none = rank(SlotState::None(None));
        none.no_preload = Some("static".to_owned());
        let ranks = [rank(SlotState::Unknown), rank(slot(None)), library, none];
        let said = report(&ranks);
        assert_eq!((said.received, said.with_slot), (3, 1));
        let why = "only the library: --heap own".to_owned();
        assert_eq!(said.refused, Some((7, why.clone())));
        let why = Some(why);
        let news = FromManager::SlowCopyHint { rank: 7, why };
        assert_eq!(slow_road(&ranks[2]), Some(news));
        let why = Some(format!("static; {ADVICE}"));
        let news = FromManager::SlowCopyHint { rank: 7, why };
        assert_eq!(slow_road(&ranks[3]), Some(news));
        let why = Some(ADVICE.to_owned());
        let news = FromManager::SlowCopyHint { rank: 7, why };
        assert_eq!(slow_road(&rank(SlotState::None(None))), Some(news));
        assert_eq!(report(&[rank(SlotState::None(None))]).refused, None);
    }

    #[test]
    fn what_is_no_slot_is_not_handed_out() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let judged = check_slot(Some(file.into()), None);
        assert!(matches!(judged, SlotState::None(Some(why)) if why.contains("is none")));
        let judged = check_slot(None, Some("x".repeat(10_000)));
        assert!(matches!(judged, SlotState::None(Some(why)) if why.len() == MAX_REASON));
        assert!(matches!(check_slot(None, None), SlotState::None(None)));
    }
}
