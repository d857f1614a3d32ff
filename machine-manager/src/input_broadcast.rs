//! Standard input that every rank reads (`--stdin all`): read here, one piece at a time, and sent
//! to all node managers. The next piece is read when all of them have given the last one to their
//! ranks, so at most one waits anywhere.

use crate::terminal_input::is_ours_to_read;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

/// The state of the reading.
#[derive(Debug)]
pub struct InputBroadcast {
    managers: usize,
    /// The number of node managers that have not taken the last piece.
    awaited: usize,
    ended: bool,
}

impl InputBroadcast {
    /// Makes the input of this number of node managers.
    #[must_use]
    pub fn new(managers: usize) -> Self {
        Self {
            managers,
            awaited: 0,
            ended: false,
        }
    }

    /// Returns the descriptor to poll, while the next piece may be read.
    #[must_use]
    pub fn poll_fd(&self) -> Option<PollFd<'static>> {
        let stdin = rustix::stdio::stdin();
        (self.awaited == 0 && !self.ended && is_ours_to_read())
            .then(|| PollFd::from_borrowed_fd(stdin, PollFlags::IN))
    }

    /// Reads the next piece, after poll; empty at the end.
    pub fn read(&mut self, buffer: &mut [u8]) -> Option<Vec<u8>> {
        let piece = match rustix::io::read(rustix::stdio::stdin(), &mut *buffer) {
            Ok(len) => buffer[..len].to_vec(),
            Err(Errno::INTR | Errno::AGAIN) => return None,
            // The rest cannot be read.
            Err(_) => Vec::new(),
        };
        self.ended = piece.is_empty();
        self.awaited = self.managers;
        Some(piece)
    }

    /// Records that a node manager has given the last piece to its ranks.
    pub fn taken(&mut self) {
        self.awaited = self.awaited.saturating_sub(1);
    }
}
