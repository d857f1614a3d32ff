//! An attacker on its own host, which sees the datagrams of a job and sends forged ones to that
//! job.
//!
//! It sees them through a packet socket (AF_PACKET) on another host. There the kernel may deliver
//! several datagrams as one, and the attacker remembers only short ones of these. Some of the
//! datagrams that it replays were therefore never sent in this form.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bcs_fabric::udp::attacker::{Attacker, Forgery};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
use test_network::TestNetwork;

/// The number of datagrams sent, by kind.
pub type ForgeryCounts = BTreeMap<Forgery, u64>;

/// The interval between bursts.
const TICK: Duration = Duration::from_millis(1);

/// The most packets read at a time: the check measures the job, and not how fast packets can be
/// read.
const LOOKS: usize = 16;

/// The longest datagram of Ethernet.
const LONGEST: usize = 1_472;

/// Runs `act` while the attacker, which is on the last host, sends `a_second` datagrams per second
/// to the jobs on the other hosts. It begins as soon as it sees datagrams.
///
/// # Errors
///
/// `act` fails, or the kernel refuses a call of the attacker.
pub fn run_under_attack<T>(
    network: &TestNetwork,
    a_second: u32,
    seed: u64,
    act: impl FnOnce() -> Result<T>,
) -> Result<(T, ForgeryCounts)> {
    let host = network.hosts().len() - 1;
    let ears = network
        .on_host(0, open_sniffer)?
        .context("failed to listen")?;
    let address = (network.address(host), 0);
    let mouth = network.on_host(host, || UdpSocket::bind(address))?;
    let mut live = LiveStranger {
        job: (0..host).map(|host| network.address(host)).collect(),
        sniffer: ears,
        sender: mouth.context("failed to bind a socket")?,
        stranger: Attacker::new(seed),
        receivers: Vec::new(),
        sent: ForgeryCounts::new(),
    };
    let over = AtomicBool::new(false);
    let (done, sent) = thread::scope(|scope| {
        let talk = scope.spawn(|| {
            live.send_forgeries(a_second, &over);
            live.sent
        });
        let done = act();
        over.store(true, Ordering::Relaxed);
        (done, talk.join())
    });
    let sent = sent.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok((done?, sent))
}

/// Opens a socket that gets all packets of a host, also those that it sends.
fn open_sniffer() -> std::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let all = NonZeroU32::new(u32::from(3_u16.to_be())).map(Protocol::from_raw);
    // SOCK_DGRAM packets have no Ethernet header.
    Ok(socket_with(
        AddressFamily::PACKET,
        SocketType::DGRAM,
        flags,
        all,
    )?)
}

struct LiveStranger {
    /// The hosts of the job.
    job: Vec<Ipv4Addr>,
    sniffer: OwnedFd,
    sender: UdpSocket,
    stranger: Attacker,
    /// The node managers that it has seen; the newest one of each host.
    receivers: Vec<SocketAddr>,
    sent: ForgeryCounts,
}

impl LiveStranger {
    #[expect(clippy::disallowed_methods, reason = "it sends at a pace")]
    fn send_forgeries(&mut self, a_second: u32, over: &AtomicBool) {
        let (mut packet, mut datagram) = (vec![0; 1 << 16], Vec::new());
        let mut ticked = Instant::now();
        let mut owed = 0.0;
        while !over.load(Ordering::Relaxed) {
            thread::sleep(TICK);
            self.listen(&mut packet);
            let now = Instant::now();
            // It does not catch up after a time in which it could not run.
            owed += f64::from(a_second) * (now - ticked).min(10 * TICK).as_secs_f64();
            ticked = now;
            while owed >= 1.0 {
                owed -= 1.0;
                self.say(&mut datagram);
            }
        }
    }

    fn listen(&mut self, packet: &mut [u8]) {
        for _ in 0..LOOKS {
            let Ok(length) = rustix::io::read(&self.sniffer, &mut *packet) else {
                return;
            };
            if let Some((to, payload)) = self.of_the_job(&packet[..length]) {
                let to = self.receiver(to);
                self.stranger.observe(to, payload);
            }
        }
    }

    /// Parses a datagram between node managers: the receiver's address, and the payload.
    fn of_the_job<'a>(&self, packet: &'a [u8]) -> Option<(SocketAddr, &'a [u8])> {
        const UDP: u8 = 17;
        let head = usize::from(packet.first()? & 0xf) * 4;
        let address = |at: usize| -> Option<Ipv4Addr> {
            let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
            Some(bytes.into())
        };
        let (from, to) = (address(12)?, address(16)?);
        let is_ours = packet[0] >> 4 == 4 && packet[9] == UDP;
        if !is_ours || !self.job.contains(&from) || !self.job.contains(&to) {
            return None;
        }
        let port = packet.get(head + 2..head + 4)?;
        let port = u16::from_be_bytes(port.try_into().ok()?);
        let payload = packet.get(head + 8..)?;
        let is_one = (1..=LONGEST).contains(&payload.len());
        is_one.then_some((SocketAddrV4::new(to, port).into(), payload))
    }

    /// Returns the index of a receiver. A new address on the same host belongs to the next job.
    fn receiver(&mut self, address: SocketAddr) -> usize {
        let known = &mut self.receivers;
        let same = known.iter().position(|one| one.ip() == address.ip());
        let place = same.unwrap_or(known.len());
        match known.get_mut(place) {
            Some(one) => *one = address,
            None => known.push(address),
        }
        place
    }

    fn say(&mut self, datagram: &mut Vec<u8>) {
        if self.receivers.is_empty() {
            return;
        }
        let (to, kind) = self.stranger.forge(self.receivers.len(), datagram);
        // A job that has ended no longer listens.
        if self.sender.send_to(datagram, self.receivers[to]).is_ok() {
            *self.sent.entry(kind).or_default() += 1;
        }
    }
}
