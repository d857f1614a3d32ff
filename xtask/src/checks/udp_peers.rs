//! Between two hosts, which are network namespaces, against other MPI implementations over TCP between the same two.
//!
//! All share the cores of this machine: a peer's ranks poll, each on a core that it has to itself, and our NIC threads
//! and what waits for datagrams share the cores of our ranks.

use std::rc::Rc;

use anyhow::Result;
use apps::bench::{Mode, Op, Options};

use crate::contest::{Contest, Demand, rows};
use crate::hosts::Hosts;
use crate::peers::OPEN_MPI;
use crate::verdict::Outcome;
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

/// What Ethernet packets hold.
pub(super) const ETHERNET: u16 = 1500;

/// Judges it all, prints the table, and says in the outcome what hosts these are.
fn judge(workspace: &Workspace, contest: &Contest, demands: &[Demand]) -> Result<Outcome> {
    let (mut outcome, table) = contest.judge_in_full(workspace, demands)?;
    println!("{table}\n");
    if let Some(hosts) = &contest.hosts {
        outcome.figure = format!("MTU {}: {}", hosts.mtu(), outcome.figure);
    }
    Ok(outcome)
}

fn of_8_bytes(ops: &[Op]) -> Options {
    rows(ops, &[8], Mode::Untouched)
}

fn latency(workspace: &Workspace) -> Result<Outcome> {
    let hosts = Rc::new(Hosts::make(ETHERNET)?);
    let options = of_8_bytes(&[Op::Latency, Op::Barrier, Op::Allreduce]);
    let contest = Contest::between_hosts(&hosts, &[], options)?.against(&OPEN_MPI);
    let demands = [
        Demand::each("half a round trip", |case| case.op == Op::Latency, 3.0),
        Demand::each("collectives", |case| case.op != Op::Latency, 4.0),
    ];
    judge(workspace, &contest, &demands)
}

/// The bar is for messages in a second. Times are their inverse.
fn rate(workspace: &Workspace) -> Result<Outcome> {
    let hosts = Rc::new(Hosts::make(ETHERNET)?);
    let contest = Contest::between_hosts(&hosts, &[], of_8_bytes(&[Op::Rate]))?;
    let twice = Demand::each("rate of 8 B", |_| true, 1.0 / 2.0);
    judge(workspace, &contest, &[twice])
}
