//! Messages from remote nodes outside of the slice: which of them meet a receive before a slice
//! decides.
//!
//! A slice decides which message meets which receive where that depends on time: where messages of
//! several senders could meet one receive. It uses the cut, so the time of arrival does not matter.
//! A match that no cut can change needs no slice.
//!
//! *What a message from a named source needs of the slice.* Messages of one sender meet receives in
//! the order of its sends, receives of one rank meet messages in the order of their posts (MPI 5.0,
//! 3.5). Take a message of sender *s* to rank *r*, all of whose predecessors from *s* to *r* have
//! met their receives or match no receive that *r* has posted. Let *N* be the first of the receives
//! of *r*, in the order of their posts, that match it and have met nothing. If *N* names *s*, then
//! the two meet under any cut: only messages of *s* could take *N* away, and none of them comes
//! before; and no receive that comes before *N* matches. The slice with both in its cut would find
//! the same. So they may meet now. If *N* leaves the source open, some other message could meet it
//! in a slice that has both: this message waits for its slice. All later messages of *s* wait
//! behind it, because it may yet take the receives that they would take.
//!
//! *What is in the cut.* The block that a BS puts in DEM records how many of its envelopes had left
//! outside of the slice. Those are in the cut, and come in MSM before those of the block, whose
//! posts are later. Envelopes that left after a block wait until that was read.
//!
//! *Receives* are taken from the rings when something comes. A receive that is taken early meets
//! what it would have met at its cut: the oldest held message, or else the first that a later MSM
//! brings. Probes see what slices have brought.
//!
//! *What has met moves on at once.* Where the bytes are not in the envelope, DH requests them as
//! soon as both have met, here or in an MSM, and a message outside of the slice notifies the
//! sender. MPI orders only the matching, not the transfers. The transfers in flight keep the budget
//! ([`super::schedule`]).
//!
//! So the order is a function of the cut, as without all this, and only time is saved: of the seven
//! trips between nodes for a long message four remain, of the three for a short one, one; and no
//! slice is needed. This holds only where strobes are elastic: otherwise nothing happens between
//! two strobes (law 1).

use super::matching_tables::{MatchAttempt, MatchingTables, signature_of};
use super::schedule::TransferSchedule;
use crate::blocks::{BlockHeader, CollectiveTreeMessage, CompletedSend, DescriptorBlock, Envelope};
use crate::failure::NicFailureCause;
use crate::threads::{NicThreadContext, NodeConfig};
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::wait_state::{Leak, LeakReport, MessagePeer};
use bcs_fabric::Port;
use std::collections::{BTreeSet, VecDeque};

/// An envelope that waits for its slice, or for its receive.
#[derive(Debug)]
struct WaitingEnvelope {
    /// How many envelopes were sent outside of the slice on this lane before it.
    index: u64,
    /// The slice of the block before it.
    after: u64,
    envelope: Envelope,
}

/// The envelopes from one node.
#[derive(Debug, Default)]
struct EnvelopeLane {
    waiting: VecDeque<WaitingEnvelope>,
    /// How many of the first were examined since a receive was taken or a block read.
    looked_at: usize,
    /// The sources whose envelopes wait for a slice to decide.
    undecided: BTreeSet<u32>,
    /// The slice of the last block that was read.
    read: u64,
}

/// Everything that has come outside of the slice.
#[derive(Debug)]
pub(super) struct OutsideSliceEnvelopes {
    lanes: Vec<EnvelopeLane>,
    signals_seen: u64,
    nudges_seen: u32,
    words: Vec<u64>,
    envelopes: Vec<Envelope>,
    /// Messages about collectives, which others handle.
    parts: Vec<(NodeId, CollectiveTreeMessage)>,
    /// Completed sends of local ranks, as their receivers' nodes report them.
    told: Vec<CompletedSend>,
}

/// The events of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IntakeEvents {
    /// An envelope has come.
    pub(super) has_come: bool,
    /// A rank that knows of waiting messages has posted receives.
    pub(super) is_nudged: bool,
}

impl OutsideSliceEnvelopes {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            lanes: std::iter::repeat_with(EnvelopeLane::default)
                .take(nodes)
                .collect(),
            signals_seen: 0,
            nudges_seen: 0,
            words: Vec::new(),
            envelopes: Vec::new(),
            parts: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Returns how many envelopes wait.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting.len()).sum()
    }

    /// Whether a slice must decide about any of them.
    pub(super) fn has_undecided(&self) -> bool {
        let waits = |lane: &EnvelopeLane| !(lane.undecided.is_empty() || lane.waiting.is_empty());
        self.lanes.iter().any(waits)
    }

    /// Returns the receivers of the waiting envelopes.
    pub(super) fn destinations(&self) -> impl Iterator<Item = u32> + '_ {
        let waiting = self.lanes.iter().flat_map(|lane| &lane.waiting);
        waiting.map(|waiting| waiting.envelope.send.destination)
    }

    /// Returns the messages that wait for a local rank, the oldest of each node first.
    pub(super) fn messages_for(&self, rank: u32) -> impl Iterator<Item = MessageEnvelope> + '_ {
        let waiting = self.lanes.iter().flat_map(|lane| &lane.waiting);
        let envelopes = waiting.map(|waiting| &waiting.envelope);
        let envelopes = envelopes.filter(|envelope| envelope.cancels().is_none());
        let to_it = envelopes.filter(move |envelope| envelope.send.destination == rank);
        to_it.map(signature_of)
    }

    /// Returns the oldest message for this pattern that waits for a local rank.
    pub(super) fn unmatched(&self, rank: u32, pattern: Pattern) -> Option<MessageEnvelope> {
        let mut messages = self.messages_for(rank);
        messages.find(|signature| pattern.matches(signature))
    }

    /// Returns the waiting messages as leaks of their receivers.
    pub(super) fn left_by_ranks(&self) -> impl Iterator<Item = (u32, LeakReport)> + '_ {
        let waiting = self.lanes.iter().flat_map(|lane| &lane.waiting);
        let messages = waiting.filter(|waiting| waiting.envelope.cancels().is_none());
        messages.map(|WaitingEnvelope { envelope, .. }| {
            let mut left = LeakReport::default();
            let message = MessagePeer::from(Pattern::from(signature_of(envelope)));
            left.add(Leak::Message(message), 1);
            (envelope.send.destination, left)
        })
    }

    /// Takes what has come. It adds failures for nodes that send invalid data.
    pub(super) fn receive(
        &mut self,
        config: &NodeConfig,
        port: &mut dyn Port,
        failures: &mut Vec<NicFailureCause>,
    ) -> IntakeEvents {
        let nudges = config.page.nudges(config.node, NicThreadId::BufferReceiver);
        let mut news = IntakeEvents {
            has_come: false,
            is_nudged: std::mem::replace(&mut self.nudges_seen, nudges) != nudges,
        };
        let signals = port.signal_count();
        if std::mem::replace(&mut self.signals_seen, signals) == signals {
            return news;
        }
        while let Some(from) = port.receive_outside_slice(&mut self.words) {
            if let Some(told) = CompletedSend::parse(&self.words) {
                match told {
                    Ok(told) => self.told.extend(told),
                    Err(what) => failures.push(NicFailureCause::BadBlock { lane: from, what }),
                }
                continue;
            }
            if let Some(part) = CollectiveTreeMessage::parse(&self.words) {
                match part {
                    Ok(part) => self.parts.push((from, part)),
                    Err(what) => failures.push(NicFailureCause::BadBlock { lane: from, what }),
                }
                continue;
            }
            self.envelopes.clear();
            match DescriptorBlock::read_ahead(&self.words, &mut self.envelopes) {
                Ok(header) => {
                    news.has_come = true;
                    let all = (header.first..).zip(self.envelopes.drain(..));
                    let lane = &mut self.lanes[from.index()];
                    lane.waiting
                        .extend(all.map(|(index, envelope)| WaitingEnvelope {
                            index,
                            after: header.after,
                            envelope,
                        }));
                }
                Err(what) => failures.push(NicFailureCause::BadBlock { lane: from, what }),
            }
        }
        news
    }

    /// Returns the messages about collectives since the last call.
    pub(super) fn take_parts(&mut self) -> Vec<(NodeId, CollectiveTreeMessage)> {
        std::mem::take(&mut self.parts)
    }

    /// Returns the sends that were reported complete since the last call.
    pub(super) fn take_completed_sends(&mut self) -> Vec<CompletedSend> {
        std::mem::take(&mut self.told)
    }

    /// Matches messages that need no slice: those that have come since the last call, or all.
    pub(super) fn meet(
        &mut self,
        all: bool,
        ranks: &mut MatchingTables,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let mut lanes = self.lanes.iter_mut();
        lanes.try_for_each(|lane| lane.meet(all, ranks, schedule, context))
    }

    /// Takes the envelopes in the cut of a block that is about to be read: they come before those
    /// of the block.
    pub(super) fn take_in_cut(
        &mut self,
        lane: NodeId,
        slice: u64,
        block: &BlockHeader,
        into: &mut Vec<Envelope>,
    ) {
        let lane = &mut self.lanes[lane.index()];
        lane.read = slice;
        lane.looked_at = 0;
        lane.undecided.clear();
        let in_cut = lane.waiting.partition_point(|it| it.index < block.ahead);
        into.extend(lane.waiting.drain(..in_cut).map(|it| it.envelope));
    }
}

impl EnvelopeLane {
    fn meet(
        &mut self,
        all: bool,
        ranks: &mut MatchingTables,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        if all || self.looked_at == 0 {
            self.looked_at = 0;
            self.undecided.clear();
        }
        let rest = self.waiting.split_off(self.looked_at);
        let mut is_behind = false;
        for waiting in rest {
            // It comes after a block that was not read yet.
            is_behind |= waiting.after > self.read;
            let source = waiting.envelope.source;
            if !is_behind && waiting.envelope.cancels().is_some() {
                self.cancel(&waiting.envelope, ranks, schedule, context)?;
                continue;
            }
            if !is_behind && !self.undecided.contains(&source) {
                match ranks.try_match(&waiting.envelope, schedule, context)? {
                    MatchAttempt::Receive => continue,
                    MatchAttempt::Nobody => {}
                    MatchAttempt::Undecided => {
                        self.undecided.insert(source);
                    }
                }
            }
            self.looked_at += usize::from(!is_behind);
            self.waiting.push_back(waiting);
        }
        Ok(())
    }

    /// Cancels a message for its sender. The message waits here, or has come in a slice before. If
    /// a slice was to decide about it, that slice examines the later messages of the sender.
    fn cancel(
        &mut self,
        cancel: &Envelope,
        ranks: &mut MatchingTables,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let is_it = |waiting: &WaitingEnvelope| {
            let Envelope { source, send, .. } = &waiting.envelope;
            *source == cancel.source
                && send.destination == cancel.send.destination
                && send.request == cancel.send.request
        };
        let at = self.waiting.iter().position(is_it);
        let Some(message) = at.and_then(|at| self.waiting.remove(at)) else {
            return ranks.arrive(cancel, schedule, context);
        };
        self.looked_at -= 1;
        ranks.cancelled(&message.envelope, schedule, context);
        Ok(())
    }
}
