//! Memory for the messages of leaders and to them: a head, then blocks.
#![expect(unsafe_code, reason = "what is sent and received is named by address")]

use crate::data::{Piece, bytes};

/// Bytes of a head.
pub(super) const HEAD: usize = 8;

/// Memory for a message, which stays where it is.
#[derive(Debug)]
pub(super) struct Room {
    address: u64,
    bytes: Vec<u8>,
}

impl Room {
    pub(super) fn new(len: usize) -> Self {
        let mut bytes = vec![0; len];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        Self { address, bytes }
    }

    pub(super) fn piece(&self) -> Piece {
        Piece::new(self.address, self.bytes.len())
    }

    pub(super) fn set_head(&mut self, head: u64) {
        self.at(0, HEAD).copy_from_slice(&head.to_le_bytes());
    }

    pub(super) fn head(&self) -> u64 {
        let head = self.look(0, HEAD);
        u64::from_le_bytes(head.try_into().expect("eight bytes"))
    }

    pub(super) fn look(&self, at: usize, len: usize) -> &[u8] {
        assert!(at + len <= self.bytes.len());
        // SAFETY: it is there, and what was received into it has come.
        unsafe { bytes::bytes(self.address + at as u64, len) }
    }

    pub(super) fn at(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at + len <= self.bytes.len());
        // SAFETY: it is there, and nothing is sent from it or received into it now.
        unsafe { bytes::bytes_mut(self.address + at as u64, len) }
    }
}
