//! Measures only the time of a datagram of 8 bytes between two hosts: one thread on each host sends
//! it back and forth by the simplest calls of the kernel. This is the lower bound for all messages
//! over this network.
//!
//! A polling thread polls the socket again and again; the kernel wakes a sleeping thread in the
//! call that receives. The difference is the cost of a wake-up on a host with a core of its own.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bare_pingpong::stay_on;
use crate::bootstrap::median;
use crate::hosts::Hosts;

/// How a thread waits for a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramWait {
    /// Sleeps in the call that receives.
    Asleep,
    /// Polls the socket.
    Polling,
}

/// The least useful sample: it is longer than a scheduler time slice of another program.
const ROUND_TRIPS: usize = 2_000;

/// No datagram takes this long, so one that does is lost.
const LIMIT: Duration = Duration::from_secs(5);

/// Returns half a round trip of 8 bytes, in microseconds: the median.
///
/// # Errors
///
/// The kernel refuses a call, or a datagram was lost.
pub fn half_round_trip_us(hosts: &Hosts, wait: DatagramWait) -> Result<f64> {
    let [one, other] = sockets(hosts, wait)?;
    let cores = [hosts.core(0), hosts.core(1)];
    thread::scope(|threads| {
        let echo = threads.spawn(move || -> Result<()> {
            stay_on(cores[1])?;
            (0..ROUND_TRIPS).try_for_each(|_| {
                receive(&other)?;
                send(&other)
            })
        });
        let player = threads.spawn(move || -> Result<f64> {
            stay_on(cores[0])?;
            let mut times = Vec::with_capacity(ROUND_TRIPS);
            for _ in 0..ROUND_TRIPS {
                let start = Instant::now();
                send(&one)?;
                receive(&one)?;
                times.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
            }
            Ok(median(&times))
        });
        let panicked = |_| anyhow::anyhow!("a bare thread panicked");
        let played = player.join().map_err(panicked)?;
        echo.join().map_err(panicked)??;
        played
    })
}

/// Makes a socket on each host, connected to the other one.
fn sockets(hosts: &Hosts, wait: DatagramWait) -> Result<[UdpSocket; 2]> {
    let network = hosts.network();
    let bind = |host: usize| -> Result<UdpSocket> {
        let bound = network.on_host(host, || UdpSocket::bind((network.address(host), 0)));
        Ok(bound.context("failed to get to a host")??)
    };
    let sockets = [bind(0)?, bind(1)?];
    let [one, other] = &sockets;
    one.connect(other.local_addr()?)?;
    other.connect(one.local_addr()?)?;
    for socket in &sockets {
        match wait {
            DatagramWait::Asleep => socket.set_read_timeout(Some(LIMIT))?,
            DatagramWait::Polling => socket.set_nonblocking(true)?,
        }
    }
    Ok(sockets)
}

fn send(socket: &UdpSocket) -> Result<()> {
    socket.send(&[7; 8]).context("failed to send a datagram")?;
    Ok(())
}

fn receive(socket: &UdpSocket) -> Result<()> {
    let start = Instant::now();
    loop {
        match socket.recv(&mut [0; 64]) {
            Ok(8) => return Ok(()),
            Ok(bytes) => bail!("a datagram of {bytes} bytes came, and 8 were sent"),
            Err(error) if error.kind() == ErrorKind::WouldBlock && start.elapsed() < LIMIT => (),
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(error).context("no datagram came"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::ETHERNET;

    #[test]
    fn datagrams_go_back_and_forth_in_both_ways() {
        let Ok(hosts) = Hosts::make(ETHERNET) else {
            // The tests of `test-network` fail if a machine that must have namespaces lacks them.
            return;
        };
        for wait in [DatagramWait::Asleep, DatagramWait::Polling] {
            let us = half_round_trip_us(&hosts, wait).unwrap();
            // No call of the kernel is as short as the lower bound, and no thread waited for the
            // limit.
            assert!((0.5..1e6).contains(&us), "{wait:?}: {us}");
        }
    }
}
