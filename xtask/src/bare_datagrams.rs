//! Measures what two cores reach with only the work under a long message between hosts. One core
//! copies the message into datagrams and seals them; the other opens them and copies their bytes to
//! their place.
//!
//! Socket, tag and format are those of the fabric `udp`. The rest of the fabric is missing:
//! scheduling, retransmission, sleeping, and other requests.

use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bcs_core::job::NodeId;
use bcs_fabric::udp::datagram::{DATA_HEAD, Frame, Frames, HEADER_BYTES, Header, put_data};
use bcs_fabric::udp::datagram_source::DatagramSource as _;
use bcs_fabric::udp::path::longest_datagram;
use bcs_fabric::udp::seal::{Crypto, Direction, JobKey, Opener, Seal};
use bcs_fabric::udp::socket::{SendFailure, SendFailureReason, Socket};

use crate::bare_pingpong::stay_on;
use crate::hosts::Hosts;

/// The receiver acknowledges whenever this many more bytes have arrived.
const TOLD_BYTES: usize = 256 << 10;

/// The most bytes in flight: they fit a second-level cache, and a socket's buffer.
const WINDOW_BYTES: usize = 1 << 20;

/// Bytes of datagrams that one call sends.
const BATCH_BYTES: usize = 60_000;

/// The bytes of a burst. It is shorter than a time slice of the kernel's scheduler, and there are
/// several bursts.
const BURST_BYTES: usize = 16 << 20;
const BURSTS: usize = 10;

/// A hundred times the usual duration.
const LIMIT: Duration = Duration::from_secs(20);

const FROM: NodeId = NodeId(0);

const DIRECTION: Direction = Direction {
    epoch: 1,
    from: FROM,
    to: NodeId(1),
};

/// The sender or the receiver.
struct CopyPartner {
    socket: Socket,
    peer: SocketAddr,
    core: usize,
    key: JobKey,
    /// The message to send, or the buffer to receive it.
    message: Vec<u8>,
    /// The bytes of all messages together.
    all_bytes: usize,
    give_up: Instant,
}

/// Returns the bytes per second that the second host receives from the first one in messages of
/// `message_bytes`, in the fastest of several bursts. Another program that takes one of the cores
/// for a while stops both threads, so the slower bursts do not show the speed of two cores.
///
/// # Errors
///
/// The kernel refuses a call, or datagrams were lost.
pub fn bytes_a_second(hosts: &Hosts, message_bytes: usize) -> Result<f64> {
    let count = BURST_BYTES.div_ceil(message_bytes);
    (0..BURSTS).try_fold(0.0, |fastest, _| {
        Ok(burst(hosts, message_bytes, count)?.max(fastest))
    })
}

/// Measures one burst of `count` messages.
fn burst(hosts: &Hosts, message_bytes: usize, count: usize) -> Result<f64> {
    let addresses: [IpAddr; 2] = [0, 1].map(|host| hosts.network().address(host).into());
    let bind = |host: usize| -> Result<Socket> {
        let bound = hosts
            .network()
            .on_host(host, || Socket::bind(addresses[host], 0..=0));
        Ok(bound.context("failed to get to a host")??)
    };
    let (sending, receiving) = (bind(0)?, bind(1)?);
    let (sender_at, receiver_at) = (sending.local_addr(), receiving.local_addr());
    let key = JobKey::random()?;
    let partner = |host: usize, socket: Socket, peer: SocketAddr| CopyPartner {
        socket,
        peer,
        core: hosts.core(host),
        key: key.clone(),
        message: match host {
            0 => (0..message_bytes).map(byte_at).collect(),
            _ => vec![0; message_bytes],
        },
        all_bytes: message_bytes * count,
        give_up: Instant::now() + LIMIT,
    };
    let sender = partner(0, sending, receiver_at);
    let receiver = partner(1, receiving, sender_at);
    let longest = longest_datagram(hosts.mtu().into(), addresses[0]);
    let (elapsed, received) = thread::scope(|threads| {
        let received = threads.spawn(|| receiver.receive());
        let elapsed = threads.spawn(|| sender.send(longest)).join();
        (elapsed, received.join())
    });
    let panicked = |_| anyhow::anyhow!("a bare thread panicked");
    let elapsed = elapsed.map_err(panicked)??;
    let received = received.map_err(panicked)??;
    let sent = (0..message_bytes).map(byte_at);
    ensure!(
        received.into_iter().eq(sent),
        "bare datagrams brought other bytes than were sent"
    );
    Ok((message_bytes * count) as f64 / elapsed.as_secs_f64())
}

impl CopyPartner {
    /// Sends all messages, and returns the time until all of them are acknowledged.
    fn send(mut self, longest: usize) -> Result<Duration> {
        stay_on(self.core)?;
        let mut seal = Seal::new(&self.key, Crypto::Tag, DIRECTION);
        let each = longest - HEADER_BYTES - DATA_HEAD - Crypto::Tag.tag_bytes();
        let (mut sent, mut come, mut number) = (0, 0, 0);
        let (mut datagram, mut batch) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while sent < self.all_bytes {
            let at = sent % self.message.len();
            let len = each.min(self.message.len() - at);
            number += 1;
            datagram.clear();
            let header = Header {
                epoch: DIRECTION.epoch,
                from: FROM,
                number,
            };
            header.put(&mut datagram);
            put_data(&mut datagram, 1, at as u64, u16::try_from(len)?);
            datagram.extend_from_slice(&self.message[at..at + len]);
            seal.seal(&mut datagram);
            batch.extend_from_slice(&datagram);
            sent += len;
            // A shorter datagram ends its batch.
            if datagram.len() < longest || batch.len() + longest > BATCH_BYTES {
                while sent > come + WINDOW_BYTES {
                    self.hear(&mut come)?;
                }
                self.put(&batch, longest)?;
                batch.clear();
            }
        }
        while come < self.all_bytes {
            self.hear(&mut come)?;
        }
        Ok(start.elapsed())
    }

    /// Receives all messages, and returns the last one.
    fn receive(mut self) -> Result<Vec<u8>> {
        stay_on(self.core)?;
        let opener = Opener::new(&self.key, Crypto::Tag, DIRECTION);
        let (mut come, mut told, mut strange) = (0, 0, 0_usize);
        while come < self.all_bytes {
            let message = &mut self.message;
            self.socket.receive(usize::MAX, &mut |_, datagram| {
                let place = opener.open(datagram).ok().and_then(data);
                let place = place.and_then(|(at, bytes)| {
                    Some((message.get_mut(at..at.checked_add(bytes.len())?)?, bytes))
                });
                match place {
                    Some((place, bytes)) => {
                        place.copy_from_slice(bytes);
                        come += bytes.len();
                    }
                    None => strange += 1,
                }
            })?;
            ensure!(strange == 0, "{strange} bare datagrams were none of ours");
            if come >= told + TOLD_BYTES || come == self.all_bytes {
                told = come;
                self.put(&(come as u64).to_le_bytes(), size_of::<u64>())?;
            }
            self.not_for_ever()?;
        }
        Ok(self.message)
    }

    /// Reads the acknowledgements that have arrived.
    fn hear(&mut self, come: &mut usize) -> Result<()> {
        self.socket.receive(usize::MAX, &mut |_, said| {
            let said = <[u8; 8]>::try_from(&*said).map_or(0, u64::from_le_bytes);
            *come = (*come).max(usize::try_from(said).unwrap_or(0));
        })?;
        self.not_for_ever()
    }

    fn put(&mut self, batch: &[u8], each: usize) -> Result<()> {
        let mut gone = 0;
        while let Err(SendFailure { sent, why }) = self.socket.send(self.peer, &batch[gone..], each)
        {
            gone += sent;
            match why {
                SendFailureReason::Full | SendFailureReason::Busy => self.not_for_ever()?,
                why => return Err(why).context("failed to send bare datagrams"),
            }
        }
        Ok(())
    }

    fn not_for_ever(&self) -> Result<()> {
        if Instant::now() > self.give_up {
            bail!("bare datagrams were lost: not all have come after {LIMIT:?}");
        }
        Ok(())
    }
}

/// Returns a byte of the message.
fn byte_at(at: usize) -> u8 {
    u8::try_from(at % 251).expect("fewer than 256")
}

/// Returns the offset and the bytes of a datagram's data.
fn data(datagram: &[u8]) -> Option<(usize, &[u8])> {
    let (_, frames) = Header::take(datagram).ok()?;
    match Frames(frames).next()? {
        Ok(Frame::Data { offset, bytes, .. }) => Some((usize::try_from(offset).ok()?, bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::ETHERNET;

    #[test]
    fn all_bytes_come_to_their_place() {
        let Ok(hosts) = Hosts::make(ETHERNET) else {
            // The tests of `test-network` fail if a machine that must have namespaces lacks them.
            return;
        };
        // The length is not a whole number of datagrams, and exceeds the window.
        let rate = burst(&hosts, (1 << 20) + 5, 3).unwrap();
        assert!(rate > 0.0);
    }
}
