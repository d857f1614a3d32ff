//! The driver of the switch: its sockets, its clock and its standard input.

use std::io::{self, Write};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use test_network::{Switch, SwitchCommand, SwitchCounts};

use super::packet_socket::{FRAME, PacketSocket};

/// The most frames of one port that are taken before those of the next.
const MAX_FRAMES_PER_PORT: usize = 64;

/// An interface, and the Ethernet address behind it.
#[derive(Debug, Clone)]
pub(super) struct SwitchInterface {
    name: String,
    address: Option<[u8; 6]>,
}

impl FromStr for SwitchInterface {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        let (name, address) = match word.split_once('=') {
            Some((name, address)) => (name, Some(ethernet(address)?)),
            None => (word, None),
        };
        let name = name.to_owned();
        Ok(Self { name, address })
    }
}

fn ethernet(address: &str) -> Result<[u8; 6]> {
    let bytes = address.split(':').map(|byte| u8::from_str_radix(byte, 16));
    let bytes: Option<Vec<u8>> = bytes.map(Result::ok).collect();
    let address = bytes.and_then(|bytes| bytes.try_into().ok());
    address.context("an Ethernet address is six bytes in hexadecimal, with a colon between any two")
}

/// Forwards frames between interfaces until standard input ends.
pub(super) fn run(ports: &[SwitchInterface]) -> Result<()> {
    let mut joined = SwitchRunner::open(ports)?;
    let mut orders = Vec::new();
    let mut buffer = vec![0; FRAME];
    joined.print_counts()?;
    loop {
        let asked = joined.wait()?;
        if asked && !joined.read_commands(&mut orders)? {
            return Ok(());
        }
        joined.forward(&mut buffer)?;
    }
}

#[derive(Debug)]
struct SwitchRunner {
    switch: Switch,
    ports: Vec<PacketSocket>,
    start: Instant,
    refused: u64,
    overrun: u64,
}

impl SwitchRunner {
    fn open(ports: &[SwitchInterface]) -> Result<Self> {
        let mut switch = Switch::new(ports.len());
        for (nth, port) in ports.iter().enumerate() {
            if let Some(address) = port.address {
                switch.learn(address, nth);
            }
        }
        let open = |SwitchInterface { name, .. }: &SwitchInterface| {
            PacketSocket::open(name).with_context(|| format!("failed to open a socket on {name}"))
        };
        Ok(Self {
            switch,
            ports: ports.iter().map(open).collect::<Result<_>>()?,
            start: Instant::now(),
            refused: 0,
            overrun: 0,
        })
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).expect("it runs less than 500 years")
    }

    /// Sleeps until a frame has come or is due to leave, or a line has come. Returns whether a line
    /// has come.
    fn wait(&self) -> Result<bool> {
        let until = self.switch.next_ns();
        let left = until.map(|next| Duration::from_nanos(next.saturating_sub(self.now_ns())));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let stdin = io::stdin();
        let mut waits = vec![PollFd::new(&stdin, PollFlags::IN)];
        waits.extend(
            self.ports
                .iter()
                .map(|port| PollFd::new(port, PollFlags::IN)),
        );
        match poll(&mut waits, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!waits[0].revents().is_empty()),
            Err(error) => Err(error).context("failed to wait for frames"),
        }
    }

    /// Takes the frames that have come, and sends those that are due.
    fn forward(&mut self, buffer: &mut [u8]) -> Result<()> {
        for from in 0..self.ports.len() {
            for _ in 0..MAX_FRAMES_PER_PORT {
                let Some(frame) = self.ports[from].receive(buffer)? else {
                    break;
                };
                let now_ns = self.now_ns();
                self.sending(|switch, send| switch.take(now_ns, from, frame, send))?;
            }
        }
        let now_ns = self.now_ns();
        self.sending(|switch, send| switch.release(now_ns, send))
    }

    /// Calls the switch, and sends the frames that it releases.
    fn sending(
        &mut self,
        act: impl FnOnce(&mut Switch, &mut dyn FnMut(usize, &[u8])),
    ) -> Result<()> {
        let mut failed = None;
        act(
            &mut self.switch,
            &mut |to, frame| match self.ports[to].send(frame) {
                Ok(taken) => self.refused += u64::from(!taken),
                Err(error) => failed = Some(error),
            },
        );
        match failed {
            Some(error) => Err(error).context("failed to send a frame"),
            None => Ok(()),
        }
    }

    /// Executes the lines of standard input. Returns false when it has ended. `orders` holds the
    /// beginning of a line.
    fn read_commands(&mut self, orders: &mut Vec<u8>) -> Result<bool> {
        let mut read = [0; 1024];
        let length = rustix::io::read(io::stdin(), &mut read);
        let length = length.context("failed to read standard input")?;
        orders.extend(&read[..length]);
        while let Some(end) = orders.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = orders.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let order = line.parse();
            match order.with_context(|| format!("{line:?} is neither `counts` nor faults"))? {
                SwitchCommand::Counts => {}
                SwitchCommand::Faults(faults) => self.switch.set_faults(faults),
            }
            self.print_counts()?;
        }
        Ok(length > 0)
    }

    fn print_counts(&mut self) -> Result<()> {
        for port in &self.ports {
            self.overrun += port.overrun()?;
        }
        let counts = SwitchCounts {
            refused: self.refused,
            overrun: self.overrun,
            ..self.switch.counts()
        };
        let line = serde_json::to_string(&counts).context("failed to write counts")?;
        let mut out = io::stdout();
        writeln!(out, "{line}").context("failed to write counts")
    }
}
