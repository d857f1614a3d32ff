//! Whether all members can reach the memory that they have to read, so that all choose the same
//! algorithm.
//!
//! Mostly the kernel copies between the ranks of a job, whatever the memory is. Members that have
//! found so together do not check again. If it does not (a container that forbids
//! `process_vm_readv`), each long collective begins with a *verdict* of each member, since buffers
//! that lie in slots can still be read. If one member cannot reach its buffers, the data go through
//! the records.

use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::phase::Phase;

/// It can reach these buffers, and any others.
const ALL: u8 = 1;
/// It can reach these.
const THESE: u8 = 2;
/// It cannot.
const NONE: u8 = 3;

/// Returns the verdict of a member. `all_are_open` holds if it can read all the others by the
/// kernel; `reaches` checks the memory that it has to read.
pub(super) fn of(all_are_open: bool, reaches: impl FnOnce() -> bool) -> u8 {
    match all_are_open {
        true => ALL,
        false if reaches() => THESE,
        false => NONE,
    }
}

/// Returns the common verdict of all members, when all have published theirs.
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
