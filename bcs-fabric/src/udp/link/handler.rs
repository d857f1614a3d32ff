//! What a link gives to who has it, and what it does not take.

use std::ops::Range;

use super::super::datagram::{Header, MalformedDatagram};
use crate::shm::LentMemory;

/// A datagram of the peer was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramRefusal {
    /// It is not of this link.
    #[error("it is of another job or node")]
    Foreign,
    /// Its number was there before.
    #[error("it has come before")]
    Repeated,
    /// The peer says what cannot be.
    #[error(transparent)]
    Malformed(#[from] MalformedDatagram),
}

/// The memory that transfers are read from and written to.
pub trait LinkHandler {
    /// Fills `bytes` with those at this place of a transfer. False when nobody wants them any more.
    fn read(&mut self, transfer: u64, offset: u64, bytes: &mut [u8]) -> bool;

    /// Where as many bytes at this place of a transfer lie side by side, if they can be sent from there.
    fn lend(&mut self, _transfer: u64, _offset: u64, _len: usize) -> Option<LentMemory> {
        None
    }

    /// Bytes of a transfer have come: maybe once more.
    fn write(&mut self, transfer: u64, offset: u64, bytes: &[u8]);

    /// Bytes of a transfer have come, and lie where they belong.
    fn note_placed(&mut self, transfer: u64, range: Range<u64>);

    /// A control message has come.
    fn handle_message(&mut self, bytes: &[u8]);
}

/// Datagrams of consecutive numbers that brought consecutive bytes of a transfer, which lie where they belong.
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
