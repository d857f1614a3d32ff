//! The fate of a datagram, by seed.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::faults::SwitchFaults;

/// The number of words that ChaCha makes at a time: each datagram has its own block.
const BLOCK_WORDS: u128 = 16;

/// The number of words in a fate. All are always drawn, so that another fault changes no other.
const DRAWN: usize = 12;

/// The fate of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) lost: bool,
    /// How it leaves if it is not lost.
    pub(super) first: DepartureFate,
    /// How it leaves a second time.
    pub(super) second: Option<DepartureFate>,
}

/// The path of a datagram through the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DepartureFate {
    pub(super) held_back: bool,
    pub(super) delay_ns: u64,
    pub(super) change: Option<ByteCorruption>,
}

/// The change of a byte of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteCorruption {
    place: u32,
    /// The bits to flip; never 0.
    pub(super) flip: u8,
}

impl ByteCorruption {
    /// Returns the place of the byte, in `length` of them.
    pub(super) fn place(self, length: usize) -> usize {
        usize::try_from(scaled(self.place, length as u64)).expect("it is less than a length")
    }
}

impl Fate {
    /// Returns the fate of the `nth` datagram from one port to another.
    pub(super) fn draw(faults: &SwitchFaults, from: usize, to: usize, nth: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(faults.seed);
        rng.set_stream((from as u64) << 32 | to as u64);
        rng.set_word_pos(u128::from(nth) * BLOCK_WORDS);
        let drawn: [u32; DRAWN] = rng.random();
        let [lost, repeated, first @ .., a, b, c, d, e] = drawn;
        Self {
            lost: happens(lost, faults.loss_permille),
            first: DepartureFate::of(faults, first),
            second: happens(repeated, faults.duplication_permille)
                .then(|| DepartureFate::of(faults, [a, b, c, d, e])),
        }
    }
}

impl DepartureFate {
    fn of(faults: &SwitchFaults, drawn: [u32; 5]) -> Self {
        let [held_back, delayed, jitter, changed, change] = drawn;
        let jitter_ns = scaled(jitter, u64::from(faults.jitter_us) * 1000 + 1);
        let delay_ns = u64::from(faults.delay_us) * 1000 + jitter_ns;
        let [flip, ..] = change.to_le_bytes();
        let change = ByteCorruption {
            place: change,
            flip: flip.max(1),
        };
        Self {
            held_back: happens(held_back, faults.reordering_permille),
            delay_ns: if happens(delayed, faults.delay_permille) {
                delay_ns
            } else {
                0
            },
            change: happens(changed, faults.corruption_permille).then_some(change),
        }
    }
}

fn happens(drawn: u32, permille: u16) -> bool {
    scaled(drawn, 1000) < u64::from(permille)
}

/// Returns a number below `bound` (above 0), each equally likely.
fn scaled(drawn: u32, bound: u64) -> u64 {
    let product = u128::from(drawn) * u128::from(bound);
    u64::try_from(product >> 32).expect("it is less than the bound")
}
