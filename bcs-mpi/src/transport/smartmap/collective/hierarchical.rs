//! The part of a node in a collective of a communicator that spans nodes: three machines in a row.
//!
//! ```text
//!           Node                  Nic                  Told, Read, Parts
//!  members  enter ─ fold ──────────────────────────────► told ─ copy ─► over
//!              │      │                                   ▲       │
//!  leader   enter ─ fold ─► order ····· answer ─► tell ───┴───── wait ─► over
//! ```
//!
//! The *leader* is the root if that is local, otherwise the first member of the node in the order
//! of the communicator. When all members of the node have entered with the same call, it posts to
//! its NIC for all of them ([`nic_order`](super::nic_order)). The NIC gets from it what it would
//! have folded itself (law 9: in the order of the communicator, then the tree over nodes), so the
//! bits are the same. Then the leader sends the others the outcome, with the data.
//!
//! **One at a time.** All of it is one collective of the node's queue, from the post to the end. So
//! members are in the same one, whatever they have posted. NICs also begin one collective of a
//! context in a slice, so this delays little.
//!
//! **A member with a different call** also enters, because all collectives of a communicator take
//! this path. All members then find that their calls differ (without a leader, since it depends on
//! the call which member that is), and *leave the collective to their NICs*: each posts its own
//! arrival. The NIC then has the arrivals of all, and reports the calls to all members on all
//! nodes, as if there were no other path.
//!
//! **Waking.** In a short collective only the leader has work when all have entered. The last
//! member to enter wakes the leader alone, which wakes the others in the end, each once.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::agreement::disagreement;
use super::awaited::{AwaitedEvent, AwaitedMember};
use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::machine::{CollectiveMachine, CollectiveResult};
use super::nic_order::{CollectiveNumber, NicOrder};
use super::phase::{Phase, PhaseOutcome};
use super::phased::{LeaderDelivery, PhasedCollective, hands_out};
use super::spare::SpareBuffers;
use super::steps;
use crate::data::{ByteRange, DataView, LONG_BYTES};
use crate::steps::CollectiveArguments;
use crate::transport::RequestOutcome;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::NodeRanks;
use bcs_core::limits::MAX_SPARE_BYTES;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// A collective of several nodes, as one of the members on this node knows it.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct HierarchicalCollective {
    /// The arguments that the program posted.
    whole: CollectiveArguments,
    number: CollectiveNumber,
    leader: usize,
    /// At the leader: the place of its node's result, and of the data that it distributes.
    data: ByteRange,
    /// Memory for that if the program has none.
    room: Vec<u8>,
    /// The members' part among themselves, at first for the leader, and its failure.
    on_node: PhasedCollective,
    stage: HierarchicalStage,
}

/// The progress of the collective.
#[derive(Debug)]
enum HierarchicalStage {
    /// The members give the leader the data for its NIC.
    Node,
    /// This rank's NIC works, `for_node` or, if the calls of its members differ, for this rank.
    Nic {
        for_node: bool,
        /// The order for the NIC, not yet taken.
        order: Option<NicOrder>,
        /// The answer of the NIC.
        answer: Option<RequestOutcome>,
    },
    /// The others wait for the leader's answer. `agreed`: all calls are known to be the same.
    /// `copied`: this rank has its data already.
    Told { agreed: bool, copied: bool },
    /// The leader waits until the others have copied the data.
    Read,
    /// The data go through the leader's record, as in a broadcast on the node.
    Parts,
}

impl HierarchicalCollective {
    /// Makes a collective of several nodes. `room` is memory to use again.
    pub(in crate::transport::smartmap) fn new(
        (whole, number): (CollectiveArguments, CollectiveNumber),
        group: &LocalGroup,
        ranks: NodeRanks,
        room: &mut Vec<u8>,
    ) -> Self {
        let root = match whole.kind {
            CollectiveKind::Broadcast { root } => Some(root),
            CollectiveKind::Reduce { root, .. } => root,
            _ => None,
        };
        let leader = root.and_then(|root| group.find(root, ranks)).unwrap_or(0);
        let leads = leader == group.me;
        let rank = group.rank_of(leader, ranks);
        let (mut data, mut own_room) = (ByteRange::EMPTY, Vec::new());
        let part = match whole.kind {
            CollectiveKind::Broadcast { .. } => {
                let kind = CollectiveKind::Broadcast { root: rank };
                let part = CollectiveArguments { kind, ..whole };
                data = whole.input.unwrap_or(whole.output);
                let at_leader = CollectiveArguments {
                    input: Some(data),
                    output: ByteRange::EMPTY,
                    ..part
                };
                if leads { at_leader } else { part }
            }
            CollectiveKind::Reduce { op, datatype, .. } => {
                if leads && whole.output.is_empty() {
                    own_room = std::mem::take(room);
                    if own_room.len() < whole.bytes {
                        own_room = vec![0; whole.bytes];
                    }
                    let address = own_room.as_mut_ptr().expose_provenance() as u64;
                    // SAFETY: only this collective uses it, and keeps it until the collective is
                    // over.
                    data = unsafe { ByteRange::new(address, whole.bytes) };
                } else if leads {
                    data = whole.output;
                }
                let root = Some(rank);
                CollectiveArguments {
                    kind: CollectiveKind::Reduce { root, op, datatype },
                    output: data,
                    ..whole
                }
            }
            _ => whole,
        };
        Self {
            whole,
            number,
            leader,
            data,
            room: own_room,
            on_node: PhasedCollective::for_leader(part, LeaderDelivery { whole, leader }),
            stage: HierarchicalStage::Node,
        }
    }

    /// Passes the order to this rank's NIC.
    fn order(&self, part: CollectiveArguments, for_node: bool) -> PhaseOutcome<HierarchicalStage> {
        let order = NicOrder {
            number: self.number,
            part,
            for_node,
            // A result that lacks a contribution of the node must not become a part of the whole.
            faulty_rank: self.on_node.culprit(),
        };
        PhaseOutcome::Continue(HierarchicalStage::Nic {
            for_node,
            order: Some(order),
            answer: None,
        })
    }

    /// Leaves the collective to the NICs, because the calls of the members differ.
    fn leave(
        &self,
        group: &LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome<HierarchicalStage> {
        group.tell(around, Phase::Told, None);
        self.order(self.whole, false)
    }

    /// Continues when the leader has the node's result, or the data of a broadcast can be
    /// distributed.
    fn folded(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome<HierarchicalStage> {
        if self.leader == group.me {
            let mut part = self.whole;
            if matches!(part.kind, CollectiveKind::Reduce { .. }) {
                part.input = Some(self.data);
            }
            return self.order(part, true);
        }
        // On the root's node the data of a broadcast are there already. They are copied while the
        // NICs send them to the others.
        let root = match self.whole.kind {
            CollectiveKind::Broadcast { root } => group.find(root, around.ranks),
            _ => None,
        };
        let copied = root.is_some() && self.on_node.is_in_memory();
        if copied {
            self.copy(group, around);
        }
        let agreed = false;
        PhaseOutcome::Continue(HierarchicalStage::Told { agreed, copied })
    }

    /// Copies the leader's data to this rank's memory.
    fn copy(&mut self, group: &mut LocalGroup, around: CollectiveEnvironment<'_>) {
        let (leader, whole) = (self.leader, self.whole);
        let [input, output] = group.members[leader].info.arguments(group.number);
        let (from, direction) = match whole.kind {
            CollectiveKind::Broadcast { .. } => {
                (input, around.last_direction.turn(whole.bytes as u64))
            }
            // In the direction of the fold.
            _ => (output, self.on_node.direction),
        };
        let into = DataView::from(whole.output);
        let fetched = group.fetch_along(around, direction, (leader, from), &into);
        self.on_node.fetched(fetched);
        let step = fetched.map_or(steps::UNREAD, |()| steps::READ);
        self.on_node.say(group, step);
        group.tell_if_all(around, steps::READ, Phase::Read, Some(leader));
    }

    /// Continues when the NIC has answered: to the leader, or to a member that has left the
    /// collective to its own NIC.
    fn nic_has_answered(
        &mut self,
        outcome: &RequestOutcome,
        for_node: bool,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome<HierarchicalStage> {
        group.settle();
        if outcome.failure != RequestFailure::None {
            self.on_node.fails(outcome.failure, outcome.len);
        }
        if !for_node {
            return PhaseOutcome::Over;
        }
        let has_result = hands_out(&self.whole) && self.on_node.failure == RequestFailure::None;
        let (number, bytes_out) = (group.number, self.whole.bytes);
        if has_result && bytes_out <= PAYLOAD_BYTES {
            // SAFETY: the NIC has finished writing there.
            let data = unsafe { self.data.bytes() };
            group.own().contribute(number, data);
        }
        let outcome = [self.on_node.failure as u64, self.on_node.said];
        group.own().publish_outcome(outcome);
        group.own().advance(number, steps::TOLD);
        group.published();
        group.tell(around, Phase::Told, None);
        if !has_result {
            return PhaseOutcome::Over;
        }
        if self.on_node.offset.is_some() {
            return self.hand_out_in_parts(group, around);
        }
        if !self.on_node.is_in_memory() {
            return PhaseOutcome::Over;
        }
        group.look_anew();
        PhaseOutcome::Continue(HierarchicalStage::Read)
    }

    /// Waits for the leader's answer.
    fn wait_for_leader(
        &mut self,
        (agreed, copied): (bool, bool),
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome<HierarchicalStage> {
        let number = group.number;
        let leader = &group.members[self.leader].info;
        if leader.step(number) < steps::TOLD {
            if agreed || !group.all_are_there() {
                return PhaseOutcome::Waits;
            }
            if disagreement(group, around.ranks).is_some() {
                return self.leave(group, around);
            }
            let agreed = true;
            self.stage = HierarchicalStage::Told { agreed, copied };
            return PhaseOutcome::Waits;
        }
        let [code, said] = leader.outcome();
        group.settle();
        let failure = RequestFailure::from_code(u8::try_from(code).unwrap_or(u8::MAX));
        if failure != RequestFailure::None {
            self.on_node.fails(failure, said);
            return PhaseOutcome::Over;
        }
        if copied || !hands_out(&self.whole) {
            return PhaseOutcome::Over;
        }
        if self.on_node.offset.is_some() {
            return self.hand_out_in_parts(group, around);
        }
        if self.on_node.is_in_memory() {
            self.copy(group, around);
            return PhaseOutcome::Over;
        }
        // SAFETY: only this code writes it.
        let into = unsafe { self.whole.output.bytes_mut() };
        group.members[self.leader].info.contribution(number, into);
        PhaseOutcome::Over
    }

    /// Distributes the leader's data through its record, as in a broadcast on the node, when not
    /// all memory can be reached.
    fn hand_out_in_parts(
        &mut self,
        group: &LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome<HierarchicalStage> {
        let leads = self.leader == group.me;
        let root = group.rank_of(self.leader, around.ranks);
        self.on_node.broadcast_in_parts(CollectiveArguments {
            kind: CollectiveKind::Broadcast { root },
            bytes: self.whole.bytes,
            input: leads.then_some(self.data),
            output: if leads {
                ByteRange::EMPTY
            } else {
                self.whole.output
            },
        });
        PhaseOutcome::Continue(HierarchicalStage::Parts)
    }

    /// Waits at the leader until the others have copied its data.
    fn all_have_read(&mut self, group: &mut LocalGroup) -> PhaseOutcome<HierarchicalStage> {
        if !group.have_all(steps::READ) {
            return PhaseOutcome::Waits;
        }
        self.on_node.heed_any(group, steps::UNREAD);
        PhaseOutcome::Over
    }

    /// Advances until it waits, or is over.
    fn step(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        loop {
            let look = match &mut self.stage {
                HierarchicalStage::Node => match self.on_node.step(group, around, spare)? {
                    Err(ended) if ended.failure == RequestFailure::Mismatch => {
                        self.leave(group, around)
                    }
                    _ => self.folded(group, around),
                },
                HierarchicalStage::Nic {
                    for_node, answer, ..
                } => match (answer.take(), *for_node) {
                    (None, _) => PhaseOutcome::Waits,
                    (Some(outcome), for_node) => {
                        self.nic_has_answered(&outcome, for_node, group, around)
                    }
                },
                &mut HierarchicalStage::Told { agreed, copied } => {
                    self.wait_for_leader((agreed, copied), group, around)
                }
                HierarchicalStage::Read => self.all_have_read(group),
                HierarchicalStage::Parts => return self.on_node.step(group, around, spare),
            };
            match look {
                PhaseOutcome::Continue(stage) => self.stage = stage,
                PhaseOutcome::Waits => return None,
                PhaseOutcome::Over => return Some(self.on_node.ended()),
            }
        }
    }
}

impl CollectiveMachine for HierarchicalCollective {
    fn takes_long(&self) -> bool {
        self.whole.bytes > LONG_BYTES
    }

    fn listens_for(&self) -> Option<Phase> {
        match self.stage {
            HierarchicalStage::Node | HierarchicalStage::Parts => Some(self.on_node.phase),
            HierarchicalStage::Nic { .. } => None,
            HierarchicalStage::Told { .. } => Some(Phase::Told),
            HierarchicalStage::Read => Some(Phase::Read),
        }
    }

    fn awaited(&self, group: &LocalGroup, ranks: NodeRanks) -> Option<AwaitedMember> {
        match self.stage {
            HierarchicalStage::Node | HierarchicalStage::Parts => {
                self.on_node.awaited(group, ranks)
            }
            HierarchicalStage::Nic { .. } => None,
            HierarchicalStage::Told { .. } => {
                Some(group.awaited(Some(self.leader), AwaitedEvent::Step(steps::TOLD)))
            }
            HierarchicalStage::Read => Some(group.awaited(None, AwaitedEvent::Step(steps::READ))),
        }
    }

    fn advance(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        let ended = self.step(group, around, spare)?;
        self.on_node.give_back(spare);
        let room = std::mem::take(&mut self.room);
        if !room.is_empty() && room.len() <= MAX_SPARE_BYTES {
            spare.room = room;
        }
        Some(ended)
    }

    fn take_order(&mut self) -> Option<NicOrder> {
        match &mut self.stage {
            HierarchicalStage::Nic { order, .. } => order.take(),
            _ => None,
        }
    }

    fn answered(&mut self, outcome: RequestOutcome) {
        let HierarchicalStage::Nic { answer, .. } = &mut self.stage else {
            unreachable!("it waits for its NIC");
        };
        *answer = Some(outcome);
    }
}
