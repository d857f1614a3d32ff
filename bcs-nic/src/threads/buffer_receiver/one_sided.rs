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
//! | an update | in the origin's memory | DH fetches them piece by piece, as the schedule allows, and each piece is applied |
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
use crate::mail::OperandPiece;
use crate::threads::NicThreadContext;
use bcs_core::descriptor::{OneSidedAction, OneSidedTarget, Payload};
use bcs_core::job::NodeId;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::{FabricError, MemoryUpdate};
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
    /// The operand of the first, if DH fetches it.
    fetch: Option<OperandFetch>,
}

/// The operand of an update, on its way from the origin.
#[derive(Debug)]
struct OperandFetch {
    /// Its transfer.
    transfer: u64,
    /// Bytes that have been applied.
    done: u64,
    /// Pieces that wait for the target's lock.
    pieces: Vec<OperandPiece>,
}

/// The result of an attempt to do an operation.
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

    /// Begins the transfers of operands: of those operations that are the first of their pair.
    /// `begin` returns the transfer.
    pub(super) fn begin_fetches(&mut self, mut begin: impl FnMut(&Envelope) -> u64) {
        for queue in self.waiting.values_mut() {
            if let Some(first) = queue.envelopes.front()
                && queue.fetch.is_none()
                && is_fetched(first)
            {
                queue.fetch = Some(OperandFetch {
                    transfer: begin(first),
                    done: 0,
                    pieces: Vec::new(),
                });
            }
        }
    }

    /// Takes a piece of an operand from DH. A piece for an operation that is over is dropped.
    pub(super) fn take_piece(&mut self, piece: OperandPiece, context: &mut NicThreadContext<'_>) {
        let pair = (piece.origin, piece.target);
        let fetch = self.waiting.get_mut(&pair).and_then(|it| it.fetch.as_mut());
        if let Some(fetch) = fetch.filter(|fetch| fetch.transfer == piece.transfer) {
            fetch.pieces.push(piece);
            self.poll(context);
        }
    }

    /// Advances the operations that wait for locks, or for operands that have come.
    pub(super) fn poll(&mut self, context: &mut NicThreadContext<'_>) {
        let happened = &mut self.happened;
        self.waiting.retain(|_, queue| {
            queue.advance(happened, context);
            !queue.envelopes.is_empty()
        });
    }

    /// Whether any operation waits for a lock: a poll may find that it is free.
    pub(super) fn waits_for_lock(&self) -> bool {
        let waits = |queue: &PairQueue| match &queue.fetch {
            Some(fetch) => !fetch.pieces.is_empty(),
            None => true,
        };
        self.waiting.values().any(waits)
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

/// Returns whether the operand of an operation has to be fetched.
fn is_fetched(envelope: &Envelope) -> bool {
    let is_update = |target: &OneSidedTarget| matches!(target.action, OneSidedAction::Update(_));
    matches!(envelope.send.payload, Payload::Memory(_))
        && envelope.send.one_sided.as_ref().is_some_and(is_update)
}

impl PairQueue {
    /// Does as many of the operations as can be done now.
    fn advance(
        &mut self,
        happened: &mut Vec<(Envelope, TransferKind)>,
        context: &mut NicThreadContext<'_>,
    ) {
        while let Some(envelope) = self.envelopes.front() {
            let target = envelope.send.one_sided.as_ref();
            let target = target.expect("only one-sided operations wait here");
            let kind = match &mut self.fetch {
                Some(fetch) => fetch.apply_pieces(envelope, target, context),
                None => match attempt(envelope, target, context) {
                    Attempt::Happened(kind) => Some(kind),
                    Attempt::Locked | Attempt::Fetches => None,
                },
            };
            let Some(kind) = kind else { return };
            happened.push((*envelope, kind));
            self.envelopes.pop_front();
            self.fetch = None;
        }
    }
}

impl OperandFetch {
    /// Applies the pieces that are here. Their elements differ, so their order does not matter.
    /// Returns how the operation has ended, if it has.
    fn apply_pieces(
        &mut self,
        envelope: &Envelope,
        target: &OneSidedTarget,
        context: &mut NicThreadContext<'_>,
    ) -> Option<TransferKind> {
        let OneSidedAction::Update(update) = target.action else {
            unreachable!("only operands of updates are fetched");
        };
        while let Some(piece) = self.pieces.last() {
            let operand = match &piece.bytes {
                Ok(operand) => operand,
                Err(FabricError::PeerGone) => {
                    return Some(TransferKind::ended(RequestFailure::PeerGone));
                }
                Err(_) => return Some(TransferKind::ended(RequestFailure::BadAddress)),
            };
            let part = MemoryUpdate {
                update,
                len: operand.len(),
                operand,
                old: &mut [],
            };
            let address = target.address.wrapping_add(piece.offset);
            match apply(envelope, address, part, context) {
                Ok(true) => self.done += operand.len() as u64,
                Ok(false) => return None,
                Err(failure) => return Some(TransferKind::ended(failure)),
            }
            self.pieces.pop();
        }
        (self.done == envelope.send.len).then(|| TransferKind::ended(RequestFailure::None))
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
