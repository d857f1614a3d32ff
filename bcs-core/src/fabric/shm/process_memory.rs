//! How a NIC reaches the memory of ranks: `process_vm_readv` and `process_vm_writev`, and eager
//! payload slots directly where this process has the rank's NIC memory mapped.
//!
//! The kernel copies only between the caller and one other process, so a message goes through a
//! bounce buffer of half an L2 cache, in which the second copy finds it.
#![expect(
    unsafe_code,
    reason = "process_vm_readv and process_vm_writev take raw addresses"
)]

use super::segment::Segment;
use crate::descriptor::Payload;
use crate::fabric::{DestinationSpan, FabricError, MemoryFault, RankMemory, SourceSpan};
use crate::limits::BOUNCE_BYTES;
use crate::memory::NicMemory;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The memory of ranks as one NIC thread reaches it.
#[derive(Debug)]
pub struct NodeMemory {
    segment: Segment,
    /// NIC memory by world rank, of those ranks whose NIC this process hosts.
    nic_memory: Arc<Vec<Option<NicMemory>>>,
    bounce: Vec<u8>,
}

impl NodeMemory {
    /// Reaches ranks by the process ids in the segment.
    #[must_use]
    pub fn new(segment: Segment, nic_memory: Arc<Vec<Option<NicMemory>>>) -> Self {
        Self {
            segment,
            nic_memory,
            bounce: Vec::new(),
        }
    }

    fn pid(&self, rank: u32, address: u64, len: usize) -> Result<libc::pid_t, MemoryFault> {
        self.segment
            .pid(rank)
            .map(|pid| pid.load(Ordering::Acquire).cast_signed())
            .filter(|&pid| pid > 0)
            .ok_or(MemoryFault { rank, address, len })
    }

    /// Moves bytes from one rank to another.
    pub(super) fn copy(
        &mut self,
        from: &SourceSpan,
        to: &DestinationSpan,
    ) -> Result<(), FabricError> {
        let mut bounce = std::mem::take(&mut self.bounce);
        let mut moved = 0;
        let mut outcome = Ok(());
        while outcome.is_ok() && moved < from.len {
            let piece = usize::try_from(from.len - moved)
                .unwrap_or(usize::MAX)
                .min(BOUNCE_BYTES);
            if bounce.len() < piece {
                bounce.resize(piece, 0);
            }
            let bytes = &mut bounce[..piece];
            outcome = self
                .read_source(from, moved, bytes)
                .map_err(|_| FabricError::SourceMemory)
                .and_then(|()| {
                    self.write(to.rank, to.address.wrapping_add(moved), bytes)
                        .map_err(|_| FabricError::DestinationMemory)
                });
            moved += piece as u64;
        }
        self.bounce = bounce;
        outcome
    }

    fn read_source(
        &mut self,
        from: &SourceSpan,
        moved: u64,
        bytes: &mut [u8],
    ) -> Result<(), MemoryFault> {
        let offset = from.offset + moved;
        let address = match from.payload {
            Payload::Slot { slot, address } => {
                if let Some(Some(memory)) = self.nic_memory.get(from.rank as usize) {
                    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                    let inside = memory.read_payload(slot as usize, offset, bytes);
                    let fault = MemoryFault {
                        rank: from.rank,
                        address,
                        len: bytes.len(),
                    };
                    return if inside { Ok(()) } else { Err(fault) };
                }
                address
            }
            Payload::Address(address) => address,
            Payload::Inline(_) => unreachable!("inline bytes travel with the descriptor"),
        };
        self.read(from.rank, address.wrapping_add(offset), bytes)
    }
}

impl RankMemory for NodeMemory {
    fn read(&mut self, rank: u32, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        let len = bytes.len();
        let pid = self.pid(rank, address, len)?;
        let local = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: len,
        };
        let remote = remote(address, len);
        // SAFETY: `local` is an exclusively borrowed slice; the kernel checks the remote side.
        let moved =
            unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        whole(moved, rank, address, len)
    }

    fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        let len = bytes.len();
        let pid = self.pid(rank, address, len)?;
        let local = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: len,
        };
        let remote = remote(address, len);
        // SAFETY: the kernel only reads `local`, a borrowed slice, and checks the remote side.
        let moved =
            unsafe { libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0) };
        whole(moved, rank, address, len)
    }
}

fn remote(address: u64, len: usize) -> libc::iovec {
    let address = usize::try_from(address).expect("addresses have 64 bits here");
    libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address),
        iov_len: len,
    }
}

fn whole(moved: isize, rank: u32, address: u64, len: usize) -> Result<(), MemoryFault> {
    if usize::try_from(moved).is_ok_and(|moved| moved == len) {
        return Ok(());
    }
    Err(MemoryFault { rank, address, len })
}

/// Whether the kernel lets this process read the memory of another of the same user, tried on
/// `pid`, a child.
///
/// # Errors
/// The kernel's answer.
pub fn probe_process_memory(pid: i32, address: u64) -> std::io::Result<()> {
    let mut byte = [0u8; 1];
    let local = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    let remote = remote(address, 1);
    // SAFETY: `local` is one owned byte; the kernel checks the remote side.
    let moved =
        unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    if moved == 1 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
