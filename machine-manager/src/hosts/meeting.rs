//! Node managers of several machines meet: each says how it is reached, and with whom it can share memory; then each is told
//! of all others.

use super::{Fabric, Hosts};
use crate::launch::Manager;
use crate::signals;
use crate::verdict::job_ended;
use anyhow::{Context as _, bail};
use bcs_core::job::{Cores, NodeId, Placement};
use bcs_fabric::udp::JobKey;
use node_manager::control::{Arrived, FarStart, Frame, FromManager, Keeps, Meet, Met, ToManager};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::time::Timespec;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// A node manager that does not answer for so long was not started.
const PATIENCE: Duration = Duration::from_secs(60);

/// How the machines of a job are joined.
#[derive(Debug)]
pub struct Machines {
    met: Vec<Met>,
    /// The party whose memory each shares: its own, if it is the first of its machine.
    leaders: Vec<usize>,
    parties: Vec<Vec<NodeId>>,
    node_timeout: Duration,
}

/// Has all node managers meet.
///
/// # Errors
/// One of them does not answer, or cannot be joined to the others.
pub fn join(
    hosts: &Hosts,
    managers: &mut [Manager],
    placement: &Placement,
) -> anyhow::Result<Machines> {
    let key = JobKey::random().context("the system gives no random bytes for the job's key")?;
    let directory = std::env::current_dir().context("the working directory is gone")?;
    let meet = Meet {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        key,
        crypto: hosts.crypto,
        epoch: std::process::id().rotate_left(16) ^ now_s(),
        nodes: placement.nodes(),
        ranks: placement.ranks(),
        interface: hosts.interface.clone().or_else(|| {
            // Of one machine nothing else is sure to be there.
            hosts.names.is_none().then(|| "127.0.0.1".to_owned())
        }),
        ports: hosts.ports,
        directory,
    };
    let end = Instant::now() + PATIENCE;
    tell_all(managers, &ToManager::Meet(Box::new(meet)));
    let met = hear_all((hosts, placement), managers, end, |message| match message {
        FromManager::Met(met) => Ok(*met),
        other => Err(other),
    })?;
    let parties: Vec<Vec<NodeId>> = managers.iter().map(|one| one.nodes.clone()).collect();
    let is_tried = |one: usize, other: usize| match hosts.fabric {
        Fabric::Auto | Fabric::Shm => true,
        Fabric::Udp => {
            let host = |party: usize| hosts.of(parties[party][0]);
            hosts.names.is_some() && host(one) == host(other)
        }
    };
    for (me, manager) in managers.iter_mut().enumerate() {
        let others = met.iter().enumerate();
        let others = others.map(|(party, met)| is_tried(me, party).then_some(met.keeps));
        let others: Vec<Option<Keeps>> = others.collect();
        manager.tell(&ToManager::Reach(others));
    }
    let reached = hear_all((hosts, placement), managers, end, |message| match message {
        FromManager::Reached(reached) => Ok(reached),
        other => Err(other),
    })?;
    let leaders: Vec<usize> = (0..parties.len())
        .map(|me| {
            (0..me)
                .find(|&other| reached[me].get(other) == Some(&true))
                .unwrap_or(me)
        })
        .collect();
    let machines = Machines {
        met,
        leaders,
        parties,
        node_timeout: hosts.node_timeout.value,
    };
    machines.check(hosts)?;
    Ok(machines)
}

/// Which second it is, as far as 32 bits tell.
fn now_s() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let [a, b, c, d, ..] = since.map_or(0, |since| since.as_secs()).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn tell_all(managers: &mut [Manager], message: &ToManager) {
    managers
        .iter_mut()
        .for_each(|manager| manager.tell(message));
}

/// The answers of all node managers, as `take` finds them.
fn hear_all<T>(
    (hosts, placement): (&Hosts, &Placement),
    managers: &mut [Manager],
    end: Instant,
    take: impl Fn(FromManager) -> Result<T, FromManager>,
) -> anyhow::Result<Vec<T>> {
    let mut answers: Vec<Option<T>> = managers.iter().map(|_| None).collect();
    let mut buffer = vec![0; 1 << 16];
    while let Some(at) = answers.iter().position(Option::is_none) {
        let name = managers[at].name(false);
        let Some(control) = &managers[at].control else {
            return Err(ended(&managers[at], hosts, placement));
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!(
                "{name} has not answered for {} s: does `{}` start a program there?",
                PATIENCE.as_secs(),
                hosts.launcher.join(" ")
            );
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds = [PollFd::new(control, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(errno) => bail!("failed to wait for {name}: {errno}"),
        }
        let manager = &mut managers[at];
        manager.send();
        let arrived = manager
            .control
            .as_ref()
            .map(|control| manager.reader.receive(control, &mut buffer));
        let is_over = matches!(arrived, Some(Ok(Arrived::End) | Err(_)) | None);
        let frame = manager.reader.frame();
        match frame.with_context(|| format!("{name} says what makes no sense"))? {
            Some(Frame::Message(FromManager::ManagerFailed { message })) => {
                bail!("{name} failed: {message}")
            }
            Some(Frame::Message(message)) => match take(message) {
                Ok(answer) => answers[at] = Some(answer),
                Err(other) => bail!("{name} says {other:?} before it is started"),
            },
            Some(Frame::Output { .. }) => (),
            None if is_over => return Err(ended(&managers[at], hosts, placement)),
            None => (),
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// A node manager has ended: who killed it is said as if it had been at work.
fn ended(manager: &Manager, hosts: &Hosts, placement: &Placement) -> anyhow::Error {
    let name = manager.name(false);
    let Some(how) = manager.pidfd.as_ref().and_then(killed_by) else {
        return anyhow::anyhow!(
            "{name} ended before it was joined to the others: does `{}` start a program there?",
            hosts.launcher.join(" ")
        );
    };
    let what = format!("{name} (pid {}) {how}", manager.pid.as_raw_nonzero());
    anyhow::anyhow!(job_ended(&what, placement.ranks()))
}

/// Which signal has killed a process whose socket is closed, if one has. It is not reaped.
fn killed_by(pidfd: &OwnedFd) -> Option<String> {
    let soon = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&soon)).ok()?;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::PidFd(pidfd.as_fd()), look).ok()??;
    let signal = status.terminating_signal()?;
    Some(format!("was killed by {}", signals::describe(signal)))
}

impl Machines {
    fn check(&self, hosts: &Hosts) -> anyhow::Result<()> {
        for (party, &leader) in self.leaders.iter().enumerate() {
            if self.leaders[leader] != leader {
                bail!(
                    "nodes {} and {} can share memory, and the latter with a third that the first cannot reach: \
                     use --fabric udp",
                    self.parties[party][0],
                    self.parties[leader][0]
                );
            }
        }
        let first_far = self.leaders.iter().position(|&leader| leader != 0);
        match (hosts.fabric, first_far) {
            (Fabric::Shm, Some(far)) => bail!(
                "--fabric shm: the node manager of node {} cannot map memory of that of node 0: they are on \
                 different machines, or may not look at each other; use --fabric auto",
                self.parties[far][0]
            ),
            _ => Ok(()),
        }
    }

    /// The first party of each machine.
    fn first_of_machines(&self) -> impl Iterator<Item = usize> {
        (0..self.parties.len()).filter(|&party| self.leaders[party] == party)
    }

    /// What a party is told of the others.
    #[must_use]
    pub fn start_of(&self, me: usize) -> FarStart {
        let leader = self.leaders[me];
        let machines = self.first_of_machines().map(|leader| {
            let parties = (0..self.parties.len()).filter(|&party| self.leaders[party] == leader);
            let nodes = parties.flat_map(|party| self.parties[party].iter().copied());
            nodes.collect()
        });
        FarStart {
            parties: self.parties.clone(),
            me,
            machines: machines.collect(),
            on_this_host: self.on_host_of(me),
            beside_first: (1..self.parties.len())
                .filter(|&party| self.leaders[party] == 0)
                .collect(),
            leader: (leader != me).then(|| self.met[leader].keeps),
            addresses: self.met.iter().map(|met| met.address).collect(),
            receive_bytes: self.met.iter().map(|met| met.receive_bytes).collect(),
            node_timeout: self.node_timeout,
        }
    }

    /// How many nodes the kernel of a party has.
    fn on_host_of(&self, me: usize) -> usize {
        let beside = self.met.iter().zip(&self.parties);
        let beside = beside.filter(|(met, _)| met.boot == self.met[me].boot);
        beside.map(|(_, nodes)| nodes.len()).sum()
    }

    /// The cores of a party's machine. Where the kernel is the same and memory is not shared, each has its part.
    #[must_use]
    pub fn cores_of(&self, me: usize) -> Cores {
        let met = &self.met[me];
        let beside = (0..self.met.len())
            .filter(|&party| self.leaders[party] == party && self.met[party].boot == met.boot);
        let cores = met.cores.clone();
        Cores {
            usable: (cores.usable / beside.count().max(1)).max(1),
            ..cores
        }
    }

    /// How they are joined, for `-v`.
    #[must_use]
    pub fn lines(&self, hosts: &Hosts) -> Vec<String> {
        let mut lines = Vec::new();
        for leader in self.first_of_machines() {
            let start = self.start_of(leader);
            let nodes: Vec<String> = start.machine().iter().map(ToString::to_string).collect();
            let host = hosts.of(self.parties[leader][0]);
            let host = host.map_or(String::new(), |host| format!(" on host {host}"));
            let (nodes, address) = (nodes.join(", "), self.met[leader].address);
            let among = match start.machine().len() {
                1 => "",
                _ => ", joined by shared memory, which their node managers can map",
            };
            lines.push(format!("machine of nodes {nodes}{host}: {address}{among}"));
        }
        let far = self.leaders.iter().any(|&leader| leader != 0);
        let why = match hosts.fabric {
            Fabric::Udp => "as --fabric udp says",
            _ => "since none can map another's memory",
        };
        if far {
            lines.push(format!(
                "machines are joined by udp, {why}; datagrams are guarded by {:?}",
                hosts.crypto
            ));
        }
        lines
    }
}
