//! One-sided operations, as far as they need the tables of ranks: gets become transfers, and so do
//! the ends of puts and updates.

use super::super::one_sided::schedule_end;
use super::super::schedule::{Transfer, TransferSchedule};
use super::MatchingTables;
use crate::failure::{CorruptPost, NicFailureCause};
use crate::mail::OperandPiece;
use crate::threads::NicThreadContext;
use crate::threads::buffer_receiver::nic_receive::NicReceive;
use bcs_core::layout::Location;
use bcs_core::request::{Completion, RequestFailure};

impl MatchingTables {
    /// Adds a transfer for the bytes of another rank that a rank wants to get.
    pub(super) fn get(
        &mut self,
        local: usize,
        (source, from): (u32, Location),
        receive: &NicReceive,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let rank = self.ranks[local].rank;
        let Some(node) = self.placement.node_of(source) else {
            let nobody = CorruptPost::NoRank(source);
            return Err(NicFailureCause::corrupt_post(rank, nobody));
        };
        if self.lost.contains(node) {
            let gone = Completion::failed(RequestFailure::PeerGone);
            context.out.complete(rank, receive.request, gone);
            return Ok(());
        }
        let transfer = Transfer::get(rank, (node, source), from, receive);
        let is_far = context.port.other_host_nodes().contains(node);
        schedule.add(transfer, self.is_elastic && is_far);
        Ok(())
    }

    /// Advances the one-sided operations that wait, by a piece of an operand that has come.
    pub(in super::super) fn advance_one_sided(
        &mut self,
        piece: Option<OperandPiece>,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) {
        match piece {
            Some(piece) => self.one_sided.take_piece(piece, context),
            None => self.one_sided.poll(context),
        }
        self.end_one_sided(schedule, context);
    }

    /// Whether one-sided operations wait for locks.
    pub(in super::super) fn waits_for_lock(&self) -> bool {
        self.one_sided.waits_for_lock()
    }

    /// Adds the ends of one-sided operations to the transfers, and wakes targets that wait for what
    /// has changed.
    pub(super) fn end_one_sided(
        &mut self,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) {
        for (envelope, kind) in self.one_sided.take_happened() {
            let node = self.placement.node_of(envelope.source);
            let node = node.expect("checked by BS");
            self.credit(node, envelope.send.destination);
            if envelope.send.one_sided.is_some_and(|target| target.wakes)
                && kind.has_happened()
                && let Ok(table) = self.receiver_of(&envelope)
            {
                table.memory.count_change();
                context.out.ring(envelope.send.destination);
            }
            let is_far = context.port.other_host_nodes().contains(node);
            schedule_end((&envelope, kind), node, self.is_elastic && is_far, schedule);
        }
        let (placement, is_elastic) = (&self.placement, self.is_elastic);
        self.one_sided.begin_fetches(|envelope| {
            let node = placement.node_of(envelope.source).expect("checked by BS");
            let is_far = context.port.other_host_nodes().contains(node);
            schedule.add(Transfer::operand(node, envelope), is_elastic && is_far)
        });
    }
}
