//! Two links over a network that loses, repeats, delays and reorders, in virtual time, by seed.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rangemap::RangeSet;

use bcs_core::job::NodeId;

use super::super::datagram_network::{DatagramFaults, DatagramNetwork, LATENCY_NS};
use super::*;

const MS: u64 = 1_000_000;

/// The time from which there are no faults.
const FAULTS_END_NS: u64 = 300 * MS;

/// The time by which everything must have come.
const END_NS: u64 = 5_000 * MS;

/// Returns the byte of a transfer at a place.
fn byte(transfer: u64, at: u64) -> u8 {
    (transfer.wrapping_mul(31) ^ at.wrapping_mul(7) ^ (at >> 8)).to_le_bytes()[0]
}

/// The data that a node has received.
#[derive(Default)]
struct Got {
    messages: Vec<Vec<u8>>,
    transfers: BTreeMap<u64, RangeSet<u64>>,
}

impl LinkHandler for Got {
    fn read(&mut self, transfer: u64, offset: u64, bytes: &mut [u8]) -> bool {
        (offset..)
            .zip(bytes)
            .for_each(|(at, to)| *to = byte(transfer, at));
        true
    }

    fn write(&mut self, transfer: u64, offset: u64, bytes: &[u8]) {
        let is_right = (offset..)
            .zip(bytes)
            .all(|(at, got)| *got == byte(transfer, at));
        assert!(is_right, "transfer {transfer} at {offset}");
        let come = self.transfers.entry(transfer).or_default();
        if !bytes.is_empty() {
            come.insert(offset..offset + bytes.len() as u64);
        }
    }

    fn note_placed(&mut self, _: u64, _: Range<u64>) {
        unreachable!("nothing is lent to anybody here");
    }

    fn handle_message(&mut self, bytes: &[u8]) {
        self.messages.push(bytes.to_vec());
    }
}

struct Net {
    links: [Link; 2],
    got: [Got; 2],
    now_ns: u64,
    wire: DatagramNetwork,
    random: ChaCha8Rng,
    /// All datagrams that were ever sent, with their receivers.
    record: Vec<(usize, Vec<u8>)>,
}

impl Net {
    fn new(seed: u64, faults: DatagramFaults) -> Self {
        Self::after(0, seed, faults)
    }

    /// Makes a network whose links have each sent `sent` datagrams.
    fn after(sent: u64, seed: u64, faults: DatagramFaults) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let datagram_bytes = [600, 1_400, 8_900][random.random_range(0..3)];
        let link = |from, to| LinkSettings {
            epoch: 7,
            from: NodeId(from),
            to: NodeId(to),
            datagram_bytes,
            bytes_per_second: 1_000_000_000,
            window_bytes: 400_000,
            acknowledge_ns: 50_000,
            grain_ns: 200_000,
            burst_ns: 100_000,
            quiet_ns: u64::MAX,
        };
        Self {
            links: [link(0, 1), link(1, 0)]
                .map(|settings| Link::new(settings, 0).after(sent, sent)),
            got: [Got::default(), Got::default()],
            now_ns: 0,
            wire: DatagramNetwork::new(faults, seed),
            random,
            record: Vec::new(),
        }
    }

    fn send(&mut self, from: usize) {
        let mut datagram = Vec::new();
        while self.links[from].transmit(self.now_ns, &mut self.got[from], &mut datagram) {
            assert!(self.wire.sent() < 3_000_000, "they talk without end");
            self.record.push((1 - from, datagram.clone()));
            self.wire.send(self.now_ns, from, 1 - from, &datagram);
            datagram.clear();
        }
    }

    /// Runs until both links have nothing more to send and nothing is in flight.
    fn run(&mut self) {
        loop {
            (0..2).for_each(|from| self.send(from));
            let idle = self.links.iter().all(Link::is_idle);
            if idle && self.wire.is_empty() {
                return;
            }
            let arrives = self.wire.next_ns();
            let deadlines = self.links.iter().filter_map(Link::deadline_ns);
            let next_ns = deadlines.chain(arrives).min();
            let next_ns = next_ns.expect("somebody goes on");
            assert!(
                next_ns < END_NS,
                "it has not come in time: {:?}",
                self.links
            );
            self.now_ns = next_ns.max(self.now_ns);
            while let Some((_, to, datagram)) = self.wire.take(self.now_ns) {
                let taken = self.links[to].receive(&datagram, self.now_ns, &mut self.got[to]);
                assert!(
                    matches!(taken, Ok(()) | Err(DatagramRefusal::Repeated)),
                    "{taken:?}"
                );
            }
        }
    }
}

/// Sends messages of all lengths and some transfers both ways, some at the beginning and some in
/// the middle of the faults.
fn everything_comes(seed: u64, faults: DatagramFaults) -> Net {
    everything_comes_after(0, seed, faults)
}

/// Does the same over links that have sent `before` datagrams.
fn everything_comes_after(before: u64, seed: u64, faults: DatagramFaults) -> Net {
    let mut net = Net::after(before, seed, faults);
    let mut sent: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    let mut lens: [BTreeMap<u64, u64>; 2] = [BTreeMap::new(), BTreeMap::new()];
    for part in 0..4_u64 {
        for from in 0..2 {
            for _ in 0..net.random.random_range(0..40) {
                let len = [0, 8, 64, 700, 20_000][net.random.random_range(0..5)];
                let number = sent[from].len();
                let message: Vec<u8> = (0..len).map(|at| byte(number as u64, at)).collect();
                net.links[from].send(&message);
                sent[from].push(message);
            }
            for number in 0..net.random.random_range(0..3) {
                let transfer = part * 10 + number;
                let len = net.random.random_range(1..300_000);
                net.links[from].transfer(transfer, 0..len);
                lens[from].insert(transfer, len);
            }
        }
        let until_ns = net.now_ns + net.random.random_range(0..60) * MS;
        net.run();
        net.now_ns = net.now_ns.max(until_ns);
    }
    for from in 0..2 {
        assert!(
            net.got[1 - from].messages == sent[from],
            "seed {seed}: messages of {from}"
        );
        let got = &net.got[1 - from].transfers;
        for (transfer, len) in &lens[from] {
            let whole: RangeSet<u64> = std::iter::once(0..*len).collect();
            assert_eq!(
                got.get(transfer),
                Some(&whole),
                "seed {seed}: transfer {transfer}"
            );
        }
    }
    net
}

#[test]
fn without_faults_each_byte_goes_once() {
    for seed in 0..10 {
        let net = everything_comes(seed, DatagramFaults::default());
        let wire: usize = net.record.iter().map(|(_, datagram)| datagram.len()).sum();
        let got: usize = net
            .got
            .iter()
            .map(|got| {
                let messages: usize = got.messages.iter().map(Vec::len).sum();
                let data = got.transfers.values().flat_map(RangeSet::iter);
                let data: u64 = data.map(|range| range.end - range.start).sum();
                messages + usize::try_from(data).unwrap()
            })
            .sum();
        assert!(
            wire < got + got / 10 + 60_000,
            "seed {seed}: {wire} bytes for {got}"
        );
    }
}

fn any_faults(seed: u64) -> DatagramFaults {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xFA);
    let start_ns = random.random_range(0..100) * MS;
    DatagramFaults {
        loss: [0, 50, 200, 500][random.random_range(0..4)],
        repetition: [0, 50, 300][random.random_range(0..3)],
        jitter_ns: [0, 20_000, 5 * MS][random.random_range(0..3)],
        cut: [(0, 0), (start_ns, start_ns + 150 * MS)][random.random_range(0..2)],
        until_ns: FAULTS_END_NS,
    }
}

#[test]
fn messages_come_once_in_order_and_transfers_whole_whatever_the_network_does() {
    for seed in 0..500 {
        everything_comes(seed, any_faults(seed));
    }
}

/// A link once stopped for ever after 2^32 datagrams without loss: the run of received numbers was
/// longer than an acknowledgement could hold, and so the link sent none.
#[test]
fn a_link_goes_on_beyond_32_bits_of_datagrams_without_loss() {
    let mut passed = 0;
    for seed in 0..200 {
        let faults = match seed % 4 {
            0 => DatagramFaults::default(),
            _ => any_faults(seed),
        };
        // The wrap of a run is some tens to hundreds of datagrams away, or lies behind.
        let before = match seed % 3 {
            0 => (1 << 32) - 200,
            1 => (1 << 32) - 20,
            _ => (1 << 33) + seed,
        };
        let mut net = everything_comes_after(before, seed, faults);
        let mut last = [before; 2];
        for (to, datagram) in std::mem::take(&mut net.record) {
            // No number is used twice, for otherwise a nonce would be.
            let (header, _) = Header::take(&datagram).unwrap();
            assert!(header.number > last[to], "seed {seed}: {}", header.number);
            last[to] = header.number;
            // The first of these two may be the first that comes, if others were lost.
            let mut take = || net.links[to].receive(&datagram, net.now_ns, &mut net.got[to]);
            let taken = [take(), take()];
            assert_eq!(taken[1], Err(DatagramRefusal::Repeated), "seed {seed}");
        }
        let has_passed = |&&last: &&u64| before < 1 << 32 && last > 1 << 32;
        passed += last.iter().filter(has_passed).count();
        // An old datagram has the same number in the low 32 bits.
        let mut old = Vec::new();
        let (epoch, from) = (7, NodeId(0));
        let number = (last[1] & u64::from(u32::MAX)).max(1);
        let header = Header {
            epoch,
            from,
            number,
        };
        header.put(&mut old);
        datagram::put_ping(&mut old);
        let taken = net.links[1].receive(&old, net.now_ns, &mut net.got[1]);
        assert_eq!(taken, Err(DatagramRefusal::Repeated), "seed {seed}");
    }
    assert!(passed > 150, "{passed} links of 266 have passed the wrap");
}

#[test]
fn after_a_second_without_a_network_it_goes_on_soon() {
    let mut net = Net::new(1, DatagramFaults::default());
    net.links[0].send(b"before");
    net.run();
    net.links[0].send(b"meanwhile");
    net.links[0].transfer(1, 0..100_000);
    // The network is down: all datagrams are lost.
    let mut datagram = Vec::new();
    let end_ns = net.now_ns + 1_000 * MS;
    while net.now_ns < end_ns {
        while net.links[0].transmit(net.now_ns, &mut net.got[0], &mut datagram) {
            datagram.clear();
        }
        net.now_ns = net.links[0].deadline_ns().unwrap().max(net.now_ns);
    }
    let down_ns = net.now_ns;
    net.run();
    assert_eq!(net.got[1].messages, [&b"before"[..], b"meanwhile"]);
    let late_ns = net.now_ns - down_ns;
    assert!(late_ns < 250 * MS, "{} ms later", late_ns / MS);
}

#[test]
fn what_was_recorded_has_no_effect_when_it_comes_again() {
    let mut net = everything_comes(3, DatagramFaults::default());
    let messages = net.got.each_ref().map(|got| got.messages.len());
    for (to, datagram) in std::mem::take(&mut net.record) {
        let taken = net.links[to].receive(&datagram, net.now_ns, &mut net.got[to]);
        assert_eq!(taken, Err(DatagramRefusal::Repeated));
        // Datagrams of the other side itself, and of another job.
        let taken = net.links[1 - to].receive(&datagram, net.now_ns, &mut net.got[1 - to]);
        assert_eq!(taken, Err(DatagramRefusal::Foreign));
    }
    assert_eq!(messages, net.got.each_ref().map(|got| got.messages.len()));
    assert!(net.links.iter().all(Link::is_idle));
}

/// The tag keeps attackers out, but not a broken peer.
#[test]
fn a_peer_that_writes_nonsense_crashes_nobody() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut net = everything_comes(4, DatagramFaults::default());
    let mut refused = 0;
    let record = std::mem::take(&mut net.record);
    let all = record.len();
    for (to, mut datagram) in record {
        for _ in 0..random.random_range(1..4) {
            // The bytes from the number on.
            let at = random.random_range(8..datagram.len());
            datagram[at] = random.random();
        }
        datagram.truncate(random.random_range(0..=datagram.len()));
        struct Nowhere;
        impl LinkHandler for Nowhere {
            fn read(&mut self, _: u64, _: u64, _: &mut [u8]) -> bool {
                true
            }
            fn write(&mut self, _: u64, _: u64, _: &[u8]) {}
            fn note_placed(&mut self, _: u64, _: Range<u64>) {}
            fn handle_message(&mut self, _: &[u8]) {}
        }
        let taken = net.links[to].receive(&datagram, net.now_ns, &mut Nowhere);
        refused += usize::from(taken.is_err());
        let mut answer = Vec::new();
        while net.links[to].transmit(net.now_ns, &mut Nowhere, &mut answer) {
            answer.clear();
        }
        net.now_ns += 1_000;
    }
    assert!(refused > all / 2, "{refused} of {all}");
}

/// Short messages do not wait behind long transfers.
#[test]
fn control_goes_before_bulk() {
    let mut net = Net::new(2, DatagramFaults::default());
    net.links[0].transfer(1, 0..10_000_000);
    net.send(0);
    net.links[0].send(b"short");
    let sent_ns = net.now_ns;
    while net.got[1].messages.is_empty() {
        let arrives = net.wire.next_ns();
        let deadlines = net.links.iter().filter_map(Link::deadline_ns);
        net.now_ns = deadlines.chain(arrives).min().unwrap().max(net.now_ns);
        while let Some((_, to, datagram)) = net.wire.take(net.now_ns) {
            net.links[to]
                .receive(&datagram, net.now_ns, &mut net.got[to])
                .unwrap();
        }
        (0..2).for_each(|from| net.send(from));
    }
    let took_ns = net.now_ns - sent_ns;
    assert!(took_ns < 4 * LATENCY_NS, "{took_ns} ns");
}

/// The kernel joins datagrams of one length, and one that acknowledges brings fewer bytes.
#[test]
fn an_acknowledgement_goes_behind_full_datagrams_and_not_behind_messages() {
    let acknowledges = |datagram: &[u8]| {
        let (_, frames) = Header::take(datagram).unwrap();
        Frames(frames).any(|frame| matches!(frame, Ok(Frame::Acknowledgement(_))))
    };
    for has_message in [false, true] {
        let mut net = Net::new(4, DatagramFaults::default());
        net.links[1].send(b"what is acknowledged");
        net.send(1);
        net.now_ns = net.wire.next_ns().unwrap();
        let (_, to, datagram) = net.wire.take(net.now_ns).unwrap();
        net.links[to]
            .receive(&datagram, net.now_ns, &mut net.got[to])
            .unwrap();
        net.links[0].transfer(1, 0..100_000);
        if has_message {
            net.links[0].send(b"short");
        }
        let before = net.record.len();
        net.send(0);
        assert_eq!(acknowledges(&net.record[before].1), has_message);
        net.run();
        let mut sent = net.record[before..].iter();
        assert!(sent.any(|(to, datagram)| *to == 1 && acknowledges(datagram)));
    }
}
