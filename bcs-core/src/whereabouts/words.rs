//! Whereabouts as words of NIC memory.

use super::called::Called;
use super::entered::Entered;
use super::wait::{Peer, Wait, Whereabouts};
use crate::request::{high, low};

/// Entered collectives that fit.
const ENTERED: usize = 8;

/// Words of whereabouts: wait, tag, count, three for each collective.
pub const WORDS: usize = 3 + 3 * ENTERED;

const ANY_TAG: u64 = 1 << 32;

impl Whereabouts {
    /// How many of [`entered`](Self::entered) are told.
    pub const ENTERED: usize = ENTERED;

    /// In words.
    #[must_use]
    pub fn encode(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let (code, peer) = match self.wait {
            Wait::Receive(peer) => (0, Some(peer)),
            Wait::Probe(peer) => (1, Some(peer)),
            Wait::Send(peer) => (2, Some(peer)),
            Wait::Collective => (3, None),
            Wait::Any => (4, None),
            Wait::Sends => (5, None),
            Wait::Nic => (6, None),
        };
        words[0] = code;
        if let Some(Peer { context, rank, tag }) = peer {
            let rank = rank.map_or(0, |rank| u64::from(rank) + 1);
            words[0] |= rank << 8 | (u64::from(context & 0x00ff_ffff) << 40);
            words[1] = tag.map_or(ANY_TAG, |tag| u64::from(tag.cast_unsigned()));
        }
        let told = &self.entered[..self.entered.len().min(ENTERED)];
        words[2] = told.len() as u64;
        for (entered, words) in told.iter().zip(words[3..].chunks_exact_mut(3)) {
            words[0] = u64::from(entered.context) << 32 | u64::from(entered.group);
            words[1] = u64::from(entered.number);
            words[2] = entered.called.pack();
        }
        words
    }

    /// From words; `None` if they make no sense.
    #[must_use]
    pub fn decode(words: &[u64; WORDS]) -> Option<Self> {
        let peer = Peer {
            context: low(words[0] >> 40),
            rank: low(words[0] >> 8).checked_sub(1),
            tag: (words[1] & ANY_TAG == 0).then(|| low(words[1]).cast_signed()),
        };
        let wait = match words[0] & 0xff {
            0 => Wait::Receive(peer),
            1 => Wait::Probe(peer),
            2 => Wait::Send(peer),
            3 => Wait::Collective,
            4 => Wait::Any,
            5 => Wait::Sends,
            6 => Wait::Nic,
            _ => return None,
        };
        let told = usize::try_from(words[2])
            .ok()
            .filter(|&told| told <= ENTERED)?;
        let entered = words[3..].chunks_exact(3).take(told).map(|words| {
            Some(Entered {
                context: high(words[0]),
                group: low(words[0]),
                number: low(words[1]),
                called: Called::unpack(words[2])?,
            })
        });
        Some(Self {
            wait,
            entered: entered.collect::<Option<_>>()?,
        })
    }
}
