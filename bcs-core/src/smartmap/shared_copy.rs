//! Copies that both sides of a transfer share (SMARTMAP).
//!
//! One core copies at half the speed of the memory. So the receiver of a long message *offers* its
//! sender a part in the copy: it publishes the destination, and both *claim* chunks until none is
//! left. The side that claims a chunk copies it. The receiver knows which chunks it has copied
//! itself, and waits until its sender has *copied* the others. A sender that computes claims none,
//! and the receiver copies all.
//!
//! An offer lies in the transfer slot, behind the word that ends the transfer. (A loan uses the
//! same words: a message that is long enough to be shared is not lent.)
//!
//! ```text
//! word 0: how the transfer ended   1: offer   2: destination   3: length   4: claimed
//!      5: copied   6: bell   7: the sender's bell
//! ```
//!
//! The bytes of a message may lie in pieces, if both sides have the same layout
//! ([`CopyShape::InPieces`]). Then both copy from piece to piece.
//!
//! The sender is about to write to the address in the offer. Any rank of the node may have
//! overwritten this address, or the process id by which the kernel finds the receiver. So the
//! sender trusts neither: the word of the offer holds a check of both, which invalid data do not
//! have by chance.
//!
//! **A receiver that fetches alone.** A receiver that sends the same memory
//! (`MPI_Sendrecv_replace`) makes no offer: its sender would overwrite data that others have yet to
//! read. Instead the word of the claims records that it fetches alone, and how much it has fetched.
//! If a sender is such a receiver, too, it stores incoming data only where its own receiver has
//! already fetched. It sleeps until then on a bell of its own: another thread of its rank may sleep
//! on the rank's bell, which has room for one.
//!
//! The generation identifies values of earlier transfers. Neither side uses an offer any more when
//! the next one is made: its receiver has seen that all was copied, and its sender claims only
//! while it waits for this transfer.
//!
//! Happens-before, named on both sides:
//! - **OFFER**: the receiver's `Release` store of the offer publishes the words behind it.
//! - **CHUNK**: the sender's `Release` addition to the count of copied chunks publishes the bytes
//!   to the receiver's `Acquire` load of it.
//! - **FETCHED**: the `Release` store of how much a receiver has fetched alone orders its reads
//!   before the sender's writes that follow an `Acquire` load of it.

use super::node_memory::NodeMemory;
use crate::fingerprint::fingerprint;
use crate::limits::SHARED_CHUNK_BYTES;
use crate::request::RequestId;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const OFFER: usize = 1;
const INTO: usize = 2;
const LEN: usize = 3;
const CLAIMED: usize = 4;
const COPIED: usize = 5;
const BELL: usize = 6;
const SENDER_BELL: usize = 7;

/// The sender could not copy a chunk. Then its receiver copies all by itself.
const FAILED: u64 = 1 << 63;

/// In the word of the claims: the receiver fetches alone, and the number below is that of the
/// chunks it has fetched.
const ALONE: u64 = 1 << 31;

/// The shape of the copy's destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyShape {
    /// The bytes are contiguous.
    Plain,
    /// The bytes lie in pieces, as in the sender's memory: at the same distances from the address
    /// of the offer as from the start of the sender's buffer.
    InPieces,
}

/// An offered copy.
#[derive(Clone, Copy, Debug)]
pub struct SharedCopy<'a> {
    node: &'a NodeMemory,
    sender: usize,
    transfer: RequestId,
    shape: CopyShape,
    chunks: u64,
}

impl<'a> SharedCopy<'a> {
    fn new(
        node: &'a NodeMemory,
        (sender, transfer): (usize, RequestId),
        shape: CopyShape,
    ) -> Option<Self> {
        node.transfer_word(sender, transfer.slot, OFFER)?;
        Some(Self {
            node,
            sender,
            transfer,
            shape,
            chunks: 0,
        })
    }

    /// Returns the word of an offer by this process, for this address and length.
    fn stated(&self, process: u32, into: u64, len: u64) -> u64 {
        let transfer = [self.transfer.slot, self.transfer.generation].map(u64::from);
        let shape = u64::from(self.shape == CopyShape::InPieces);
        let what = [self.sender as u64, u64::from(process), into, len, shape];
        let check = fingerprint(transfer.into_iter().chain(what));
        u64::from(self.transfer.generation) << 32 | check >> 32 | 1
    }

    fn of(self, len: usize) -> Self {
        let chunks = len.div_ceil(SHARED_CHUNK_BYTES) as u64;
        Self { chunks, ..self }
    }

    /// Receiver, which is this process: offers its sender a part in the copy of a message of `len`
    /// bytes to this address. The caller rings the sender. Returns `None` if there is no such
    /// transfer: the sender sent invalid data.
    #[must_use]
    pub fn offer(
        node: &'a NodeMemory,
        (sender, transfer): (usize, RequestId),
        process: u32,
        (into, len): (u64, usize),
        shape: CopyShape,
    ) -> Option<Self> {
        let copy = Self::new(node, (sender, transfer), shape)?.of(len);
        copy.word(INTO).store(into, Ordering::Relaxed);
        copy.word(LEN).store(len as u64, Ordering::Relaxed);
        let generation = u64::from(transfer.generation) << 32;
        copy.word(CLAIMED).store(generation, Ordering::Relaxed);
        copy.word(COPIED).store(0, Ordering::Relaxed);
        // OFFER: publishes the words above.
        let stated = copy.stated(process, into, len as u64);
        copy.word(OFFER).store(stated, Ordering::Release);
        node.event_count(sender).fetch_add(1, Ordering::AcqRel);
        Some(copy)
    }

    /// Sender: returns its receiver's offer in a transfer of at most `most` bytes, with the
    /// destination and the room there. The receiver should be this process. Returns `None` also if
    /// there is no offer yet, or if its copy has another shape.
    #[must_use]
    pub fn find_offer(
        node: &'a NodeMemory,
        (sender, transfer): (usize, RequestId),
        process: u32,
        most: usize,
        shape: CopyShape,
    ) -> Option<(Self, u64, usize)> {
        let copy = Self::new(node, (sender, transfer), shape)?;
        let offer = copy.word(OFFER).load(Ordering::Acquire); // OFFER
        let len = copy.word(LEN).load(Ordering::Relaxed);
        let into = copy.word(INTO).load(Ordering::Relaxed);
        if offer != copy.stated(process, into, len) {
            return None;
        }
        let len = usize::try_from(len).map_or(most, |len| len.min(most));
        Some((copy.of(len), into, len))
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        let word = self
            .node
            .transfer_word(self.sender, self.transfer.slot, index);
        word.expect("it was looked up before")
    }

    /// Claims the next chunk, which the caller then has to copy, and returns its number.
    #[must_use]
    pub fn claim(&self) -> Option<usize> {
        let claimed = self.word(CLAIMED).fetch_add(1, Ordering::Relaxed);
        let is_this = claimed >> 32 == u64::from(self.transfer.generation);
        let chunk = claimed & u64::from(u32::MAX);
        let chunk = Some(chunk).filter(|&chunk| is_this && chunk < self.chunks)?;
        usize::try_from(chunk).ok()
    }

    /// Returns whether an unclaimed chunk may be left.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let claimed = self.word(CLAIMED).load(Ordering::Relaxed);
        claimed & u64::from(u32::MAX) < self.chunks
    }

    /// Sender: reports that it has copied a chunk that it claimed, or could not. The caller rings
    /// the [bell](Self::bell).
    pub fn report_copied(&self, succeeded: bool) {
        let failed = if succeeded { 0 } else { FAILED };
        if failed != 0 {
            self.word(COPIED).fetch_or(failed, Ordering::Relaxed);
        }
        self.word(COPIED).fetch_add(1, Ordering::Release); // CHUNK
    }

    /// Receiver, which has copied `by_receiver` chunks itself and found no more: returns whether
    /// its sender has copied the others, and if so, whether it succeeded.
    #[must_use]
    pub fn is_copied(&self, by_receiver: u64) -> Option<bool> {
        let copied = self.word(COPIED).load(Ordering::Acquire); // CHUNK
        let others = self.chunks.saturating_sub(by_receiver);
        (copied & !FAILED >= others).then_some(copied & FAILED == 0)
    }

    /// Receiver that fetches alone: publishes that it has fetched `chunks` chunks, from the first
    /// one on. The caller rings the sender. Returns false if there is no such transfer: the sender
    /// sent invalid data.
    #[must_use]
    pub fn report_fetched(
        node: &NodeMemory,
        (sender, transfer): (usize, RequestId),
        chunks: u64,
    ) -> bool {
        let Some(word) = node.transfer_word(sender, transfer.slot, CLAIMED) else {
            return false;
        };
        let generation = u64::from(transfer.generation) << 32;
        // FETCHED: the memory that was read may be overwritten now.
        word.store(generation | ALONE | chunks, Ordering::Release);
        true
    }

    /// Receiver: does not fetch this message any more; its sender has to bring it.
    pub fn stop_fetching(node: &NodeMemory, (sender, transfer): (usize, RequestId)) {
        if let Some(word) = node.transfer_word(sender, transfer.slot, CLAIMED) {
            word.store(0, Ordering::Release);
        }
    }

    /// Sender: returns how many chunks its receiver has certainly fetched, from the first one on.
    /// Returns `None` if it does not fetch (yet). From then on the receiver goes on by itself until
    /// all is fetched, unless it waits like this itself.
    #[must_use]
    pub fn fetched(node: &NodeMemory, (sender, transfer): (usize, RequestId)) -> Option<u64> {
        let word = node.transfer_word(sender, transfer.slot, CLAIMED)?;
        let claimed = word.load(Ordering::Acquire); // FETCHED
        let is_this = claimed >> 32 == u64::from(transfer.generation);
        // If both sides claim chunks, the order in which they copy them is unknown.
        let alone = claimed & ALONE != 0;
        let chunks = if alone {
            claimed & u64::from(u32::MAX) & !ALONE
        } else {
            0
        };
        is_this.then_some(chunks)
    }

    /// Returns the bell on which a sender sleeps until more is [fetched](Self::fetched), or the
    /// transfer has ended. Returns `None` if there is no such transfer.
    #[must_use]
    pub fn sender_bell(
        node: &NodeMemory,
        (sender, transfer): (usize, RequestId),
    ) -> Option<&AtomicU32> {
        node.transfer_bell(sender, transfer.slot, SENDER_BELL)
    }

    /// Returns the bell on which the receiver sleeps until the last chunk is copied.
    #[must_use]
    pub fn bell(&self) -> &AtomicU32 {
        let bell = self
            .node
            .transfer_bell(self.sender, self.transfer.slot, BELL);
        bell.expect("it was looked up before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSFER: RequestId = RequestId {
        slot: 3,
        generation: 9,
    };

    const PLAIN: CopyShape = CopyShape::Plain;

    /// The receiver.
    const ME: u32 = 4711;

    #[test]
    fn an_offer_that_was_written_over_is_none() {
        let node = NodeMemory::private(2).unwrap();
        let len = 3 * SHARED_CHUNK_BYTES;
        let offered = |process| SharedCopy::find_offer(&node, (0, TRANSFER), process, len, PLAIN);
        let copy = SharedCopy::offer(&node, (0, TRANSFER), ME, (1 << 40, len), PLAIN).unwrap();
        assert!(offered(ME).is_some());
        assert!(offered(ME + 1).is_none(), "the process id is another one's");
        let alike = SharedCopy::find_offer(&node, (0, TRANSFER), ME, len, CopyShape::InPieces);
        assert!(alike.is_none(), "it is to lie side by side");
        for index in [OFFER, INTO, LEN] {
            let right = copy.word(index).fetch_xor(1 << 20, Ordering::Relaxed);
            assert!(offered(ME).is_none(), "word {index}");
            copy.word(index).store(right, Ordering::Relaxed);
        }
        // A complete offer, but of another transfer.
        let other = RequestId {
            slot: 4,
            ..TRANSFER
        };
        let theirs = SharedCopy::offer(&node, (0, other), ME, (1 << 41, len), PLAIN).unwrap();
        for index in OFFER..=COPIED {
            let word = theirs.word(index).load(Ordering::Relaxed);
            copy.word(index).store(word, Ordering::Relaxed);
        }
        assert!(offered(ME).is_none());
    }

    #[test]
    fn a_sender_knows_what_a_receiver_has_fetched_alone() {
        let node = NodeMemory::private(2).unwrap();
        let fetched = |transfer| SharedCopy::fetched(&node, (1, transfer));
        let next = RequestId {
            generation: 10,
            ..TRANSFER
        };
        assert_eq!(fetched(TRANSFER), None);
        for chunks in [0, 1, 70_000] {
            assert!(SharedCopy::report_fetched(&node, (1, TRANSFER), chunks));
            assert_eq!((fetched(TRANSFER), fetched(next)), (Some(chunks), None));
        }
        let copy = SharedCopy::new(&node, (1, TRANSFER), PLAIN).unwrap();
        assert_eq!(copy.of(1 << 30).claim(), None, "nobody else takes a part");
        SharedCopy::stop_fetching(&node, (1, TRANSFER));
        assert_eq!(fetched(TRANSFER), None);
        // A shared copy shows that it goes on, and no more.
        let shared = SharedCopy::offer(&node, (1, next), ME, (0, 1 << 30), PLAIN).unwrap();
        assert_eq!((shared.claim(), shared.claim()), (Some(0), Some(1)));
        assert_eq!(fetched(next), Some(0));
        let none = RequestId {
            slot: u32::MAX,
            ..TRANSFER
        };
        assert!(!SharedCopy::report_fetched(&node, (1, none), 1));
    }

    #[test]
    fn every_chunk_is_claimed_once() {
        let node = NodeMemory::private(2).unwrap();
        let len = 1000 * SHARED_CHUNK_BYTES - 1;
        assert!(SharedCopy::find_offer(&node, (0, TRANSFER), ME, len, PLAIN).is_none());
        let receiver = SharedCopy::offer(&node, (0, TRANSFER), ME, (77, len), PLAIN).unwrap();
        let (sender, into, all) =
            SharedCopy::find_offer(&node, (0, TRANSFER), ME, len + 1, PLAIN).unwrap();
        assert_eq!((into, all), (77, len));
        let claim_all = |copy: SharedCopy<'_>, is_sender: bool| {
            let mut claimed = Vec::new();
            while let Some(chunk) = copy.claim() {
                claimed.push(chunk);
                if is_sender {
                    copy.report_copied(true);
                }
            }
            claimed
        };
        let (by_sender, by_receiver) = std::thread::scope(|threads| {
            let by_sender = threads.spawn(|| claim_all(sender, true));
            let by_receiver = claim_all(receiver, false);
            (by_sender.join().unwrap(), by_receiver)
        });
        assert_eq!(receiver.is_copied(by_receiver.len() as u64), Some(true));
        let mut all = [by_sender, by_receiver].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1000));
    }

    #[test]
    fn what_a_sender_has_not_copied_is_waited_for() {
        let node = NodeMemory::private(1).unwrap();
        let receiver =
            SharedCopy::offer(&node, (0, TRANSFER), ME, (0, 3 * SHARED_CHUNK_BYTES), PLAIN)
                .unwrap();
        let (sender, _, _) =
            SharedCopy::find_offer(&node, (0, TRANSFER), ME, 3 * SHARED_CHUNK_BYTES, PLAIN)
                .unwrap();
        assert!(sender.is_open());
        assert_eq!(
            (receiver.claim(), sender.claim(), receiver.claim()),
            (Some(0), Some(1), Some(2))
        );
        assert_eq!(receiver.is_copied(2), None);
        sender.report_copied(false);
        assert_eq!(receiver.is_copied(2), Some(false));
        assert!(!sender.is_open());
        assert_eq!(sender.claim(), None);
        let next = RequestId {
            generation: 10,
            ..TRANSFER
        };
        assert!(
            SharedCopy::find_offer(&node, (0, next), ME, 3 * SHARED_CHUNK_BYTES, PLAIN).is_none()
        );
    }
}
