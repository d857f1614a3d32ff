//! How a scripted rank arrives at contexts and collectives.

use super::{Next, Purpose, ScriptedRank, Step, World, missing, number_beside};
use crate::simulator::program::{Arrival, CONTEXTS, Side, Together};
use bcs_core::descriptor::{Call, CollectiveDescriptor, CollectiveKind};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::RequestId;
use bcs_fabric::sim::RankStore;

/// The contexts but the world.
fn contexts() -> impl Iterator<Item = u32> {
    (1..).take(CONTEXTS - 1)
}

impl ScriptedRank {
    pub(super) fn open_all(&mut self, world: &World<'_>, store: &mut RankStore) {
        contexts().for_each(|context| self.open(context, world, store));
    }

    /// Does a step of closing the contexts and opening them again. Returns what is next.
    pub(super) fn again(
        &mut self,
        round: usize,
        step: Step,
        world: &World<'_>,
        store: &mut RankStore,
    ) -> Next {
        let next = match step {
            Step::Close => {
                contexts().for_each(|context| self.close(context, world));
                Step::MeetClosed
            }
            Step::MeetClosed => {
                self.meet(world);
                Step::Open
            }
            Step::Open => {
                self.open_all(world, store);
                Step::MeetOpened
            }
            Step::MeetOpened => {
                self.meet(world);
                return Next::Compute(round + 1);
            }
        };
        Next::Again(round, next)
    }

    fn close(&mut self, context: u32, world: &World<'_>) {
        if !self.opened[context as usize] {
            return;
        }
        let request = self.expect(Purpose::Close, world);
        self.opened[context as usize] = false;
        let sequence = std::mem::take(&mut self.sequences[context as usize]);
        self.push_without_data(request, context, sequence, CollectiveKind::CloseContext);
    }

    fn meet(&mut self, world: &World<'_>) {
        let request = self.expect(Purpose::Meeting, world);
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
            spoilt_by: None,
        });
    }

    fn open(&mut self, context: u32, world: &World<'_>, store: &mut RankStore) {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        let members = world.program.members(context, ranks);
        if !members.contains(&self.rank) {
            return;
        }
        let members: Vec<u8> = members.iter().flat_map(|rank| rank.to_le_bytes()).collect();
        let input = self.write(&members, store);
        let request = self.expect(Purpose::Open { context }, world);
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
            spoilt_by: None,
        });
    }

    /// Takes part in the collectives beside the round's own, which go as they should.
    pub(super) fn join_beside(&mut self, round: usize, world: &World<'_>, store: &mut RankStore) {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        for (nth, (context, together)) in world.program.rounds[round].beside.iter().enumerate() {
            let members = world.program.members(*context, ranks);
            if !members.contains(&self.rank) || !self.opened[*context as usize] {
                continue;
            }
            let contribution = together.contribution(self.rank, number_beside(nth, round));
            let Call { kind, bytes, .. } = together.call(self.rank);
            let input = self.write(&contribution, store);
            let output = self.place(contribution.len(), None, store).location.address;
            let is_root = matches!(kind, CollectiveKind::Broadcast { root } if root == self.rank);
            let address = if is_root { input } else { output };
            let request = self.expect(Purpose::Beside { nth, address }, world);
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
                spoilt_by: None,
            });
        }
    }

    pub(super) fn join(
        &mut self,
        (context, arrival): (u32, Arrival),
        together: &Together,
        round: usize,
        world: &World<'_>,
        store: &mut RankStore,
    ) {
        let sequence = self.sequences[context as usize];
        self.sequences[context as usize] += 1;
        let contribution = match &arrival {
            Arrival::StoodFor => return,
            Arrival::Own => together.contribution(self.rank, round),
            Arrival::ForNode(members) => match together {
                Together::Reduce { .. } => together.folded(members, round),
                _ => together.contribution(self.rank, round),
            },
        };
        let Call { kind, bytes, .. } = together.call(self.rank);
        let bytes = usize::try_from(bytes).expect("small");
        let inline = inline(&contribution);
        let program = &world.program.rounds[round];
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        let members = world.program.members(context, ranks);
        let lacks = program.lacks(&members, world.placement);
        let (its_input, its_output) = ((self.rank, Side::Input), (self.rank, Side::Output));
        let input = match lacks == Some(its_input) {
            true => missing(bytes, store).location.address,
            false => self.write(&contribution, store),
        };
        // Of one for whom this rank arrives.
        let spoilt = lacks.filter(|(member, side)| match &arrival {
            Arrival::ForNode(stood_for) => {
                *side == Side::Input && *member != self.rank && stood_for.contains(member)
            }
            _ => false,
        });
        let is_root = matches!(kind, CollectiveKind::Broadcast { root } if root == self.rank);
        let output = if is_root {
            input
        } else if lacks == Some(its_output) {
            missing(bytes, store).location.address
        } else {
            self.place(bytes, None, store).location.address
        };
        let request = self.expect(Purpose::Collective { address: output }, world);
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
            for_node: arrival != Arrival::Own,
            spoilt_by: spoilt.map(|(member, _)| member),
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

/// What is contributed, if it is short enough for the descriptor.
fn inline(contribution: &[u8]) -> Option<[u8; INLINE_BYTES]> {
    (contribution.len() <= INLINE_BYTES).then(|| {
        let mut inline = [0; INLINE_BYTES];
        inline[..contribution.len()].copy_from_slice(contribution);
        inline
    })
}
