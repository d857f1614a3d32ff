//! Datagrams of one length to a party, which go in one call.
//!
//! If bytes of ranks lie side by side in memory that is mapped here, they are sent from there. Then
//! the kernel's copy is the only one. A buffer holds fronts and tags.
//!
//! ```text
//!  buffer         front       tag | front       tag | front       tag
//!  rank's memory        bytes             bytes             bytes
//!  as they go     front bytes tag | front bytes tag | front bytes tag
//! ```
//!
//! Lent bytes are read twice, for the tag and by the kernel. If a rank changes them in between,
//! though its send is not complete, the tag of the datagram is wrong. The receiver drops it, and
//! the link sends the bytes again. No loan outlives the call of
//! [`UdpEndpoint::flush`](super::UdpEndpoint::flush) in which the batch was written.

use super::datagram_source::ScatterList;
use super::hub::Hub;
use super::seal::Seal;
use super::socket::{SendFailure, SendFailureReason, Socket};
use crate::shm::LentMemory;
use std::net::SocketAddr;

/// Bytes of a batch: the most that the kernel takes in a call.
const BATCH_BYTES: usize = 60_000;

/// Datagrams that the socket did not take: all but the last are of one length.
#[derive(Debug, Default)]
pub(super) struct UnsentDatagrams {
    to: Option<SocketAddr>,
    bytes: Vec<u8>,
    each: usize,
}

impl UnsentDatagrams {
    /// Sends them. Returns false if the socket does not take all.
    pub(super) fn send(&mut self, socket: &mut Socket) -> bool {
        let (Some(to), false) = (self.to, self.bytes.is_empty()) else {
            return true;
        };
        // The link detects what is lost.
        let (gone, is_sent) = match socket.send(to, &self.bytes, self.each) {
            Err(SendFailure {
                sent,
                why: SendFailureReason::Full | SendFailureReason::Busy,
            }) => (sent, false),
            Ok(()) | Err(_) => (self.bytes.len(), true),
        };
        self.bytes.drain(..gone);
        is_sent
    }
}

/// The size of the part of a batch before a datagram's beginning.
#[derive(Clone, Copy, Debug, Default)]
struct BatchPosition {
    /// Bytes in the buffer.
    ours: usize,
    /// Pieces that are lent.
    lent: usize,
    /// Bytes in the buffer and lent bytes.
    all: usize,
}

/// A batch of datagrams.
#[derive(Debug)]
pub(super) struct SendBatch<'a> {
    to: SocketAddr,
    /// Lent bytes, and the byte of the buffer in front of which they belong.
    lent: Vec<(usize, LentMemory)>,
    end: BatchPosition,
    /// Where the last datagram begins.
    last: BatchPosition,
    /// The length of each but the last.
    each: usize,
    /// The buffer, which keeps what the socket does not take.
    rest: &'a mut UnsentDatagrams,
}

impl<'a> SendBatch<'a> {
    /// Makes a batch to a party. The buffer is empty.
    pub(super) fn new(to: SocketAddr, rest: &'a mut UnsentDatagrams) -> Self {
        rest.to = Some(to);
        Self {
            to,
            lent: Vec::new(),
            end: BatchPosition::default(),
            last: BatchPosition::default(),
            each: 0,
            rest,
        }
    }

    /// Appends the next datagram, if one is to be sent now. Returns whether there was one.
    pub(super) fn write(&mut self, hub: &Hub, party: usize, seal: &mut Seal, now_ns: u64) -> bool {
        let start = self.end;
        let bytes = &mut self.rest.bytes;
        let written = match seal.takes_pieces() {
            true => hub.transmit_lent(party, now_ns, bytes),
            false => hub.transmit(party, now_ns, bytes).then_some(None),
        };
        let Some(lent) = written else {
            return false;
        };
        let mut all = start.all;
        match lent {
            Some(lent) => {
                let before = bytes.len();
                seal.seal_pieces(bytes, start.ours, &lent);
                all += lent.bytes();
                self.lent.push((before, lent));
            }
            None => seal.seal_last(bytes, start.ours),
        }
        all += bytes.len() - start.ours;
        self.last = start;
        self.end = BatchPosition {
            ours: bytes.len(),
            lent: self.lent.len(),
            all,
        };
        true
    }

    /// Sends the datagrams before the last one, if it cannot go with them: all but the last have
    /// one length. Returns false if the socket does not take them.
    pub(super) fn send_those_before(&mut self, socket: &mut Socket) -> bool {
        let len = self.end.all - self.last.all;
        if self.last.all == 0 {
            self.each = len;
            return true;
        }
        let is_one_length = self.last.all.is_multiple_of(self.each) && len <= self.each;
        if is_one_length && self.end.all <= BATCH_BYTES {
            return true;
        }
        // The link detects what is lost or does not go.
        let is_sent = self.send_pieces(self.last, socket) || {
            let sent = match self.last.lent {
                0 => socket.send(self.to, &self.rest.bytes[..self.last.ours], self.each),
                _ => socket.send(self.to, &self.copy(self.last), self.each),
            };
            !is_full(&sent)
        };
        self.forget(self.last);
        self.each = len;
        if !is_sent {
            self.keep();
        }
        is_sent
    }

    /// Sends all. Returns false if the socket does not take it.
    pub(super) fn send(mut self, socket: &mut Socket) -> bool {
        if self.end.all == 0 {
            return true;
        }
        if self.send_pieces(self.end, socket) {
            self.rest.bytes.clear();
            return true;
        }
        self.keep();
        self.rest.send(socket)
    }

    /// Sends the datagrams before a place from where they lie, if anything is lent. Returns false
    /// if they have not gone.
    fn send_pieces(&self, end: BatchPosition, socket: &mut Socket) -> bool {
        if end.lent == 0 {
            return false;
        }
        let bytes = &self.rest.bytes[..end.ours];
        let mut places = ScatterList::with_capacity(2 * end.lent + 1);
        let mut at = 0;
        for (before, lent) in &self.lent[..end.lent] {
            places.add_read(&bytes[at..*before]);
            places.add_lent(lent.part(0..lent.bytes()));
            at = *before;
        }
        places.add_read(&bytes[at..]);
        socket.send_pieces(self.to, &places, (end.all, self.each))
    }

    /// Copies the datagrams before a place into one piece.
    fn copy(&self, end: BatchPosition) -> Vec<u8> {
        let (mut bytes, mut at) = (Vec::with_capacity(end.all), 0);
        for (before, lent) in &self.lent[..end.lent] {
            bytes.extend_from_slice(&self.rest.bytes[at..*before]);
            lent.copy_to(&mut bytes);
            at = *before;
        }
        bytes.extend_from_slice(&self.rest.bytes[at..end.ours]);
        bytes
    }

    /// Removes the datagrams before a place.
    fn forget(&mut self, end: BatchPosition) {
        self.rest.bytes.drain(..end.ours);
        self.lent.drain(..end.lent);
        for (before, _) in &mut self.lent {
            *before -= end.ours;
        }
        self.end = BatchPosition {
            ours: self.end.ours - end.ours,
            lent: self.end.lent - end.lent,
            all: self.end.all - end.all,
        };
        self.last = BatchPosition::default();
    }

    /// Keeps what is left, in one piece.
    fn keep(&mut self) {
        if self.end.lent > 0 {
            self.rest.bytes = self.copy(self.end);
        }
        self.rest.each = self.each;
    }
}

fn is_full(sent: &Result<(), SendFailure>) -> bool {
    let why = sent.as_ref().err().map(|unsent| &unsent.why);
    matches!(why, Some(SendFailureReason::Full | SendFailureReason::Busy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::time::Duration;

    /// Appends a datagram as [`SendBatch::write`] does.
    fn append(batch: &mut SendBatch<'_>, datagram: &[u8]) {
        let start = batch.end;
        batch.rest.bytes.extend_from_slice(datagram);
        batch.last = start;
        batch.end.ours += datagram.len();
        batch.end.all += datagram.len();
    }

    /// Over the loopback, where datagrams arrive in order.
    #[test]
    fn datagrams_of_any_length_come_once_and_as_they_were_written() {
        let there = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        there
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut here = Socket::bind(Ipv4Addr::LOCALHOST.into(), 0..=0).unwrap();
        let mut rest = UnsentDatagrams::default();
        // Shorter, longer and equal ones after each other, and more than go in one call.
        let mut lens = vec![900, 900, 300, 900, 301, 1_200, 600, 600, 1_201, 40];
        lens.extend([1_400; 50]);
        lens.push(20);
        let datagrams: Vec<Vec<u8>> = (0..).zip(&lens).map(|(n, len)| vec![n; *len]).collect();
        let mut batch = SendBatch::new(there.local_addr().unwrap(), &mut rest);
        for datagram in &datagrams {
            append(&mut batch, datagram);
            assert!(batch.send_those_before(&mut here));
        }
        assert!(batch.send(&mut here));
        // A repeated datagram would come before this one.
        let end = vec![255; 10];
        here.send(there.local_addr().unwrap(), &end, end.len())
            .unwrap();
        let mut room = [0; 2_000];
        for datagram in datagrams.iter().chain([&end]) {
            let len = there.recv(&mut room).unwrap();
            assert_eq!(room[..len], datagram[..]);
        }
    }
}
