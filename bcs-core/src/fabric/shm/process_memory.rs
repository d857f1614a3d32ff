//! How a NIC reaches the memory of ranks: by the kernel ([`other_process`]), and eager payload slots
//! directly where this process has the rank's NIC memory mapped.
//!
//! The kernel copies only between the caller and one other process, so a message goes through a
//! bounce buffer of half an L2 cache, in which the second copy finds it. Data that do not lie side
//! by side are pieces of the rank's side of that copy, as many as one call takes at a time; gaps
//! between them are neither read nor written.

use super::other_process::{self, remote};
use super::segment::Segment;
use crate::descriptor::Payload;
use crate::fabric::{DestinationSpan, FabricError, MemoryFault, RankMemory, SourceSpan};
use crate::layout::{Location, RemoteRuns};
use crate::limits::BOUNCE_BYTES;
use crate::memory::NicMemory;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The memory of ranks as one NIC thread reaches it.
#[derive(Debug)]
pub struct NodeMemory {
    segment: Segment,
    /// NIC memory by world rank, of those ranks whose NIC this process hosts.
    nic_memory: Arc<Vec<Option<NicMemory>>>,
    bounce: Vec<u8>,
    pieces: Vec<libc::iovec>,
}

/// Pieces of a rank's memory that one call takes (UIO_MAXIOV).
const MAX_PIECES: usize = 1024;

/// Which way bytes go between this process and a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

impl NodeMemory {
    /// Reaches ranks by the process ids in the segment.
    #[must_use]
    pub fn new(segment: Segment, nic_memory: Arc<Vec<Option<NicMemory>>>) -> Self {
        Self {
            segment,
            nic_memory,
            bounce: Vec::new(),
            pieces: Vec::new(),
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
    pub(crate) fn copy(
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
                    self.exchange(Way::Out, to.rank, to.into, to.offset + moved, bytes)
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
            Payload::Memory(location) => {
                return self.exchange(Way::In, from.rank, location, offset, bytes);
            }
            Payload::Inline(_) => unreachable!("inline bytes travel with the descriptor"),
        };
        self.read(from.rank, address.wrapping_add(offset), bytes)
    }

    /// Moves the bytes from `offset` on of a message between this process and where they are in a
    /// rank. The layout, if there is one, is an allegation: whatever it says, no more pieces are
    /// moved than there are bytes.
    fn exchange(
        &mut self,
        way: Way,
        rank: u32,
        location: Location,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), MemoryFault> {
        let Some(layout) = location.layout else {
            let address = location.address.wrapping_add(offset);
            return self.move_pieces(way, rank, &[remote(address, bytes.len())], bytes);
        };
        let fault = MemoryFault {
            rank,
            address: layout.get(),
            len: bytes.len(),
        };
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        let this = &*self;
        let read = |address, into: &mut [u8]| {
            let piece = [remote(address, into.len())];
            this.move_pieces(Way::In, rank, &piece, into).is_ok()
        };
        let mut move_all = || {
            let end = offset + bytes.len() as u64;
            let walk = RemoteRuns::pieces(read, layout.get(), offset, end);
            let mut walk = walk.map_err(|_| fault)?;
            let (mut from, mut to) = (0, 0);
            while let Some(strip) = walk.advance().map_err(|_| fault)? {
                let len = usize::try_from(strip.block).expect("at most all bytes");
                for place in strip.offsets() {
                    let address = location.address.wrapping_add_signed(place);
                    pieces.push(remote(address, len));
                    to += len;
                    if pieces.len() == MAX_PIECES {
                        this.move_pieces(way, rank, &pieces, &mut bytes[from..to])?;
                        pieces.clear();
                        from = to;
                    }
                }
            }
            match &pieces[..] {
                [] => Ok(()),
                rest => this.move_pieces(way, rank, rest, &mut bytes[from..to]),
            }
        };
        let moved = move_all();
        self.pieces = pieces;
        moved
    }

    /// Moves bytes of this process from or to so many pieces of a rank, of as many bytes in all.
    fn move_pieces(
        &self,
        way: Way,
        rank: u32,
        pieces: &[libc::iovec],
        bytes: &mut [u8],
    ) -> Result<(), MemoryFault> {
        let len = bytes.len();
        let address = pieces
            .first()
            .map_or(0, |piece| piece.iov_base.addr() as u64);
        let pid = self.pid(rank, address, len)?;
        let moved = match way {
            Way::In => other_process::read(pid, pieces, bytes),
            Way::Out => self.put(rank, pid, pieces, bytes),
        };
        moved.map_err(|_| MemoryFault { rank, address, len })
    }

    fn put(
        &self,
        rank: u32,
        pid: libc::pid_t,
        pieces: &[libc::iovec],
        bytes: &[u8],
    ) -> io::Result<()> {
        match self.segment.written_by(rank) {
            None => other_process::write(pid, pieces, bytes),
            Some(file) => other_process::write_by(file, pieces, bytes),
        }
    }
}

impl RankMemory for NodeMemory {
    fn read(&mut self, rank: u32, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        let piece = [remote(address, bytes.len())];
        self.move_pieces(Way::In, rank, &piece, bytes)
    }

    fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        let len = bytes.len();
        let pid = self.pid(rank, address, len)?;
        let moved = self.put(rank, pid, &[remote(address, len)], bytes);
        moved.map_err(|_| MemoryFault { rank, address, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Builder;
    use std::process::Command;

    /// This process as two ranks: the kernel lets a process read and write itself.
    fn memory() -> NodeMemory {
        let segment = Segment::private(1, 2).unwrap();
        for rank in 0..2 {
            let pid = segment.pid(rank).unwrap();
            pid.store(std::process::id(), Ordering::Release);
        }
        NodeMemory::new(segment, Arc::new(Vec::new()))
    }

    fn address<T>(of: &mut [T]) -> u64 {
        of.as_mut_ptr().expose_provenance() as u64
    }

    fn get(
        memory: &mut NodeMemory,
        from: Location,
        into: Location,
        range: std::ops::Range<u64>,
    ) -> Result<(), FabricError> {
        let from = SourceSpan {
            rank: 0,
            payload: Payload::Memory(from),
            offset: range.start,
            len: range.end - range.start,
        };
        let to = DestinationSpan {
            rank: 1,
            into,
            offset: range.start,
        };
        memory.copy(&from, &to)
    }

    /// More pieces than a call takes, more bytes than the bounce buffer, in chunks that begin and
    /// end within pieces; what lies between them stays as it is.
    #[test]
    fn pieces_go_where_they_belong_and_nowhere_else() {
        const COUNT: u32 = 30_000;
        let mut memory = memory();
        // 12 of each 20 bytes go to 12 of each 16.
        let out = Builder::block(4, 12).repeat(u64::from(COUNT), 20).unwrap();
        let into = Builder::block(0, 12).repeat(u64::from(COUNT), 16).unwrap();
        let (out, into) = (out.finish(0), into.finish(0));
        let mut source: Vec<u32> = (0..COUNT * 5).collect();
        let mut target = vec![u32::MAX; COUNT as usize * 4];
        let (mut out, mut into) = (out.words().to_vec(), into.words().to_vec());
        let from = Location::from_words(address(&mut source), address(&mut out), 12);
        let to = Location::from_words(address(&mut target), address(&mut into), 12);
        let len = u64::from(COUNT) * 12;
        let mut at = 0;
        while at < len {
            let next = (at + 100_001).min(len);
            assert_eq!(get(&mut memory, from, to, at..next), Ok(()));
            at = next;
        }
        for (nth, quad) in (0..COUNT).zip(target.chunks(4)) {
            let first = nth * 5 + 1;
            assert_eq!(quad, [first, first + 1, first + 2, u32::MAX]);
        }
        // The same from side by side, and back.
        let mut packed = vec![0u32; COUNT as usize * 3];
        let side_by_side = Location::at(address(&mut packed));
        assert_eq!(get(&mut memory, from, side_by_side, 0..len), Ok(()));
        assert!(
            packed
                .chunks(3)
                .zip(0..)
                .all(|(three, nth)| three[0] == nth * 5 + 1)
        );
    }

    /// This process is the stranger that got the number of a program which a script had started.
    #[test]
    fn nothing_is_written_into_a_process_that_got_the_number_of_a_dead_one() {
        let mut memory = memory();
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = libc::pid_t::try_from(sleeper.id()).unwrap();
        let file = super::super::memory_file(pid).unwrap();
        memory.segment.write_by(1, file);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let mut bytes = [7_u8; 100];
        let place = address(&mut bytes);
        assert!(memory.write(1, place, &[8; 100]).is_err());
        let mut source = [8_u8; 100];
        let from = Location::at(address(&mut source));
        let moved = get(&mut memory, from, Location::at(place), 0..100);
        assert_eq!(moved, Err(FabricError::DestinationMemory));
        assert_eq!(std::hint::black_box(bytes), [7; 100]);
        memory.write(0, place, &[9; 100]).unwrap();
        assert_eq!(
            std::hint::black_box(bytes),
            [9; 100],
            "the other rank is this process"
        );
    }

    #[test]
    fn a_layout_that_is_not_there_is_the_fault_of_its_rank() {
        let mut memory = memory();
        let mut bytes = vec![0u64; 64];
        let good = Location::at(address(&mut bytes));
        let mut rubbish = [3, 8, 8, 0, 0, 4, 0, 0];
        let rubbish = [address(&mut rubbish), 8, u64::MAX];
        for layout in rubbish {
            let bad = Location::from_words(good.address, layout, 0);
            let from = get(&mut memory, bad, good, 0..16);
            assert_eq!(from, Err(FabricError::SourceMemory));
            let to = get(&mut memory, good, bad, 0..16);
            assert_eq!(to, Err(FabricError::DestinationMemory));
        }
    }
}
