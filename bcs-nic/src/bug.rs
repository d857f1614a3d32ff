//! Planted bugs, which show that the simulator's checkers notice bugs (docs/simulator.md).
//!
//! A bug is a decorator of a NIC thread ([`BuggyThread`]): it takes mail that the thread should
//! get, or stands between the thread and its port. The threads do not know of it. Only tests plant
//! bugs.

use crate::blocks::{CollectiveTreeMessage, CompletedSend, DescriptorBlock};
use crate::mail::Mail;
use crate::threads::{
    NicThread, NicThreadContext, NodeConfig, StrobeReceiver, TableLeak, UnmatchedOperations,
};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::wait_state::LeakReport;
use bcs_fabric::{
    Block, CompareAndWrite, DestinationSpan, Event, GlobalAddress, Port, SourceSpan, Ticket,
    Variable,
};
use std::collections::BTreeMap;

/// A way to misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// BS leaves out every 8th envelope of its blocks.
    DropDescriptor,
    /// The second envelope of each block that BS puts overtakes the first.
    ReorderMatch,
    /// Node 0's first Compare-And-Write that should write reports success and writes nothing.
    LoseCompareAndWrite,
    /// DH gets every chunk twice, so up to twice the budget enters its node.
    ExceedBudget,
    /// Completions bypass SR, which would hold them under the fixed strobe. They are released at
    /// once.
    ReleaseEarly,
    /// Every 16th chunk that DH gets completes at once, without its bytes.
    SkipChunk,
    /// Every 4th block of a contribution that RH fetches is zeros.
    EmptyFetch,
    /// The second envelope that BS sends at once outside of the slice overtakes the first. Only
    /// links carry such envelopes.
    ReorderOutsideSlice,
    /// Every 4th contribution or result that BR sends outside of the slice is zeros. Only links
    /// carry them.
    ZeroContribution,
    /// Every other demand of BR for a slice is lost.
    LoseDemand,
    /// This NIC thread panics as soon as it has something to do. No checker is meant for it: the OS
    /// thread must notice.
    Panic(NicThreadId),
}

impl PlantedBug {
    /// All bugs that a checker must find.
    pub const ALL: [Self; 10] = [
        Self::DropDescriptor,
        Self::ReorderMatch,
        Self::LoseCompareAndWrite,
        Self::ExceedBudget,
        Self::ReleaseEarly,
        Self::SkipChunk,
        Self::EmptyFetch,
        Self::ReorderOutsideSlice,
        Self::ZeroContribution,
        Self::LoseDemand,
    ];

    /// Whether only traffic outside of the slice shows this bug.
    #[must_use]
    pub fn is_outside_slice(self) -> bool {
        matches!(self, Self::ReorderOutsideSlice | Self::ZeroContribution)
    }

    /// Whether this NIC thread has the bug.
    pub(crate) fn applies_to(self, node: NodeId, thread: NicThreadId) -> bool {
        thread
            == match self {
                Self::DropDescriptor | Self::ReorderMatch | Self::ReorderOutsideSlice => {
                    NicThreadId::BufferSender
                }
                Self::LoseCompareAndWrite if node != NodeId(0) => return false,
                Self::LoseCompareAndWrite | Self::ZeroContribution | Self::LoseDemand => {
                    NicThreadId::BufferReceiver
                }
                Self::ExceedBudget | Self::SkipChunk => NicThreadId::DmaHelper,
                Self::EmptyFetch => NicThreadId::ReduceHelper,
                Self::ReleaseEarly => NicThreadId::StrobeReceiver,
                Self::Panic(thread) => thread,
            }
    }
}

/// A NIC thread with a bug.
pub(crate) struct BuggyThread {
    thread: Box<dyn NicThread>,
    config: NodeConfig,
    breakage: BugState,
}

impl BuggyThread {
    pub(crate) fn new(bug: PlantedBug, config: NodeConfig, thread: Box<dyn NicThread>) -> Self {
        let breakage = BugState {
            bug,
            chances: 0,
            is_losing: false,
            has_lost: false,
            twins: BTreeMap::new(),
        };
        Self {
            thread,
            config,
            breakage,
        }
    }

    /// Lets the thread work with a port that has the bug.
    fn work<R>(
        &mut self,
        context: &mut NicThreadContext<'_>,
        work: impl FnOnce(&mut dyn NicThread, &mut NicThreadContext<'_>) -> R,
    ) -> R {
        let mut port = BuggyPort {
            port: &mut *context.port,
            breakage: &mut self.breakage,
        };
        let mut context = NicThreadContext {
            clock: context.clock,
            port: &mut port,
            memory: &mut *context.memory,
            out: &mut *context.out,
            worked_ns: context.worked_ns,
        };
        let page = &self.config.page;
        let was_wanted = page.wanted() != (false, false);
        let done = work(&mut *self.thread, &mut context);
        if self.breakage.bug == PlantedBug::LoseDemand
            && !was_wanted
            && page.wanted() != (false, false)
            && self.breakage.strikes(2)
        {
            page.clear_wanted();
        }
        done
    }
}

impl NicThread for BuggyThread {
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>) {
        match (self.breakage.bug, mail) {
            (PlantedBug::Panic(_), _) => panic!("planted"),
            (PlantedBug::ReleaseEarly, Mail::Completed(batch)) => {
                StrobeReceiver::release_completions(&self.config, &batch, context.out);
            }
            (_, mail) => self.work(context, |thread, context| thread.handle(mail, context)),
        }
    }

    fn needs_polling(&self) -> bool {
        self.thread.needs_polling()
    }

    fn waits_for_slice(&self) -> Option<&'static str> {
        self.thread.waits_for_slice()
    }

    fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        if let PlantedBug::Panic(_) = self.breakage.bug {
            assert!(context.port.signal_count() == 0, "planted");
            return false;
        }
        self.work(context, |thread, context| thread.poll(context))
    }

    fn table_leaks(&self, port: &dyn Port) -> Vec<TableLeak> {
        self.thread.table_leaks(port)
    }

    fn oldest_unmatched_message(&self, rank: u32, pattern: Pattern) -> Option<MessageEnvelope> {
        self.thread.oldest_unmatched_message(rank, pattern)
    }

    fn unmatched_operations(&self, rank: u32, most: usize) -> Option<UnmatchedOperations> {
        self.thread.unmatched_operations(rank, most)
    }

    fn rank_leaks(&self) -> Vec<(u32, LeakReport)> {
        self.thread.rank_leaks()
    }

    fn take_recording(&mut self, worked_ns: u64) -> Option<mds::dump::NodeDump> {
        self.thread.take_recording(worked_ns)
    }
}

/// The state of a bug.
struct BugState {
    bug: PlantedBug,
    /// How many chances to strike it has had.
    chances: u64,
    /// Whether the Compare-And-Write under way does not write, and whether one is lost.
    is_losing: bool,
    has_lost: bool,
    /// Maps the first of two gets of the same bytes to the second, while the second has not ended.
    twins: BTreeMap<Ticket, Ticket>,
}

impl BugState {
    /// Counts a chance, and returns whether the bug strikes: it does every `nth` time.
    fn strikes(&mut self, nth: u64) -> bool {
        self.chances += 1;
        self.chances.is_multiple_of(nth)
    }

    /// Returns the words of a message outside of the slice as the bug changes them.
    fn corrupt_words(&mut self, words: &[u64]) -> Vec<u64> {
        if let Some(Ok(mut part)) = CollectiveTreeMessage::parse(words) {
            if let (PlantedBug::ZeroContribution, Ok(bytes)) = (self.bug, &mut part.content)
                && self.strikes(4)
            {
                bytes.fill(0);
            }
            return part.encode();
        }
        if CompletedSend::parse(words).is_some() {
            return words.to_vec();
        }
        let (header, envelopes) = words.split_at(DescriptorBlock::HEADER_BYTES / 8);
        let envelopes = envelopes.chunks_exact(DescriptorBlock::RECORD_BYTES / 8);
        let mut envelopes: Vec<&[u64]> = envelopes.collect();
        if self.bug == PlantedBug::ReorderOutsideSlice && envelopes.len() > 1 {
            envelopes.swap(0, 1);
        }
        [header, &envelopes.concat()].concat()
    }

    /// Returns a block of descriptors as the bug changes it.
    fn corrupt_block(&mut self, block: &[u8]) -> Vec<u8> {
        let (header, envelopes) = block.split_at(DescriptorBlock::HEADER_BYTES);
        let envelopes = envelopes.chunks_exact(DescriptorBlock::RECORD_BYTES);
        let mut envelopes: Vec<&[u8]> = envelopes.collect();
        match self.bug {
            PlantedBug::DropDescriptor => envelopes.retain(|_| !self.strikes(8)),
            PlantedBug::ReorderMatch if envelopes.len() > 1 => envelopes.swap(0, 1),
            _ => {}
        }
        let mut block = header.to_vec();
        // The lowest bits of the stamp hold the number of envelopes.
        let count = u16::try_from(envelopes.len()).expect("a block is small");
        block[..2].copy_from_slice(&count.to_le_bytes());
        block.extend(envelopes.concat());
        block
    }
}

/// The ticket of a chunk that nobody moves.
const UNMOVED: Ticket = Ticket(u64::MAX);

/// A port with a bug.
struct BuggyPort<'a> {
    port: &'a mut dyn Port,
    breakage: &'a mut BugState,
}

impl Port for BuggyPort<'_> {
    fn xfer_and_signal(
        &mut self,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        if at.block != Block::Descriptors {
            return self.port.xfer_and_signal(set, at, bytes, signal);
        }
        let bytes = self.breakage.corrupt_block(bytes);
        self.port.xfer_and_signal(set, at, &bytes, signal)
    }

    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket {
        if self.breakage.bug == PlantedBug::SkipChunk && self.breakage.strikes(16) {
            return UNMOVED;
        }
        let ticket = self.port.get(from, to);
        if self.breakage.bug == PlantedBug::ExceedBudget {
            let twin = self.port.get(from, to);
            self.breakage.twins.insert(ticket, twin);
        }
        ticket
    }

    fn fetch(&mut self, rank: u32, address: u64, into: Vec<u8>) -> Ticket {
        self.port.fetch(rank, address, into)
    }

    fn take_fetched(&mut self, ticket: Ticket) -> Vec<u8> {
        let mut bytes = self.port.take_fetched(ticket);
        if self.breakage.bug == PlantedBug::EmptyFetch && self.breakage.strikes(4) {
            bytes.fill(0);
        }
        bytes
    }

    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket {
        let loses = self.breakage.bug == PlantedBug::LoseCompareAndWrite;
        let mut what = *what;
        self.breakage.is_losing = loses && !self.breakage.has_lost && what.write.is_some();
        if self.breakage.is_losing {
            what.write = None;
        }
        self.port.compare_and_write(&what)
    }

    fn test_event(&mut self, ticket: Ticket) -> Event {
        if ticket == UNMOVED {
            return Event::Signalled;
        }
        if let Some(&twin) = self.breakage.twins.get(&ticket) {
            if self.port.test_event(twin) == Event::Pending {
                return Event::Pending;
            }
            self.breakage.twins.remove(&ticket);
        }
        let event = self.port.test_event(ticket);
        // A Compare-And-Write whose comparison fails loses nothing.
        self.breakage.has_lost |= self.breakage.is_losing && event == Event::Verdict(true);
        event
    }

    fn nodes(&self) -> usize {
        self.port.nodes()
    }

    fn alive(&self) -> NodeSet {
        self.port.alive()
    }

    fn signal_count(&self) -> u64 {
        self.port.signal_count()
    }

    fn load(&self, variable: Variable) -> u64 {
        self.port.load(variable)
    }

    fn store(&mut self, variable: Variable, value: u64) {
        self.port.store(variable, value);
    }

    fn store_and_report(&mut self, variable: Variable, value: u64) {
        self.port.store_and_report(variable, value);
    }

    fn other_host_nodes(&self) -> NodeSet {
        self.port.other_host_nodes()
    }

    fn are_on_different_hosts(&self, one: NodeId, other: NodeId) -> bool {
        self.port.are_on_different_hosts(one, other)
    }

    fn send_outside_slice(&mut self, node: NodeId, words: &[u64]) {
        let words = self.breakage.corrupt_words(words);
        self.port.send_outside_slice(node, &words);
    }

    fn send_eager_bytes(&mut self, node: NodeId, from: SourceSpan) {
        self.port.send_eager_bytes(node, from);
    }

    fn receive_outside_slice(&mut self, into: &mut Vec<u64>) -> Option<NodeId> {
        self.port.receive_outside_slice(into)
    }

    fn read(&self, at: GlobalAddress, bytes: &mut [u8]) {
        self.port.read(at, bytes);
    }
}
