//! An attacker who sees the datagrams of a job, does not have its key, and sends forgeries made
//! from them.
//!
//! It is for tests: in virtual time
//! ([`ForgeryInjector`](super::forgery_injector::ForgeryInjector)), and from a host of its own.

use super::datagram::{Header, VERSION};
use super::seal::{Crypto, Direction, JobKey, Seal};
use bcs_core::job::NodeId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The kind of a forged datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Forgery {
    /// Random bytes, behind a right header or behind no header.
    Random,
    /// A datagram that it has seen, with some bytes changed.
    Mutated,
    /// A seen datagram without its end.
    Truncated,
    /// A seen datagram with more bytes behind it.
    Lengthened,
    /// A seen datagram under another key.
    Rekeyed,
    /// A seen datagram, sent to another receiver.
    Misdirected,
    /// A seen datagram, unchanged: the only kind whose tag is right.
    Replayed,
}

impl Forgery {
    /// All kinds of forgeries.
    pub const ALL: [Self; 7] = [
        Self::Random,
        Self::Mutated,
        Self::Truncated,
        Self::Lengthened,
        Self::Rekeyed,
        Self::Misdirected,
        Self::Replayed,
    ];
}

/// The number of datagrams that it remembers.
const MAX_REMEMBERED: usize = 1_024;

/// The longest datagram that it makes up.
const MAX_FORGED_BYTES: usize = 1_472;

/// An attacker.
#[derive(Debug)]
pub struct Attacker {
    random: ChaCha8Rng,
    key: JobKey,
    /// Datagrams that it has seen, with their receivers.
    seen: Vec<(usize, Vec<u8>)>,
    /// The index of the datagram that goes when there is no room.
    oldest: usize,
}

impl Attacker {
    /// Makes an attacker that has seen nothing.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        Self {
            key: JobKey::new(random.random()),
            random,
            seen: Vec::new(),
            oldest: 0,
        }
    }

    /// Returns how many datagrams it remembers.
    #[must_use]
    pub fn remembers(&self) -> usize {
        self.seen.len()
    }

    /// Shows it a datagram to this receiver.
    pub fn observe(&mut self, to: usize, datagram: &[u8]) {
        if self.seen.len() < MAX_REMEMBERED {
            return self.seen.push((to, datagram.to_vec()));
        }
        let (receiver, bytes) = &mut self.seen[self.oldest];
        *receiver = to;
        bytes.clear();
        bytes.extend(datagram);
        self.oldest = (self.oldest + 1) % MAX_REMEMBERED;
    }

    /// Makes a datagram for one of `receivers` receivers. Returns the receiver and the kind.
    ///
    /// # Panics
    /// When there are no receivers.
    pub fn forge(&mut self, receivers: usize, datagram: &mut Vec<u8>) -> (usize, Forgery) {
        let kind = Forgery::ALL[self.random.random_range(0..Forgery::ALL.len())];
        datagram.clear();
        let may_be_sent = kind != Forgery::Misdirected || receivers > 1;
        if self.seen.is_empty() || kind == Forgery::Random || !may_be_sent {
            self.make_up(datagram);
            return (self.random.random_range(0..receivers), Forgery::Random);
        }
        let (to, seen) = &self.seen[self.random.random_range(0..self.seen.len())];
        let mut to = *to;
        datagram.extend(seen);
        match kind {
            Forgery::Random | Forgery::Replayed => (),
            Forgery::Mutated => self.mutate(datagram),
            Forgery::Truncated => datagram.truncate(self.random.random_range(0..datagram.len())),
            Forgery::Lengthened => {
                let more = self.random.random_range(1..100);
                datagram.extend((0..more).map(|_| self.random.random::<u8>()));
            }
            Forgery::Rekeyed => self.seal_again(to, datagram),
            Forgery::Misdirected => to = (to + self.random.random_range(1..receivers)) % receivers,
        }
        (to, kind)
    }

    fn make_up(&mut self, datagram: &mut Vec<u8>) {
        let len = self.random.random_range(0..MAX_FORGED_BYTES);
        if self.random.random() {
            let from = NodeId(self.random.random_range(0..16));
            datagram.extend(self.random.random::<u32>().to_le_bytes());
            datagram.extend(from.0.to_le_bytes());
            datagram.extend(VERSION.to_le_bytes());
        }
        let start = datagram.len();
        datagram.resize(len.max(start), 0);
        self.random.fill(&mut datagram[start..]);
    }

    /// Changes one to four bytes. A first byte that stays changed ensures that the datagram
    /// differs.
    fn mutate(&mut self, datagram: &mut [u8]) {
        let before = self.random.random_range(1..=255_u8);
        let first = self.random.random_range(0..datagram.len());
        datagram[first] ^= before;
        for _ in 0..self.random.random_range(0..4) {
            let at = self.random.random_range(0..datagram.len());
            if at != first {
                datagram[at] ^= self.random.random::<u8>();
            }
        }
    }

    /// Replaces the tag by one under the attacker's key.
    fn seal_again(&mut self, to: usize, datagram: &mut Vec<u8>) {
        let Ok((Header { epoch, from, .. }, _)) = Header::take(datagram) else {
            return self.mutate(datagram);
        };
        let to = NodeId::from_index(to);
        let direction = Direction { epoch, from, to };
        datagram.truncate(datagram.len().saturating_sub(Crypto::Tag.tag_bytes()));
        Seal::new(&self.key, Crypto::Tag, direction).seal(datagram);
    }
}
