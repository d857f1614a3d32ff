//! What all ranks do: drawn from the seed, the same on all of them.

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A sequence of its own for each pair.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd605_bbb5_8c8a_bbfd));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The mode of a send (MPI 5.0, 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Standard,
    Synchronous,
    Buffered,
    Ready,
}

/// What the receives of a rank on a communicator name. All alike: a mixture could take a message
/// away from one that only it would match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Exact,
    AnyTag,
    AnySource,
    Any,
}

/// How a message is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Recv,
    Irecv,
    Persistent,
    Probe,
    Iprobe,
    Mprobe,
    Improbe,
}

const LENGTHS: [usize; 12] = [0, 0, 1, 8, 63, 64, 65, 1_000, 4_096, 4_097, 50_000, 300_000];

/// Tags of messages are below this.
const TAGS: usize = 4;

/// The tag of receives that nobody sends for.
pub(crate) const DECOY: i32 = 77;

/// A message; source and destination are ranks of its communicator.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: u64,
    pub(crate) source: i32,
    pub(crate) destination: i32,
    pub(crate) tag: i32,
    pub(crate) len: usize,
    pub(crate) mode: Mode,
}

impl Message {
    /// Its bytes, which say which message it is as soon as there are some.
    pub(crate) fn bytes(&self) -> Vec<u8> {
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
pub(crate) struct Receive {
    pub(crate) source: i32,
    pub(crate) tag: i32,
    pub(crate) way: Way,
}

/// What happens on one communicator.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// In the order in which each source sends.
    pub(crate) messages: Vec<Message>,
    /// By rank.
    pub(crate) styles: Vec<Style>,
    /// By rank, in the order of their posts.
    pub(crate) receives: Vec<Vec<Receive>>,
    /// By rank: receives that nobody sends for.
    pub(crate) decoys: Vec<usize>,
}

/// A program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// A sending and a receiving thread for each communicator.
    pub(crate) threads: bool,
    /// All receives are posted before any send: sends may be ready.
    pub(crate) posted_first: bool,
    pub(crate) exchanges: Vec<Exchange>,
}

impl Program {
    pub(crate) fn draw(number: u64, ranks: usize, comms: usize, random: &mut Random) -> Self {
        let threads = random.below(3) == 0;
        let posted_first = random.below(4) == 0;
        let mut id = number << 32;
        let exchanges = (0..comms)
            .map(|_| Exchange::draw(ranks, threads, posted_first, &mut id, random))
            .collect();
        Self {
            threads,
            posted_first,
            exchanges,
        }
    }
}

impl Exchange {
    fn draw(
        ranks: usize,
        threads: bool,
        posted_first: bool,
        id: &mut u64,
        random: &mut Random,
    ) -> Self {
        use Mode::{Buffered, Ready, Standard, Synchronous};
        let modes: &[Mode] = if posted_first {
            &[Standard, Synchronous, Buffered, Ready]
        } else {
            &[Standard, Synchronous, Buffered]
        };
        let rank = |random: &mut Random| i32::try_from(random.below(ranks)).expect("few");
        let mut messages = Vec::new();
        for _ in 0..random.below(ranks * 6 + 1) {
            *id += 1;
            messages.push(Message {
                id: *id,
                source: rank(random),
                destination: rank(random),
                tag: i32::try_from(random.below(TAGS)).expect("few"),
                len: random.of(&LENGTHS),
                mode: random.of(modes),
            });
        }
        let styles = (0..ranks)
            .map(|_| random.of(&[Style::Exact, Style::AnyTag, Style::AnySource, Style::Any]));
        let styles: Vec<Style> = styles.collect();
        let receives = (0i32..)
            .zip(&styles)
            .map(|(rank, style)| receives(rank, *style, &messages, threads, posted_first, random))
            .collect();
        let decoys = (0..ranks).map(|_| random.below(3)).collect();
        Self {
            messages,
            styles,
            receives,
            decoys,
        }
    }
}

/// A receive for every message that comes, in any order.
fn receives(
    rank: i32,
    style: Style,
    messages: &[Message],
    threads: bool,
    posted_first: bool,
    random: &mut Random,
) -> Vec<Receive> {
    use Way::{Improbe, Iprobe, Irecv, Mprobe, Persistent, Probe, Recv};
    // A thread that blocks in a send waits for a receive, which must not wait for a later send of
    // somebody who waits like that: either all receives are posted at once, or they take anything.
    let at_once = posted_first || (threads && style != Style::Any);
    let ways: &[Way] = if at_once {
        &[Irecv, Persistent]
    } else {
        &[Recv, Irecv, Persistent, Probe, Iprobe, Mprobe, Improbe]
    };
    let mut receives: Vec<Receive> = messages
        .iter()
        .filter(|message| message.destination == rank)
        .map(|message| {
            let (source, tag) = match style {
                Style::Exact => (message.source, message.tag),
                Style::AnyTag => (message.source, bcs_mpi::mpi::ANY_TAG),
                Style::AnySource => (bcs_mpi::mpi::ANY_SOURCE, message.tag),
                Style::Any => (bcs_mpi::mpi::ANY_SOURCE, bcs_mpi::mpi::ANY_TAG),
            };
            let way = random.of(ways);
            Receive { source, tag, way }
        })
        .collect();
    random.shuffle(&mut receives);
    receives
}
