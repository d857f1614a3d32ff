//! The handshake of node managers of several machines: each reports how others reach it, and with
//! whom it can share memory. Then each gets the data of all others.

use super::startup::{Limits, Startup};
use super::{Fabric, Hosts};
use crate::agent_links::{ManagerHandle, Route, tell, tell_all};
use anyhow::{Context as _, bail};
use bcs_core::job::{Cores, NodeId, Placement};
use bcs_fabric::udp::JobKey;
use node_manager::control::{
    FromManager, Greeting, HandshakeReply, HandshakeRequest, MultiHostStart, SharedMemoryKeys,
    SharedMemoryTest, ToManager,
};
use std::time::Duration;

/// How the machines of a job are joined.
#[derive(Debug)]
pub struct JobTopology {
    met: Vec<HandshakeReply>,
    /// For each party, the one whose memory it shares: itself, if it is the first of its machine.
    leaders: Vec<usize>,
    parties: Vec<Vec<NodeId>>,
    node_timeout: Duration,
}

/// Waits until these node managers have greeted.
///
/// # Errors
/// One of them is not started, or of another version; or
/// [`StartInterruption`](super::StartInterruption).
pub fn await_greetings(
    hosts: &Hosts,
    managers: &mut [ManagerHandle],
    placement: &Placement,
    limits: Limits<'_>,
) -> anyhow::Result<()> {
    let mut startup = Startup::new(hosts, placement, limits);
    startup.all(managers, has_greeted)?;
    startup.end();
    Ok(())
}

/// Runs the handshake of all node managers, which have greeted.
///
/// # Errors
/// One of them is not started or does not answer, or cannot be joined to the others; or
/// [`StartInterruption`](super::StartInterruption).
pub fn run_handshake(
    hosts: &Hosts,
    managers: &mut [ManagerHandle],
    placement: &Placement,
    limits: Limits<'_>,
) -> anyhow::Result<JobTopology> {
    let mut startup = Startup::new(hosts, placement, limits);
    let key = JobKey::random().context("the system gives no random bytes for the job's key")?;
    let directory = std::env::current_dir().context("the working directory is gone")?;
    let meet = HandshakeRequest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        key,
        crypto: hosts.crypto,
        epoch: std::process::id().rotate_left(16) ^ now_s(),
        nodes: placement.nodes(),
        ranks: placement.capacity(),
        interface: hosts.interface.clone().or_else(|| {
            // On a single machine no other interface is certain to exist.
            hosts.names.is_none().then(|| "127.0.0.1".to_owned())
        }),
        ports: hosts.ports,
        directory,
    };
    for party in 0..managers.len() {
        tell(managers, party, &ToManager::Party(party));
    }
    tell_all(managers, &ToManager::Handshake(Box::new(meet)));
    let met = startup.answers(managers, &|message| match message {
        FromManager::HandshakeReply(met) => Ok(*met),
        other => Err(other),
    })?;
    let parties: Vec<Vec<NodeId>> = managers.iter().map(|one| one.nodes.clone()).collect();
    let host = |party: usize| hosts.host_of(parties[party][0]);
    let group = |party: usize| match hosts.fabric {
        Fabric::Auto | Fabric::Shm => 0,
        Fabric::Udp if hosts.names.is_some() => {
            let mut before = 0..party;
            before
                .find(|&other| host(other) == host(party))
                .unwrap_or(party)
        }
        Fabric::Udp => party,
    };
    let test = SharedMemoryTest {
        keeps: met.iter().map(|met| met.keeps).collect(),
        groups: (0..parties.len()).map(group).collect(),
    };
    tell_all(managers, &ToManager::TestSharedMemory(Box::new(test)));
    let reached = startup.answers(managers, &|message| match message {
        FromManager::MappableMemory(reached) => Ok(reached),
        other => Err(other),
    })?;
    startup.end();
    let is_before =
        |(me, first): (usize, Option<usize>)| first.filter(|&first| first < me).unwrap_or(me);
    let leaders: Vec<usize> = reached.into_iter().enumerate().map(is_before).collect();
    let machines = JobTopology {
        met,
        leaders,
        parties,
        node_timeout: hosts.node_timeout.value,
    };
    machines.check(hosts)?;
    Ok(machines)
}

/// Returns the time in seconds, in 32 bits.
fn now_s() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let [a, b, c, d, ..] = since.map_or(0, |since| since.as_secs()).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Returns whether a node manager has greeted. One of another version understands none of our
/// messages.
fn has_greeted(manager: &mut ManagerHandle) -> anyhow::Result<Option<()>> {
    let ours = env!("CARGO_PKG_VERSION");
    let name = manager.name(false);
    let greeting = match &manager.route {
        Route::Below(below) => below.greeting.clone(),
        Route::Direct | Route::Relay { .. } => manager.reader.greeting(),
    };
    match greeting {
        Greeting::Awaited => Ok(None),
        Greeting::Version(version) if version == ours => {
            manager.begin_subtree();
            Ok(Some(()))
        }
        Greeting::Version(version) => bail!(
            "{name} is BCS-MPI {version}, and this is {ours}: install the same version on all hosts"
        ),
        Greeting::Absent => bail!(
            "{name} was not heard among all that its shell writes to its standard output: let what the shell reads \
             at a login without a terminal (.bashrc) be silent"
        ),
    }
}

impl JobTopology {
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

    /// Returns the first party of each machine.
    fn first_of_machines(&self) -> impl Iterator<Item = usize> {
        (0..self.parties.len()).filter(|&party| self.leaders[party] == party)
    }

    /// Returns how machines are joined, without what only one party gets.
    #[must_use]
    pub fn start_of_all(&self) -> MultiHostStart {
        let mut machines: Vec<Vec<NodeId>> = vec![Vec::new(); self.parties.len()];
        for (party, nodes) in self.parties.iter().enumerate() {
            machines[self.leaders[party]].extend(nodes);
        }
        machines.retain(|nodes| !nodes.is_empty());
        MultiHostStart {
            parties: self.parties.clone(),
            me: 0,
            machines,
            on_this_host: 0,
            beside_first: (1..self.parties.len())
                .filter(|&party| self.leaders[party] == 0)
                .collect(),
            leader: None,
            addresses: self.met.iter().map(|met| met.address).collect(),
            receive_bytes: self.met.iter().map(|met| met.receive_bytes).collect(),
            node_timeout: self.node_timeout,
        }
    }

    /// Returns where the memory is that a party uses, if it is that of another one.
    #[must_use]
    pub fn leader_of(&self, me: usize) -> Option<SharedMemoryKeys> {
        let leader = self.leaders[me];
        (leader != me).then(|| self.met[leader].keeps)
    }

    /// Returns how many nodes run under the kernel of a party.
    #[must_use]
    pub fn on_host_of(&self, me: usize) -> usize {
        let beside = self.met.iter().zip(&self.parties);
        let beside = beside.filter(|(met, _)| met.boot == self.met[me].boot);
        beside.map(|(_, nodes)| nodes.len()).sum()
    }

    /// Returns the cores of a party's machine. If parties have the same kernel and share no memory,
    /// each gets its part.
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

    /// Returns the process ids of the node managers, each on its machine.
    #[must_use]
    pub fn processes(&self) -> Vec<i32> {
        self.met.iter().map(|met| met.pid).collect()
    }

    /// Describes, for `-v`, how they are joined.
    #[must_use]
    pub fn lines(&self, hosts: &Hosts) -> Vec<String> {
        let mut lines = Vec::new();
        for leader in self.first_of_machines() {
            let members =
                (leader..self.parties.len()).filter(|&party| self.leaders[party] == leader);
            let nodes = members.flat_map(|party| &self.parties[party]);
            let nodes: Vec<String> = nodes.map(ToString::to_string).collect();
            let host = hosts.host_of(self.parties[leader][0]);
            let host = host.map_or(String::new(), |host| format!(" on host {host}"));
            let count = nodes.len();
            let (nodes, address) = (nodes.join(", "), self.met[leader].address);
            let among = match count {
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
