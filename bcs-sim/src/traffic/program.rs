//! The programs of all ranks: drawn from the seed, the same on all of them.

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Creates a generator; each pair has a sequence of its own.
pub(super) fn random(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// The mode of a send (MPI 5.0, 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Standard,
    Synchronous,
    Buffered,
    Ready,
}

/// The wildcards in the receives of a rank on a communicator. All are alike: a mixture could take a
/// message from the only receive that matches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WildcardStyle {
    Exact,
    AnyTag,
    AnySource,
    Any,
}

/// How a message is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveStyle {
    Recv,
    Irecv,
    Persistent,
    Probe,
    Iprobe,
    Mprobe,
    Improbe,
}

const LENGTHS: [usize; 12] = [0, 0, 1, 8, 63, 64, 65, 1_000, 4_096, 4_097, 50_000, 300_000];

/// The limit of the messages' tags (exclusive).
const TAGS: usize = 4;

/// The first tag of a burst of messages.
const BURST_TAGS: i32 = 100;

/// The tag of receives without a send.
pub(super) const DECOY: i32 = 77;

/// A message; source and destination are ranks of its communicator.
#[derive(Clone, Debug)]
pub(super) struct PlannedMessage {
    pub(super) id: u64,
    pub(super) source: i32,
    pub(super) destination: i32,
    pub(super) tag: i32,
    pub(super) len: usize,
    pub(super) mode: Mode,
    /// The seed of its pieces at the sender, if it is in pieces.
    pub(super) pieces: Option<u64>,
}

impl PlannedMessage {
    /// Returns its bytes, which identify the message unless there are none.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let byte = |at: usize| (self.id.wrapping_mul(31) + at as u64 * 7).to_le_bytes()[0];
        let mut bytes: Vec<u8> = (0..self.len).map(byte).collect();
        let name = self.id.to_le_bytes();
        let named = name.len().min(self.len);
        bytes[..named].copy_from_slice(&name[..named]);
        bytes
    }
}

/// A receive; -1 and -2 are the wildcards.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedReceive {
    pub(super) source: i32,
    pub(super) tag: i32,
    pub(super) way: ReceiveStyle,
    /// The seed of its buffer's pieces, if it is in pieces.
    pub(super) pieces: Option<u64>,
}

/// The traffic on one communicator.
#[derive(Clone, Debug)]
pub(super) struct CommunicatorTraffic {
    /// The messages, in the order in which each source sends them.
    pub(super) messages: Vec<PlannedMessage>,
    /// The styles, by rank.
    pub(super) styles: Vec<WildcardStyle>,
    /// The receives by rank, in the order of their posts.
    pub(super) receives: Vec<Vec<PlannedReceive>>,
    /// The number of receives without a send, by rank.
    pub(super) decoys: Vec<usize>,
}

/// A program.
#[derive(Clone, Debug)]
pub(super) struct TrafficProgram {
    /// Whether each communicator has a sending and a receiving thread.
    pub(super) threads: bool,
    /// Whether all receives are posted before any send, so that sends may be in ready mode.
    pub(super) posted_first: bool,
    pub(super) exchanges: Vec<CommunicatorTraffic>,
}

impl TrafficProgram {
    pub(super) fn draw(number: u64, ranks: usize, comms: usize, random: &mut ChaCha8Rng) -> Self {
        let threads = random.random_range(0..3) == 0;
        let posted_first = random.random_range(0..4) == 0;
        let mut id = number << 32;
        let exchanges = (0..comms)
            .map(|_| CommunicatorTraffic::draw(ranks, threads, posted_first, &mut id, random))
            .collect();
        Self {
            threads,
            posted_first,
            exchanges,
        }
    }
}

impl CommunicatorTraffic {
    fn draw(
        ranks: usize,
        threads: bool,
        posted_first: bool,
        id: &mut u64,
        random: &mut ChaCha8Rng,
    ) -> Self {
        use Mode::{Buffered, Ready, Standard, Synchronous};
        let modes: &[Mode] = if posted_first {
            &[Standard, Synchronous, Buffered, Ready]
        } else {
            &[Standard, Synchronous, Buffered]
        };
        let rank =
            |random: &mut ChaCha8Rng| i32::try_from(random.random_range(0..ranks)).expect("few");
        if random.random_range(0..4) == 0 {
            return Self::burst(ranks, modes, id, random);
        }
        let mut messages = Vec::new();
        for _ in 0..random.random_range(0..ranks * 6 + 1) {
            *id += 1;
            messages.push(PlannedMessage {
                id: *id,
                source: rank(random),
                destination: rank(random),
                tag: i32::try_from(random.random_range(0..TAGS)).expect("few"),
                len: *LENGTHS.choose(random).expect("there are some"),
                mode: *modes.choose(random).expect("there are some"),
                pieces: in_pieces(random),
            });
        }
        let styles = (0..ranks).map(|_| {
            *[
                WildcardStyle::Exact,
                WildcardStyle::AnyTag,
                WildcardStyle::AnySource,
                WildcardStyle::Any,
            ]
            .choose(random)
            .expect("there are some")
        });
        let styles: Vec<WildcardStyle> = styles.collect();
        let receives = (0i32..)
            .zip(&styles)
            .map(|(rank, style)| receives(rank, *style, &messages, threads, posted_first, random))
            .collect();
        let decoys = (0..ranks).map(|_| random.random_range(0..3)).collect();
        Self {
            messages,
            styles,
            receives,
            decoys,
        }
    }
}

impl CommunicatorTraffic {
    /// Creates a burst: every rank sends many short messages to the next one, each with a tag of
    /// its own. Receives are posted at once, and name the source at some ranks only. So many
    /// receives from any source wait while messages come one by one.
    fn burst(ranks: usize, modes: &[Mode], id: &mut u64, random: &mut ChaCha8Rng) -> Self {
        let count = random.random_range(1..=24);
        let number = |rank: usize| i32::try_from(rank).expect("few");
        let mut messages = Vec::new();
        for (source, tag) in (0..ranks).flat_map(|source| (0..count).map(move |tag| (source, tag)))
        {
            *id += 1;
            messages.push(PlannedMessage {
                id: *id,
                source: number(source),
                destination: number((source + 1) % ranks),
                tag: BURST_TAGS + tag,
                len: *[0, 8, 8, 64, 65, 1_000].choose(random).expect("some"),
                mode: match random.random_range(0..8) {
                    0 => *modes.choose(random).expect("some"),
                    _ => Mode::Standard,
                },
                pieces: None,
            });
        }
        let styles = (0..ranks).map(|_| match random.random_bool(0.7) {
            true => WildcardStyle::AnySource,
            false => WildcardStyle::Exact,
        });
        let styles: Vec<WildcardStyle> = styles.collect();
        let receives = (0i32..)
            .zip(&styles)
            .map(|(rank, style)| receives(rank, *style, &messages, false, true, random))
            .collect();
        Self {
            messages,
            styles,
            receives,
            decoys: vec![0; ranks],
        }
    }
}

/// Draws a seed for pieces for one buffer in three.
fn in_pieces(random: &mut ChaCha8Rng) -> Option<u64> {
    let seed = random.random();
    (random.random_range(0..3) == 0).then_some(seed)
}

/// Creates a receive for every message that comes, in any order.
fn receives(
    rank: i32,
    style: WildcardStyle,
    messages: &[PlannedMessage],
    threads: bool,
    posted_first: bool,
    random: &mut ChaCha8Rng,
) -> Vec<PlannedReceive> {
    use ReceiveStyle::{Improbe, Iprobe, Irecv, Mprobe, Persistent, Probe, Recv};
    // A thread that blocks in a send waits for a receive. That must not wait for a later send of
    // another blocked thread: either all receives are posted at once, or they take any message.
    let at_once = posted_first || (threads && style != WildcardStyle::Any);
    let ways: &[ReceiveStyle] = if at_once {
        &[Irecv, Persistent]
    } else {
        &[Recv, Irecv, Persistent, Probe, Iprobe, Mprobe, Improbe]
    };
    let mut receives: Vec<PlannedReceive> = messages
        .iter()
        .filter(|message| message.destination == rank)
        .map(|message| {
            let (source, tag) = match style {
                WildcardStyle::Exact => (message.source, message.tag),
                WildcardStyle::AnyTag => (message.source, bcs_mpi::mpi::ANY_TAG),
                WildcardStyle::AnySource => (bcs_mpi::mpi::ANY_SOURCE, message.tag),
                WildcardStyle::Any => (bcs_mpi::mpi::ANY_SOURCE, bcs_mpi::mpi::ANY_TAG),
            };
            let way = *ways.choose(random).expect("there are some");
            PlannedReceive {
                source,
                tag,
                way,
                pieces: in_pieces(random),
            }
        })
        .collect();
    receives.shuffle(random);
    receives
}
