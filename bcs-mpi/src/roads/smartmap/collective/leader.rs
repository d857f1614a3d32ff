//! The part of a node in a collective of a communicator that spans nodes.
//!
//! ```text
//!  members   enter ─ fold ──────────────────────► Told ─ copy ─► over
//!              │      │                            ▲       │
//!  leader    enter ─ fold ─► AtNic ·········· tell ─ wait ─► over
//! ```
//!
//! The *leader* is the root if that is here, else the first member of the node in the order of the
//! communicator. When all members of the node have entered, and have called the same, it goes to its NIC for
//! all of them ([`order`](super::order)); what its NIC then has from it is what the NIC would have folded itself
//! (law 9: in the order of the communicator, then the tree over nodes), so the bits are the same. Then it tells
//! the others what came of it, with the data.
//!
//! **One at a time.** All of it is one collective of the node's queue, from the post to the end: so members are
//! in the same one, whatever they have posted. NICs begin one collective of a context in a slice as well; so
//! this delays little.
//!
//! **Who does not call the same** enters all the same: all collectives of a communicator take this road. All members
//! find then that they differ (nobody relies on a leader for that: who it is depends on what is called), and *leave
//! it to their NICs*: each posts its own arrival. The NIC has those of all then, and tells everybody on all nodes
//! who called what, as if there were no other road.
//!
//! **Waking.** In a short one members but the leader have nothing to do when all have entered: the last one wakes
//! the leader alone, and that wakes the others in the end, each once.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::agreement::disagreement;
use super::beyond_node::BeyondNode;
use super::group::Group;
use super::order::{Number, Order};
use super::phase::{Look, Phase};
use super::phased::Phased;
use super::steps;
use super::surroundings::Surroundings;
use crate::data::{Piece, bytes};
use crate::steps::Part;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::request::Failure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

impl Phased {
    /// A collective of several nodes. `room` is memory to use again.
    pub(in crate::roads::smartmap) fn hierarchical(
        (whole, number): (Part, Number),
        group: &Group,
        first: u32,
        room: &mut Vec<u8>,
    ) -> Self {
        let root = match whole.kind {
            CollectiveKind::Broadcast { root } => Some(root),
            CollectiveKind::Reduce { root, .. } => root,
            _ => None,
        };
        let leader = root.and_then(|root| group.find(root, first)).unwrap_or(0);
        let leads = leader == group.me;
        let rank = group.rank_of(leader, first);
        let mut beyond = BeyondNode {
            whole,
            number,
            leader,
            data: 0,
            room: Vec::new(),
            order: None,
            answer: None,
            left: false,
            agreed: false,
            copied: false,
        };
        let mut part = whole;
        match &mut part.kind {
            CollectiveKind::Broadcast { root } => {
                *root = rank;
                if leads {
                    beyond.data = whole.input.unwrap_or(whole.output);
                    part.input = Some(beyond.data);
                    part.output = 0;
                }
            }
            CollectiveKind::Reduce { root, .. } => {
                *root = Some(rank);
                part.output = 0;
                if leads {
                    beyond.data = whole.output;
                    if beyond.data == 0 {
                        beyond.room = std::mem::take(room);
                        if beyond.room.len() < whole.bytes {
                            beyond.room = vec![0; whole.bytes];
                        }
                        beyond.data = beyond.room.as_mut_ptr().expose_provenance() as u64;
                    }
                    part.output = beyond.data;
                }
            }
            _ => {}
        }
        let mut collective = Self::new(part);
        collective.beyond = Some(Box::new(beyond));
        collective
    }

    fn beyond_mut(&mut self) -> &mut BeyondNode {
        let beyond = self.beyond.as_mut();
        beyond.expect("it is one of several nodes")
    }

    fn leads(&self, group: &Group) -> bool {
        self.beyond
            .as_ref()
            .is_some_and(|beyond| beyond.leader == group.me)
    }

    /// This rank's NIC goes on.
    fn goes_to_nic(&mut self, part: Part, for_node: bool) -> Look {
        // What the node has folded without all that belongs to it must not become a part of the result.
        let spoilt_by = self.culprit();
        let beyond = self.beyond_mut();
        beyond.order = Some(Order {
            number: beyond.number,
            part,
            for_node,
            spoilt_by,
        });
        Look::Goes(Phase::AtNic)
    }
}

/// This rank has entered.
pub(super) fn entered(collective: &Phased, group: &mut Group, around: Surroundings<'_>) -> Look {
    let Some(beyond) = &collective.beyond else {
        return Look::Goes(Phase::Entered);
    };
    if beyond.leader == group.me || collective.is_in_memory() || collective.offset.is_some() {
        return Look::Goes(Phase::Entered);
    }
    group.published();
    // Of many, the last to enter has told the others.
    if !group.is_counted() && group.all_are_there() {
        let differ = disagreement(group, around.first).is_some();
        // There may be no leader then: who it is depends on what is called.
        let whom = (!differ).then_some(beyond.leader);
        group.tell(around, Phase::Entered, whom);
        if differ {
            group.tell(around, Phase::Told, None);
        }
    }
    Look::Goes(Phase::Told)
}

/// Leaves a collective to the NICs: its members do not call the same.
pub(super) fn leave(collective: &mut Phased, group: &mut Group, around: Surroundings<'_>) -> Look {
    group.tell(around, Phase::Told, None);
    let beyond = collective.beyond_mut();
    beyond.left = true;
    let whole = beyond.whole;
    collective.goes_to_nic(whole, false)
}

/// The node has its result, which is at the leader; or what it broadcasts can be handed out.
pub(super) fn folded(collective: &mut Phased, group: &Group) -> Look {
    if !collective.leads(group) {
        return Look::Goes(Phase::Told);
    }
    let beyond = collective.beyond_mut();
    let mut part = beyond.whole;
    if matches!(part.kind, CollectiveKind::Reduce { .. }) {
        part.input = Some(beyond.data);
    }
    collective.goes_to_nic(part, true)
}

/// All have entered a long broadcast, and can reach the leader's memory. On the root's node the data are
/// there already, and are copied while the NICs take them to the others.
pub(super) fn broadcast(
    collective: &mut Phased,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let beyond = collective.beyond_mut();
    let CollectiveKind::Broadcast { root } = beyond.whole.kind else {
        unreachable!("it is a broadcast");
    };
    let here = group.find(root, around.first) == Some(beyond.leader);
    if here && beyond.leader != group.me {
        copy(collective, group, around);
    }
    folded(collective, group)
}

/// Copies what the leader hands out to this rank's memory.
fn copy(collective: &mut Phased, group: &mut Group, around: Surroundings<'_>) {
    let beyond = collective.beyond_mut();
    beyond.copied = true;
    let (leader, whole) = (beyond.leader, beyond.whole);
    let [input, output] = group.members[leader].info.said(group.number);
    let (from, direction) = match whole.kind {
        CollectiveKind::Broadcast { .. } => (input, around.last_direction.turn(whole.bytes as u64)),
        // As it has folded.
        _ => (output, collective.direction),
    };
    let into = Piece::new(whole.output, whole.bytes);
    let fetched = group.fetch_along(around, direction, (leader, from), &into);
    collective.fetched(fetched);
    let step = fetched.map_or(steps::UNREAD, |()| steps::READ);
    collective.say(group, step);
    group.tell_if_all(around, steps::READ, Phase::Read, Some(leader));
}

/// The leader waits for its NIC, and so does who has left it to its own.
pub(super) fn wait_for_nic(
    collective: &mut Phased,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let beyond = collective.beyond_mut();
    let Some(outcome) = beyond.answer.take() else {
        return Look::Waits;
    };
    group.settle();
    let (left, hands_out, data) = (beyond.left, beyond.hands_out(), beyond.data);
    if outcome.failure != Failure::None {
        collective.failure = outcome.failure;
        collective.said = outcome.len;
    }
    if left {
        return Look::Over;
    }
    let hands_out = hands_out && collective.failure == Failure::None;
    let (number, bytes_out) = (group.number, collective.part.bytes);
    if hands_out && bytes_out <= PAYLOAD_BYTES {
        // SAFETY: whoever posted it promised that, or it is memory of the collective's own; the NIC has
        // written there what it had to.
        let data = unsafe { bytes(data, bytes_out) };
        group.own().contribute(number, data);
    }
    let outcome = [collective.failure as u64, collective.said];
    group.own().say_outcome(outcome);
    group.own().advance(number, steps::TOLD);
    group.published();
    group.tell(around, Phase::Told, None);
    if !hands_out {
        return Look::Over;
    }
    if collective.offset.is_some() {
        return hand_out_in_parts(collective);
    }
    if !collective.is_in_memory() {
        return Look::Over;
    }
    group.look_anew();
    Look::Goes(Phase::Read)
}

/// The others wait for the leader's word.
pub(super) fn wait_for_leader(
    collective: &mut Phased,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let number = group.number;
    let (in_parts, in_memory) = (collective.offset.is_some(), collective.is_in_memory());
    let beyond = collective.beyond_mut();
    let leader = &group.members[beyond.leader].info;
    if leader.step(number) < steps::TOLD {
        if beyond.agreed || !group.all_are_there() {
            return Look::Waits;
        }
        if disagreement(group, around.first).is_some() {
            return leave(collective, group, around);
        }
        beyond.agreed = true;
        return Look::Waits;
    }
    let [code, said] = leader.outcome();
    group.settle();
    let failure = Failure::from_code(u8::try_from(code).unwrap_or(u8::MAX));
    if failure != Failure::None {
        collective.failure = failure;
        collective.said = said;
        return Look::Over;
    }
    if !beyond.hands_out() || beyond.copied {
        return Look::Over;
    }
    if in_parts {
        return hand_out_in_parts(collective);
    }
    if in_memory {
        copy(collective, group, around);
        return Look::Over;
    }
    let Part { output, bytes, .. } = beyond.whole;
    // SAFETY: whoever posted it promised that.
    let into = unsafe { crate::data::bytes_mut(output, bytes) };
    let leader = &group.members[beyond.leader].info;
    leader.contribution(number, into);
    Look::Over
}

/// Not all memory can be reached: what the leader hands out goes through its record, as a broadcast on the node.
fn hand_out_in_parts(collective: &mut Phased) -> Look {
    let part = collective.part;
    let output = collective.beyond_mut().whole.output;
    let (CollectiveKind::Broadcast { root }
    | CollectiveKind::Reduce {
        root: Some(root), ..
    }) = part.kind
    else {
        unreachable!("it has data, and a leader");
    };
    // Of the leader, what it has folded.
    let input = match part.kind {
        CollectiveKind::Broadcast { .. } => part.input,
        _ => (part.output != 0).then_some(part.output),
    };
    collective.part = Part {
        kind: CollectiveKind::Broadcast { root },
        bytes: part.bytes,
        input,
        output: if input.is_some() { 0 } else { output },
    };
    collective.beyond = None;
    collective.in_parts()
}

/// The leader waits until the others have copied what it hands out.
pub(super) fn all_have_read(collective: &mut Phased, group: &mut Group) -> Look {
    if !group.have_all(steps::READ) {
        return Look::Waits;
    }
    collective.heed_any(group, steps::UNREAD);
    Look::Over
}

/// Memory of a collective that is over, for the next one.
pub(super) fn spent(collective: &mut Phased, most: usize) -> Option<Vec<u8>> {
    let room = std::mem::take(&mut collective.beyond.as_mut()?.room);
    (!room.is_empty() && room.len() <= most).then_some(room)
}
