//! How a scripted rank arrives at contexts and collectives.

use super::{
    NextAction, RankView, ReopenStep, RequestPurpose, ScriptedRank, number_beside,
    partly_missing_buffer,
};
use crate::simulator::program::{ArrivalMode, CONTEXTS, CollectiveSide, RoundCollective};
use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind, NicCollectiveCall};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::RequestId;
use bcs_fabric::sim::RankStore;

/// Returns the contexts except the world.
fn contexts() -> impl Iterator<Item = u32> {
    (1..).take(CONTEXTS - 1)
}

impl ScriptedRank {
    pub(super) fn open_all(&mut self, world: &RankView<'_>, store: &mut RankStore) {
        contexts().for_each(|context| self.open(context, world, store));
    }

    /// Does a step of closing the contexts and opening them again. Returns the next step.
    pub(super) fn reopen_contexts(
        &mut self,
        round: usize,
        step: ReopenStep,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) -> NextAction {
        let next = match step {
            ReopenStep::Close => {
                contexts().for_each(|context| self.close(context, world));
                ReopenStep::MeetClosed
            }
            ReopenStep::MeetClosed => {
                self.join_world_barrier(world);
                ReopenStep::Open
            }
            ReopenStep::Open => {
                self.open_all(world, store);
                ReopenStep::MeetOpened
            }
            ReopenStep::MeetOpened => {
                self.join_world_barrier(world);
                return NextAction::Compute(round + 1);
            }
        };
        NextAction::Again(round, next)
    }

    fn close(&mut self, context: u32, world: &RankView<'_>) {
        if !self.opened[context as usize] {
            return;
        }
        let request = self.expect(RequestPurpose::Close, world);
        self.opened[context as usize] = false;
        let sequence = std::mem::take(&mut self.sequences[context as usize]);
        self.push_without_data(request, context, sequence, CollectiveKind::CloseContext);
    }

    fn join_world_barrier(&mut self, world: &RankView<'_>) {
        let request = self.expect(RequestPurpose::Meeting, world);
        let sequence = self.sequences[0];
        self.sequences[0] += 1;
        self.push_without_data(request, 0, sequence, CollectiveKind::Barrier);
    }

    fn push_without_data(
        &mut self,
        request: RequestId,
        context: u32,
        sequence: u64,
        kind: CollectiveKind,
    ) {
        self.push_collective(&CollectiveDescriptor {
            request,
            context,
            sequence,
            kind,
            bytes: 0,
            input: 0,
            output: 0,
            inline: None,
            for_node: false,
            unreadable_member: None,
        });
    }

    fn open(&mut self, context: u32, world: &RankView<'_>, store: &mut RankStore) {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        let members = world.program.members(context, ranks);
        if !members.contains(&self.rank) {
            return;
        }
        let members: Vec<u8> = members.iter().flat_map(|rank| rank.to_le_bytes()).collect();
        let input = self.write(&members, store);
        let request = self.expect(RequestPurpose::Open { context }, world);
        self.push_collective(&CollectiveDescriptor {
            request,
            context,
            sequence: 0,
            kind: CollectiveKind::OpenContext,
            bytes: members.len() as u64,
            input,
            output: 0,
            inline: None,
            for_node: false,
            unreadable_member: None,
        });
    }

    /// Takes part in the collectives beside the round's own, none of which goes wrong.
    pub(super) fn join_side_collectives(
        &mut self,
        round: usize,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        for (nth, (context, together)) in world.program.rounds[round].beside.iter().enumerate() {
            let members = world.program.members(*context, ranks);
            if !members.contains(&self.rank) || !self.opened[*context as usize] {
                continue;
            }
            let contribution = together.contribution(self.rank, number_beside(nth, round));
            let NicCollectiveCall { kind, bytes, .. } = together.call(self.rank);
            let input = self.write(&contribution, store);
            let output = self.place(contribution.len(), None, store).location.address;
            let is_root = matches!(kind, CollectiveKind::Broadcast { root } if root == self.rank);
            let address = if is_root { input } else { output };
            let request = self.expect(RequestPurpose::Beside { nth, address }, world);
            let sequence = self.sequences[*context as usize];
            self.sequences[*context as usize] += 1;
            self.push_collective(&CollectiveDescriptor {
                request,
                context: *context,
                sequence,
                kind,
                bytes,
                input,
                output,
                inline: inline(&contribution),
                for_node: false,
                unreadable_member: None,
            });
        }
    }

    pub(super) fn join(
        &mut self,
        (context, arrival): (u32, ArrivalMode),
        together: &RoundCollective,
        round: usize,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) {
        let sequence = self.sequences[context as usize];
        self.sequences[context as usize] += 1;
        let contribution = match &arrival {
            ArrivalMode::StoodFor => return,
            ArrivalMode::Own => together.contribution(self.rank, round),
            ArrivalMode::ForNode(members) => match together {
                RoundCollective::Reduce { .. } => together.folded(members, round),
                _ => together.contribution(self.rank, round),
            },
        };
        let NicCollectiveCall { kind, bytes, .. } = together.call(self.rank);
        let bytes = usize::try_from(bytes).expect("small");
        let inline = inline(&contribution);
        let program = &world.program.rounds[round];
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        let members = world.program.members(context, ranks);
        let lacks = program.missing_memory(&members, world.placement);
        let (its_input, its_output) = (
            (self.rank, CollectiveSide::Input),
            (self.rank, CollectiveSide::Output),
        );
        let input = match lacks == Some(its_input) {
            true => partly_missing_buffer(bytes, store).location.address,
            false => self.write(&contribution, store),
        };
        // The memory of a member for which this rank arrives is missing.
        let spoilt = lacks.filter(|(member, side)| match &arrival {
            ArrivalMode::ForNode(stood_for) => {
                *side == CollectiveSide::Input && *member != self.rank && stood_for.contains(member)
            }
            _ => false,
        });
        let is_root = matches!(kind, CollectiveKind::Broadcast { root } if root == self.rank);
        let output = if is_root {
            input
        } else if lacks == Some(its_output) {
            partly_missing_buffer(bytes, store).location.address
        } else {
            self.place(bytes, None, store).location.address
        };
        let request = self.expect(RequestPurpose::Collective { address: output }, world);
        let bytes = bytes as u64;
        self.push_collective(&CollectiveDescriptor {
            request,
            context,
            sequence,
            kind,
            bytes,
            input,
            output,
            inline,
            for_node: arrival != ArrivalMode::Own,
            unreadable_member: spoilt.map(|(member, _)| member),
        });
    }

    fn push_collective(&mut self, collective: &CollectiveDescriptor) {
        self.collectives
            .push(&collective.encode())
            .expect("few collectives a round");
        if !collective.is_short() {
            self.needs_slice = self.collectives.pushed();
        }
    }
}

/// Returns the contribution, if it is short enough for the descriptor.
fn inline(contribution: &[u8]) -> Option<[u8; INLINE_BYTES]> {
    (contribution.len() <= INLINE_BYTES).then(|| {
        let mut inline = [0; INLINE_BYTES];
        inline[..contribution.len()].copy_from_slice(contribution);
        inline
    })
}
