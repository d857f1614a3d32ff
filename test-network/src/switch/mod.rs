//! The lossy switch as a state machine: frames and the time go in, frames come out. It has no
//! socket and no clock.
//!
//! It is an Ethernet switch that learns which address is behind which port. UDP datagrams, over
//! IPv4 or IPv6, meet [`SwitchFaults`]; all other frames (ARP, neighbour discovery, ICMP, TCP)
//! leave at once as they have come. Fragments of a datagram meet all faults but corruption.
//!
//! *Order.* The datagrams from one port to another are a *pair's*. The fate of a pair's n-th is a
//! function of the seed, the two ports and n (`fate.rs`), never of the time, of addresses or of
//! other traffic. So a run can be repeated as far as its processes send the same in the same order.
//!
//! *Paths.* A datagram first waits for its port's bandwidth, then is delayed, and leaves. One that
//! is held back leaves after a number of later ones of its pair have left, or when its time is
//! over.
//!
//! | file | is |
//! |---|---|
//! | `faults.rs`, `counts.rs` | the faults to apply; the counts of what was done |
//! | `fate.rs` | the fate of a datagram |
//! | `frame.rs` | the addresses, datagrams and checksums in frames |
//! | `frame_queue.rs` | frames that leave later |

pub(crate) mod counts;
mod fate;
pub(crate) mod faults;
pub(crate) mod frame;
mod frame_queue;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use counts::{DatagramCounts, PairCounts, SwitchCounts};
use fate::{DepartureFate, Fate};
use faults::SwitchFaults;
use frame::{Address, Datagram};
use frame_queue::{DepartureKey, FrameQueue, QueuedFrame};

/// The most addresses that are learned. Frames for others go to all ports.
const MAX_LEARNED_ADDRESSES: usize = 4_096;

const SECOND_NS: u128 = 1_000_000_000;

/// A switch. Times are nanoseconds since an arbitrary moment; they never go back.
#[derive(Debug)]
pub struct Switch {
    faults: SwitchFaults,
    /// The port behind which each address was last seen.
    learned: HashMap<Address, usize>,
    ports: Vec<PortTransmitter>,
    /// The datagrams of each pair, by the port that they come from, and the one that they go to.
    pairs: Vec<Vec<PortPair>>,
    held: FrameQueue,
    frames: u64,
}

/// The sending side of a port.
#[derive(Debug, Clone, Default)]
struct PortTransmitter {
    /// The time at which it has sent all its frames.
    free_ns: u64,
}

/// The datagrams from a port to another.
#[derive(Debug, Clone, Default)]
struct PortPair {
    tally: DatagramCounts,
    /// Datagrams that are held back, and how many have yet to overtake each.
    held_back: Vec<(DepartureKey, u32)>,
}

impl PortPair {
    /// Counts a datagram of the pair that has left. Returns those that are held back no longer.
    fn note_overtaking(&mut self) -> Vec<DepartureKey> {
        for (_, missing) in &mut self.held_back {
            *missing -= 1;
        }
        let free = self.held_back.extract_if(.., |(_, missing)| *missing == 0);
        free.map(|(turn, _)| turn).collect()
    }
}

impl Switch {
    /// Makes a switch with `ports` ports, without faults.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        Self {
            faults: SwitchFaults::NONE,
            learned: HashMap::new(),
            ports: vec![PortTransmitter::default(); ports],
            pairs: vec![vec![PortPair::default(); ports]; ports],
            held: FrameQueue::default(),
            frames: 0,
        }
    }

    /// Records that an address is behind a port, of which no frame has come yet. A datagram for an
    /// address that the switch does not know goes to all ports, and counts for each of these pairs.
    ///
    /// # Panics
    ///
    /// When there is no such port.
    pub fn learn(&mut self, address: [u8; 6], port: usize) {
        assert!(port < self.ports.len(), "there is no port {port}");
        let known = self.learned.contains_key(&address);
        if !frame::is_group(address) && (known || self.learned.len() < MAX_LEARNED_ADDRESSES) {
            self.learned.insert(address, port);
        }
    }

    /// Sets the faults for datagrams that come from now on.
    pub fn set_faults(&mut self, faults: SwitchFaults) {
        self.faults = faults;
    }

    /// Returns the counts so far. The counts of events outside of the switch (`refused`, `overrun`)
    /// are 0.
    #[must_use]
    pub fn counts(&self) -> SwitchCounts {
        let mut counts = SwitchCounts {
            frames: self.frames,
            ..SwitchCounts::default()
        };
        for (from, row) in self.pairs.iter().enumerate() {
            for (to, pair) in row.iter().enumerate() {
                let tally = pair.tally;
                if tally != DatagramCounts::default() {
                    counts.all += tally;
                    counts.pairs.push(PairCounts { from, to, tally });
                }
            }
        }
        counts
    }

    /// Returns when to call [`Switch::release`], if no frame comes before.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.held.next_ns()
    }

    /// Takes a frame that has come by a port. `send` gets the frames that leave now, each with its
    /// port.
    ///
    /// # Panics
    ///
    /// When there is no such port.
    pub fn take(
        &mut self,
        now_ns: u64,
        from: usize,
        frame: &[u8],
        send: &mut dyn FnMut(usize, &[u8]),
    ) {
        self.release(now_ns, send);
        self.frames += 1;
        let Some((destination, source)) = frame::addresses(frame) else {
            return;
        };
        self.learn(source, from);
        let datagram = Datagram::find(frame);
        let behind = self.learned.get(&destination).copied();
        let ports = match behind {
            Some(port) => port..port + 1,
            None => 0..self.ports.len(),
        };
        for to in ports.filter(|to| *to != from) {
            match &datagram {
                Some(datagram) => self.forward(now_ns, [from, to], datagram, frame, send),
                None => send(to, frame),
            }
        }
    }

    /// Releases the frames that are due.
    pub fn release(&mut self, now_ns: u64, send: &mut dyn FnMut(usize, &[u8])) {
        while let Some((turn, waiting)) = self.held.take_due(now_ns) {
            let pair = &mut self.pairs[waiting.from][waiting.to];
            pair.tally.held -= 1;
            pair.held_back.retain(|(other, _)| *other != turn);
            self.send_out(&waiting, send);
        }
    }

    /// Sends a datagram from a port to another according to its fate.
    fn forward(
        &mut self,
        now_ns: u64,
        [from, to]: [usize; 2],
        datagram: &Datagram,
        frame: &[u8],
        send: &mut dyn FnMut(usize, &[u8]),
    ) {
        let tally = &mut self.pairs[from][to].tally;
        let fate = Fate::draw(&self.faults, from, to, tally.datagrams);
        tally.datagrams += 1;
        if fate.lost {
            tally.lost += 1;
            return;
        }
        tally.repeated += u64::from(fate.second.is_some());
        for way in [Some(fate.first), fate.second].into_iter().flatten() {
            let mut frame = frame.to_vec();
            if let Some(change) = way.change {
                let changed = datagram.corrupt(&mut frame, change);
                self.pairs[from][to].tally.corrupted += u64::from(changed);
            }
            let waiting = QueuedFrame {
                from,
                to,
                held_back: way.held_back,
                frame,
            };
            self.schedule(now_ns, way, waiting, send);
        }
    }

    /// Sends a datagram now, or queues it.
    fn schedule(
        &mut self,
        now_ns: u64,
        way: DepartureFate,
        waiting: QueuedFrame,
        send: &mut dyn FnMut(usize, &[u8]),
    ) {
        let mut leaves_ns = self.sent_ns(now_ns, &waiting).saturating_add(way.delay_ns);
        let tally = &mut self.pairs[waiting.from][waiting.to].tally;
        tally.delayed += u64::from(leaves_ns > now_ns);
        tally.reordered += u64::from(way.held_back);
        if way.held_back {
            let hold_ns = u64::from(self.faults.reordering_hold_us) * 1000;
            leaves_ns = leaves_ns.saturating_add(hold_ns);
        }
        // A datagram that leaves later is queued, and so is one that is held back, even for no
        // time.
        if leaves_ns == now_ns && !way.held_back {
            return self.send_out(&waiting, send);
        }
        let (from, to) = (waiting.from, waiting.to);
        let turn = self.held.put(leaves_ns, waiting);
        let pair = &mut self.pairs[from][to];
        let Some(turn) = turn else {
            pair.tally.overflowed += 1;
            return;
        };
        pair.tally.held += 1;
        if way.held_back {
            let behind = self.faults.reordering_behind.max(1);
            pair.held_back.push((turn, behind));
        }
    }

    /// Returns when a port will have sent a frame to its host.
    fn sent_ns(&mut self, now_ns: u64, waiting: &QueuedFrame) -> u64 {
        let Some(bandwidth) = self.faults.bandwidth_bytes_per_s else {
            return now_ns;
        };
        let takes_ns = waiting.frame.len() as u128 * SECOND_NS / u128::from(bandwidth.get());
        let line = &mut self.ports[waiting.to];
        let takes_ns = u64::try_from(takes_ns).unwrap_or(u64::MAX);
        line.free_ns = line.free_ns.max(now_ns).saturating_add(takes_ns);
        line.free_ns
    }

    /// Sends a datagram, and those for which it was the last that had to overtake them.
    fn send_out(&mut self, waiting: &QueuedFrame, send: &mut dyn FnMut(usize, &[u8])) {
        send(waiting.to, &waiting.frame);
        if waiting.held_back {
            return;
        }
        let pair = &mut self.pairs[waiting.from][waiting.to];
        for turn in pair.note_overtaking() {
            pair.tally.held -= 1;
            let waiting = self.held.take(turn);
            send(waiting.to, &waiting.frame);
        }
    }
}
