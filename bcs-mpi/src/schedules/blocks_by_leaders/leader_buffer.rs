//! Memory for messages to and from leaders: a head, then blocks.
#![expect(unsafe_code, reason = "what is sent and received is named by address")]

use crate::data::{ByteRange, DataView};

/// The bytes of a head.
pub(super) const HEAD: usize = 8;

/// Memory for a message. It stays in place.
#[derive(Debug)]
pub(super) struct LeaderBuffer {
    memory: ByteRange,
    _bytes: Vec<u8>,
}

impl LeaderBuffer {
    pub(super) fn new(len: usize) -> Self {
        let mut bytes = vec![0; len];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        Self {
            // SAFETY: it stays until its messages are over, or is leaked, and nothing else uses it.
            memory: unsafe { ByteRange::new(address, len) },
            _bytes: bytes,
        }
    }

    pub(super) fn piece(&self) -> DataView {
        self.memory.into()
    }

    pub(super) fn part(&self, at: usize, len: usize) -> DataView {
        self.memory.part(at..at + len).into()
    }

    pub(super) fn set_head(&mut self, head: u64) {
        self.at(0, HEAD).copy_from_slice(&head.to_le_bytes());
    }

    pub(super) fn head(&self) -> u64 {
        let head = self.look(0, HEAD);
        u64::from_le_bytes(head.try_into().expect("eight bytes"))
    }

    pub(super) fn look(&self, at: usize, len: usize) -> &[u8] {
        // SAFETY: the message that was received into it has come.
        unsafe { self.memory.part(at..at + len).bytes() }
    }

    pub(super) fn at(&mut self, at: usize, len: usize) -> &mut [u8] {
        // SAFETY: nothing is sent from it or received into it now.
        unsafe { self.memory.part(at..at + len).bytes_mut() }
    }
}
