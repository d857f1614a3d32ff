//! Compares us between two hosts, which are network namespaces, with other MPI implementations over
//! TCP between the same hosts.
//!
//! All share the cores of this machine. A peer's ranks poll, each on its own core. Our NIC threads
//! and the threads that wait for datagrams share the cores of our ranks.

use std::rc::Rc;

use anyhow::Result;
use apps::bench::{BenchOperation, BenchOptions, BufferMode};

use crate::bare_datagrams::bytes_a_second;
use crate::bootstrap::median;
use crate::breakdown::{LatencyBreakdown, OPS};
use crate::contest::{Contest, Contestant, Demand, rows};
use crate::hosts::{ETHERNET, Hosts};
use crate::peers::OPEN_MPI;
use crate::rounds::{Bar, Rounds, all_sides};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const LATENCY: Check = Check {
    name: "udp-latency",
    about: "8 B between 2 hosts: half a round trip at most 3 times Open MPI's over TCP, barrier and allreduce 4 times",
    about_time: true,
    quick: false,
    run: latency,
};

pub(super) const RATE: Check = Check {
    name: "udp-rate",
    about: "64 messages of 8 B at a time between 2 hosts: twice the best peer's rate over TCP",
    about_time: true,
    quick: false,
    run: rate,
};

pub(super) const BANDWIDTH: Check = Check {
    name: "udp-bandwidth",
    about: "1 and 4 MiB between 2 hosts: 0.8 times the best peer's bandwidth, with tags 0.7 times what two cores reach",
    about_time: true,
    quick: false,
    run: |workspace| bandwidth(workspace, ETHERNET),
};

pub(super) const BANDWIDTH_OF_JUMBO_FRAMES: Check = Check {
    name: "udp-bandwidth-9000",
    about: "the same with packets of 9,000 bytes",
    about_time: true,
    quick: false,
    run: |workspace| bandwidth(workspace, JUMBO),
};

/// The packet size of Ethernet with jumbo frames.
const JUMBO: u16 = 9000;

const LARGE: [usize; 2] = [1 << 20, 4 << 20];

/// Judges all demands, prints the table, and describes the hosts in the outcome.
fn judge(workspace: &Workspace, contest: &Contest, demands: &[Demand]) -> Result<CheckOutcome> {
    let (mut outcome, table) = contest.judge_in_full(workspace, demands)?;
    println!("{table}\n");
    if let Some(hosts) = &contest.hosts {
        outcome.figure = format!("MTU {}: {}", hosts.mtu(), outcome.figure);
    }
    Ok(outcome)
}

fn of_8_bytes(ops: &[BenchOperation]) -> BenchOptions {
    rows(ops, &[8], BufferMode::Untouched)
}

/// Prints also where the time goes, without a bar.
fn latency(workspace: &Workspace) -> Result<CheckOutcome> {
    let hosts = Rc::new(Hosts::make(ETHERNET)?);
    for op in OPS {
        println!("{}", LatencyBreakdown::measure(workspace, &hosts, op)?);
    }
    let options = of_8_bytes(&OPS);
    let contest = Contest::between_hosts(&hosts, &[], options)?.against(&OPEN_MPI);
    let demands = [
        Demand::each(
            "half a round trip",
            |case| case.op == BenchOperation::Latency,
            3.0,
        ),
        Demand::each(
            "collectives",
            |case| case.op != BenchOperation::Latency,
            4.0,
        ),
    ];
    judge(workspace, &contest, &demands)
}

/// The bar is for messages per second. Times are their inverse.
fn rate(workspace: &Workspace) -> Result<CheckOutcome> {
    let hosts = Rc::new(Hosts::make(ETHERNET)?);
    let contest = Contest::between_hosts(&hosts, &[], of_8_bytes(&[BenchOperation::Rate]))?;
    let twice = Demand::each("rate of 8 B", |_| true, 1.0 / 2.0);
    judge(workspace, &contest, &[twice])
}

fn bandwidth(workspace: &Workspace, mtu: u16) -> Result<CheckOutcome> {
    let hosts = Rc::new(Hosts::make(mtu)?);
    let [mib, four_mib] = against_two_cores(workspace, &hosts)?;
    let peers = against_peers(workspace, &hosts)?;
    Ok(CheckOutcome::of_all(&[peers, mib, four_mib]))
}

fn of_large(sizes: &[usize]) -> BenchOptions {
    BenchOptions {
        samples: 3,
        ..rows(&[BenchOperation::Bandwidth], sizes, BufferMode::Untouched)
    }
}

/// Runs without authentication tags on either side. The bar is for bytes per second; times are
/// their inverse.
fn against_peers(workspace: &Workspace, hosts: &Rc<Hosts>) -> Result<CheckOutcome> {
    let options = of_large(&LARGE);
    let contest = Contest::between_hosts(hosts, &["--fabric-crypto", "none"], options)?;
    let demand = Demand::each("bandwidth", |_| true, 1.0 / 0.8);
    judge(workspace, &contest, &[demand])
}

/// Runs with authentication tags, which is the default.
fn against_two_cores(workspace: &Workspace, hosts: &Hosts) -> Result<[CheckOutcome; 2]> {
    let ours = Contestant::Ours(Vec::new());
    let by_us = |bytes: usize| -> Result<f64> {
        let measured = ours.measure(workspace, 2, Some(hosts), &of_large(&[bytes]))?;
        Ok(bytes as f64 * 1e6 / measured[0].us)
    };
    let mut rates = Vec::new();
    let measured = Rounds::default().figures([Bar::AtLeast(0.7); 2], |round| {
        let [us, us_4, bare, bare_4] = all_sides(round, |side| match side {
            0 | 1 => by_us(LARGE[side]),
            _ => bytes_a_second(hosts, LARGE[side - 2]),
        })?;
        rates.push([[us, bare], [us_4, bare_4]]);
        Ok([us / bare, us_4 / bare_4])
    })?;
    Ok([0, 1].map(|row| {
        let (mtu, mib) = (hosts.mtu(), LARGE[row] >> 20);
        let what = format!("MTU {mtu}: {mib} MiB with tags by what two cores reach");
        let mut outcome = measured[row].outcome(&what, " x");
        let [us, bare] = [0, 1].map(|side| {
            let rates: Vec<f64> = rates.iter().map(|rates| rates[row][side] * 1e-9).collect();
            median(&rates)
        });
        let rates = format!("; {us:.2} and {bare:.2} GB/s");
        outcome.figure.push_str(&rates);
        outcome
    }))
}
