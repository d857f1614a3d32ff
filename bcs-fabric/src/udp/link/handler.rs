//! The interface between a link and its owner, and the reasons why a link refuses a datagram.

use std::ops::Range;

use super::super::datagram::{Header, MalformedDatagram};
use crate::shm::LentMemory;

/// A datagram of the peer was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramRefusal {
    /// It is not of this link.
    #[error("it is of another job or node")]
    Foreign,
    /// A datagram of this number has come before.
    #[error("it has come before")]
    Repeated,
    /// The peer has sent invalid data.
    #[error(transparent)]
    Malformed(#[from] MalformedDatagram),
}

/// The memory that transfers are read from and written to.
pub trait LinkHandler {
    /// Fills `bytes` with those at this place of a transfer. Returns false when nobody wants them
    /// any more.
    fn read(&mut self, transfer: u64, offset: u64, bytes: &mut [u8]) -> bool;

    /// Lends as many bytes at this place of a transfer, if they lie side by side and can be sent
    /// from there.
    fn lend(&mut self, _transfer: u64, _offset: u64, _len: usize) -> Option<LentMemory> {
        None
    }

    /// Takes bytes of a transfer. They may come more than once.
    fn write(&mut self, transfer: u64, offset: u64, bytes: &[u8]);

    /// Notes that bytes of a transfer have come, and lie where they belong.
    fn note_placed(&mut self, transfer: u64, range: Range<u64>);

    /// Takes a control message.
    fn handle_message(&mut self, bytes: &[u8]);
}

/// Datagrams of consecutive numbers that brought consecutive bytes of a transfer, which lie where
/// they belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedDatagrams {
    /// The header of the first.
    pub first: Header,
    /// The number of the last.
    pub last: u64,
    /// The transfer.
    pub transfer: u64,
    /// Its bytes.
    pub range: Range<u64>,
}

impl PlacedDatagrams {
    /// Returns the number of datagrams.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last - self.first.number + 1
    }
}
