//! The part of a node in a collective of a communicator that spans nodes.
//!
//! ```text
//!  members   enter ─ fold ──────────────────────► Told ─ copy ─► over
//!              │      │                            ▲       │
//!  leader    enter ─ fold ─► Far ··· its NIC ··· tell ─ wait ─► over
//! ```
//!
//! The *leader* is the root if that is here, else the first member of the node in the order of the
//! communicator. When all members of the node have entered, and have called the same, it goes to its NIC for
//! all of them ([`Order`]); what its NIC then has from it is what the NIC would have folded itself (law 9: in
//! the order of the communicator, then the tree over nodes), so the bits are the same. Then it tells the
//! others what came of it, with the data.
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
use super::group::Group;
use super::machine::{Collective, Look, Phase};
use super::{GroupId, Surroundings, steps};
use crate::data::{Piece, bytes};
use crate::plan::Part;
use crate::roads::Outcome;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::request::Failure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// Which collective it is to the NICs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub(crate) context: u32,
    pub(crate) sequence: u64,
}

/// What a rank is to post to its NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) group: GroupId,
    pub(crate) number: Number,
    pub(crate) part: Part,
    /// For all members of the node,
    pub(crate) for_node: bool,
    /// which have nothing to give, because memory that this world rank named is not there.
    pub(crate) spoilt_by: Option<u32>,
}

/// The last two of an order.
pub(super) type ForWhom = (bool, Option<u32>);

/// Of a collective of several nodes.
#[derive(Debug)]
pub(super) struct Led {
    /// What the program posted; that of the collective is what is done on this node.
    whole: Part,
    number: Number,
    leader: usize,
    /// At the leader: where the result of its node is, and what it hands out.
    data: u64,
    /// Where that is if the program has no place for it.
    room: Vec<u8>,
    /// To the NIC, not yet taken.
    order: Option<(Part, ForWhom)>,
    /// What the NIC has answered.
    answer: Option<Outcome>,
    /// It is left to the NICs.
    left: bool,
    /// All members have entered, and call the same.
    agreed: bool,
    /// This member has its data already.
    copied: bool,
}

impl Led {
    /// What the program called.
    pub(super) fn called(&self) -> CollectiveKind {
        self.whole.kind
    }

    pub(super) fn leader(&self) -> usize {
        self.leader
    }

    /// Whether the leader has something for the others in the end.
    pub(super) fn hands_out(&self) -> bool {
        let Part { kind, bytes, .. } = self.whole;
        let to_all = matches!(
            kind,
            CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { root: None, .. }
        );
        to_all && bytes > 0
    }

    /// What is to be posted to the NIC, once.
    pub(super) fn take_order(&mut self) -> Option<(Number, Part, ForWhom)> {
        let (part, for_whom) = self.order.take()?;
        Some((self.number, part, for_whom))
    }

    pub(super) fn answered(&mut self, outcome: Outcome) {
        self.answer = Some(outcome);
    }
}

impl Collective {
    /// A collective of several nodes. `room` is memory to use again.
    pub(super) fn led(
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
        let leads = leader == group.me();
        let rank = group.rank_of(leader, first);
        let mut led = Led {
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
                    led.data = whole.input.unwrap_or(whole.output);
                    part.input = Some(led.data);
                    part.output = 0;
                }
            }
            CollectiveKind::Reduce { root, .. } => {
                *root = Some(rank);
                part.output = 0;
                if leads {
                    led.data = whole.output;
                    if led.data == 0 {
                        led.room = std::mem::take(room);
                        if led.room.len() < whole.bytes {
                            led.room = vec![0; whole.bytes];
                        }
                        led.data = led.room.as_mut_ptr().expose_provenance() as u64;
                    }
                    part.output = led.data;
                }
            }
            _ => {}
        }
        let mut collective = Self::new(part);
        collective.led = Some(Box::new(led));
        collective
    }

    fn the_led(&mut self) -> &mut Led {
        let led = self.led.as_mut();
        led.expect("it is one of several nodes")
    }

    fn leads(&self, group: &Group) -> bool {
        self.led
            .as_ref()
            .is_some_and(|led| led.leader == group.me())
    }

    /// This rank's NIC goes on.
    fn goes_to_nic(&mut self, part: Part, for_node: bool) -> Look {
        // What the node has folded without all that belongs to it must not become a part of the result.
        let spoilt_by = self.culprit();
        self.the_led().order = Some((part, (for_node, spoilt_by)));
        Look::Goes(Phase::Far)
    }
}

/// This rank has entered.
pub(super) fn entered(
    collective: &Collective,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let Some(led) = &collective.led else {
        return Look::Goes(Phase::Entered);
    };
    if led.leader == group.me() || collective.is_long() || collective.offset.is_some() {
        return Look::Goes(Phase::Entered);
    }
    group.published();
    // Of many, the last to enter has told the others.
    if !group.is_counted() && group.all_are_there() {
        let differ = disagreement(group, around.first).is_some();
        // There may be no leader then: who it is depends on what is called.
        let whom = (!differ).then_some(led.leader);
        group.tell(around, Phase::Entered, whom);
        if differ {
            group.tell(around, Phase::Told, None);
        }
    }
    Look::Goes(Phase::Told)
}

/// Leaves a collective to the NICs: its members do not call the same.
pub(super) fn leave(
    collective: &mut Collective,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    group.tell(around, Phase::Told, None);
    let led = collective.the_led();
    led.left = true;
    let whole = led.whole;
    collective.goes_to_nic(whole, false)
}

/// The node has its result, which is at the leader; or what it broadcasts can be handed out.
pub(super) fn folded(collective: &mut Collective, group: &Group) -> Look {
    if !collective.leads(group) {
        return Look::Goes(Phase::Told);
    }
    let led = collective.the_led();
    let mut part = led.whole;
    if matches!(part.kind, CollectiveKind::Reduce { .. }) {
        part.input = Some(led.data);
    }
    collective.goes_to_nic(part, true)
}

/// All have entered a long broadcast, and can reach the leader's memory. On the root's node the data are
/// there already, and are copied while the NICs take them to the others.
pub(super) fn broadcast(
    collective: &mut Collective,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let led = collective.the_led();
    let CollectiveKind::Broadcast { root } = led.whole.kind else {
        unreachable!("it is a broadcast");
    };
    let here = group.find(root, around.first) == Some(led.leader);
    if here && led.leader != group.me() {
        copy(collective, group, around);
    }
    folded(collective, group)
}

/// Copies what the leader hands out to this rank's memory.
fn copy(collective: &mut Collective, group: &mut Group, around: Surroundings<'_>) {
    let led = collective.the_led();
    led.copied = true;
    let (leader, whole) = (led.leader, led.whole);
    let [input, output] = group.members()[leader].info.said(group.number());
    let (from, way) = match whole.kind {
        CollectiveKind::Broadcast { .. } => (input, around.course.turn(whole.bytes as u64)),
        // As it has folded.
        _ => (output, collective.way),
    };
    let into = Piece::new(whole.output, whole.bytes);
    let step = match group.fetch_along(around, way, (leader, from), &into) {
        Ok(()) => steps::READ,
        Err(culprit) => {
            collective.blame(group.rank_of(culprit, around.first));
            steps::UNREAD
        }
    };
    collective.say(group, step);
    if group.have_all_but(leader, steps::READ) {
        group.tell(around, Phase::Read, Some(leader));
    }
}

/// The leader waits for its NIC, and so does who has left it to its own.
pub(super) fn far(
    collective: &mut Collective,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let led = collective.the_led();
    let Some(outcome) = led.answer.take() else {
        return Look::Waits;
    };
    group.settle();
    let (left, hands_out, data) = (led.left, led.hands_out(), led.data);
    if outcome.failure != Failure::None {
        collective.failure = outcome.failure;
        collective.said = outcome.len;
    }
    if left {
        return Look::Over;
    }
    let hands_out = hands_out && collective.failure == Failure::None;
    let (number, bytes_out) = (group.number(), collective.part.bytes);
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
    if !collective.is_long() {
        return Look::Over;
    }
    group.look_anew();
    Look::Goes(Phase::Read)
}

/// The others wait for the leader's word.
pub(super) fn told(
    collective: &mut Collective,
    group: &mut Group,
    around: Surroundings<'_>,
) -> Look {
    let number = group.number();
    let (in_parts, is_long) = (collective.offset.is_some(), collective.is_long());
    let led = collective.the_led();
    let leader = &group.members()[led.leader].info;
    if leader.step(number) < steps::TOLD {
        if led.agreed || !group.all_are_there() {
            return Look::Waits;
        }
        if disagreement(group, around.first).is_some() {
            return leave(collective, group, around);
        }
        led.agreed = true;
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
    if !led.hands_out() || led.copied {
        return Look::Over;
    }
    if in_parts {
        return hand_out_in_parts(collective);
    }
    if is_long {
        copy(collective, group, around);
        return Look::Over;
    }
    let Part { output, bytes, .. } = led.whole;
    // SAFETY: whoever posted it promised that.
    let into = unsafe { crate::data::bytes_mut(output, bytes) };
    let leader = &group.members()[led.leader].info;
    leader.contribution(number, into);
    Look::Over
}

/// Not all memory can be reached: what the leader hands out goes through its record, as a broadcast on the node.
fn hand_out_in_parts(collective: &mut Collective) -> Look {
    let part = collective.part;
    let output = collective.the_led().whole.output;
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
    collective.led = None;
    collective.in_parts()
}

/// The leader waits until the others have copied what it hands out.
pub(super) fn all_have_read(collective: &mut Collective, group: &mut Group) -> Look {
    if !group.have_all(steps::READ) {
        return Look::Waits;
    }
    collective.heed_any(group, steps::UNREAD);
    Look::Over
}

/// Memory of a collective that is over, for the next one.
pub(super) fn spent(collective: &mut Collective, most: usize) -> Option<Vec<u8>> {
    let room = std::mem::take(&mut collective.led.as_mut()?.room);
    (!room.is_empty() && room.len() <= most).then_some(room)
}
