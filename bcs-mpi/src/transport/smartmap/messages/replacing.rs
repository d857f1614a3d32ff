//! A message that replaces another one: it goes into memory that a send of the same call reads
//! (`MPI_Sendrecv_replace`).
//!
//! The outgoing data are not copied. The receiver stores incoming data only where its peer has
//! already fetched the outgoing ones. It learns that chunk by chunk if the peer receives in this
//! way, too, and otherwise when all has been fetched ([`bcs_core::smartmap::shared_copy`]). It
//! keeps data that come before that.
//!
//! **How much is kept.** While the send is being fetched, at most [`MAX_KEPT_CHUNKS`]: then the
//! receive waits. While it is not, there is no limit, because the peer may be waiting for this very
//! message to be fetched, before it goes on to receive (a blocking send before a blocking receive).
//!
//! **No deadlock.** A rank waits only while its send is being fetched. The peer that fetches it
//! goes on by itself, unless it waits in this way for a third rank, and so on. If that is a circle,
//! the rank in it that has fetched least keeps nothing that the next one has not fetched, so it
//! does not wait.

use super::copier::{Copier, chunk_of};
use crate::data::{DataView, PackBuffer, PackBufferPool, own_memory, scatter};
use crate::transport::smartmap::peer_memory::FetchError;
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::layout::Location;
use bcs_core::limits::{MAX_KEPT_CHUNKS, SHARED_CHUNK_BYTES};
use bcs_core::smartmap::shared_copy::SharedCopy;
use bcs_core::wake::waiting::{self, WaitPolicy};
use std::collections::VecDeque;
use std::ops::Range;

/// A part of a message that has come and may not be stored yet.
#[derive(Debug)]
struct HeldChunk {
    part: Range<usize>,
    room: PackBuffer,
    /// Its offset in the buffer.
    start: usize,
}

/// A receive into memory that is being sent.
#[derive(Debug)]
pub(crate) struct ReplacingReceive {
    /// The send, unless it was complete when it was posted.
    sending: Option<LocalRequestId>,
    into: DataView,
    kept: VecDeque<HeldChunk>,
    /// The number of bytes, from the start on, that are stored or kept.
    fetched: usize,
    /// Buffers for the next parts.
    rooms: PackBufferPool,
}

impl ReplacingReceive {
    pub(in crate::transport::smartmap) fn new(
        sending: Option<LocalRequestId>,
        into: DataView,
    ) -> Self {
        Self {
            sending,
            into,
            kept: VecDeque::new(),
            fetched: 0,
            rooms: PackBufferPool::default(),
        }
    }

    /// Returns memory for the first `len` bytes of the message, to keep them. Bytes that were
    /// fetched before count.
    pub(in crate::transport::smartmap) fn keep_all(&mut self, len: usize) -> DataView {
        let mut room = self.rooms.allocate(len);
        let all = DataView::from(room.plain(len));
        self.kept.push_back(HeldChunk {
            part: self.fetched..len,
            room,
            start: self.fetched,
        });
        all
    }

    /// Returns whether any part is kept.
    pub(in crate::transport::smartmap) fn keeps_any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Stores the kept parts, when the send is done. Returns whether the memory was there.
    pub(crate) fn store(mut self) -> bool {
        let end = self.kept.back().map_or(0, |last| last.part.end);
        let is_there = end == 0 || own_memory::is_writable(&self.into, end);
        if is_there {
            self.store_up_to(usize::MAX);
        }
        is_there
    }

    fn store_up_to(&mut self, end: usize) {
        while let Some(mut kept) = self.kept.pop_front_if(|kept| kept.part.end <= end) {
            let bytes = &kept.room.bytes(kept.start + kept.part.len())[kept.start..];
            scatter(&self.into, kept.part.start, bytes);
            self.rooms.give_back(Some(kept.room));
        }
    }

    /// Returns how many bytes of this memory, from the start on, the send needs no more. Returns
    /// `None` if no rank is fetching them.
    fn is_sent_up_to(&self, copier: &Copier) -> Option<usize> {
        let Some(sending) = self.sending else {
            return Some(usize::MAX);
        };
        let (node, place) = (&copier.node, copier.place);
        if node.transfer_outcome(place, sending).is_some() {
            return Some(usize::MAX);
        }
        let chunks = SharedCopy::fetched(node, (place, sending))?;
        let chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
        Some(chunks.saturating_mul(SHARED_CHUNK_BYTES))
    }

    /// Fetches the first `len` bytes of a message from there. The caller holds no lock.
    pub(in crate::transport::smartmap) fn fetch(
        &mut self,
        copier: &Copier,
        (place, transfer): (usize, LocalRequestId),
        from: Location,
        len: usize,
    ) -> Result<(), FetchError> {
        if !own_memory::is_writable(&self.into, len) {
            return Err(FetchError::Fault);
        }
        let (which, node) = ((place, transfer), &copier.node);
        for chunk in 0..len.div_ceil(SHARED_CHUNK_BYTES) {
            if !SharedCopy::report_fetched(node, which, chunk as u64) {
                return Err(FetchError::Fault); // There is no such transfer.
            }
            // The sender may sleep until this much is fetched.
            if chunk % (MAX_KEPT_CHUNKS / 2) == 0 {
                copier.ring_sender(which);
            }
            if !self.has_room(copier) {
                copier.ring_sender(which); // Before this rank sleeps, or both might.
                self.wait_for_room(copier);
            }
            self.fetch_part(copier, (place, from), chunk_of(chunk, len))?;
        }
        // The end of the transfer tells the sender that all is fetched.
        Ok(())
    }

    /// Fetches the next part. It goes to its final place, if the send needs that no more.
    fn fetch_part(
        &mut self,
        copier: &Copier,
        (place, from): (usize, Location),
        part: Range<usize>,
    ) -> Result<(), FetchError> {
        let (memory, node) = (&copier.peer_memory, &copier.node);
        let is_sent = self.is_sent_up_to(copier) >= Some(part.end);
        if self.kept.is_empty() && is_sent {
            memory.fetch(node, place, from, &self.into, part.clone())?;
        } else {
            let mut room = self.rooms.allocate(SHARED_CHUNK_BYTES);
            let into = DataView::from(room.plain(part.len()));
            let from = Location::contiguous(from.address.wrapping_add(part.start as u64));
            memory.fetch(node, place, from, &into, 0..part.len())?;
            let (part, start) = (part.clone(), 0);
            self.kept.push_back(HeldChunk { part, room, start });
        }
        self.fetched = part.end;
        Ok(())
    }

    /// Stores kept parts, as far as that is allowed. Returns whether more may be kept then.
    fn has_room(&mut self, copier: &Copier) -> bool {
        self.store_up_to(self.is_sent_up_to(copier).unwrap_or(0));
        self.kept.len() < MAX_KEPT_CHUNKS
    }

    /// Waits until a part may be stored, as long as the send is being fetched. It gives the
    /// receiver a moment to begin, once: of two that exchange, one calls first.
    fn wait_for_room(&mut self, copier: &Copier) {
        let first = self.kept.front().map(|kept| kept.part.end);
        let sending = self.sending.map(|sending| (copier.place, sending));
        let (Some(first), Some(sending)) = (first, sending) else {
            return;
        };
        if self.kept.len() == MAX_KEPT_CHUNKS {
            let begun = || self.is_sent_up_to(copier).is_some();
            waiting::spin(&copier.page, None, WaitPolicy::SHORT, begun);
        }
        // It is not the bell of this rank, on which another thread of it may sleep.
        let bell = SharedCopy::sender_bell(&copier.node, sending).expect("it is sending that");
        waiting::wait(bell, &copier.page, None, WaitPolicy::RANK, || {
            let sent = self.is_sent_up_to(copier);
            sent.is_none_or(|sent| sent >= first)
        });
        self.store_up_to(self.is_sent_up_to(copier).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "messages are named by address")]

    use super::*;
    use crate::data::ByteRange;
    use crate::transport::smartmap::peer_memory::PeerMemory;
    use bcs_core::smartmap::NodeMemory;
    use bcs_core::wake::{MachinePage, bell};
    use std::sync::atomic::Ordering;

    const LEN: usize = 200 * SHARED_CHUNK_BYTES + 3;

    /// The transfer of each rank's only send.
    const TRANSFER: LocalRequestId = LocalRequestId {
        slot: 7,
        generation: 3,
    };

    struct Rank {
        copier: Copier,
        bytes: Vec<u8>,
    }

    fn byte_of(rank: usize, at: usize) -> u8 {
        (at / 1000 * 7 + at * 3 + rank * 101).to_le_bytes()[0]
    }

    fn ranks(count: usize) -> Vec<Rank> {
        let node = NodeMemory::private(count).unwrap();
        let page = MachinePage::private(1, 2).unwrap();
        let rank = |place| {
            let process = node.process_id(place);
            process.store(std::process::id(), Ordering::Release);
            let (node, page) = (node.clone(), page.clone());
            let peer_memory = PeerMemory::open();
            let copier = Copier {
                node,
                page,
                peer_memory,
                place,
            };
            let bytes = (0..LEN).map(|at| byte_of(place, at)).collect();
            Rank { copier, bytes }
        };
        (0..count).map(rank).collect()
    }

    impl Rank {
        fn replacing(&mut self) -> (ReplacingReceive, Location) {
            let address = self.bytes.as_mut_ptr().expose_provenance() as u64;
            // SAFETY: tests keep their memory until the end.
            let into = DataView::from(unsafe { ByteRange::new(address, LEN) });
            let from = into.location();
            (ReplacingReceive::new(Some(TRANSFER), into), from)
        }

        fn holds(&self, rank: usize, part: Range<usize>) -> bool {
            let mut bytes = self.bytes[part.clone()].iter().zip(part);
            bytes.all(|(&byte, at)| byte == byte_of(rank, at))
        }
    }

    #[test]
    fn what_comes_is_stored_only_where_the_send_was_fetched() {
        let mut ranks = ranks(2);
        let (_, theirs) = ranks[1].replacing();
        let (mut replacing, _) = ranks[0].replacing();
        let copier = ranks[0].copier.clone();
        let fetched = replacing.fetch(&copier, (1, TRANSFER), theirs, LEN);
        assert_eq!(fetched, Ok(()));
        assert!(ranks[0].holds(0, 0..LEN), "nobody has fetched any of it");
        assert_eq!(SharedCopy::fetched(&copier.node, (1, TRANSFER)), Some(200));

        assert!(SharedCopy::report_fetched(&copier.node, (0, TRANSFER), 9));
        assert!(!replacing.has_room(&copier), "most of it is kept");
        let end = 9 * SHARED_CHUNK_BYTES;
        assert!(ranks[0].holds(1, 0..end) && ranks[0].holds(0, end..LEN));

        assert!(replacing.store());
        assert!(ranks[0].holds(1, 0..LEN));
    }

    #[test]
    fn what_was_fetched_of_a_message_that_its_sender_brings_then_is_kept() {
        let mut ranks = ranks(2);
        let (mut replacing, _) = ranks[0].replacing();
        let (_, theirs) = ranks[1].replacing();
        let copier = ranks[0].copier.clone();
        let part = 0..SHARED_CHUNK_BYTES;
        assert_eq!(replacing.fetch_part(&copier, (1, theirs), part), Ok(()));
        // Its sender has overwritten what was fetched.
        let brought = replacing.keep_all(LEN);
        scatter(&brought, 0, &vec![9; LEN]);
        assert!(replacing.store());
        assert!(ranks[0].holds(1, 0..SHARED_CHUNK_BYTES));
        assert!(
            ranks[0].bytes[SHARED_CHUNK_BYTES..]
                .iter()
                .all(|&byte| byte == 9)
        );
    }

    #[test]
    fn ranks_in_a_circle_exchange_and_keep_little() {
        for count in 1..=4 {
            let mut ranks = ranks(count);
            let node = ranks[0].copier.node.clone();
            for place in 0..count {
                assert!(SharedCopy::report_fetched(&node, (place, TRANSFER), 0));
            }
            // Another thread of each rank sleeps on the rank's bell. No other thread may sleep or
            // ring there.
            let slept_on = 5 << 2 | bell::ASLEEP;
            for place in 0..count {
                node.bell(place).store(slept_on, Ordering::Relaxed);
            }
            let sent: Vec<Location> = ranks.iter_mut().map(|rank| rank.replacing().1).collect();
            std::thread::scope(|threads| {
                for (place, rank) in ranks.iter_mut().enumerate() {
                    let last = (place + count - 1) % count;
                    let (from, node) = (sent[last], &node);
                    let (mut replacing, _) = rank.replacing();
                    let copier = rank.copier.clone();
                    threads.spawn(move || {
                        let fetched = replacing.fetch(&copier, (last, TRANSFER), from, LEN);
                        assert_eq!(fetched, Ok(()));
                        assert!(replacing.kept.len() <= MAX_KEPT_CHUNKS);
                        assert!(node.end_transfer(last, TRANSFER, 0));
                        copier.ring_sender((last, TRANSFER));
                        let bell = SharedCopy::sender_bell(node, (place, TRANSFER)).unwrap();
                        waiting::wait(bell, &copier.page, None, WaitPolicy::RANK, || {
                            replacing.is_sent_up_to(&copier) == Some(usize::MAX)
                        });
                        assert!(replacing.store());
                    });
                }
            });
            for (place, rank) in ranks.iter().enumerate() {
                assert_eq!(node.bell(place).load(Ordering::Relaxed), slept_on);
                assert!(
                    rank.holds((place + count - 1) % count, 0..LEN),
                    "{count} ranks"
                );
            }
        }
    }
}
