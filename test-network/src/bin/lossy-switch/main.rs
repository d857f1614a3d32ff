//! Hosts for manual tests, and the switch between them. `lossy-switch hosts 2` makes two; see
//! `docs/test-network.md`.
//!
//! Exit codes: 0 when standard input has ended, 1 on a failure, 2 on a fault of the command line.

mod packet_socket;
mod runner;

use std::io::{self, BufRead};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use runner::SwitchInterface;
use test_network::{NetworkKind, NetworkOptions, SwitchCommand, SwitchFaults, TestNetwork, sweep};

#[derive(Debug, Parser)]
#[command(about, version)]
struct SwitchCli {
    #[command(subcommand)]
    what: SubCommand,
}

#[derive(Debug, Subcommand)]
enum SubCommand {
    /// Make hosts, print their names and addresses, and remove them when standard input ends.
    Hosts(HostsArguments),
    /// Remove the hosts of processes that were killed, and print their names.
    Sweep,
    /// Be the switch between interfaces of this network namespace, until standard input ends. A
    /// line of input is `counts` or faults, as JSON. The answer to each is the counts, which are
    /// also the first line. Hosts are made with one.
    Join {
        /// An interface, and the Ethernet address behind it unless a frame will show it.
        #[arg(required = true, value_name = "NAME[=ADDRESS]")]
        ports: Vec<SwitchInterface>,
    },
}

#[derive(Debug, Args)]
struct HostsArguments {
    /// The number of hosts.
    #[arg(value_parser = clap::value_parser!(u8).range(1..=200))]
    hosts: u8,
    /// The most bytes that a frame carries.
    #[arg(long, default_value_t = NetworkOptions::default().mtu)]
    mtu: u16,
    /// Join the hosts by a lossy switch with these faults, as JSON, and not by a bridge. A line of
    /// standard input is `counts` or other faults.
    #[arg(long)]
    faults: Option<SwitchFaults>,
}

fn main() -> ExitCode {
    let done = match SwitchCli::parse().what {
        SubCommand::Hosts(hosts) => hosts.keep(),
        SubCommand::Sweep => sweep().map_err(Into::into).map(|left| {
            for name in left {
                println!("{name}");
            }
        }),
        SubCommand::Join { ports } => runner::run(&ports),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lossy-switch: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl HostsArguments {
    fn keep(&self) -> Result<()> {
        let joined = self.faults.map_or(NetworkKind::Bridge, NetworkKind::Lossy);
        let mtu = self.mtu;
        let network = TestNetwork::make(self.hosts.into(), NetworkOptions { joined, mtu })?;
        for (host, name) in network.hosts().iter().enumerate() {
            println!(
                "{name} {} {}",
                network.address(host),
                network.address_v6(host)
            );
        }
        for line in io::stdin().lock().lines() {
            let line = line.context("failed to read standard input")?;
            match line.parse() {
                Ok(SwitchCommand::Counts) => {
                    println!("{}", serde_json::to_string(&network.counts()?)?)
                }
                Ok(SwitchCommand::Faults(faults)) => network.set_faults(faults)?,
                Err(error) => {
                    eprintln!("lossy-switch: {line:?} is neither `counts` nor faults: {error}")
                }
            }
        }
        Ok(())
    }
}
