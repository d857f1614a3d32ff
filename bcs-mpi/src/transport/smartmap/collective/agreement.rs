//! Whether all members have made the same call.
//!
//! A member that waits for all members sees it when they have entered. A member that waits for one
//! sees that one's call. Both are notified at once. A member that waits for none is notified in a
//! later collective: the next one in which it waits for all, or at the next gate ([`coll_info`]).
//! There all members compare their calls since the gate before, and get the same result.
//!
//! **A wrong argument** ([`CollectiveKind::Invalid`]) makes a call that differs from that of the
//! others, and is reported in the same way. Only a member that has waited for none is not notified
//! later: it has all its own data, and the member with the wrong argument knows.

use super::group::LocalGroup;
use super::machine::{CollectiveResult, failed};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::NodeRanks;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::{self, Presence};
use bcs_core::wait_state::{CalledCollective, ConflictingCall};

/// Compares the calls when all have entered the collective that this rank is in.
///
/// # Errors
/// Returns the mismatch that this rank reports, if not all members have made the same call.
#[inline]
pub(super) fn compare(group: &mut LocalGroup, ranks: NodeRanks) -> Result<(), ConflictingCall> {
    let number = group.number;
    // The gate need not compare these any more.
    compare_at_gate(group, coll_info::gate_before(number), ranks);
    let compared = group.compare_to(number);
    if group.digests_agree(number) {
        return Ok(());
    }
    match of_number(group, number, ranks) {
        Some(against) => Err(against),
        None => {
            object_to_earlier(group, (compared, number), ranks);
            Ok(())
        }
    }
}

/// Compares the calls when the one member that this rank has waited for has entered.
///
/// # Errors
/// Returns the mismatch that this rank reports, if that member has made another call.
#[inline]
pub(super) fn compare_with(
    group: &mut LocalGroup,
    member: usize,
    ranks: NodeRanks,
) -> Result<(), ConflictingCall> {
    let number = group.number;
    let (other, own) = (&group.members[member].info, group.own());
    if other.digest(number) == own.digest(number) || other.call(number) == own.call(number) {
        return Ok(());
    }
    group.compare_to(number);
    Err(objection(group, number, member, ranks))
}

/// Compares the calls when all have entered a gate. This may have been done before.
#[inline]
pub(super) fn compare_at_gate(group: &mut LocalGroup, gate: u64, ranks: NodeRanks) {
    if group.compared() >= gate {
        return;
    }
    let compared = group.compare_to(gate);
    if !group.digests_agree(gate) {
        object_to_earlier(group, (compared, gate), ranks);
    }
}

/// Returns the mismatch that this rank's NIC reports, if not all members of a node have made the
/// same call. All have entered.
pub(super) fn disagreement(group: &LocalGroup, ranks: NodeRanks) -> Option<ConflictingCall> {
    let number = group.number;
    if group.digests_agree(number) {
        return None;
    }
    of_number(group, number, ranks)
}

/// Finds the first collective that was not the same at all members and was not yet reported to this
/// rank. It is reported when the current one is over.
#[cold]
fn object_to_earlier(group: &mut LocalGroup, (compared, number): (u64, u64), ranks: NodeRanks) {
    let numbers = coll_info::digested(number).chain([number]);
    let since = numbers.filter(|&earlier| earlier > compared);
    let mut against = since.filter_map(|earlier| of_number(group, earlier, ranks));
    if let Some(against) = against.find(|against| !against.called.is_invalid()) {
        group.object(against);
    }
}

/// Finds the mismatch as BR does. If a member had a wrong argument, the first such member is
/// reported to all. Otherwise the members whose call is that of the first differing one get the
/// call of the first member, and the others get the differing one. All members get the same result,
/// as long as all calls are in their records.
#[cold]
fn of_number(group: &LocalGroup, number: u64, ranks: NodeRanks) -> Option<ConflictingCall> {
    let called = |member: usize| {
        let info = &group.members[member].info;
        (info.presence(number) == Presence::Present).then(|| info.call(number))
    };
    let members = || (0..group.members.len()).filter(|&member| called(member).is_some());
    let other_than = |one: usize| members().find(|&member| called(member) != called(one));
    let was_wrong = |&member: &usize| {
        let called = called(member).and_then(|[packed, _]| CalledCollective::unpack(packed));
        called.is_some_and(|called| called.is_invalid())
    };
    let (leading, odd) = match members().find(was_wrong) {
        Some(wrong) => (other_than(wrong)?, wrong),
        None => {
            let leading = members().next()?;
            (leading, other_than(leading)?)
        }
    };
    let with_odd = called(group.me) == called(odd);
    let against = if with_odd { leading } else { odd };
    Some(objection(group, number, against, ranks))
}

fn objection(group: &LocalGroup, number: u64, against: usize, ranks: NodeRanks) -> ConflictingCall {
    let rank = group.rank_of(against, ranks);
    let [packed, bytes] = group.members[against].info.call(number);
    // An invalid call was written by the rank that caused the error, and that rank is reported.
    let called = match CalledCollective::unpack(packed) {
        Some(CalledCollective::Nic { kind, .. }) => CalledCollective::Nic { kind, bytes },
        Some(called) => called,
        None => CalledCollective::Nic {
            kind: CollectiveKind::Barrier,
            bytes: 0,
        },
    };
    ConflictingCall { rank, called }
}

impl LocalGroup {
    /// Returns the result of a collective, with the mismatch of an earlier one.
    #[inline]
    pub(super) fn with_objection(&mut self, ended: CollectiveResult) -> CollectiveResult {
        if self.objection.is_none() {
            return ended;
        }
        ended?;
        let against = self.objection.take();
        against.map_or(Ok(()), |against| earlier_mismatch(&against))
    }
}

/// Returns the result of a collective that this rank could not take part in.
pub(super) fn mismatch(against: &ConflictingCall) -> CollectiveResult {
    failed(RequestFailure::Mismatch, against.pack())
}

/// Returns the result of a successful collective, when an earlier one was not the same at all
/// members.
fn earlier_mismatch(against: &ConflictingCall) -> CollectiveResult {
    failed(RequestFailure::EarlierMismatch, against.pack())
}
