//! A long reduction: the members share the work (the paper's "threaded" reduce).
//!
//! Each member has a *share* of the vector and folds it, in chunks that the first caches hold, from the
//! memory of all members, in the order of the communicator. So every element is folded by one
//! member, in the order that law 9 has, and the bits are those of the NICs'.
//!
//! In a reduction to all the result of a share goes to its member's output, and the others copy it from
//! there when it is whole. That is also right in place: a member writes its share of its own buffer,
//! which nobody else reads, and the share of another one only when that has folded it.
//!
//! In a reduction to one, members put what they have folded where the root wants it, if that lies in a
//! slot; otherwise they keep it for the root to copy.
//!
//! To compare, the root can fold everything alone (`bcs run --folding serial`). That is not the paper's
//! "serial" algorithm: there ranks take turns, and each folds its data into the root's buffer.
//!
//! The paper leaves operations with places and those of the program to its serial algorithm. Places
//! (`MPI_MINLOC`) are data here, so they are shared like all others; functions of the program's have
//! a way of their own (`collective/fold.rs`).
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::group::Group;
use super::named_memory::Memory;
use super::phase::{Look, Phase};
use super::phased::Phased;
use super::spare::Spare;
use super::steps;
use super::surroundings::Surroundings;
use crate::data::Plain;
use crate::steps::Part;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::limits::FOLDED_CHUNK_BYTES;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::Failure;
use std::ops::Range;
use std::ptr::NonNull;

/// Shares begin at multiples of so many elements: on cache lines, if the vector does.
const ELEMENTS: usize = 64;

struct Reduction {
    op: Op,
    datatype: Datatype,
    /// The member that wants the result; without one all do.
    root: Option<usize>,
}

impl Reduction {
    fn of(part: &Part, group: &Group, first: u32) -> Self {
        let CollectiveKind::Reduce { root, op, datatype } = part.kind else {
            unreachable!("only reductions are folded");
        };
        let root = root.map(|root| group.member_of(root, first));
        Self { op, datatype, root }
    }

    /// Who folds everything, if the work is not shared.
    fn alone(&self, group: &Group) -> Option<usize> {
        group.serial.then(|| self.root.unwrap_or(0))
    }
}

/// The bytes that a member folds; `alone` folds all.
fn share(
    part: &Part,
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

/// Memory for what a member folds that has nowhere else to put it.
pub(super) fn room_for_partial(part: &Part, group: &Group, spare: &mut Spare) -> Vec<u8> {
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

/// Bytes of another member's output that this one reads.
pub(super) fn read_of_output(part: &Part, group: &Group, member: usize) -> usize {
    match part.kind {
        CollectiveKind::Reduce { root: None, .. } => part.bytes,
        CollectiveKind::Reduce { datatype, .. } if !part.output.is_empty() && !group.serial => {
            share(part, datatype, member, group.members.len(), None).len()
        }
        _ => 0,
    }
}

/// All have entered, and all memory can be reached.
pub(super) fn begin(
    collective: &mut Phased,
    group: &mut Group,
    around: Surroundings<'_>,
    spare: &mut Spare,
) -> Look {
    let reduction = Reduction::of(&collective.part, group, around.first);
    collective.copied = 0;
    collective.direction = around.last_direction.turn(collective.part.bytes as u64);
    let placed = fold(collective, &reduction, group, around, spare);
    let root = reduction.root;
    if root == Some(group.me) {
        return Look::Goes(Phase::Folded);
    }
    let step = match collective.failure {
        Failure::None if placed => steps::PLACED,
        Failure::None => steps::FOLDED,
        _ => steps::FAULTY,
    };
    collective.say(group, step);
    group.tell_if_all(around, steps::FOLDED, Phase::Folded, root);
    match root {
        None => Look::Goes(Phase::Folded),
        Some(_) if collective.for_leader.is_some() => Look::Over,
        Some(_) => Look::Goes(Phase::Read),
    }
}

/// Copies what others have folded, as far as they have.
pub(super) fn copy(collective: &mut Phased, group: &mut Group, around: Surroundings<'_>) -> Look {
    let reduction = Reduction::of(&collective.part, group, around.first);
    let (number, members) = (group.number, group.members.len());
    let output = collective.part.output;
    for member in group.others().skip(collective.copied) {
        let info = &group.members[member].info;
        let step = info.step(number);
        if step < steps::FOLDED {
            return Look::Waits;
        }
        collective.copied += 1;
        let alone = reduction.alone(group);
        let share = share(&collective.part, reduction.datatype, member, members, alone);
        if step == steps::FAULTY {
            collective.heed(group, member);
        } else if step != steps::PLACED && !share.is_empty() {
            let from = Memory::of(info, number).output;
            // What is kept for the root begins with the share.
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
        return Look::Over;
    }
    let step = steps::end(collective.failure);
    collective.say(group, step);
    if reduction.root.is_some() {
        group.tell(around, Phase::Read, None);
        return Look::Over;
    }
    group.tell_if_all(around, steps::DONE, Phase::Read, None);
    Look::Goes(Phase::Read)
}

/// Others may still read this rank's memory.
pub(super) fn finish(collective: &mut Phased, group: &mut Group, first: u32) -> Look {
    let reduction = Reduction::of(&collective.part, group, first);
    match reduction.root {
        Some(root) => match group.members[root].info.step(group.number) {
            step if step < steps::DONE => return Look::Waits,
            steps::FAULTY => collective.heed(group, root),
            _ => {}
        },
        None if !group.have_all(steps::DONE) => return Look::Waits,
        None => collective.heed_any(group, steps::FAULTY),
    }
    Look::Over
}

/// Folds this rank's share. Returns whether it is where the root wants it.
fn fold(
    collective: &mut Phased,
    reduction: &Reduction,
    group: &Group,
    around: Surroundings<'_>,
    spare: &mut Spare,
) -> bool {
    let part = collective.part;
    let members = group.members.len();
    let alone = reduction.alone(group);
    let share = share(&part, reduction.datatype, group.me, members, alone);
    let root = reduction.root.filter(|&root| root != group.me);
    let root_has = root.and_then(|root| {
        let member = &group.members[root];
        let output = Memory::writable_output(&member.info, group.number, part.bytes)?;
        around.peer_memory.resolve(member.place, output, part.bytes)
    });
    let in_place = part.input == Some(part.output);
    let chunk = FOLDED_CHUNK_BYTES / reduction.datatype.size() * reduction.datatype.size();
    let (buffer, operand) = spare
        .chunks(2 * FOLDED_CHUNK_BYTES)
        .split_at_mut(FOLDED_CHUNK_BYTES);
    for Range { start, end } in collective.direction.chunks(share.clone(), chunk) {
        let len = end - start;
        let (buffer, operand) = (&mut buffer[..len], &mut operand[..len]);
        let folding = Folding {
            group,
            around,
            reduction,
            start,
        };
        if let Some(to) = root_has {
            folding.run(collective, buffer, operand);
            // SAFETY: `start` is within the bytes that were resolved.
            let to = unsafe { to.add(start) };
            copy_to(to, buffer);
        } else if root.is_some() {
            let at = start - share.start;
            let mut partial = std::mem::take(&mut collective.partial);
            folding.run(collective, &mut partial[at..at + len], operand);
            collective.partial = partial;
        } else {
            // SAFETY: nobody else writes this share. In place it is the input, which is borrowed in `run`, so a
            // copy is made there.
            let into = || unsafe { part.output.part(start..end).bytes_mut() };
            if in_place {
                folding.run(collective, buffer, operand);
                into().copy_from_slice(buffer);
            } else {
                folding.run(collective, into(), operand);
            }
        }
    }
    root_has.is_some()
}

/// Puts a chunk where the root wants it, which nobody else writes or reads now.
fn copy_to(to: NonNull<u8>, chunk: &[u8]) {
    // SAFETY: so many bytes are mapped there, in another rank's slot (they were resolved), and the root
    // has promised that they may be written until it is done.
    unsafe { std::ptr::copy_nonoverlapping(chunk.as_ptr(), to.as_ptr(), chunk.len()) };
}

/// A chunk, from byte `start` of the vector on.
struct Folding<'a> {
    group: &'a Group,
    around: Surroundings<'a>,
    reduction: &'a Reduction,
    start: usize,
}

impl Folding<'_> {
    /// Folds what all members have of a chunk. The first two may change places, since all operations
    /// are commutative to the bit: so this rank's own data need never be copied.
    fn run(&self, collective: &mut Phased, into: &mut [u8], operand: &mut [u8]) {
        let what = (self.reduction.op, self.reduction.datatype);
        let me = self.group.me;
        let input = collective.part.input.expect("all contribute");
        // SAFETY: `into` is elsewhere.
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

    fn fetch(&self, collective: &mut Phased, member: usize, into: &mut [u8]) {
        let info = &self.group.members[member].info;
        let from = Memory::of(info, self.group.number).input;
        let from = from.wrapping_add(self.start as u64);
        let address = into.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: it is borrowed for this call.
        let into = unsafe { Plain::new(address, into.len()) };
        collective.fetched(self.group.fetch(self.around, member, from, &into.into()));
    }
}
