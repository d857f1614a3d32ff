//! Attackers of a cluster in virtual time: all datagrams have tags, and forged ones come with each.

use super::attacker::{Attacker, Forgery};
use super::datagram_filter::{DatagramFilter, RejectedDatagrams};
use super::hub::Hub;
use super::seal::{Crypto, Direction, JobKey, Opener, Seal};
use bcs_core::job::NodeId;
use std::net::{Ipv4Addr, SocketAddr};

/// Injects forged datagrams into a cluster.
#[derive(Debug)]
pub struct ForgeryInjector {
    stranger: Attacker,
    /// The number of forged datagrams for each of the job.
    each: usize,
    /// The seals, by sender and receiver.
    seals: Vec<Vec<Seal>>,
    /// The filters, by receiver.
    entrances: Vec<DatagramFilter>,
    /// The number of forged datagrams.
    forged: u64,
    forgery: Vec<u8>,
}

/// The source address of datagrams, where one is needed.
const UNSPECIFIED_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl ForgeryInjector {
    /// Makes an injector for these processes: the first node of each, and its hub.
    #[must_use]
    pub(super) fn new(parties: &[(NodeId, Hub)], seed: u64, each: usize) -> Self {
        let key = JobKey::new(
            [seed.to_le_bytes(); 4]
                .concat()
                .try_into()
                .expect("32 bytes"),
        );
        let direction = |from, to| Direction { epoch: 0, from, to };
        let seal = |from, to| Seal::new(&key, Crypto::Tag, direction(from, to));
        let opener = |from, to| Opener::new(&key, Crypto::Tag, direction(from, to));
        let nodes = || parties.iter().map(|(node, _)| *node);
        let entrance = |(to, hub): &(NodeId, Hub)| {
            let linked = hub.linked();
            let openers = nodes().enumerate();
            let openers = openers.map(|(at, from)| linked.contains(&at).then(|| opener(from, *to)));
            DatagramFilter::new(hub.clone(), openers.collect())
        };
        Self {
            stranger: Attacker::new(seed),
            each,
            seals: nodes()
                .map(|from| nodes().map(|to| seal(from, to)).collect())
                .collect(),
            entrances: parties.iter().map(entrance).collect(),
            forged: 0,
            forgery: Vec::new(),
        }
    }

    /// Returns the number of forged datagrams.
    #[must_use]
    pub fn forged(&self) -> u64 {
        self.forged
    }

    /// Seals a datagram of the job, which the attacker sees.
    pub(super) fn send(&mut self, from: usize, to: usize, datagram: &mut Vec<u8>) {
        self.seals[from][to].seal(datagram);
        self.stranger.observe(to, datagram);
    }

    /// Receives a datagram, after some forged ones.
    ///
    /// # Panics
    /// When a hub gets anything that the job has not sent.
    pub(super) fn receive(&mut self, to: usize, datagram: &mut [u8], now_ns: u64) {
        for _ in 0..self.each {
            let (to, kind) = self.stranger.forge(self.entrances.len(), &mut self.forgery);
            let strays = take(&mut self.entrances[to], &mut self.forgery, now_ns);
            let refused = u64::from(kind != Forgery::Replayed);
            assert_eq!(strays, refused, "{kind:?}: {:?}", self.forgery);
            self.forged += 1;
        }
        let strays = take(&mut self.entrances[to], datagram, now_ns);
        assert_eq!(strays, 0, "a datagram of the job was refused");
    }
}

/// Takes a datagram. Returns how many suspicious datagrams that was.
fn take(entrance: &mut DatagramFilter, datagram: &mut [u8], now_ns: u64) -> u64 {
    let before = RejectedDatagrams::suspicious(&entrance.rejected());
    entrance.take(UNSPECIFIED_ADDRESS, datagram, now_ns);
    entrance.rejected().suspicious() - before
}
