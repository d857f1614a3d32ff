//! The NIC-only segment: process ids and slots of ranks, requests to the sequencer, global memory.

use super::descriptor_location::DescriptorLocation;
use super::slot_windows::{SlotLocation, SlotWindows};
use crate::{CompareAndWrite, Comparison, GlobalAddress, Variable};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::limits::MAX_NODES;
use bcs_core::memory::{MapError, Mapping, NicMemory, Slot};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// One port per NIC thread, and one for the Strobe Sender.
pub(super) fn port_count(nodes: usize) -> usize {
    nodes * NicThreadId::COUNT + 1
}

const SET_WORDS: usize = MAX_NODES / 64;
/// State, variable, comparison, operand, write flag and variable, value, wait; then the set.
const REQUEST_BYTES: usize = (8 + SET_WORDS) * 8;

/// The bytes that locate a rank's memory: the place of its slot and two words of the slot's
/// descriptor, and two words of the descriptor of its NIC memory.
const SLOT_LOCATION_BYTES: usize = 5 * 8;
/// The offset of the words about NIC memory.
const NIC_MEMORY_OFFSET: usize = 3 * 8;

/// A Compare-And-Write request is free, asked, or decided.
pub(super) const FREE: u64 = 0;
pub(super) const ASKED: u64 = 1;
pub(super) const FALSE: u64 = 2;
pub(super) const TRUE: u64 = 3;

/// The segment, mapped by this process.
#[derive(Clone, Debug)]
pub struct Segment {
    mapping: Arc<Mapping>,
    nodes: usize,
    ranks: usize,
    /// Files that only this process has: see [`set_memory_file`](Self::set_memory_file).
    files: Arc<[OnceLock<File>]>,
    /// The memory of each rank that this process has mapped. The process maps memory when it first
    /// needs it.
    mapped: Arc<[OnceLock<Box<MappedRank>>]>,
}

/// The memory of a rank that a process has mapped.
#[derive(Debug, Default)]
struct MappedRank {
    slot: SlotWindows,
    /// The memory of a rank whose NIC is in another process.
    nic_memory: OnceLock<Option<NicMemory>>,
}

impl Segment {
    fn pids(_: usize) -> usize {
        // Word 0: requests posted so far, so that the sequencer need not scan. Word 1: reports.
        // Word 2: writes of the sequencer, if there are nodes on other machines.
        64
    }

    fn slot_locations_offset(&self) -> usize {
        (Self::pids(0) + self.ranks * 4).next_multiple_of(64)
    }

    fn requests(&self) -> usize {
        (self.slot_locations_offset() + self.ranks * SLOT_LOCATION_BYTES).next_multiple_of(64)
    }

    fn signals(&self) -> usize {
        self.requests() + port_count(self.nodes) * REQUEST_BYTES
    }

    fn variables(&self) -> usize {
        (self.signals() + port_count(self.nodes) * 64).next_multiple_of(4096)
    }

    fn node_bytes(&self) -> usize {
        (Variable::COUNT * 8).next_multiple_of(4096) + GlobalAddress::total_bytes(self.nodes)
    }

    fn bytes(&self) -> usize {
        self.variables() + self.nodes * self.node_bytes()
    }

    fn shape(nodes: usize, ranks: usize) -> Result<Self, MapError> {
        // This first mapping of nothing only carries the shape.
        Ok(Self {
            mapping: Arc::new(Mapping::private(4096)?),
            nodes,
            ranks,
            files: (0..ranks).map(|_| OnceLock::new()).collect(),
            mapped: (0..ranks).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Makes the segment of a job.
    ///
    /// # Errors
    /// As [`MapError`] describes.
    pub fn create(nodes: usize, ranks: usize) -> Result<(OwnedFd, Self), MapError> {
        let bytes = Self::shape(nodes, ranks)?.bytes();
        let fd = bcs_core::memory::sealed_memfd("bcs-fabric", bytes)?;
        let segment = Self::map(&fd, nodes, ranks)?;
        Ok((fd, segment))
    }

    /// Maps the segment of a job of the same shape.
    ///
    /// # Errors
    /// As [`MapError`] describes.
    pub fn map(fd: impl AsFd, nodes: usize, ranks: usize) -> Result<Self, MapError> {
        let shape = Self::shape(nodes, ranks)?;
        let mapping = Mapping::shared(fd, shape.bytes())?;
        Ok(Self {
            mapping: Arc::new(mapping),
            ..shape
        })
    }

    /// Makes a segment that only this process sees: for all NICs in one process, and for tests.
    ///
    /// # Errors
    /// As [`MapError`] describes.
    pub fn private(nodes: usize, ranks: usize) -> Result<Self, MapError> {
        let shape = Self::shape(nodes, ranks)?;
        let mapping = Mapping::private(shape.bytes())?;
        Ok(Self {
            mapping: Arc::new(mapping),
            ..shape
        })
    }

    /// Returns the number of nodes of the job.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the process id of a rank, 0 while it has none. Its node manager writes the id that
    /// the kernel gives, never one that the rank names.
    #[must_use]
    pub fn pid(&self, rank: u32) -> Option<&AtomicU32> {
        let rank = rank as usize;
        (rank < self.ranks).then(|| self.mapping.word32(Self::pids(0) + rank * 4))
    }

    /// Makes NIC threads of this process write into a rank by its memory file
    /// ([`memory_file`](super::memory_file)) from now on, and not by its process id.
    pub fn set_memory_file(&self, rank: u32, file: File) {
        if let Some(place) = self.files.get(rank as usize) {
            // A rank is received once.
            let _ = place.set(file);
        }
    }

    pub(super) fn memory_file(&self, rank: u32) -> Option<&File> {
        self.files.get(rank as usize)?.get()
    }

    /// Publishes where NICs of this machine find the slot of a rank. Its node manager calls it
    /// before it writes the rank's process id.
    pub fn publish_slot(&self, rank: u32, slot: Slot, deposit: DescriptorLocation) {
        if (rank as usize) < self.ranks {
            let [place, file] = deposit.words();
            self.mapping.write_words(
                self.slot_location_offset(rank),
                &[slot.place() as u64, place, file],
            );
        }
    }

    /// Returns where the memory of a rank that has been received is in this process, if all of it
    /// lies in a slot: see [`SlotWindows`].
    #[inline]
    pub(super) fn resolve(&self, rank: u32, address: u64, len: usize) -> Option<NonNull<u8>> {
        let windows = &self.mapped(rank)?.slot;
        windows.resolve(|| self.slot_location(rank), address, len)
    }

    /// Publishes NIC memory for NICs of other processes, before the rank is started.
    pub fn publish_nic_memory(&self, rank: u32, deposit: DescriptorLocation) {
        if (rank as usize) < self.ranks {
            let at = self.slot_location_offset(rank) + NIC_MEMORY_OFFSET;
            self.mapping.write_words(at, &deposit.words());
        }
    }

    /// Returns the NIC memory of a rank that has been received, whose NIC another process hosts.
    /// The first call maps it. Returns `None` where it cannot be mapped.
    pub(super) fn nic_memory(&self, rank: u32, eager_limit: usize) -> Option<&NicMemory> {
        let open = || {
            let mut words = [0; 2];
            let at = self.slot_location_offset(rank) + NIC_MEMORY_OFFSET;
            self.mapping.read_words(at, &mut words);
            // Its node manager has made it, and sealed it.
            let file = DescriptorLocation::from_words(words)?.open().ok()?;
            NicMemory::map(&file, eager_limit).ok()
        };
        self.mapped(rank)?.nic_memory.get_or_init(open).as_ref()
    }

    #[inline]
    fn mapped(&self, rank: u32) -> Option<&MappedRank> {
        let mapped = self.mapped.get(rank as usize)?;
        Some(mapped.get_or_init(Box::default))
    }

    fn slot_location(&self, rank: u32) -> Option<SlotLocation> {
        let mut words = [0; NIC_MEMORY_OFFSET / 8];
        self.mapping
            .read_words(self.slot_location_offset(rank), &mut words);
        let [place, deposit @ ..] = words;
        Some(SlotLocation {
            slot: Slot::at_place(index(place))?,
            deposit: DescriptorLocation::from_words(deposit)?,
        })
    }

    fn slot_location_offset(&self, rank: u32) -> usize {
        self.slot_locations_offset() + rank as usize * SLOT_LOCATION_BYTES
    }

    pub(super) fn requests_asked(&self) -> &AtomicU64 {
        self.mapping.word64(0)
    }

    /// Returns how often nodes have reported progress.
    pub(super) fn reports(&self) -> &AtomicU64 {
        self.mapping.word64(8)
    }

    /// Returns the number of writes of this machine's sequencer.
    pub(crate) fn writes(&self) -> &AtomicU64 {
        self.mapping.word64(16)
    }

    /// Returns how many writes of a remote sequencer the process of a node has made known to it.
    pub(crate) fn applied(&self, node: NodeId) -> &AtomicU64 {
        let port = node.index() * NicThreadId::COUNT;
        self.mapping.word64(self.signals() + port * 64 + 8)
    }

    pub(super) fn request_state(&self, port: usize) -> &AtomicU64 {
        self.mapping.word64(self.requests() + port * REQUEST_BYTES)
    }

    /// Posts a request to the sequencer for a port of another machine. Returns false if the port
    /// has a Compare-And-Write outstanding.
    pub(crate) fn post_request(&self, port: usize, request: &RawRequest) -> bool {
        let state = self.request_state(port);
        if state.load(Ordering::Relaxed) != FREE {
            return false;
        }
        self.write_request(port, request);
        state.store(ASKED, Ordering::Release); // ASK
        self.requests_asked().fetch_add(1, Ordering::AcqRel);
        true
    }

    /// Takes the verdict for a port, if it is there. Then the port may ask again.
    pub(crate) fn take_verdict(&self, port: usize) -> Option<bool> {
        let state = self.request_state(port);
        match state.load(Ordering::Acquire) {
            // VERDICT
            ASKED => None,
            verdict => {
                state.store(FREE, Ordering::Relaxed);
                Some(verdict == TRUE)
            }
        }
    }

    /// Counts a progress report of a node.
    pub(crate) fn count_report(&self) {
        // REPORT: publishes the variable.
        self.reports().fetch_add(1, Ordering::Release);
    }

    pub(super) fn write_request(&self, port: usize, what: &RawRequest) {
        let mut words = [0; 7 + SET_WORDS];
        words[0] = what.variable as u64;
        words[1] = what.comparison as u64;
        words[2] = what.operand;
        if let Some((variable, value)) = what.write {
            words[3] = 1 + variable as u64;
            words[4] = value;
        }
        words[5] = u64::from(what.wait);
        words[7..].copy_from_slice(&what.set.words());
        self.mapping
            .write_words(self.requests() + port * REQUEST_BYTES + 8, &words);
    }

    pub(super) fn read_request(&self, port: usize) -> RawRequest {
        let first = self.requests() + port * REQUEST_BYTES + 8;
        let mut words = [0; 7 + SET_WORDS];
        self.mapping.read_words(first, &mut words);
        let [
            variable,
            comparison,
            operand,
            write,
            value,
            wait,
            _,
            set @ ..,
        ] = words;
        let write = write.checked_sub(1);
        RawRequest {
            variable: index(variable),
            comparison: Comparison::from_code(comparison),
            operand,
            write: write.map(|variable| (index(variable), value)),
            wait: wait != 0,
            set: NodeSet::from_words(set),
        }
    }

    /// Signals a NIC thread, after a PUT.
    pub(crate) fn signal_thread(&self, node: NodeId, thread: NicThreadId) {
        // PUT: publishes the bytes to `signals`.
        self.signal(node, thread).fetch_add(1, Ordering::Release);
    }

    pub(super) fn signal(&self, node: NodeId, thread: NicThreadId) -> &AtomicU64 {
        let port = node.index() * NicThreadId::COUNT + thread.index();
        self.mapping.word64(self.signals() + port * 64)
    }

    pub(crate) fn variable(&self, node: NodeId, index: usize) -> &AtomicU64 {
        assert!(index < Variable::COUNT, "variable {index} does not exist");
        self.mapping
            .word64(self.variables() + node.index() * self.node_bytes() + index * 8)
    }

    /// Stores the first word of a PUT last, with `Release`: a thread that reads it with `Acquire`
    /// and knows it to be new sees all of the PUT (edge **BLOCK**). Blocks begin with a stamp for
    /// this.
    pub(super) fn put(&self, node: NodeId, at: GlobalAddress, bytes: &[u8]) {
        let byte = at.byte(self.nodes, bytes.len());
        assert!(
            self.put_at_byte(node, byte, bytes),
            "a lane is within the whole"
        );
    }

    /// Puts at a byte of global memory. Returns false if that is not a multiple of 8, or the bytes
    /// go beyond the end.
    pub(crate) fn put_at_byte(&self, node: NodeId, byte: usize, bytes: &[u8]) -> bool {
        let end = byte.checked_add(bytes.len());
        let is_within = end.is_some_and(|end| end <= GlobalAddress::total_bytes(self.nodes));
        if !is_within || !byte.is_multiple_of(8) {
            return false;
        }
        self.write_block(self.blocks(node) + byte, bytes);
        true
    }

    fn write_block(&self, start: usize, bytes: &[u8]) {
        let Some((first, rest)) = bytes.split_first_chunk::<8>() else {
            return self.mapping.write(start, bytes);
        };
        self.mapping.write(start + 8, rest);
        self.mapping
            .word64(start)
            .store(u64::from_le_bytes(*first), Ordering::Release); // BLOCK
    }

    pub(super) fn read(&self, node: NodeId, at: GlobalAddress, bytes: &mut [u8]) {
        let start = self.block(node, at, bytes.len());
        let Some((first, rest)) = bytes.split_first_chunk_mut::<8>() else {
            return self.mapping.read(start, bytes);
        };
        *first = self
            .mapping
            .word64(start)
            .load(Ordering::Acquire)
            .to_le_bytes(); // BLOCK
        self.mapping.read(start + 8, rest);
    }

    fn block(&self, node: NodeId, at: GlobalAddress, len: usize) -> usize {
        self.blocks(node) + at.byte(self.nodes, len)
    }

    /// Returns where the blocks of a node begin.
    fn blocks(&self, node: NodeId) -> usize {
        self.variables()
            + node.index() * self.node_bytes()
            + (Variable::COUNT * 8).next_multiple_of(4096)
    }
}

impl From<&CompareAndWrite> for RawRequest {
    fn from(what: &CompareAndWrite) -> Self {
        Self {
            variable: what.variable.index(),
            comparison: what.comparison,
            operand: what.operand,
            write: what
                .write
                .map(|(variable, value)| (variable.index(), value)),
            wait: what.wait,
            set: what.set,
        }
    }
}

fn index(word: u64) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

/// A Compare-And-Write as the sequencer reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRequest {
    pub(crate) variable: usize,
    pub(crate) comparison: Comparison,
    pub(crate) operand: u64,
    pub(crate) write: Option<(usize, u64)>,
    pub(crate) wait: bool,
    pub(crate) set: NodeSet,
}
