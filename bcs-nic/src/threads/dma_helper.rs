//! DH, the DMA Helper: moves point-to-point data in PM, one-sided, from the memory of the sender
//! to the memory of the receiver (paper figure 4.5, step 9).
//!
//! - **Owns** the schedule of the slice, from BR.
//! - **Takes** `Chunks`, `Phase` (PM), `Ahead`, `Lost`.
//! - **Emits** gets; completions of receives, and of sends of this node, to SR; completion blocks
//!   to the SRs of the senders' other nodes; `Dropped` to BR for a transfer that failed; `Moved` to BR, who completes what
//!   goes ahead of the beat.
//! - **Invariants.** A request completes only after its data has moved. A transfer that failed
//!   completes once, with the failure, however many chunks it still had.

use super::{Context, LeftOver, NicThread, NodeConfig, Put, PutWords, Retries};
use crate::blocks::{CompletionBlock, Told};
use crate::mail::{Chunk, Mail, Moved, Tally};
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::request::{Completion, Failure};
use bcs_fabric::{Block, Event, FabricError, GlobalAddress, Port};
use std::collections::{BTreeMap, BTreeSet};

/// The DMA Helper of a node.
#[derive(Debug)]
pub struct DmaHelper {
    config: NodeConfig,
    schedule: Vec<Chunk>,
    gets: Retries<Chunk>,
    /// What goes ahead of the beat.
    ahead: Retries<Chunk>,
    puts: Retries<Put>,
    failed: BTreeSet<u64>,
    /// Sends of other nodes that are complete: by node.
    done: BTreeMap<NodeId, Vec<Told>>,
    moving: Option<u64>,
}

impl DmaHelper {
    /// The DH of a node.
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

    fn start(&mut self, slice: u64, context: &mut Context<'_>) {
        self.moving = Some(slice);
        for chunk in std::mem::take(&mut self.schedule) {
            let Some((from, to)) = chunk.copy else {
                self.moved(&chunk, context);
                continue;
            };
            let ticket = context.port.get(from, to);
            match context.port.test_event(ticket) {
                Event::Pending => self.gets.push(ticket, chunk),
                Event::Failed(FabricError::Lost) => {
                    let again = context.port.get(from, to);
                    self.gets.push(again, chunk);
                }
                Event::Failed(error) => self.fail(&chunk, error, context),
                _ => self.moved(&chunk, context),
            }
        }
    }

    /// Asks for what goes ahead of the beat.
    fn start_ahead(&mut self, chunks: Vec<Chunk>, context: &mut Context<'_>) {
        let mut ended = Vec::new();
        for chunk in chunks {
            let (from, to) = chunk.copy.expect("only what has to be moved is asked for");
            let ticket = context.port.get(from, to);
            match context.port.test_event(ticket) {
                Event::Pending => self.ahead.push(ticket, chunk),
                event => ended.push(how_it_ended(&chunk, event)),
            }
        }
        tell_moved(ended, context);
    }

    /// Looks at what was asked for ahead of the beat. Returns whether any of it has ended.
    fn poll_ahead(&mut self, context: &mut Context<'_>) -> bool {
        let mut ended = Vec::new();
        self.ahead.poll(context.port, |_, chunk, event| {
            ended.push(how_it_ended(chunk, event));
            None
        });
        tell_moved(ended, context)
    }

    fn moved(&mut self, chunk: &Chunk, context: &mut Context<'_>) {
        if self.failed.contains(&chunk.transfer) {
            return;
        }
        if let Some(ending) = chunk.last {
            self.end(chunk, ending.receive, ending.send, context);
        }
    }

    fn fail(&mut self, chunk: &Chunk, error: FabricError, context: &mut Context<'_>) {
        if !self.failed.insert(chunk.transfer) {
            return;
        }
        let (receive, send) = chunk.failed(error);
        self.end(chunk, receive, send, context);
        context
            .out
            .send(NicThreadId::BufferReceiver, Mail::Dropped(chunk.transfer));
    }

    fn end(
        &mut self,
        chunk: &Chunk,
        receive: Completion,
        send: Failure,
        context: &mut Context<'_>,
    ) {
        let (rank, request) = chunk.receiver;
        context.out.complete(rank, request, receive);
        let Some((node, rank, request)) = chunk.sender else {
            return;
        };
        if node == self.config.node {
            let completion = Completion {
                failure: send,
                ..Completion::done()
            };
            context.out.complete(rank, request, completion);
        } else {
            let told = Told {
                rank,
                request,
                failure: send,
            };
            self.done.entry(node).or_default().push(told);
        }
    }

    /// Tells the senders' nodes, once everything has moved.
    fn report(&mut self, slice: u64, context: &mut Context<'_>) {
        for (node, sends) in std::mem::take(&mut self.done) {
            let room = self.config.bounds.completions;
            assert!(sends.len() <= room, "BR schedules no more than are told");
            PutWords {
                set: NodeSet::only(node),
                at: GlobalAddress::new(Block::Completions, self.config.node),
                words: &CompletionBlock::encode(slice, &sends),
                signal: Some(NicThreadId::StrobeReceiver),
            }
            .start(context.port, &mut self.puts);
        }
    }
}

fn how_it_ended(chunk: &Chunk, event: Event) -> Moved {
    Moved {
        transfer: chunk.transfer,
        cost: chunk.cost,
        failed: match event {
            Event::Failed(error) => Some(error),
            _ => None,
        },
    }
}

fn tell_moved(ended: Vec<Moved>, context: &mut Context<'_>) -> bool {
    let has_any = !ended.is_empty();
    if has_any {
        let moved = Mail::Moved(ended);
        context.out.send(NicThreadId::BufferReceiver, moved);
    }
    has_any
}

impl NicThread for DmaHelper {
    fn handle(&mut self, mail: Mail, context: &mut Context<'_>) {
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
            Mail::Ahead(chunks) => self.start_ahead(chunks, context),
            Mail::Lost(_) => {} // gets from the dead fail by themselves
            other => unreachable!("DH does not take {other:?}"),
        }
    }

    fn left_over(&self, _port: &dyn Port) -> Vec<LeftOver> {
        let on_their_way = self.gets.len() + self.ahead.len() + self.puts.len();
        vec![
            LeftOver::of_runtime("chunks", self.schedule.len()),
            LeftOver::of_runtime("chunks and blocks on their way", on_their_way),
            LeftOver::of_runtime("failed transfers", self.failed.len()),
            LeftOver::of_runtime("sends that were not told", self.done.len()),
        ]
    }

    fn looks(&self) -> bool {
        self.moving.is_some() || !self.ahead.is_empty()
    }

    fn poll(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = self.poll_ahead(context);
        let Some(slice) = self.moving else {
            return progress;
        };
        let mut ended = Vec::new();
        progress |= self
            .gets
            .poll(context.port, |port, chunk, event| match event {
                Event::Failed(FabricError::Lost) => {
                    let (from, to) = chunk.copy.expect("only copies are outstanding");
                    Some(port.get(from, to))
                }
                event => {
                    ended.push((*chunk, event));
                    None
                }
            });
        for (chunk, event) in ended {
            match event {
                Event::Failed(error) => self.fail(&chunk, error, context),
                _ => self.moved(&chunk, context),
            }
        }
        if self.gets.is_empty() && !self.done.is_empty() {
            self.report(slice, context);
        }
        progress |= Put::poll(context.port, &mut self.puts);
        if self.gets.is_empty() && self.puts.is_empty() {
            self.moving = None;
            self.failed.clear();
            context
                .out
                .finished(Microphase::Pm, [false; 5], Tally::default());
            return true;
        }
        progress
    }
}
