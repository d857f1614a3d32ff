//! What is told to a rank that has not called the same as another one.

use super::called_collective::{CalledCollective, MESSAGES};
use crate::descriptor::NicCollectiveCall;
use crate::limits::MAX_RANKS;

/// What a rank called that is told to one which has not called the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictingCall {
    /// The rank, in the world.
    pub rank: u32,
    /// What it called.
    pub called: CalledCollective,
}

const RANK_BITS: u32 = 15;

impl ConflictingCall {
    /// In one word. That of a collective of the NIC is the word of its [`Call`].
    #[must_use]
    pub fn pack(self) -> u64 {
        let rank = self.rank;
        match self.called {
            CalledCollective::Nic { kind, bytes } => NicCollectiveCall { rank, kind, bytes }.pack(),
            // A root is in the lower half of the word, the exchange in the byte above it.
            called @ CalledCollective::Messages(..) => called.pack() | u64::from(rank) << (32 + 8),
        }
    }

    /// From its word; `None` if that is none.
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
