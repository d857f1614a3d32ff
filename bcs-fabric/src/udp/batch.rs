//! Datagrams of one length to a party, which go in one call.
//!
//! Bytes of ranks are sent from where they lie, if they lie side by side in what is mapped here: then the kernel's copy is the
//! only one. Fronts and tags stand in a buffer.
//!
//! ```text
//!  buffer         front       tag | front       tag | front       tag
//!  rank's memory        bytes             bytes             bytes
//!  as they go     front bytes tag | front bytes tag | front bytes tag
//! ```
//!
//! What is lent is read twice, for the tag and by the kernel. A rank that changes it in between, though its send is not complete,
//! has sent a datagram whose tag is wrong: it is dropped, and its link sends those bytes again. Nothing that is lent
//! outlives the call of [`UdpEndpoint::flush`](super::UdpEndpoint::flush) in which it was written.

use super::datagram_source::ScatterList;
use super::hub::Hub;
use super::seal::Seal;
use super::socket::{SendFailure, SendFailureReason, Socket};
use crate::shm::LentMemory;
use std::net::SocketAddr;

/// Bytes of a batch: what the kernel takes in a call.
const BATCH_BYTES: usize = 60_000;

/// Datagrams that the socket did not take: all but the last are of one length.
#[derive(Debug, Default)]
pub(super) struct UnsentDatagrams {
    to: Option<SocketAddr>,
    bytes: Vec<u8>,
    each: usize,
}

impl UnsentDatagrams {
    /// Sends them. False if the socket does not take all.
    pub(super) fn send(&mut self, socket: &mut Socket) -> bool {
        let (Some(to), false) = (self.to, self.bytes.is_empty()) else {
            return true;
        };
        // What is lost its link finds out.
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

/// How much there is of a batch, up to where a datagram begins.
#[derive(Clone, Copy, Debug, Default)]
struct BatchPosition {
    /// Bytes in the buffer.
    ours: usize,
    /// Pieces that are lent.
    lent: usize,
    /// Bytes of both.
    all: usize,
}

/// See the module.
#[derive(Debug)]
pub(super) struct SendBatch<'a> {
    to: SocketAddr,
    /// What is lent, and in front of which byte of the buffer it belongs.
    lent: Vec<(usize, LentMemory)>,
    end: BatchPosition,
    /// Where the last datagram begins.
    last: BatchPosition,
    /// The length of each but the last.
    each: usize,
    /// The buffer, which is where what the socket does not take stays.
    rest: &'a mut UnsentDatagrams,
}

impl<'a> SendBatch<'a> {
    /// To a party, with a buffer in which nothing is.
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

    /// Appends the next datagram, if one is to be sent now.
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

    /// Sends those before the last one, if it cannot go with them: all but the last are of one length. False if the socket
    /// does not take them.
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
        // What is lost, or does not go, its link finds out.
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

    /// Sends all. False if the socket does not take it.
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

    /// Sends those before a place from where they lie, if anything is lent. False if they have not gone.
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

    /// Those before a place, in one piece.
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

    /// Those before a place are done with.
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

    /// What is left stays, in one piece.
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

    /// Over the loopback, where they come in order.
    #[test]
    fn datagrams_of_any_length_come_once_and_as_they_were_written() {
        let there = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        there
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut here = Socket::bind(Ipv4Addr::LOCALHOST.into(), 0..=0).unwrap();
        let mut rest = UnsentDatagrams::default();
        // Shorter, longer and equal ones after each other, and as many as do not go in one call.
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
        // What came twice would stand before this one.
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
