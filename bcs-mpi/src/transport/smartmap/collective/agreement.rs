//! Whether all members have called the same.
//!
//! Who waits for all members sees it when they are there, and who waits for one sees what that one has
//! called: it is told at once. Who waits for nobody is told in a later collective: the next one in which it
//! waits for all, or at the next gate ([`coll_info`]). There all compare what they have
//! called since the gate before, and come to the same.
//!
//! **A wrong argument** ([`CollectiveKind::Invalid`]) is another call than that of the others, and so they are told of
//! it as of any. Only who has waited for nobody is not told later: it has all that is its own, and the member that was
//! wrong knows.

use super::group::LocalGroup;
use super::machine::{CollectiveResult, failed};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::{self, Presence};
use bcs_core::wait_state::{CalledCollective, ConflictingCall};

/// All have entered the collective that this rank is in.
///
/// # Errors
/// What this rank is to be told, if not all members have called the same.
#[inline]
pub(super) fn compare(group: &mut LocalGroup, first: u32) -> Result<(), ConflictingCall> {
    let number = group.number;
    // There is no need to wait there any more.
    compare_at_gate(group, coll_info::gate_before(number), first);
    let compared = group.compare_to(number);
    if group.digests_agree(number) {
        return Ok(());
    }
    match of_number(group, number, first) {
        Some(against) => Err(against),
        None => {
            object_to_earlier(group, (compared, number), first);
            Ok(())
        }
    }
}

/// The one member that this rank has waited for has entered.
///
/// # Errors
/// What this rank is to be told, if that has not called the same.
#[inline]
pub(super) fn compare_with(
    group: &mut LocalGroup,
    member: usize,
    first: u32,
) -> Result<(), ConflictingCall> {
    let number = group.number;
    let (other, own) = (&group.members[member].info, group.own());
    if other.digest(number) == own.digest(number) || other.call(number) == own.call(number) {
        return Ok(());
    }
    group.compare_to(number);
    Err(objection(group, number, member, first))
}

/// All have entered a gate, which may have been looked at before.
#[inline]
pub(super) fn compare_at_gate(group: &mut LocalGroup, gate: u64, first: u32) {
    if group.compared() >= gate {
        return;
    }
    let compared = group.compare_to(gate);
    if !group.digests_agree(gate) {
        object_to_earlier(group, (compared, gate), first);
    }
}

/// What this rank is to be told by its NIC, if not all members of a node call the same: all have entered.
pub(super) fn disagreement(group: &LocalGroup, first: u32) -> Option<ConflictingCall> {
    let number = group.number;
    if group.digests_agree(number) {
        return None;
    }
    of_number(group, number, first)
}

/// Of the first collective that was not the same at all members, and of which this rank has not been told, it
/// will be told when the one that it is in is over.
#[cold]
fn object_to_earlier(group: &mut LocalGroup, (compared, number): (u64, u64), first: u32) {
    let numbers = coll_info::digested(number).chain([number]);
    let since = numbers.filter(|&earlier| earlier > compared);
    let mut against = since.filter_map(|earlier| of_number(group, earlier, first));
    if let Some(against) = against.find(|against| !against.called.is_invalid()) {
        group.object(against);
    }
}

/// As BR does it, all are told of the first member that had a wrong argument. If nobody had, those who are with the first
/// one that differs from the first of all are told of the first of all, the others of it. All members come to the same,
/// as long as all have what they called in their records.
#[cold]
fn of_number(group: &LocalGroup, number: u64, first: u32) -> Option<ConflictingCall> {
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
    Some(objection(group, number, against, first))
}

fn objection(group: &LocalGroup, number: u64, against: usize, first: u32) -> ConflictingCall {
    let rank = group.rank_of(against, first);
    let [packed, bytes] = group.members[against].info.call(number);
    // Of what makes no sense a rank that wrote rubbish is the cause, and it is the one that is told of.
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
    /// What a collective has come to, with what this rank is to be told of an earlier one.
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

/// Of a collective that this rank could not take part in.
pub(super) fn mismatch(against: &ConflictingCall) -> CollectiveResult {
    failed(RequestFailure::Mismatch, against.pack())
}

/// Of a collective that went well, when an earlier one had not been the same at all members.
fn earlier_mismatch(against: &ConflictingCall) -> CollectiveResult {
    failed(RequestFailure::EarlierMismatch, against.pack())
}
