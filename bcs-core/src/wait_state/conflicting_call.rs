//! The call of a rank that conflicts with the call of another rank.

use super::called_collective::{CalledCollective, MESSAGES};
use crate::descriptor::NicCollectiveCall;
use crate::limits::MAX_RANKS;

/// A call that a rank gets because its own call differs from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictingCall {
    /// The rank, in the world.
    pub rank: u32,
    /// The call.
    pub called: CalledCollective,
}

const RANK_BITS: u32 = 15;

impl ConflictingCall {
    /// Packs it into one word. For a collective of the NIC, that is the word of its
    /// [`NicCollectiveCall`].
    #[must_use]
    pub fn pack(self) -> u64 {
        let rank = self.rank;
        match self.called {
            CalledCollective::Nic { kind, bytes } => NicCollectiveCall { rank, kind, bytes }.pack(),
            // The lower half of the word holds a root, the byte above it the collective, and the
            // bits above that the rank.
            called @ CalledCollective::Messages(..) => called.pack() | u64::from(rank) << (32 + 8),
        }
    }

    /// Unpacks a word, or returns `None` if it is no such call.
    #[must_use]
    pub fn unpack(word: u64) -> Option<Self> {
        if let Some(NicCollectiveCall { rank, kind, bytes }) = NicCollectiveCall::unpack(word) {
            let called = CalledCollective::Nic { kind, bytes };
            return Some(Self { rank, called });
        }
        if word & MESSAGES != MESSAGES {
            return None;
        }
        let rank = (word & !MESSAGES) >> (32 + 8);
        Some(Self {
            rank: u32::try_from(rank).expect("less than half a word"),
            called: CalledCollective::unpack(word)?,
        })
    }
}

const _: () = assert!(MAX_RANKS < 1 << RANK_BITS && 32 + 8 + RANK_BITS <= 62);
