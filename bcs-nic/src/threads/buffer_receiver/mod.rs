//! BR, the Buffer Receiver: matches, chunks and schedules, and tests whether collectives are ready
//! (paper sections 4.3 and 4.4).
//!
//! - **Owns** the consuming side of the node's receive rings, the matching tables
//!   ([`matching_tables`]), the transfers under way ([`schedule`]) and the contexts ([`contexts`]).
//! - **Takes** `Phase` (DEM, MSM), `Arrived`, `EarlyArrivals`, `CollectiveOver`, `Dropped`,
//!   `ChunkOutcomes`, `NodesLost`; descriptor blocks, and messages from outside of the slice.
//! - **Emits** `Chunks` and `ChunksOutsideSlice` to DH; completions, `SendsCompleted` and
//!   `Finished` to SR; `Ready` and `GivenUp` to CH and RH; credit blocks; the variables `Arrived`
//!   and `Called` and, by Compare-And-Write, `Owner`, `Tokens` and `Go`.
//! - **Invariants.** In MSM, receives posted before the cut come first, in the order of their
//!   posts, then envelopes by (source rank, post sequence): matching is a function of the cut,
//!   never of arrival time. Matches that no cut can change are made [outside of the
//!   slice](outside_slice). The schedule stays within the [`Quota`].

mod contexts;
mod matching_tables;
mod nic_receive;
mod one_sided;
pub(super) mod outside_slice;
mod schedule;

use super::{
    NicThread, NicThreadContext, NodeConfig, Retries, RetryablePut, RetryablePutWords, TableLeak,
    UnmatchedOperations,
};
use crate::blocks::{CreditBlock, DescriptorBlock, Envelope};
use crate::budget::Quota;
use crate::failure::NicFailureCause;
use crate::mail::{Chunk, Cut, Mail, MicrophaseTally, OperandPiece, ReceiverBacklog};
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::wait_state::LeakReport;
use bcs_fabric::{Block, GlobalAddress, Port};
use contexts::Contexts;
use matching_tables::MatchingTables;
use outside_slice::{IntakeEvents, OutsideSliceEnvelopes};
use schedule::{TransferSchedule, bytes};

/// The most messages from outside of the slice that wait for their receives before BR requests a
/// slice. Each posted receive searches them. A strobe costs all machines some wake-ups, a look at
/// one message some nanoseconds.
const MAX_WAITING_OUTSIDE_SLICE: usize = 32;

#[derive(Debug, Default)]
struct DemProgress {
    receives_taken: bool,
    collectives_taken: bool,
}

/// The Buffer Receiver of a node.
#[derive(Debug)]
pub struct BufferReceiver {
    config: NodeConfig,
    quota: Quota,
    ranks: MatchingTables,
    schedule: TransferSchedule,
    contexts: Contexts,
    dem: DemProgress,
    /// The slice whose MSM is under way.
    scheduling: Option<u64>,
    work: [bool; 5],
    /// Messages completed and chunks scheduled in this slice.
    scheduled: u64,
    /// Chunks that went outside of the slice since the last one.
    went_ahead: u64,
    /// The backlog, if it is recorded.
    queues: Option<ReceiverBacklog>,
    /// The envelopes of this slice.
    envelopes: Vec<Envelope>,
    ahead: OutsideSliceEnvelopes,
    /// Descriptor blocks that have been read: one for each signal.
    signals_seen: u64,
    puts: Retries<RetryablePut>,
}

impl BufferReceiver {
    /// Creates the BR of a node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Self {
        let quota = Quota::with_bounds(&config.settings, &config.bounds);
        Self {
            ranks: MatchingTables::new(&config),
            schedule: TransferSchedule::new(quota, config.bounds.completions),
            contexts: Contexts::new(&config, quota),
            dem: DemProgress::default(),
            scheduling: None,
            work: [false; 5],
            scheduled: 0,
            went_ahead: 0,
            queues: config.emds.map(|_| ReceiverBacklog::default()),
            envelopes: Vec::new(),
            ahead: OutsideSliceEnvelopes::new(config.placement.nodes()),
            signals_seen: 0,
            puts: Retries::default(),
            quota,
            config,
        }
    }

    fn take_receives(&mut self, cut: &Cut, context: &mut NicThreadContext<'_>) {
        for (local, &[_, receives, _]) in cut.0.iter().enumerate() {
            let taken = self
                .ranks
                .take(local, receives, &mut self.schedule, context);
            self.report_failure(taken, context);
        }
        self.rematch_waiting(context);
        self.ranks.cancel(context);
        // Before any rank is notified of a complete receive: the message is no longer in the
        // tables.
        self.ranks.publish_unexpected();
        // A held message that has now met a receive need not wait for an MSM.
        self.start_chunks_outside_slice(context);
        self.dem.receives_taken = true;
        self.finish_dem(context);
    }

    /// Reports a failure that ends the job. BR goes on to work for the other ranks meanwhile.
    fn report_failure(
        &self,
        done: Result<(), NicFailureCause>,
        context: &mut NicThreadContext<'_>,
    ) {
        let failed = done.err().map(|cause| self.config.failure(cause));
        context.out.failures.extend(failed);
    }

    fn finish_dem(&mut self, context: &mut NicThreadContext<'_>) {
        if !(self.dem.receives_taken && self.dem.collectives_taken) {
            return;
        }
        self.dem = DemProgress::default();
        self.contexts.publish(context);
        let mut work = [false; 5];
        work[Microphase::Msm.index()] = self.ranks.has_probes()
            || self.ranks.completed() > 0
            || self.ranks.owes_credits()
            || self.schedule.needs_slices()
            || self.contexts.has_candidates()
            || self.awaits_decision();
        self.record_dem();
        let tally = MicrophaseTally {
            point_to_point: self.ranks.take_receives(),
            collectives: self.contexts.take_complete(),
            queues: self.queues.map(Box::new),
            ..MicrophaseTally::default()
        };
        context.out.finish_microphase(Microphase::Dem, work, tally);
    }

    /// Records the backlog at the end of DEM, if that is on. A master's grants in MSM depend on
    /// time, so collectives are not counted there.
    fn record_dem(&mut self) {
        let Some(queues) = &mut self.queues else {
            return;
        };
        let [receives, messages] = self.ranks.waiting();
        *queues = ReceiverBacklog {
            budget_bytes: self.quota.budget - self.contexts.max_inbound_bytes(),
            collectives: self.contexts.entered(),
            receives,
            messages,
            ..ReceiverBacklog::default()
        };
    }

    /// Records the backlog when these chunks have been scheduled, if that is on.
    fn record_msm(&mut self, chunks: &[Chunk]) {
        if let Some(queues) = &mut self.queues {
            queues.scheduled_bytes = bytes(chunks);
            queues.carried_bytes = self.schedule.left();
            [queues.receives, queues.messages] = self.ranks.waiting();
        }
    }

    fn match_and_schedule(&mut self, slice: u64, context: &mut NicThreadContext<'_>) {
        self.work = [false; 5];
        let held_back = self.read_envelopes(slice, context);
        let mut envelopes = std::mem::take(&mut self.envelopes);
        for envelope in &envelopes {
            let arrived = self.ranks.arrive(envelope, &mut self.schedule, context);
            self.report_failure(arrived, context);
        }
        envelopes.clear();
        self.envelopes = envelopes;
        self.rematch_waiting(context);
        self.ranks.answer_probes(context);
        // Now no posted receive or cancel can take anything more out of the tables.
        held_back
            .iter()
            .for_each(|&lane| self.check_starvation(lane, context));
        self.publish_unexpected();
        if self.awaits_decision() {
            // This slice does not decide about messages sent after the cut.
            self.request_slice();
        }
        let reserved = self.contexts.max_inbound_bytes();
        let chunks = self.schedule.chunks_of_slice(self.quota.budget - reserved);
        self.record_msm(&chunks);
        if self.schedule.needs_slices() {
            self.config.page.arm(); // left over by the budget: law 2
        }
        self.work[Microphase::Pm.index()] = !chunks.is_empty();
        self.scheduled = chunks.len() as u64 + self.ranks.take_completed();
        self.scheduled += std::mem::take(&mut self.went_ahead);
        if !chunks.is_empty() {
            context
                .out
                .send(NicThreadId::DmaHelper, Mail::Chunks(chunks));
        }
        self.start_chunks_outside_slice(context);
        self.return_credits(slice, context);
        self.contexts.schedule(slice, context);
        self.scheduling = Some(slice);
    }

    /// Takes what came from remote nodes outside of the slice, and the receives for it. Returns
    /// whether there was anything.
    fn work_outside_slice(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        if !self.config.settings.strobe.is_elastic() || context.port.other_host_nodes().is_empty() {
            return false;
        }
        let transfers = self.schedule.in_slices();
        let (mut goes_on, mut has_parts) = (false, false);
        loop {
            let mut failures = Vec::new();
            let IntakeEvents {
                has_come,
                is_nudged,
            } = self
                .ahead
                .receive(&self.config, context.port, &mut failures);
            for cause in failures {
                self.report_failure(Err(cause), context);
            }
            for (from, part) in self.ahead.take_parts() {
                has_parts = true;
                self.contexts.hear(from, part, context);
            }
            let told = self.ahead.take_completed_sends();
            if !told.is_empty() {
                has_parts = true;
                context
                    .out
                    .send(NicThreadId::StrobeReceiver, Mail::SendsCompleted(told));
            }
            if !(has_come || is_nudged || (goes_on && self.ranks.has_possible_matches())) {
                break;
            }
            goes_on = true;
            self.match_outside_slice(context);
        }
        if !goes_on {
            return has_parts;
        }
        self.start_chunks_outside_slice(context);
        if self.awaits_decision()
            || self.schedule.in_slices() > transfers
            || self.ranks.owes_credits()
        {
            self.request_slice();
        } else if self.ahead.len() > MAX_WAITING_OUTSIDE_SLICE {
            // A slice moves them to the matching tables, where receives find them without a search.
            self.config.page.arm();
        }
        true
    }

    /// Advances one-sided operations that wait, by a piece of an operand that has come. Returns
    /// whether any has happened. Its origin is notified in a slice, or outside of one.
    fn advance_one_sided(
        &mut self,
        piece: Option<OperandPiece>,
        context: &mut NicThreadContext<'_>,
    ) -> bool {
        let transfers = self.schedule.len();
        self.ranks
            .advance_one_sided(piece, &mut self.schedule, context);
        if self.schedule.len() == transfers {
            return false;
        }
        self.start_chunks_outside_slice(context);
        if self.schedule.needs_slices() {
            self.request_slice();
        }
        true
    }

    /// Whether the next slice answers a probe, or decides which receive a message meets.
    fn awaits_decision(&self) -> bool {
        self.ahead.has_undecided() || self.is_probed()
    }

    fn is_probed(&self) -> bool {
        let has_come = |rank, pattern| self.ahead.unmatched(rank, pattern).is_some();
        self.ranks.is_probed(has_come)
    }

    /// Takes all posted receives, and matches messages with them.
    fn match_outside_slice(&mut self, context: &mut NicThreadContext<'_>) {
        let before = self.ranks.receives();
        for local in 0..self.config.served() {
            let [_, receives, _] = self.config.ranks[local].1.tails();
            let taken = self
                .ranks
                .take(local, receives, &mut self.schedule, context);
            self.report_failure(taken, context);
        }
        self.config.ring_for_space(context.out);
        let is_new = self.ranks.receives() > before;
        let met = self
            .ahead
            .meet(is_new, &mut self.ranks, &mut self.schedule, context);
        self.ranks.cancel(context);
        self.ranks.count_waiting(self.ahead.destinations());
        self.ranks.publish_unexpected();
        self.report_failure(met, context);
    }

    /// Matches the waiting messages from outside of the slice again, after receives were taken or a
    /// block was read.
    fn rematch_waiting(&mut self, context: &mut NicThreadContext<'_>) {
        if self.ahead.len() > 0 {
            let met = self
                .ahead
                .meet(true, &mut self.ranks, &mut self.schedule, context);
            self.ranks.count_waiting(self.ahead.destinations());
            self.report_failure(met, context);
        }
    }

    /// Has DH request the chunks that need no slice, within the budget, and notifies senders of
    /// complete sends.
    fn start_chunks_outside_slice(&mut self, context: &mut NicThreadContext<'_>) {
        let window = self.quota.budget - self.contexts.max_inbound_bytes();
        let chunks = self.schedule.chunks_outside_slice(window, context);
        self.went_ahead += chunks.len() as u64;
        if !chunks.is_empty() {
            let ahead = Mail::ChunksOutsideSlice(chunks);
            context.out.send(NicThreadId::DmaHelper, ahead);
        }
        self.schedule.report_completed_sends(context);
    }

    /// Requests a slice: at once, if any rank waits.
    fn request_slice(&self) {
        self.config.page.arm();
        if self.config.page.hungry() {
            self.config.page.demand();
        }
    }

    fn publish_unexpected(&mut self) {
        self.ranks.count_waiting(self.ahead.destinations());
        self.ranks.publish_unexpected();
        if self.ranks.has_possible_matches() {
            self.request_slice();
        }
    }

    /// Reads the envelopes of this slice, in their order. Returns the nodes that hold some back for
    /// lack of credit.
    fn read_envelopes(&mut self, slice: u64, context: &mut NicThreadContext<'_>) -> Vec<NodeId> {
        let mut lanes = Vec::new();
        let signals = context.port.signal_count();
        if std::mem::replace(&mut self.signals_seen, signals) == signals {
            return lanes;
        }
        for lane in (0..context.port.nodes()).map(NodeId::from_index) {
            let Some(header) = DescriptorBlock::header(context.port, lane, slice) else {
                continue;
            };
            self.ahead
                .take_in_cut(lane, slice, &header, &mut self.envelopes);
            match DescriptorBlock::read(context.port, lane, &header, &mut self.envelopes) {
                Ok(()) => lanes.extend(header.held_back.then_some(lane)),
                Err(what) => {
                    self.report_failure(Err(NicFailureCause::BadBlock { lane, what }), context)
                }
            }
        }
        // A source rank has one node, so its envelopes are already in the order of its posts.
        if !self.envelopes.is_sorted_by_key(|envelope| envelope.source) {
            self.envelopes.sort_by_key(|envelope| envelope.source);
        }
        lanes
    }

    /// Reports a failure if a sender is held back for lack of credit and a receiver is full of
    /// envelopes that match none of its receives: nothing can ever move again (law 4).
    fn check_starvation(&self, lane: NodeId, context: &mut NicThreadContext<'_>) {
        let share = self.config.bounds.share(self.config.placement.nodes());
        if let Some(rank) = self.ranks.find_starving_rank(lane, share) {
            let starving = NicFailureCause::Starving { rank, lane, share };
            self.report_failure(Err(starving), context);
        }
    }

    fn return_credits(&mut self, slice: u64, context: &mut NicThreadContext<'_>) {
        for (node, records) in self.ranks.credits_to_return() {
            self.config.page.arm(); // a BS may wait for them
            RetryablePutWords {
                set: NodeSet::only(node),
                at: GlobalAddress::new(Block::Credits, self.config.node),
                words: &CreditBlock::encode(slice, &records),
                signal: Some(NicThreadId::BufferSender),
            }
            .start(context.port, &mut self.puts);
        }
    }
}

impl NicThread for BufferReceiver {
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>) {
        match mail {
            Mail::Phase {
                phase: Microphase::Dem,
                cut: Some(cut),
                ..
            } => self.take_receives(&cut, context),
            Mail::Arrived(collectives) => {
                self.contexts.arrive_all(collectives, context);
                self.dem.collectives_taken = true;
                self.finish_dem(context);
            }
            Mail::Phase {
                slice,
                phase: Microphase::Msm,
                ..
            } => {
                self.match_and_schedule(slice, context);
                self.poll(context);
            }
            Mail::EarlyArrivals(collectives) => {
                let mut needs_slice = false;
                for (rank, collective) in collectives {
                    needs_slice |= self
                        .contexts
                        .arrive_outside_slice(rank, collective, context);
                }
                if needs_slice {
                    self.request_slice();
                }
            }
            Mail::CollectiveOver(context_key) => self.contexts.over(context_key, context),
            Mail::Dropped(transfer) => self.schedule.drop_transfer(transfer),
            Mail::Operand(piece) => {
                self.advance_one_sided(Some(*piece), context);
            }
            Mail::ChunkOutcomes(moved) => {
                self.schedule.handle_outcomes(&moved, context);
                self.start_chunks_outside_slice(context);
            }
            Mail::NodesLost(nodes) => {
                // The death of a remote node ends the job.
                self.ranks.handle_lost_nodes(nodes, context);
                self.publish_unexpected();
                self.schedule.handle_lost_nodes(nodes, context);
                self.contexts.handle_lost_nodes(nodes, context);
            }
            other => unreachable!("BR does not take {other:?}"),
        }
    }

    fn table_leaks(&self, port: &dyn Port) -> Vec<TableLeak> {
        let mut left = self.ranks.left_over();
        left.extend([
            TableLeak::program_leak("messages ahead of the beat", self.ahead.len()),
            TableLeak::runtime_leak("transfers under way", self.schedule.len()),
            TableLeak::program_leak("collectives", self.contexts.unfinished(port)),
            TableLeak::runtime_leak("blocks on their way", self.puts.len()),
        ]);
        left
    }

    fn oldest_unmatched_message(&self, rank: u32, pattern: Pattern) -> Option<MessageEnvelope> {
        let unmatched = self.ranks.unmatched(rank, pattern);
        unmatched.or_else(|| self.ahead.unmatched(rank, pattern))
    }

    fn unmatched_operations(&self, rank: u32, most: usize) -> Option<UnmatchedOperations> {
        let mut kept = self.ranks.unmatched_operations(rank, most)?;
        let room = most.saturating_sub(kept.messages.len());
        kept.messages
            .extend(self.ahead.messages_for(rank).take(room));
        Some(kept)
    }

    fn rank_leaks(&self) -> Vec<(u32, LeakReport)> {
        let mut left = self.ranks.left_by_ranks();
        left.extend(self.ahead.left_by_ranks());
        left
    }

    fn needs_polling(&self) -> bool {
        self.scheduling.is_some() || self.ranks.waits_for_lock()
    }

    fn waits_for_slice(&self) -> Option<&'static str> {
        let held = [
            (
                self.ahead.has_undecided(),
                "messages that a slice must decide",
            ),
            (self.is_probed(), "probes that a slice must answer"),
            (
                self.schedule.needs_slices(),
                "transfers that move in slices",
            ),
            (self.ranks.owes_credits(), "credits that senders wait for"),
            (
                self.contexts.waits_for_slice(),
                "collectives that all have entered",
            ),
        ];
        held.into_iter()
            .find_map(|(holds, what)| holds.then_some(what))
    }

    fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let mut progress = self.work_outside_slice(context);
        if self.ranks.waits_for_lock() {
            progress |= self.advance_one_sided(None, context);
        }
        if self.scheduling.is_none() {
            return progress;
        }
        progress |= RetryablePut::poll(context.port, &mut self.puts);
        progress |= self.contexts.poll(context);
        if self.puts.is_empty() && self.contexts.is_scheduled() {
            self.scheduling = None;
            let [barriers, reductions] = self.contexts.granted();
            self.work[Microphase::Bbm.index()] = barriers;
            self.work[Microphase::Rm.index()] = reductions;
            let tally = MicrophaseTally {
                point_to_point: self.scheduled,
                queues: self.queues.map(Box::new),
                ..MicrophaseTally::default()
            };
            context
                .out
                .finish_microphase(Microphase::Msm, self.work, tally);
            return true;
        }
        progress
    }
}
