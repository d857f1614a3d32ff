//! One-sided operations that came for ranks of this node: puts and updates (MPI 5.0 chapter 12).
//!
//! A put or an update comes as an envelope, as messages do, and meets no receive: its descriptor
//! says what to do. So a target that computes takes no part in it.
//!
//! | it is | and its bytes are | so |
//! |---|---|---|
//! | a put | in the descriptor | they are written at once |
//! | a put | in the origin's memory | they move like those of a message whose receive is at the target's address |
//! | an update | in the descriptor | the elements are updated at once |
//! | an update | in the origin's memory | they are fetched piece by piece, and each piece is applied |
//!
//! *Order.* Updates by one origin of one target happen in the order of their posts (section 12.7.1,
//! the default of `accumulate_ordering`). The envelopes of a pair come in this order. An update
//! that cannot happen yet, because its bytes are on their way or another one holds the target's
//! lock, keeps the later operations of its pair in a queue.
//!
//! *Completion.* The origin hears of each operation once it has happened, and gets what it fetched,
//! in the same way as the sender of a message that waits for a completion.

use super::schedule::{Transfer, TransferSchedule};
use crate::blocks::Envelope;
use crate::threads::NicThreadContext;
use bcs_core::descriptor::{OneSidedAction, OneSidedTarget, Payload};
use bcs_core::job::NodeId;
use bcs_core::limits::{BOUNCE_BYTES, INLINE_BYTES};
use bcs_core::one_sided::Update;
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::{Event, FabricError, MemoryUpdate, Ticket};
use std::collections::{BTreeMap, VecDeque};

/// Origin and target.
type Pair = (u32, u32);

/// The operations of the pairs that wait, and what has happened.
#[derive(Debug, Default)]
pub(super) struct OneSidedOperations {
    waiting: BTreeMap<Pair, PairQueue>,
    /// Operations whose transfers have not been added to the schedule.
    happened: Vec<(Envelope, TransferKind)>,
}

/// How the schedule ends an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum TransferKind {
    /// The bytes of a put have still to move, to this address.
    Moves(u64),
    /// It has happened, or has failed.
    Ended {
        failure: RequestFailure,
        returned: Completion,
    },
}

impl TransferKind {
    /// Returns whether the target's memory has changed by it.
    pub(super) fn has_happened(&self) -> bool {
        matches!(
            self,
            Self::Ended {
                failure: RequestFailure::None,
                ..
            }
        )
    }

    fn ended(failure: RequestFailure) -> Self {
        Self::Ended {
            failure,
            returned: Completion::done(),
        }
    }
}

/// The operations of a pair that wait, the first of which is under way.
#[derive(Debug, Default)]
struct PairQueue {
    envelopes: VecDeque<Envelope>,
    fetch: Option<OperandFetch>,
}

/// The operand of an update, on its way from the origin.
#[derive(Debug)]
struct OperandFetch {
    /// The piece that is on its way; `None` if it is here, and the lock is awaited.
    ticket: Option<Ticket>,
    /// Bytes that have been applied.
    done: u64,
    piece: Vec<u8>,
}

/// What became of an operation.
enum Attempt {
    Happened(TransferKind),
    /// Another one holds the target's lock.
    Locked,
    /// The operand has to be fetched.
    Fetches,
}

impl OneSidedOperations {
    /// Takes an operation for a rank of this node.
    pub(super) fn arrive(
        &mut self,
        envelope: &Envelope,
        target: &OneSidedTarget,
        context: &mut NicThreadContext<'_>,
    ) {
        let pair = (envelope.source, envelope.send.destination);
        if let Some(queue) = self.waiting.get_mut(&pair) {
            queue.envelopes.push_back(*envelope);
            return;
        }
        match attempt(envelope, target, context) {
            Attempt::Happened(kind) => self.happened.push((*envelope, kind)),
            Attempt::Locked | Attempt::Fetches => {
                let queue = self.waiting.entry(pair).or_default();
                queue.envelopes.push_back(*envelope);
            }
        }
    }

    /// Advances the operations that wait. Returns whether any has happened.
    pub(super) fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let happened = &mut self.happened;
        let before = happened.len();
        self.waiting.retain(|_, queue| {
            queue.advance(happened, context);
            !queue.envelopes.is_empty()
        });
        happened.len() > before
    }

    /// Whether any operation waits for its operand or a lock: a poll may find something.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns how many operations have not happened.
    pub(super) fn len(&self) -> usize {
        let queues = self.waiting.values();
        queues.map(|queue| queue.envelopes.len()).sum::<usize>() + self.happened.len()
    }

    /// Takes the operations that have happened since the last call.
    pub(super) fn take_happened(&mut self) -> Vec<(Envelope, TransferKind)> {
        std::mem::take(&mut self.happened)
    }

    /// Forgets the operations of lost origins, which nobody waits for.
    pub(super) fn forget(&mut self, is_lost: impl Fn(u32) -> bool) {
        self.waiting.retain(|&(origin, _), _| !is_lost(origin));
    }
}

/// Adds an operation that has happened to the transfers, whose ends are reported to senders.
pub(super) fn schedule_end(
    (envelope, kind): (&Envelope, TransferKind),
    source_node: NodeId,
    is_ahead: bool,
    schedule: &mut TransferSchedule,
) {
    let transfer = match kind {
        TransferKind::Moves(address) => Transfer::put(source_node, envelope, address),
        TransferKind::Ended { failure, returned } => {
            Transfer::ended(source_node, envelope, failure, returned)
        }
    };
    schedule.add(transfer, is_ahead);
}

impl PairQueue {
    fn advance(
        &mut self,
        happened: &mut Vec<(Envelope, TransferKind)>,
        context: &mut NicThreadContext<'_>,
    ) {
        while let Some(envelope) = self.envelopes.front() {
            let target = envelope.send.one_sided.as_ref();
            let target = target.expect("only one-sided operations wait here");
            let kind = match (&target.action, &envelope.send.payload) {
                (OneSidedAction::Update(update), Payload::Memory(operand)) => {
                    let fetch = self.fetch.take().unwrap_or_else(OperandFetch::new);
                    match fetch.advance(envelope, (*update, target), operand.address, context) {
                        Ok(kind) => kind,
                        Err(fetch) => {
                            self.fetch = Some(fetch);
                            return;
                        }
                    }
                }
                _ => match attempt(envelope, target, context) {
                    Attempt::Happened(kind) => kind,
                    Attempt::Locked | Attempt::Fetches => return,
                },
            };
            happened.push((*envelope, kind));
            self.envelopes.pop_front();
        }
    }
}

impl OperandFetch {
    fn new() -> Self {
        Self {
            ticket: None,
            done: 0,
            piece: Vec::new(),
        }
    }

    /// Fetches and applies as much as is here. Returns itself if more is to come.
    fn advance(
        mut self,
        envelope: &Envelope,
        (update, target): (Update, &OneSidedTarget),
        operand: u64,
        context: &mut NicThreadContext<'_>,
    ) -> Result<TransferKind, Self> {
        let len = envelope.send.len;
        loop {
            if let Some(ticket) = self.ticket {
                match context.port.test_event(ticket) {
                    Event::Pending => return Err(self),
                    Event::Failed(FabricError::Lost) => {
                        let piece = context.port.take_fetched(ticket);
                        let at = operand.wrapping_add(self.done);
                        self.ticket = Some(context.port.fetch(envelope.source, at, piece));
                        continue;
                    }
                    Event::Failed(error) => {
                        context.port.take_fetched(ticket);
                        let failure = match error {
                            FabricError::PeerGone => RequestFailure::PeerGone,
                            _ => RequestFailure::BadAddress,
                        };
                        return Ok(TransferKind::ended(failure));
                    }
                    Event::Signalled | Event::Verdict(_) => {
                        self.piece = context.port.take_fetched(ticket);
                        self.ticket = None;
                    }
                }
            }
            if !self.piece.is_empty() {
                let piece = MemoryUpdate {
                    update,
                    len: self.piece.len(),
                    operand: &self.piece,
                    old: &mut [],
                };
                match apply(
                    envelope,
                    target.address.wrapping_add(self.done),
                    piece,
                    context,
                ) {
                    Ok(true) => self.done += self.piece.len() as u64,
                    Ok(false) => return Err(self),
                    Err(failure) => return Ok(TransferKind::ended(failure)),
                }
            }
            if self.done == len {
                return Ok(TransferKind::ended(RequestFailure::None));
            }
            let bytes = (len - self.done).min(BOUNCE_BYTES as u64);
            let mut piece = std::mem::take(&mut self.piece);
            piece.resize(usize::try_from(bytes).expect("a piece is short"), 0);
            let at = operand.wrapping_add(self.done);
            self.ticket = Some(context.port.fetch(envelope.source, at, piece));
        }
    }
}

/// Does an operation, if it can be done now.
fn attempt(
    envelope: &Envelope,
    target: &OneSidedTarget,
    context: &mut NicThreadContext<'_>,
) -> Attempt {
    let send = &envelope.send;
    let Payload::Inline(bytes) = &send.payload else {
        return match target.action {
            OneSidedAction::Put => Attempt::Happened(TransferKind::Moves(target.address)),
            OneSidedAction::Update(_) => Attempt::Fetches,
        };
    };
    let inline = |len: u64| usize::try_from(len).expect("inline is short");
    let operand = &bytes[..inline(target.sent_len(send.len))];
    let mut old = [0; INLINE_BYTES];
    let old = &mut old[..inline(target.returned_len(send.len))];
    let done = match target.action {
        OneSidedAction::Put => {
            let written = context
                .memory
                .write(send.destination, target.address, operand);
            written
                .map(|()| true)
                .map_err(|_| RequestFailure::TargetMemory)
        }
        OneSidedAction::Update(update) => {
            let update = MemoryUpdate {
                update,
                len: inline(send.len),
                operand,
                old: &mut *old,
            };
            apply(envelope, target.address, update, context)
        }
    };
    let mut returned = Completion::done();
    match done {
        Ok(false) => return Attempt::Locked,
        Ok(true) => returned.set_inline(old),
        Err(_) => {}
    }
    Attempt::Happened(TransferKind::Ended {
        failure: done.err().unwrap_or(RequestFailure::None),
        returned,
    })
}

fn apply(
    envelope: &Envelope,
    address: u64,
    mut update: MemoryUpdate<'_>,
    context: &mut NicThreadContext<'_>,
) -> Result<bool, RequestFailure> {
    let target = envelope.send.destination;
    let done = context.memory.update(target, address, &mut update);
    done.map_err(|_| RequestFailure::TargetMemory)
}
