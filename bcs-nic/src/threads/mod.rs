//! The NIC threads (paper section 4.1), each a state machine.
//!
//! A NIC thread gets mail ([`NicThread::handle`]) and a chance to poll the fabric
//! ([`NicThread::poll`]). Time, fabric and rank memory come in with the [`NicThreadContext`]; mail
//! to the other threads of the node goes out by it. There is no clock, socket, OS thread or lock
//! inside: the same state machines run on OS threads ([`crate::driver`]) and in virtual time
//! ([`crate::simulator`]).
//!
//! The head of each file has the same order: what the thread owns, takes and emits, and its
//! invariants.

mod arithmetic;
mod buffer_receiver;
mod buffer_sender;
mod collective_helper;
mod dma_helper;
mod missing_memory;
mod pull;
mod reduce_helper;
mod slice_log;
mod strobe_receiver;
mod strobe_sender;

pub use buffer_receiver::BufferReceiver;
pub use buffer_sender::BufferSender;
pub use collective_helper::CollectiveHelper;
pub use dma_helper::DmaHelper;
pub use reduce_helper::ReduceHelper;
pub use strobe_receiver::StrobeReceiver;
pub use strobe_sender::{SliceTimes, StrobeSender};

pub use crate::outbox::Outbox;
pub use crate::table_leak::TableLeak;

use crate::bounds::Bounds;
use crate::failure::{NicFailure, NicFailureCause};
use crate::mail::Mail;
use bcs_core::job::{NicThreadId, NodeId, Placement, Settings};
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::memory::NicMemory;
use bcs_core::wait_state::LeakReport;
use bcs_core::wake::MachinePage;
use bcs_fabric::{Event, Port, RankMemory, Ticket};
use mds::selection::SliceWindow;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// The configuration of a node, which all its NIC threads know.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The node.
    pub node: NodeId,
    /// Which ranks run where.
    pub placement: Arc<Placement>,
    /// The settings of the runtime.
    pub settings: Arc<Settings>,
    /// The machine page.
    pub page: MachinePage,
    /// The node's ranks in ascending order, with their NIC memory.
    pub ranks: Arc<Vec<(u32, NicMemory)>>,
    /// The capacities of its tables.
    pub bounds: Bounds,
    /// The slices whose rows are recorded, if this node is recorded (EMDS).
    pub emds: Option<SliceWindow>,
}

impl NodeConfig {
    /// Returns how many of its ranks, from the first on, may have a process. The others are spare
    /// ranks: nothing has to be read of them.
    pub(crate) fn served(&self) -> usize {
        let last = self.ranks.last().map_or(0, |(rank, _)| *rank as usize);
        let starting = self.placement.ranks();
        if last < starting {
            return self.ranks.len();
        }
        let end = starting.saturating_add(self.page.spawned() as usize);
        self.ranks
            .partition_point(|(rank, _)| (*rank as usize) < end)
    }

    /// Rings the ranks that wait for room in a ring, or for the end of what BS holds back (law 5).
    /// Call it after anything was taken.
    pub(crate) fn ring_for_space(&self, out: &mut Outbox) {
        for (rank, memory) in self.ranks[..self.served()].iter() {
            if memory.take_space_request() {
                out.ring(*rank);
            }
        }
    }

    /// Returns the place of a local rank in [`ranks`](Self::ranks).
    #[must_use]
    pub fn local(&self, rank: u32) -> Option<usize> {
        self.ranks
            .binary_search_by_key(&rank, |(rank, _)| *rank)
            .ok()
    }

    /// Creates a failure of this node, which ends the job.
    #[must_use]
    pub fn failure(&self, cause: NicFailureCause) -> NicFailure {
        NicFailure {
            node: self.node,
            cause,
        }
    }
}

/// The environment of a NIC thread while it handles an input.
pub struct NicThreadContext<'a> {
    /// Returns nanoseconds, of the monotonic clock or of virtual time. Call it only where needed:
    /// most of what a NIC thread handles in a slice takes less time than to read the clock.
    pub clock: &'a dyn Fn() -> u64,
    /// The thread's attachment to the fabric.
    pub port: &'a mut dyn Port,
    /// The memory of the node's ranks.
    pub memory: &'a mut dyn RankMemory,
    /// The output.
    pub out: &'a mut Outbox,
    /// The time that this NIC thread's routines have taken so far, without the current one, if that
    /// is recorded (LTRi).
    pub worked_ns: u64,
}

impl std::fmt::Debug for NicThreadContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("now_ns", &(self.clock)())
            .finish_non_exhaustive()
    }
}

/// The operations of a rank that wait for their match in a NIC, for reports about the state of a
/// job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnmatchedOperations {
    /// Receives that have not met a message, the oldest first, up to the requested number.
    pub receives: Vec<Pattern>,
    /// How many others there are.
    pub more_receives: usize,
    /// Messages that have not met a receive, the oldest first, up to the requested number.
    pub messages: Vec<MessageEnvelope>,
}

/// Work of a NIC thread that only a slice can advance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StalledWork {
    /// The node of the NIC.
    pub node: NodeId,
    /// The NIC thread.
    pub thread: NicThreadId,
    /// The work.
    pub what: &'static str,
}

impl std::fmt::Display for StalledWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { node, thread, what } = self;
        write!(f, "{} of node {node} holds {what}", thread.name())
    }
}

/// A NIC thread.
pub trait NicThread: Send {
    /// Takes mail.
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>);

    /// Polls the fabric. Returns whether anything advanced.
    fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool;

    /// Whether a [`poll`](Self::poll) may find something though this thread got no signal: it waits
    /// for transfers or verdicts.
    fn needs_polling(&self) -> bool;

    /// Returns the entries left in its tables, once every rank has ended and no slice is under way.
    fn table_leaks(&self, _port: &dyn Port) -> Vec<TableLeak> {
        Vec::new()
    }

    /// Returns the oldest message for this pattern that came for a rank of this node and was not
    /// received, if this thread holds messages. It serves to explain why a rank waits.
    fn oldest_unmatched_message(&self, _rank: u32, _pattern: Pattern) -> Option<MessageEnvelope> {
        None
    }

    /// Returns the unmatched operations of a rank of this node, at most `_most` of each kind, if
    /// this thread holds any.
    fn unmatched_operations(&self, _rank: u32, _most: usize) -> Option<UnmatchedOperations> {
        None
    }

    /// Returns the work of this thread that only a slice can advance, if any. The thread has armed
    /// the strobe for it (law 2): the simulators check that. The deadlock detector proves nothing
    /// while a thread has such work.
    fn waits_for_slice(&self) -> Option<&'static str> {
        None
    }

    /// Returns what programs have left here, by rank, if this thread holds it: once every rank has
    /// ended.
    fn rank_leaks(&self) -> Vec<(u32, LeakReport)> {
        Vec::new()
    }

    /// Returns what this thread's EMDS recorded, if it has one. The argument is the total time of
    /// its routines.
    fn take_recording(&mut self, _worked_ns: u64) -> Option<mds::dump::NodeDump> {
        None
    }
}

/// Outstanding transfers of a thread that are tried again when the network loses them.
#[derive(Debug)]
pub(crate) struct Retries<T> {
    outstanding: Vec<(Ticket, T)>,
}

impl<T> Default for Retries<T> {
    fn default() -> Self {
        Self {
            outstanding: Vec::new(),
        }
    }
}

impl<T> Retries<T> {
    pub(crate) fn push(&mut self, ticket: Ticket, what: T) {
        self.outstanding.push((ticket, what));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.outstanding.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.outstanding.len()
    }

    /// Tests every outstanding transfer. It calls `ended` with each outcome; that returns a new
    /// ticket if it has tried again. Returns whether any ended.
    pub(crate) fn poll(
        &mut self,
        port: &mut dyn Port,
        mut ended: impl FnMut(&mut dyn Port, Ticket, &mut T, Event) -> Option<Ticket>,
    ) -> bool {
        let mut progress = false;
        self.outstanding
            .retain_mut(|(ticket, what)| match port.test_event(*ticket) {
                Event::Pending => true,
                event => {
                    progress = true;
                    match ended(port, *ticket, what, event) {
                        Some(again) => {
                            *ticket = again;
                            true
                        }
                        None => false,
                    }
                }
            });
        progress
    }
}

/// A PUT that can be tried again.
#[derive(Clone, Debug)]
pub(crate) struct RetryablePut {
    pub(crate) set: bcs_core::job::NodeSet,
    pub(crate) at: bcs_fabric::GlobalAddress,
    pub(crate) bytes: Vec<u8>,
    pub(crate) signal: Option<NicThreadId>,
}

/// A PUT of words, which are copied only if it has to be tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryablePutWords<'a> {
    pub(crate) set: bcs_core::job::NodeSet,
    pub(crate) at: bcs_fabric::GlobalAddress,
    pub(crate) words: &'a [u64],
    pub(crate) signal: Option<NicThreadId>,
}

impl RetryablePutWords<'_> {
    /// Puts the block. A PUT without any living destination is complete.
    pub(crate) fn start(self, port: &mut dyn Port, retries: &mut Retries<RetryablePut>) {
        let Self {
            set,
            at,
            words,
            signal,
        } = self;
        let ticket = port.xfer_and_signal(&set, at, words.as_bytes(), signal);
        if port.test_event(ticket) != Event::Signalled {
            let put = RetryablePut {
                set,
                at,
                bytes: words.as_bytes().to_vec(),
                signal,
            };
            retries.push(ticket, put);
        }
    }
}

impl RetryablePut {
    /// Puts the block. A PUT without any living destination is complete.
    pub(crate) fn start(self, port: &mut dyn Port, retries: &mut Retries<Self>) {
        let ticket = port.xfer_and_signal(&self.set, self.at, &self.bytes, self.signal);
        if port.test_event(ticket) != Event::Signalled {
            retries.push(ticket, self);
        }
    }

    /// Polls PUTs, and tries again those that were lost.
    pub(crate) fn poll(port: &mut dyn Port, retries: &mut Retries<Self>) -> bool {
        retries.poll(port, |port, _, put, event| match event {
            Event::Failed(_) => {
                Some(port.xfer_and_signal(&put.set, put.at, &put.bytes, put.signal))
            }
            _ => None,
        })
    }
}
