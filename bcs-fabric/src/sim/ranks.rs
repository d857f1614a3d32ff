//! The ranks of a simulated cluster, as its NICs reach them.

use crate::{DestinationSpan, FabricError, MemoryFault, MemoryUpdate, RankMemory, SourceSpan, shm};
use bcs_core::descriptor::Payload;
use bcs_core::job::NodeId;
use bcs_core::layout::{Location, RemoteRuns};
use bcs_core::memory::{GuardedBytes, NicMemory};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// A scripted rank: its NIC memory, and its own memory.
#[derive(Debug)]
pub struct RankStore {
    /// The memory that the NIC shares with the rank.
    pub nic: NicMemory,
    /// The rank's own memory.
    pub bytes: GuardedBytes,
    /// The address at which the rank claims that its memory begins. It may be wrong.
    pub start: u64,
    /// The rank's node.
    pub node: NodeId,
}

impl RankStore {
    /// Returns the indices of `len` bytes at an address, if they lie within its memory.
    fn range(&self, address: u64, len: usize) -> Option<Range<usize>> {
        let start = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then_some(start..end)
    }
}

/// Scripted ranks, by number. NICs and the actors of the ranks share them.
pub type SharedRankStores = Rc<RefCell<Vec<RankStore>>>;

/// The ranks of a simulated cluster.
#[derive(Debug)]
pub enum SimulatedRanks {
    /// Scripted ranks.
    Scripted(SharedRankStores),
    /// Threads of this process, whose memory the kernel guards: an access to unmapped memory is a
    /// fault.
    Threads {
        /// The access to their memory.
        memory: shm::RankMemoryAccess,
        /// The node of each.
        nodes: Vec<NodeId>,
    },
}

impl SimulatedRanks {
    pub(super) fn node(&self, rank: u32) -> NodeId {
        match self {
            Self::Scripted(stores) => stores.borrow()[rank as usize].node,
            Self::Threads { nodes, .. } => nodes[rank as usize],
        }
    }

    /// Moves bytes of a message from rank to rank.
    pub(super) fn copy(
        &mut self,
        from: &SourceSpan,
        to: &DestinationSpan,
    ) -> Result<(), FabricError> {
        let stores = match self {
            Self::Scripted(stores) => &mut *stores.borrow_mut(),
            Self::Threads { memory, .. } => return memory.copy(from, to),
        };
        let len = usize::try_from(from.len).expect("simulated messages are small");
        let bytes = gather(&stores[from.rank as usize], from, len);
        let bytes = bytes.ok_or(FabricError::SourceMemory)?;
        let target = &mut stores[to.rank as usize];
        let ranges = ranges(to.into, to.offset, len, target);
        let mut rest = &bytes[..];
        for range in ranges.ok_or(FabricError::DestinationMemory)? {
            let (piece, after) = rest.split_at(range.len());
            target.bytes[range].copy_from_slice(piece);
            rest = after;
        }
        Ok(())
    }
}

impl RankMemory for SimulatedRanks {
    fn read(&mut self, rank: u32, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        let stores = match self {
            Self::Threads { memory, .. } => return memory.read(rank, address, bytes),
            Self::Scripted(stores) => stores.borrow(),
        };
        let (store, len) = (&stores[rank as usize], bytes.len());
        let range = store.range(address, len);
        bytes.copy_from_slice(&store.bytes[range.ok_or(MemoryFault { rank, address, len })?]);
        Ok(())
    }

    fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        let mut stores = match self {
            Self::Threads { memory, .. } => return memory.write(rank, address, bytes),
            Self::Scripted(stores) => stores.borrow_mut(),
        };
        let (store, len) = (&mut stores[rank as usize], bytes.len());
        let range = store.range(address, len);
        store.bytes[range.ok_or(MemoryFault { rank, address, len })?].copy_from_slice(bytes);
        Ok(())
    }

    fn update(
        &mut self,
        rank: u32,
        address: u64,
        update: &mut MemoryUpdate<'_>,
    ) -> Result<bool, MemoryFault> {
        if let Self::Threads { memory, .. } = self {
            return memory.update(rank, address, update);
        }
        let mut contents = vec![0; update.len];
        self.read(rank, address, &mut contents)?;
        update.apply_to_copy(&mut contents);
        self.write(rank, address, &contents)?;
        Ok(true)
    }
}

/// Reads bytes of a message from the sender's memory, if the sender has them.
fn gather(source: &RankStore, from: &SourceSpan, len: usize) -> Option<Vec<u8>> {
    match from.payload {
        Payload::Slot { slot, .. } => {
            let mut bytes = vec![0; len];
            let offset = usize::try_from(from.offset).expect("small");
            let read = source.nic.read_payload(slot as usize, offset, &mut bytes);
            read.then_some(bytes)
        }
        Payload::Memory(location) => {
            let ranges = ranges(location, from.offset, len, source)?;
            let pieces: Vec<&[u8]> = ranges.into_iter().map(|at| &source.bytes[at]).collect();
            Some(pieces.concat())
        }
        Payload::Inline(_) | Payload::Cancel => {
            unreachable!("inline bytes travel with the descriptor")
        }
    }
}

/// Returns the indices of `len` bytes of a message, from `offset` on, if all of them lie within a
/// memory.
fn ranges(
    location: Location,
    offset: u64,
    len: usize,
    store: &RankStore,
) -> Option<Vec<Range<usize>>> {
    let Some(layout) = location.layout else {
        let address = location.address.checked_add(offset)?;
        return Some(vec![store.range(address, len)?]);
    };
    let read = |address, bytes: &mut [u8]| {
        let range = store.range(address, bytes.len());
        range
            .map(|range| bytes.copy_from_slice(&store.bytes[range]))
            .is_some()
    };
    let end = offset + len as u64;
    let mut walk = RemoteRuns::pieces(read, layout.get(), offset, end).ok()?;
    let mut ranges = Vec::new();
    while let Some(strip) = walk.advance().ok()? {
        let block = usize::try_from(strip.block).expect("at most all bytes");
        for at in strip.offsets() {
            let address = location.address.wrapping_add_signed(at);
            ranges.push(store.range(address, block)?);
        }
    }
    Some(ranges)
}
