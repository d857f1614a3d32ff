//! Whether all members can reach the memory that they have to read, so that all do the same.
//!
//! Mostly the kernel copies between the ranks of a job, whatever the memory is; members that have found
//! so together do not ask again. Where it does not (a container that forbids `process_vm_readv`), each
//! long collective begins with a *verdict* of each member: buffers that lie in slots can still be read.
//! If one member says no, the data go through the records.

use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::phase::Phase;

/// It can reach these buffers, and any others.
const ALL: u8 = 1;
/// It can reach these.
const THESE: u8 = 2;
/// It cannot.
const NONE: u8 = 3;

/// The verdict of a member to whose process all the others are open, or that reaches what it has to read.
pub(super) fn of(all_are_open: bool, reaches: impl FnOnce() -> bool) -> u8 {
    match all_are_open {
        true => ALL,
        false if reaches() => THESE,
        false => NONE,
    }
}

/// What all members say together, when all have said something.
pub(super) fn verdict(group: &mut LocalGroup, around: CollectiveEnvironment<'_>) -> Option<bool> {
    let number = group.number;
    if !group.all(|info| info.verdict(number) != 0) {
        return None;
    }
    group.tell_all(around, Phase::Judged);
    let verdicts = group.members.iter();
    let worst = verdicts.map(|member| member.info.verdict(number)).max();
    group.open = worst == Some(ALL);
    Some(worst < Some(NONE))
}
