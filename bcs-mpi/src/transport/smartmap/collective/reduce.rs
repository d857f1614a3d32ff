//! A long reduction: the members share the work (the paper's "threaded" reduce).
//!
//! Each member has a *share* of the vector and folds it from the memory of all members, in the
//! order of the communicator, in chunks that fit in the first-level cache. So one member folds an
//! element, in the order of law 9, and the bits are those of the NICs.
//!
//! Each writes its folded share to the destinations ([`super::outputs`]): into the outputs of all,
//! or of the root, if these lie in slots. Otherwise the result of a share stays with its member,
//! and the others, or the root, copy it from there when it is complete. That is also right in
//! place: no other member reads this share of any member's buffer, and the share of another member
//! is written only when that has folded it.
//!
//! For comparison, the root can fold everything alone (`bcs run --folding serial`). That is not the
//! paper's "serial" algorithm: there ranks take turns, and each folds its data into the root's
//! buffer.
//!
//! The paper leaves operations with places and those of the program to its serial algorithm. Places
//! (`MPI_MINLOC`) are data here, so they are shared like all others; functions of the program have
//! an algorithm of their own (`collective/fold.rs`).
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::member::Member;
use super::member_buffers::MemberBuffers;
use super::outputs::Outputs;
use super::phase::{Phase, PhaseOutcome};
use super::phased::PhasedCollective;
use super::spare::SpareBuffers;
use super::steps;
use crate::data::{self, ByteRange};
use crate::steps::CollectiveArguments;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::NodeRanks;
use bcs_core::limits::FOLDED_CHUNK_BYTES;
use bcs_core::reduction::arithmetic::{self, Contributions};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestFailure;
use std::ops::Range;
use std::ptr::NonNull;

/// Shares begin at multiples of this many elements: on cache lines, if the vector does.
const ELEMENTS: usize = 64;

struct Reduction {
    op: Op,
    datatype: Datatype,
    /// The member that wants the result. Without one all do.
    root: Option<usize>,
}

impl Reduction {
    fn of(part: &CollectiveArguments, group: &LocalGroup, ranks: NodeRanks) -> Self {
        let CollectiveKind::Reduce { root, op, datatype } = part.kind else {
            unreachable!("only reductions are folded");
        };
        let root = root.map(|root| group.member_of(root, ranks));
        Self { op, datatype, root }
    }

    /// Returns the member that folds everything, if the work is not shared.
    fn alone(&self, group: &LocalGroup) -> Option<usize> {
        group.serial.then(|| self.root.unwrap_or(0))
    }
}

/// Returns the bytes that a member folds. `alone` folds all.
fn share(
    part: &CollectiveArguments,
    datatype: Datatype,
    member: usize,
    members: usize,
    alone: Option<usize>,
) -> Range<usize> {
    let size = datatype.size();
    let elements = part.bytes / size;
    if let Some(alone) = alone {
        return if member == alone {
            0..elements * size
        } else {
            0..0
        };
    }
    let each = elements.div_ceil(members).next_multiple_of(ELEMENTS);
    let edge = |member: usize| (each * member).min(elements) * size;
    edge(member)..edge(member + 1)
}

/// Allocates memory for the share of a member that has no other place for it.
pub(super) fn room_for_partial(
    part: &CollectiveArguments,
    group: &LocalGroup,
    spare: &mut SpareBuffers,
) -> Vec<u8> {
    let CollectiveKind::Reduce { datatype, .. } = part.kind else {
        return Vec::new();
    };
    if !part.output.is_empty() || group.serial {
        return Vec::new();
    }
    let share = share(part, datatype, group.me, group.members.len(), None);
    let mut room = std::mem::take(&mut spare.partial);
    if room.len() < share.len() {
        room = vec![0; share.len()];
    }
    room
}

/// Returns the bytes of another member's output that this one reads.
pub(super) fn read_of_output(
    part: &CollectiveArguments,
    group: &LocalGroup,
    member: usize,
) -> usize {
    match part.kind {
        CollectiveKind::Reduce { root: None, .. } => part.bytes,
        CollectiveKind::Reduce { datatype, .. } if !part.output.is_empty() && !group.serial => {
            share(part, datatype, member, group.members.len(), None).len()
        }
        _ => 0,
    }
}

/// Begins when all have entered, and all memory can be reached.
pub(super) fn begin(
    collective: &mut PhasedCollective,
    group: &mut LocalGroup,
    around: CollectiveEnvironment<'_>,
    spare: &mut SpareBuffers,
) -> PhaseOutcome {
    let reduction = Reduction::of(&collective.part, group, around.ranks);
    collective.copied = 0;
    collective.direction = around.last_direction.turn(collective.part.bytes as u64);
    let placed = fold(collective, &reduction, group, around, spare);
    let root = reduction.root;
    collective.all_placed = placed && root.is_none();
    if root == Some(group.me) {
        return PhaseOutcome::Continue(Phase::Folded);
    }
    let step = match collective.failure {
        RequestFailure::None if placed => steps::PLACED,
        RequestFailure::None => steps::FOLDED,
        _ => steps::FAULTY,
    };
    collective.say(group, step);
    group.tell_if_all(around, steps::FOLDED, Phase::Folded, root);
    match root {
        None => PhaseOutcome::Continue(Phase::Folded),
        Some(_) if collective.for_leader.is_some() => PhaseOutcome::Over,
        Some(_) => PhaseOutcome::Continue(Phase::Read),
    }
}

/// Copies the shares of others, as far as they are folded.
pub(super) fn copy(
    collective: &mut PhasedCollective,
    group: &mut LocalGroup,
    around: CollectiveEnvironment<'_>,
) -> PhaseOutcome {
    let reduction = Reduction::of(&collective.part, group, around.ranks);
    let (number, members) = (group.number, group.members.len());
    let output = collective.part.output;
    for member in group.others().skip(collective.copied) {
        let info = &group.members[member].info;
        let step = info.step(number);
        if step < steps::FOLDED {
            return PhaseOutcome::Waits;
        }
        collective.copied += 1;
        collective.all_placed &= step == steps::PLACED;
        let alone = reduction.alone(group);
        let share = share(&collective.part, reduction.datatype, member, members, alone);
        if step == steps::FAULTY {
            collective.heed(group, member);
        } else if step != steps::PLACED && !share.is_empty() {
            let from = MemberBuffers::of(info, number).output;
            // Memory that is kept for the root begins with the share.
            let from = match reduction.root {
                Some(_) => from,
                None => from.wrapping_add(share.start as u64),
            };
            let into = output.part(share).into();
            let fetched = group.fetch_along(around, collective.direction, (member, from), &into);
            collective.fetched(fetched);
        }
    }
    if collective.for_leader.is_some() {
        return PhaseOutcome::Over;
    }
    if collective.all_placed {
        return PhaseOutcome::Over; // No other member reads this memory any more, or waits.
    }
    let step = steps::end(collective.failure);
    collective.say(group, step);
    if reduction.root.is_some() {
        group.tell(around, Phase::Read, None);
        return PhaseOutcome::Over;
    }
    group.tell_if_all(around, steps::DONE, Phase::Read, None);
    PhaseOutcome::Continue(Phase::Read)
}

/// Waits for others that may still read this rank's memory.
pub(super) fn finish(
    collective: &mut PhasedCollective,
    group: &mut LocalGroup,
    ranks: NodeRanks,
) -> PhaseOutcome {
    let reduction = Reduction::of(&collective.part, group, ranks);
    match reduction.root {
        Some(root) => match group.members[root].info.step(group.number) {
            step if step < steps::DONE => return PhaseOutcome::Waits,
            steps::FAULTY => collective.heed(group, root),
            _ => {}
        },
        None if !group.have_all(steps::DONE) => return PhaseOutcome::Waits,
        None => collective.heed_any(group, steps::FAULTY),
    }
    PhaseOutcome::Over
}

/// Folds this rank's share. Returns whether all members that want it have it.
fn fold(
    collective: &mut PhasedCollective,
    reduction: &Reduction,
    group: &LocalGroup,
    around: CollectiveEnvironment<'_>,
    spare: &mut SpareBuffers,
) -> bool {
    let part = collective.part;
    let members = group.members.len();
    let alone = reduction.alone(group);
    let share = share(&part, reduction.datatype, group.me, members, alone);
    let meant = match reduction.root {
        None if group.serial => 0..0, // For comparison, they copy.
        None => 0..members,
        Some(root) if root == group.me => 0..0,
        Some(root) => root..root + 1,
    };
    let placed = (!meant.is_empty())
        .then(|| Outputs::of(meant, &share, part.bytes, group, around))
        .flatten();
    let is_placed = placed.is_some();
    let outputs = placed.unwrap_or_else(|| match reduction.root {
        Some(root) if root != group.me => {
            let partial = &mut collective.partial;
            let address = partial.as_mut_ptr().expose_provenance() as u64;
            // SAFETY: it belongs to this collective, which folds here and uses it for nothing else
            // meanwhile.
            Outputs::own(unsafe { ByteRange::new(address, partial.len()) }, false)
        }
        _ => {
            let in_place = part.input == Some(part.output);
            Outputs::own(part.output.part(share.clone()), in_place)
        }
    });
    let contributions = contributions(&part, &share, group, around);
    let what = (reduction.op, reduction.datatype);
    let chunk = FOLDED_CHUNK_BYTES / reduction.datatype.size() * reduction.datatype.size();
    let (room, operand) = spare
        .chunks(2 * FOLDED_CHUNK_BYTES)
        .split_at_mut(FOLDED_CHUNK_BYTES);
    for Range { start, end } in collective.direction.chunks(share.clone(), chunk) {
        let (at, len) = (start - share.start, end - start);
        let into = outputs.room(at, &mut room[..len]);
        match &contributions {
            Some(starts) => {
                // SAFETY: these bytes were resolved, or are this rank's own.
                let all = unsafe { Contributions::new(starts, share.len()) };
                collective.folded(arithmetic::fold(what, all, at, into));
            }
            None => {
                let folding = ChunkFold {
                    group,
                    around,
                    reduction,
                    start,
                };
                folding.run(collective, into, &mut operand[..len]);
            }
        }
        outputs.put(at, into);
    }
    is_placed
}

/// Returns where the contributions of all members to a share are, if those of all others lie in
/// slots.
fn contributions(
    part: &CollectiveArguments,
    share: &Range<usize>,
    group: &LocalGroup,
    around: CollectiveEnvironment<'_>,
) -> Option<Vec<NonNull<u8>>> {
    let start = share.start as u64;
    let at_member = |(index, member): (usize, &Member)| {
        if index == group.me {
            return NonNull::new(data::start(part.input?.address() + start));
        }
        let from = MemberBuffers::of(&member.info, group.number).input;
        let from = from.wrapping_add(start);
        around.peer_memory.resolve(member.place, from, share.len())
    };
    group.members.iter().enumerate().map(at_member).collect()
}

/// A chunk, from byte `start` of the vector on.
struct ChunkFold<'a> {
    group: &'a LocalGroup,
    around: CollectiveEnvironment<'a>,
    reduction: &'a Reduction,
    start: usize,
}

impl ChunkFold<'_> {
    /// Folds a chunk of all members. The first two may change places, since all operations are
    /// commutative to the bit. So this rank's own data need never be copied.
    fn run(&self, collective: &mut PhasedCollective, into: &mut [u8], operand: &mut [u8]) {
        let what = (self.reduction.op, self.reduction.datatype);
        let me = self.group.me;
        let input = collective.part.input.expect("all contribute");
        // SAFETY: `into` does not overlap it.
        let own = unsafe { input.part(self.start..self.start + into.len()).bytes() };
        let first = usize::from(me == 0);
        self.fetch(collective, first, into);
        for member in (0..self.group.members.len()).filter(|&member| member != first) {
            if member == me {
                collective.combine(what, into, own);
                continue;
            }
            self.fetch(collective, member, operand);
            collective.combine(what, into, operand);
        }
    }

    fn fetch(&self, collective: &mut PhasedCollective, member: usize, into: &mut [u8]) {
        let info = &self.group.members[member].info;
        let from = MemberBuffers::of(info, self.group.number).input;
        let from = from.wrapping_add(self.start as u64);
        let address = into.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: it is borrowed for this call.
        let into = unsafe { ByteRange::new(address, into.len()) };
        collective.fetched(self.group.fetch(self.around, member, from, &into.into()));
    }
}
