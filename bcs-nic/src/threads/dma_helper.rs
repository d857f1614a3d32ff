//! DH, the DMA Helper: moves point-to-point data in PM, one-sided, from the memory of the sender to
//! the memory of the receiver (paper figure 4.5, step 9).
//!
//! - **Owns** the schedule of the slice, from BR.
//! - **Takes** `Chunks`, `Phase` (PM), `ChunksOutsideSlice`, `NodesLost`.
//! - **Emits** gets; completions of receives, and of sends of this node, to SR; completion blocks
//!   to the SRs of the senders' other nodes; `Dropped` to BR for a transfer that failed; `Operand`
//!   to BR;
//!   `ChunkOutcomes` to BR, which completes transfers outside of the slice.
//! - **Invariants.** A request completes only after its data has moved. A transfer that failed
//!   completes once, with the failure, however many chunks it still had.

use super::{
    NicThread, NicThreadContext, NodeConfig, Retries, RetryablePut, RetryablePutWords, TableLeak,
};
use crate::blocks::{CompletedSend, CompletionBlock};
use crate::mail::{Chunk, ChunkOutcome, Mail, MicrophaseTally, OperandPiece};
use bcs_core::descriptor::Payload;
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::{Block, Event, FabricError, GlobalAddress, Port, SourceSpan, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// The DMA Helper of a node.
#[derive(Debug)]
pub struct DmaHelper {
    config: NodeConfig,
    schedule: Vec<Chunk>,
    gets: Retries<Chunk>,
    /// Chunks that move outside of the slice.
    ahead: Retries<Chunk>,
    puts: Retries<RetryablePut>,
    failed: BTreeSet<u64>,
    /// Completed sends of other nodes, by node.
    done: BTreeMap<NodeId, Vec<CompletedSend>>,
    moving: Option<u64>,
}

impl DmaHelper {
    /// Creates the DH of a node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Self {
        Self {
            config,
            schedule: Vec::new(),
            gets: Retries::default(),
            ahead: Retries::default(),
            puts: Retries::default(),
            failed: BTreeSet::new(),
            done: BTreeMap::new(),
            moving: None,
        }
    }

    fn start(&mut self, slice: u64, context: &mut NicThreadContext<'_>) {
        self.moving = Some(slice);
        for chunk in std::mem::take(&mut self.schedule) {
            if chunk.copy.is_none() {
                self.moved(&chunk, context);
                continue;
            }
            let ticket = request(&chunk, context.port);
            match context.port.test_event(ticket) {
                Event::Pending => self.gets.push(ticket, chunk),
                Event::Failed(FabricError::Lost) => {
                    let again = request_again(ticket, &chunk, context.port);
                    self.gets.push(again, chunk);
                }
                event => self.ended(ticket, &chunk, event, context),
            }
        }
    }

    /// Requests chunks outside of the slice.
    fn start_outside_slice(&mut self, chunks: Vec<Chunk>, context: &mut NicThreadContext<'_>) {
        let mut ended = Vec::new();
        for chunk in chunks {
            let ticket = request(&chunk, context.port);
            match context.port.test_event(ticket) {
                Event::Pending => self.ahead.push(ticket, chunk),
                event => {
                    pass_operand(ticket, &chunk, event, context);
                    ended.push(chunk_outcome(&chunk, event));
                }
            }
        }
        report_outcomes(ended, context);
    }

    /// Polls the chunks that were requested outside of the slice. Returns whether any has ended.
    fn poll_outside_slice(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let mut ended = Vec::new();
        self.ahead.poll(context.port, |_, ticket, chunk, event| {
            ended.push((ticket, *chunk, event));
            None
        });
        let outcomes = ended.into_iter().map(|(ticket, chunk, event)| {
            pass_operand(ticket, &chunk, event, context);
            chunk_outcome(&chunk, event)
        });
        let outcomes = outcomes.collect();
        report_outcomes(outcomes, context)
    }

    /// Handles the end of a chunk in the slice.
    fn ended(
        &mut self,
        ticket: Ticket,
        chunk: &Chunk,
        event: Event,
        context: &mut NicThreadContext<'_>,
    ) {
        pass_operand(ticket, chunk, event, context);
        match event {
            Event::Failed(error) => self.fail(chunk, error, context),
            _ => self.moved(chunk, context),
        }
    }

    fn moved(&mut self, chunk: &Chunk, context: &mut NicThreadContext<'_>) {
        if self.failed.contains(&chunk.transfer) {
            return;
        }
        if let Some(ending) = chunk.last {
            self.end(chunk, ending.receive, ending.send, context);
        }
    }

    fn fail(&mut self, chunk: &Chunk, error: FabricError, context: &mut NicThreadContext<'_>) {
        if !self.failed.insert(chunk.transfer) {
            return;
        }
        let (receive, send) = chunk.failure_outcome(error);
        self.end(chunk, receive, send, context);
        context
            .out
            .send(NicThreadId::BufferReceiver, Mail::Dropped(chunk.transfer));
    }

    fn end(
        &mut self,
        chunk: &Chunk,
        receive: Completion,
        send: RequestFailure,
        context: &mut NicThreadContext<'_>,
    ) {
        context.out.complete_receive(chunk, receive);
        let Some((node, told)) = chunk.completed_send(&receive, send) else {
            return;
        };
        if node == self.config.node {
            let CompletedSend { rank, request, .. } = told;
            context.out.complete(rank, request, told.completion());
        } else {
            self.done.entry(node).or_default().push(told);
        }
    }

    /// Notifies the senders' nodes, once everything has moved.
    fn report(&mut self, slice: u64, context: &mut NicThreadContext<'_>) {
        for (node, sends) in std::mem::take(&mut self.done) {
            let room = self.config.bounds.completions;
            assert!(sends.len() <= room, "BR schedules no more than are told");
            RetryablePutWords {
                set: NodeSet::only(node),
                at: GlobalAddress::new(Block::Completions, self.config.node),
                words: &CompletionBlock::encode(slice, &sends),
                signal: Some(NicThreadId::StrobeReceiver),
            }
            .start(context.port, &mut self.puts);
        }
    }
}

/// Requests the bytes of a chunk.
fn request(chunk: &Chunk, port: &mut dyn Port) -> Ticket {
    let (from, to) = chunk.copy.expect("only what has to be moved is requested");
    if !chunk.is_operand {
        return port.get(from, to);
    }
    let len = usize::try_from(from.len).expect("a chunk is within the budget");
    fetch(&from, vec![0; len], port)
}

fn fetch(from: &SourceSpan, into: Vec<u8>, port: &mut dyn Port) -> Ticket {
    let address = match from.payload {
        Payload::Memory(location) => location.address,
        _ => unreachable!("other operands come with their descriptors"),
    };
    port.fetch(from.rank, address.wrapping_add(from.offset), into)
}

/// Requests the bytes of a lost chunk again.
fn request_again(lost: Ticket, chunk: &Chunk, port: &mut dyn Port) -> Ticket {
    let (from, _) = chunk.copy.expect("only copies are outstanding");
    if chunk.is_operand {
        let buffer = port.take_fetched(lost);
        return fetch(&from, buffer, port);
    }
    request(chunk, port)
}

/// Passes a piece of an operand, or its failure, to BR.
fn pass_operand(ticket: Ticket, chunk: &Chunk, event: Event, context: &mut NicThreadContext<'_>) {
    let Some((from, to)) = chunk.copy.filter(|_| chunk.is_operand) else {
        return;
    };
    let bytes = context.port.take_fetched(ticket);
    let piece = OperandPiece {
        transfer: chunk.transfer,
        origin: from.rank,
        target: to.rank,
        offset: from.offset,
        bytes: match event {
            Event::Failed(error) => Err(error),
            _ => Ok(bytes),
        },
    };
    let piece = Mail::Operand(Box::new(piece));
    context.out.send(NicThreadId::BufferReceiver, piece);
}

fn chunk_outcome(chunk: &Chunk, event: Event) -> ChunkOutcome {
    ChunkOutcome {
        transfer: chunk.transfer,
        cost: chunk.cost,
        failed: match event {
            Event::Failed(error) => Some(error),
            _ => None,
        },
    }
}

fn report_outcomes(ended: Vec<ChunkOutcome>, context: &mut NicThreadContext<'_>) -> bool {
    let has_any = !ended.is_empty();
    if has_any {
        let moved = Mail::ChunkOutcomes(ended);
        context.out.send(NicThreadId::BufferReceiver, moved);
    }
    has_any
}

impl NicThread for DmaHelper {
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>) {
        match mail {
            Mail::Chunks(chunks) => self.schedule = chunks,
            Mail::Phase {
                slice,
                phase: Microphase::Pm,
                ..
            } => {
                self.start(slice, context);
                self.poll(context);
            }
            Mail::ChunksOutsideSlice(chunks) => self.start_outside_slice(chunks, context),
            Mail::NodesLost(_) => {} // gets from the dead fail by themselves
            other => unreachable!("DH does not take {other:?}"),
        }
    }

    fn table_leaks(&self, _port: &dyn Port) -> Vec<TableLeak> {
        let on_their_way = self.gets.len() + self.ahead.len() + self.puts.len();
        vec![
            TableLeak::runtime_leak("chunks", self.schedule.len()),
            TableLeak::runtime_leak("chunks and blocks on their way", on_their_way),
            TableLeak::runtime_leak("failed transfers", self.failed.len()),
            TableLeak::runtime_leak("sends that were not told", self.done.len()),
        ]
    }

    fn needs_polling(&self) -> bool {
        self.moving.is_some() || !self.ahead.is_empty()
    }

    fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let mut progress = self.poll_outside_slice(context);
        let Some(slice) = self.moving else {
            return progress;
        };
        let mut ended = Vec::new();
        progress |= self
            .gets
            .poll(context.port, |port, ticket, chunk, event| match event {
                Event::Failed(FabricError::Lost) => Some(request_again(ticket, chunk, port)),
                event => {
                    ended.push((ticket, *chunk, event));
                    None
                }
            });
        for (ticket, chunk, event) in ended {
            self.ended(ticket, &chunk, event, context);
        }
        if self.gets.is_empty() && !self.done.is_empty() {
            self.report(slice, context);
        }
        progress |= RetryablePut::poll(context.port, &mut self.puts);
        if self.gets.is_empty() && self.puts.is_empty() {
            self.moving = None;
            self.failed.clear();
            context
                .out
                .finish_microphase(Microphase::Pm, [false; 5], MicrophaseTally::default());
            return true;
        }
        progress
    }
}
