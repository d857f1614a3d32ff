//! The part of a collective that moves in one slice, at one node.
//!
//! 1. It *offers* the memory of its arrivals to the nodes that read it, and waits for the offers of
//!    the nodes whose memory it reads.
//! 2. It folds its part, reports that this is *ready*, and pulls the parts that others have made.
//! 3. It reports that it is *done* to all nodes whose memory it has read, and waits for that word
//!    from all that read its own.
//!
//! A node that finds memory missing reports that in its next word, in place of the data.

use super::fold::{FoldProgress, PartFold};
use super::fold_order::fold_order;
use super::pull_task::PullTask;
use crate::blocks::{Board, MemoryOffer};
use crate::collective::{NicGroup, ReadyCollective};
use crate::threads::missing_memory::MissingMemory;
use crate::threads::{NicThreadContext, NodeConfig, Retries, RetryablePut};
use bcs_core::descriptor::Payload;
use bcs_core::job::{NicThreadId, NodeSet};
use bcs_core::layout::Location;
use bcs_core::limits::FOLD_BLOCK_BYTES;
use bcs_fabric::{DestinationSpan, Event, FabricError, GlobalAddress, Port, SourceSpan};
use std::ops::Range;

/// Bytes that are pulled from a rank of another node to one of this node.
#[derive(Clone, Copy, Debug)]
struct PullTransfer {
    from: SourceSpan,
    to: DestinationSpan,
}

/// The facts that are the same in all slices of a collective at this node.
#[derive(Clone, Copy, Debug)]
pub(super) struct PullSetup<'a> {
    pub(super) config: &'a NodeConfig,
    pub(super) collective: &'a ReadyCollective,
    pub(super) task: PullTask,
    pub(super) place: usize,
    pub(super) who: NicThreadId,
}

impl PullSetup<'_> {
    fn group(&self) -> &NicGroup {
        &self.collective.group
    }

    fn nodes(&self) -> usize {
        self.group().nodes.len()
    }

    fn offers(&self, spoilt: MissingMemory) -> Vec<MemoryOffer> {
        let local = self.collective.local.iter();
        let offer = local.map(|(rank, descriptor)| MemoryOffer {
            rank: *rank,
            input: descriptor.input,
            output: descriptor.output,
            spoilt_by: spoilt.check().err().or(descriptor.unreadable_member),
        });
        offer.collect()
    }

    /// Returns the ranks of this node that get data, with the addresses.
    fn outputs(&self) -> Vec<(u32, u64)> {
        let local = self.collective.local.iter();
        let wanting = local.filter(|(rank, _)| self.task.gives_to(*rank));
        wanting
            .map(|(rank, descriptor)| (*rank, descriptor.output))
            .collect()
    }

    fn tell(
        &self,
        places: &[usize],
        at: GlobalAddress,
        bytes: Vec<u8>,
        (puts, port): (&mut Retries<RetryablePut>, &mut dyn Port),
    ) {
        let set: NodeSet = places
            .iter()
            .map(|&place| self.group().nodes[place])
            .collect();
        if !set.is_empty() {
            let signal = Some(self.who);
            RetryablePut {
                set,
                at,
                bytes,
                signal,
            }
            .start(port, puts);
        }
    }
}

/// The data of a collective that move in a slice.
#[derive(Debug)]
pub(super) struct SlicePull {
    board: Board,
    bytes: Range<u64>,
    /// The offers by place, as far as this node needs them.
    offers: Vec<Option<Vec<MemoryOffer>>>,
    /// Places whose offers are still to come.
    unknown: Vec<usize>,
    has_begun: bool,
    fold: Option<PartFold>,
    /// Places whose parts are still to be pulled.
    unmade: Vec<usize>,
    pulls: Retries<PullTransfer>,
    /// Whether a node has died that has data needed here: the caller of the poll checks which nodes
    /// are dead.
    is_lost: bool,
    is_done: bool,
    /// Places that still read memory of this node.
    readers: Vec<usize>,
}

impl SlicePull {
    /// Begins to move these bytes.
    pub(super) fn begin(
        board: Board,
        bytes: Range<u64>,
        scene: &PullSetup<'_>,
        spoilt: MissingMemory,
        (puts, context): (&mut Retries<RetryablePut>, &mut NicThreadContext<'_>),
    ) -> Self {
        let own = scene.offers(spoilt);
        let readers = scene.task.readers(scene.place, scene.nodes());
        let at = board.offers_at(scene.place, scene.group());
        scene.tell(
            &readers,
            at,
            board.encode_offers(&own),
            (puts, context.port),
        );
        let mut offers = vec![None; scene.nodes()];
        offers[scene.place] = Some(own);
        Self {
            board,
            bytes,
            offers,
            unknown: scene.task.sources(scene.place, scene.nodes()),
            has_begun: false,
            fold: None,
            unmade: Vec::new(),
            pulls: Retries::default(),
            is_lost: false,
            is_done: false,
            readers,
        }
    }

    /// Whether data move that nobody can stop.
    pub(super) fn is_moving(&self) -> bool {
        !self.pulls.is_empty() || self.fold.as_ref().is_some_and(PartFold::is_waiting)
    }

    /// Returns how much of each kind it still has to do or to wait for. If two calls return the
    /// same, nothing has moved in between.
    pub(super) fn left(&self) -> [usize; 5] {
        let begun = usize::from(self.has_begun) + usize::from(self.fold.is_none());
        [
            self.unknown.len(),
            2 - begun,
            self.unmade.len(),
            self.pulls.len(),
            self.readers.len() + usize::from(!self.is_done),
        ]
    }

    /// Lets the moving data arrive, and begins nothing more.
    pub(super) fn drain(&mut self, context: &mut NicThreadContext<'_>) {
        self.pulls.poll(context.port, |_, _, _, _| None);
        if let Some(fold) = &mut self.fold {
            fold.drain(context);
        }
    }

    /// Advances as far as possible. Returns whether it is over: nothing moves, and no node reads
    /// memory of this one.
    pub(super) fn advance(
        &mut self,
        scene: &PullSetup<'_>,
        spoilt: &mut MissingMemory,
        puts: &mut Retries<RetryablePut>,
        context: &mut NicThreadContext<'_>,
    ) -> bool {
        if !self.has_begun && self.all_have_offered(scene, context) {
            self.has_begun = true;
            self.make(scene, spoilt, context);
        }
        if !self.has_begun {
            return false;
        }
        self.fold_on(scene, spoilt, puts, context);
        self.pull_parts(scene, spoilt, context);
        self.take_pulled(scene, spoilt, context);
        let nothing_left = self.unmade.is_empty() && self.pulls.is_empty() && self.fold.is_none();
        if nothing_left && !self.is_lost && !self.is_done {
            self.is_done = true;
            let sources = scene.task.sources(scene.place, scene.nodes());
            let at = self.board.done_at(scene.place, scene.group());
            let word = self.board.encode_word(spoilt.check());
            scene.tell(&sources, at, word, (puts, context.port));
        }
        self.take_done_words(scene, spoilt, context);
        self.is_done && self.readers.is_empty()
    }

    fn all_have_offered(&mut self, scene: &PullSetup<'_>, context: &NicThreadContext<'_>) -> bool {
        let (board, group, offers) = (self.board, scene.group(), &mut self.offers);
        self.unknown.retain(|&place| {
            offers[place] = board.read_offers(context.port, place, group);
            offers[place].is_none()
        });
        self.unknown.is_empty()
    }

    /// Begins to make this node's part when all offers have come, unless memory is missing for it.
    /// All nodes that have read the same offers find the same.
    fn make(
        &mut self,
        scene: &PullSetup<'_>,
        spoilt: &mut MissingMemory,
        context: &mut NicThreadContext<'_>,
    ) {
        let offers = self.offers.iter().flatten().flatten();
        let culprit = offers.filter_map(|offer| match scene.task {
            PullTask::Broadcast(root) if root.rank != offer.rank => None,
            _ => offer.spoilt_by,
        });
        if let Some(culprit) = culprit.min() {
            spoilt.note::<()>(Err(culprit));
            return;
        }
        match scene.task {
            PullTask::Broadcast(root) if root.place == scene.place => {
                let offers = self.offers[root.place].iter().flatten();
                let root = offers.copied().find(|offer| offer.rank == root.rank);
                let root = root.expect("the root is a local member");
                self.copy_on(root.rank, root.input, &scene.outputs(), spoilt, context);
            }
            PullTask::Broadcast(root) => self.unmade = vec![root.place],
            PullTask::ReduceToAll(_) => {
                self.unmade = scene.task.sources(scene.place, scene.nodes());
                let (task, nodes, bytes) = (scene.task, scene.nodes(), &self.bytes);
                self.unmade
                    .retain(|&place| !task.part(place, nodes, bytes).is_empty());
            }
            PullTask::ReduceToOne(..) => {}
        }
        let part = scene.task.part(scene.place, scene.nodes(), &self.bytes);
        if let Some(arithmetic) = scene.task.arithmetic()
            && !part.is_empty()
        {
            let arrivals: Vec<Vec<MemoryOffer>> = self.offers.iter().flatten().cloned().collect();
            let notes = fold_order(scene.group(), &arrivals);
            self.fold = Some(PartFold::new(arithmetic, notes, scene.outputs(), part));
        }
    }

    fn fold_on(
        &mut self,
        scene: &PullSetup<'_>,
        spoilt: &mut MissingMemory,
        puts: &mut Retries<RetryablePut>,
        context: &mut NicThreadContext<'_>,
    ) {
        let Some(fold) = &mut self.fold else { return };
        let folded = fold.advance(scene.config, context);
        if folded == Ok(FoldProgress::Waiting) {
            return;
        }
        self.fold = None;
        let outcome = folded.map(|_| ());
        spoilt.note(outcome);
        if let PullTask::ReduceToAll(_) = scene.task {
            let readers = scene.task.readers(scene.place, scene.nodes());
            let at = self.board.ready_at(scene.place, scene.group());
            let word = self.board.encode_word(outcome);
            scene.tell(&readers, at, word, (puts, context.port));
        }
    }

    /// Pulls the parts that other nodes have made since the last poll.
    fn pull_parts(
        &mut self,
        scene: &PullSetup<'_>,
        spoilt: &mut MissingMemory,
        context: &mut NicThreadContext<'_>,
    ) {
        for place in std::mem::take(&mut self.unmade) {
            let is_there = match scene.task {
                PullTask::Broadcast(_) => Some(Ok(())), // it has died since the offer
                _ => {
                    let at = self.board.ready_at(place, scene.group());
                    self.board.read_word(context.port, at)
                }
            };
            match is_there {
                None => self.unmade.push(place),
                Some(Err(culprit)) => {
                    spoilt.note::<()>(Err(culprit));
                }
                Some(Ok(())) => self.pull(place, scene, context),
            }
        }
    }

    fn pull(&mut self, place: usize, scene: &PullSetup<'_>, context: &mut NicThreadContext<'_>) {
        let outputs = scene.outputs();
        let &(rank, output) = outputs.first().expect("this node's members get it");
        let offers = self.offers[place].as_ref().expect("all have offered");
        let (from, address, part) = match scene.task {
            PullTask::Broadcast(root) => {
                let offer = offers.iter().find(|offer| offer.rank == root.rank);
                let offer = offer.expect("the root's node offers the root");
                (offer.rank, offer.input, self.bytes.clone())
            }
            _ => {
                let offer = offers.first().expect("a node has a member");
                let part = scene.task.part(place, scene.nodes(), &self.bytes);
                (offer.rank, offer.output, part)
            }
        };
        let from = SourceSpan {
            rank: from,
            payload: Payload::Memory(Location::contiguous(address)),
            offset: part.start,
            len: part.end - part.start,
        };
        let to = DestinationSpan {
            rank,
            into: Location::contiguous(output),
            offset: part.start,
        };
        self.pulls
            .push(context.port.get(from, to), PullTransfer { from, to });
    }

    /// Copies the data that have come to one rank of this node to the others.
    fn take_pulled(
        &mut self,
        scene: &PullSetup<'_>,
        spoilt: &mut MissingMemory,
        context: &mut NicThreadContext<'_>,
    ) {
        let mut ended = Vec::new();
        self.pulls
            .poll(context.port, |port, _, pull, event| match event {
                Event::Failed(FabricError::Lost) => Some(port.get(pull.from, pull.to)),
                event => {
                    ended.push((*pull, event));
                    None
                }
            });
        for (PullTransfer { from, to }, event) in ended {
            match event {
                Event::Failed(FabricError::SourceMemory) => spoilt.note(Err(from.rank)),
                Event::Failed(FabricError::DestinationMemory) => spoilt.note(Err(to.rank)),
                Event::Failed(_) => {
                    self.is_lost = true;
                    None
                }
                _ => {
                    let part = from.offset..from.offset + from.len;
                    let others = &scene.outputs()[1..];
                    let copied = copy((to.rank, to.into.address), others, part, context);
                    spoilt.note(copied)
                }
            };
        }
    }

    /// Copies all data that move from one rank of this node to others.
    fn copy_on(
        &self,
        rank: u32,
        address: u64,
        to: &[(u32, u64)],
        spoilt: &mut MissingMemory,
        context: &mut NicThreadContext<'_>,
    ) {
        let copied = copy((rank, address), to, self.bytes.clone(), context);
        spoilt.note(copied);
    }

    fn take_done_words(
        &mut self,
        scene: &PullSetup<'_>,
        spoilt: &mut MissingMemory,
        context: &NicThreadContext<'_>,
    ) {
        let (board, group) = (self.board, scene.group());
        self.readers.retain(|&place| {
            let word = board.read_word(context.port, board.done_at(place, group));
            if let Some(outcome) = word {
                spoilt.note(outcome);
            }
            word.is_none()
        });
    }
}

/// Copies bytes of a rank of this node to others of it, a block at a time.
fn copy(
    (rank, address): (u32, u64),
    to: &[(u32, u64)],
    bytes: Range<u64>,
    context: &mut NicThreadContext<'_>,
) -> Result<(), u32> {
    if to.is_empty() {
        return Ok(());
    }
    let mut block = Vec::new();
    let mut at = bytes.start;
    while at < bytes.end {
        let len = (bytes.end - at).min(FOLD_BLOCK_BYTES as u64);
        block.resize(usize::try_from(len).expect("a block is small"), 0);
        let read = context.memory.read(rank, address + at, &mut block);
        read.map_err(|_| rank)?;
        for &(rank, address) in to {
            let written = context.memory.write(rank, address + at, &block);
            written.map_err(|_| rank)?;
        }
        at += len;
    }
    Ok(())
}
