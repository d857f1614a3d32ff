//! Whether all members can reach the memory that they have to read, so that all do the same.
//!
//! Mostly the kernel copies between the ranks of a job, whatever the memory is; members that have found
//! so together do not ask again. Where it does not (a container that forbids `process_vm_readv`), each
//! long collective begins with a *verdict* of each member: buffers that lie in slots can still be read.
//! If one member says no, the data go through the records.

use super::group::Group;
use super::machine::{Collective, Look, Phase};
use super::{Info, Spare, Surroundings, reduce};
use bcs_core::descriptor::CollectiveKind;

/// It can reach these buffers, and any others.
const ALL: u8 = 1;
/// It can reach these.
const THESE: u8 = 2;
/// It cannot.
const NONE: u8 = 3;

/// Where a member's data are in a long collective.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// What it contributes.
    pub(super) input: u64,
    /// Where it puts what it has folded, or what it receives.
    pub(super) output: u64,
}

impl Memory {
    pub(super) fn of(info: &Info, number: u64) -> Self {
        let [input, output] = info.said(number);
        Self { input, output }
    }

    /// Says where this rank's data are, and whether the kernel is known to copy them to all members.
    pub(super) fn say(self, info: &Info, number: u64, open: bool, bytes: usize) {
        let Self { input, output } = self;
        let check = check(number, output, bytes);
        info.say(number, [input, output, u64::from(open), check]);
    }

    /// Where a member has its output, if that may be written: what is read there by mistake only spoils
    /// a result, but nobody writes where rubbish says. It has the check hardly ever.
    pub(super) fn writable_output(info: &Info, number: u64, bytes: usize) -> Option<u64> {
        let [_, output, _, found] = info.said(number);
        (found == check(number, output, bytes)).then_some(output)
    }
}

fn check(number: u64, output: u64, bytes: usize) -> u64 {
    let words = [number, output, bytes as u64];
    words
        .into_iter()
        .fold(0x9e37_79b9_7f4a_7c15, |hash: u64, word| {
            let mixed = (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed ^ mixed >> 31
        })
}

/// All have entered a long collective.
pub(super) fn judge(
    collective: &mut Collective,
    group: &mut Group,
    around: Surroundings<'_>,
    spare: &mut Spare,
) -> Look {
    let number = group.number();
    let open = |info: &Info| info.said::<3>(number)[2] == 1;
    if group.members().iter().all(|member| open(&member.info)) {
        return collective.begin(group, around, spare);
    }
    let verdict = own_verdict(collective, group, around);
    group.own().judge(number, verdict);
    group.look_anew();
    Look::Goes(Phase::Judged)
}

fn own_verdict(collective: &Collective, group: &Group, around: Surroundings<'_>) -> u8 {
    let number = group.number();
    let memory = |member: usize| Memory::of(&group.members()[member].info, number);
    let place = |member: usize| group.members()[member].place;
    let opens = |member: usize| {
        let Memory { input, output } = memory(member);
        let address = if input == 0 { output } else { input };
        around.road.opens(around.node, place(member), address)
    };
    let part = &collective.part;
    let reaches = |member: usize| {
        let (place, Memory { input, output }) = (place(member), memory(member));
        // What a leader hands out is its result.
        let reduces = matches!(part.kind, CollectiveKind::Reduce { .. });
        let led = collective.led.as_ref().filter(|_| reduces);
        let handed_out = led.is_some_and(|led| led.hands_out() && led.leader() == member);
        let read = if handed_out {
            part.bytes
        } else {
            reduce::read_of_output(part, group, member)
        };
        let resolves =
            |address, len| len == 0 || around.road.resolve(place, address, len).is_some();
        opens(member) || (resolves(input, part.bytes) && resolves(output, read))
    };
    of(group.others().all(opens), || match part.kind {
        CollectiveKind::Broadcast { root } => {
            let root = group.place_of(root, around.first);
            root == group.me() || reaches(root)
        }
        _ => group.others().all(reaches),
    })
}

/// The verdict of a member to whose process all the others are open, or that reaches what it has to read.
pub(super) fn of(all_are_open: bool, reaches: impl FnOnce() -> bool) -> u8 {
    match all_are_open {
        true => ALL,
        false if reaches() => THESE,
        false => NONE,
    }
}

/// What all members say together, when all have said something.
pub(super) fn verdict(group: &mut Group, around: Surroundings<'_>) -> Option<bool> {
    let number = group.number();
    if !group.all(|info| info.verdict(number) != 0) {
        return None;
    }
    group.tell_all(around, Phase::Judged);
    let verdicts = group.members().iter();
    let worst = verdicts.map(|member| member.info.verdict(number)).max();
    group.open = worst == Some(ALL);
    Some(worst < Some(NONE))
}
