//! Starts the processes of a job: its node managers.

use crate::adoption::AdoptedJob;
use crate::hosts::{self, Hosts, Limits, StandardError};
use crate::verdict::manager_name;
use anyhow::Context as _;
use bcs_core::job::{Cores, NicThreading, NodeId, Placement, Settings};
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::Segment;
use mds::Selection;
use node_manager::control::{
    Application, FrameReader, FrameWriter, InputReader, JobStart, ToManager,
};
use node_manager::machine_profile::{self, LinkBandwidth, Measurement};
use node_manager::rank_cores::RankCores;
use node_manager::spawn::{Image, Setup, SpawnedProcess, Spawner};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

/// A job, checked and ready to be started.
#[derive(Debug)]
pub struct JobPlan {
    /// The programs of the ranks.
    pub applications: Vec<Application>,
    /// Which ranks run where.
    pub placement: Placement,
    /// The settings of the runtime; `link_bandwidth` counts only with `measure` unset.
    pub settings: Settings,
    /// Whether to use the measured link bandwidth of this machine.
    pub measure: bool,
    /// The cores of the job.
    pub cores: Cores,
    /// The cores among them that ranks may use.
    pub rank_cores: RankCores,
    /// The rank that reads the standard input.
    pub input: InputReader,
    /// The folder for the output of the ranks, if they do not write to us.
    pub output_dir: Option<PathBuf>,
    /// The time from SIGTERM to SIGKILL for ranks.
    pub kill_delay: Duration,
    /// Whether node managers report how many ranks have a slot, and how messages from other
    /// machines came.
    pub verbose: bool,
    /// Whether to preload a heap in slots into programs that can use it.
    pub preload: bool,
    /// The directory for dumps.
    pub mds: Option<PathBuf>,
    /// The data to record.
    pub record: Selection,
    /// The hosts of the nodes, unless all are emulated here, in shared memory.
    pub hosts: Option<Hosts>,
    /// The ranks that another launcher has started, if it has.
    pub adopted: Option<AdoptedJob>,
}

/// A node manager as the launcher knows it.
#[derive(Debug)]
pub struct ManagerHandle {
    /// Its nodes.
    pub nodes: Vec<NodeId>,
    /// Their host, if it was named.
    pub host: Option<String>,
    /// Its process, and its pidfd until it is reaped.
    pub pid: rustix::process::Pid,
    /// See `pid`.
    pub pidfd: Option<OwnedFd>,
    /// Whether it is no child of ours: the end of its connection is its end.
    pub is_elsewhere: bool,
    /// The control socket, until its other end is closed.
    pub control: Option<OwnedFd>,
    /// The standard error of the command that starts it on its host.
    pub standard_error: Option<StandardError>,
    /// Its messages.
    pub reader: FrameReader,
    /// The messages to it.
    pub writer: FrameWriter,
}

impl ManagerHandle {
    /// Returns its name for the user.
    #[must_use]
    pub fn name(&self, is_nic_host: bool) -> String {
        let who = manager_name(&self.nodes, is_nic_host);
        match &self.host {
            Some(host) => format!("{who} on host {host}"),
            None => who,
        }
    }

    /// Sends it a message as soon as its socket takes it. If the node manager is gone, its pidfd
    /// reports that.
    pub fn tell(&mut self, message: &ToManager) {
        self.writer.message(message);
        self.send();
    }

    /// Sends what the socket takes.
    pub fn send(&mut self) {
        if let Some(control) = &self.control
            && self.writer.send(control).is_err()
        {
            self.writer = FrameWriter::default();
        }
    }
}

/// A job that was started.
#[derive(Debug)]
pub struct StartedJob {
    /// The name of the run, as in its dumps.
    pub job: String,
    /// One per node, or one for all.
    pub managers: Vec<ManagerHandle>,
    /// The settings of the runtime, with the measured link bandwidth.
    pub settings: Settings,
    /// The page with the bells of ranks and NICs of this machine, if it is made here.
    pub page: Option<MachinePage>,
    /// How machines are joined, in words.
    pub joined: Vec<String>,
    /// The process ids of the node managers, each on its machine.
    pub processes: Vec<i32>,
    /// The hosts of the nodes.
    pub hosts: Option<Hosts>,
    /// The measurement of the link bandwidth; `None` if the user has given one.
    pub bandwidth: Option<Measurement<LinkBandwidth>>,
    /// As in [`JobPlan`].
    pub kill_delay: Duration,
    /// Whether node managers write dumps at the end.
    pub records: bool,
}

/// Starts the node managers and sends them their parts. `input` becomes the standard input of the
/// rank that reads it.
///
/// # Errors
/// When the kernel refuses something, or a host cannot be reached, or
/// [`StartInterruption`](crate::hosts::StartInterruption). Node managers that were started before
/// find their control socket closed, and end.
pub fn launch(
    mut job: JobPlan,
    input: BorrowedFd<'_>,
    limits: Limits<'_>,
) -> anyhow::Result<StartedJob> {
    let mut adopted = job.adopted.take();
    let door = adopted.as_ref().map(|adopted| adopted.door.as_fd());
    let (mut managers, page) = match (&job.hosts, door) {
        (None, _) => {
            let (managers, page) = start_here(&job, input, door)?;
            (managers, Some(page))
        }
        (Some(hosts), None) => (start_there(&job, hosts, limits)?, None),
        (Some(hosts), Some(door)) => (vec![start_first(hosts, door)?], None),
    };
    match (&mut adopted, &job.hosts) {
        (Some(adopted), Some(hosts)) => {
            managers.extend(adopted.await_node_managers(hosts, limits)?);
            hosts::await_greetings(hosts, &mut managers, &job.placement, limits)?;
        }
        (Some(adopted), None) => adopted.has_started(),
        (None, _) => {}
    }
    // Measure while they load.
    let bandwidth = job.measure.then(machine_profile::link_bandwidth);
    if let Some(measured) = &bandwidth {
        job.settings.link_bandwidth = measured.found.bytes_per_second;
    }
    let machines = match &job.hosts {
        None => None,
        Some(hosts) => Some(hosts::run_handshake(
            hosts,
            &mut managers,
            &job.placement,
            limits,
        )?),
    };
    if let Some(machines) = &machines {
        let elsewhere = managers.iter_mut().zip(machines.processes());
        for (manager, pid) in elsewhere.filter(|(manager, _)| manager.is_elsewhere) {
            manager.pid = rustix::process::Pid::from_raw(pid).unwrap_or(manager.pid);
        }
    }
    let name = job_name();
    for (party, manager) in managers.iter_mut().enumerate() {
        let start = JobStart {
            job: name.clone(),
            placement: job.placement.clone(),
            settings: job.settings.clone(),
            nodes: manager.nodes.clone(),
            // In the process of the first node's NIC, which it then need not wake.
            strobe_sender: manager.nodes.contains(&NodeId(0)),
            cores: match &machines {
                None => job.cores.clone(),
                Some(machines) => machines.cores_of(party),
            },
            applications: job.applications.clone(),
            input: job.input,
            output_dir: job.output_dir.clone(),
            rank_cores: job.rank_cores.clone(),
            kill_delay: job.kill_delay,
            verbose: job.verbose,
            mds: job.mds.clone(),
            record: job.record.clone(),
            preload: job.preload,
            far: machines.as_ref().map(|machines| machines.start_of(party)),
        };
        manager.tell(&ToManager::Start(Box::new(start)));
    }
    let joined = match (&machines, &job.hosts) {
        (Some(machines), Some(hosts)) => machines.lines(hosts),
        _ => Vec::new(),
    };
    let started = managers.iter().map(|one| one.pid.as_raw_nonzero().get());
    let processes = match &machines {
        Some(machines) => machines.processes(),
        None => started.collect(),
    };
    Ok(StartedJob {
        job: name,
        processes,
        page,
        joined,
        managers,
        settings: job.settings,
        bandwidth,
        kill_delay: job.kill_delay,
        records: job.mds.is_some(),
        hosts: job.hosts,
    })
}

/// Returns the nodes of each process that hosts NICs: with the shared driver one process has all of
/// a host.
fn parts(job: &JobPlan) -> Vec<Vec<NodeId>> {
    let all = (0..job.placement.nodes()).map(NodeId::from_index);
    let mut parts: Vec<Vec<NodeId>> = Vec::new();
    let names = job.hosts.as_ref();
    // Nodes without a host are on this machine; nodes that a network is to join are separate.
    let is_apart = names.is_some_and(|hosts| hosts.names.is_none());
    let host = |node: NodeId| names.and_then(|hosts| hosts.host_of(node));
    for node in all {
        match parts.last_mut() {
            Some(last)
                if job.settings.driver == NicThreading::Shared
                    && !is_apart
                    && host(last[0]) == host(node) =>
            {
                last.push(node);
            }
            _ => parts.push(vec![node]),
        }
    }
    parts
}

/// Starts node managers on other hosts, or on this one as if it were several. They have greeted
/// when this returns.
fn start_there(
    job: &JobPlan,
    hosts: &Hosts,
    limits: Limits<'_>,
) -> anyhow::Result<Vec<ManagerHandle>> {
    let mut spawner = Spawner::default();
    let mut managers: Vec<ManagerHandle> = Vec::new();
    for wave in hosts.waves(parts(job)) {
        let started = wave.into_iter();
        let started = started.map(|nodes| start_one_there(&mut spawner, hosts, nodes, None));
        let mut started = started.collect::<anyhow::Result<Vec<ManagerHandle>>>()?;
        hosts::await_greetings(hosts, &mut started, &job.placement, limits)?;
        managers.append(&mut started);
    }
    managers.sort_by_key(|manager| manager.nodes[0]);
    Ok(managers)
}

/// Starts the node manager of node 0, whose ranks come through this door, on this machine.
fn start_first(hosts: &Hosts, door: BorrowedFd<'_>) -> anyhow::Result<ManagerHandle> {
    let here = Hosts {
        names: None,
        ..hosts.clone()
    };
    let first = vec![NodeId(0)];
    let mut started = start_one_there(&mut Spawner::default(), &here, first, Some(door))?;
    started.host = hosts.host_of(NodeId(0)).map(str::to_owned);
    Ok(started)
}

fn start_one_there(
    spawner: &mut Spawner,
    hosts: &Hosts,
    nodes: Vec<NodeId>,
    door: Option<BorrowedFd<'_>>,
) -> anyhow::Result<ManagerHandle> {
    let host = hosts.host_of(nodes[0]).map(str::to_owned);
    let (near, far) = control_socket()?;
    let (ours, theirs) = match &host {
        Some(_) => {
            let made = StandardError::new();
            let (ours, theirs) = made.context("failed to make a pipe for a launcher's words")?;
            (Some(ours), Some(theirs))
        }
        // Here the process is a node manager; it writes to standard error only in a panic.
        None => (None, None),
    };
    let stderr = theirs
        .as_ref()
        .map_or(rustix::stdio::stderr(), |pipe| pipe.as_fd());
    let setup = Setup {
        standard: [far.as_fd(), far.as_fd(), stderr],
        inherited: door.as_slice(),
        // An ssh that waits for a host does not notice our end, so the kernel kills it. A node
        // manager notices, and resets this.
        dies_with_parent: host.is_some(),
        open_files: None,
        cores: &[],
        variables: &[c"BCS_SLOT="],
    };
    let started = hosts
        .image(host.as_deref(), door.is_some())
        .and_then(|image| spawner.spawn(&image, &setup));
    let SpawnedProcess { pid, pidfd } = started.with_context(|| match &host {
        Some(host) => format!("failed to start {} for host {host}", hosts.launcher[0]),
        None => "failed to start a node manager".to_owned(),
    })?;
    Ok(ManagerHandle {
        nodes,
        host,
        pid,
        pidfd: Some(pidfd),
        is_elsewhere: false,
        control: Some(near),
        standard_error: ours,
        reader: FrameReader::default(),
        writer: FrameWriter::default(),
    })
}

fn control_socket() -> anyhow::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .context("failed to make a control socket")
}

/// Starts node managers of this machine, with memory that is made here.
fn start_here(
    job: &JobPlan,
    input: BorrowedFd<'_>,
    door: Option<BorrowedFd<'_>>,
) -> anyhow::Result<(Vec<ManagerHandle>, MachinePage)> {
    let (nodes, ranks) = (job.placement.nodes(), job.placement.ranks());
    let cores = u32::try_from(job.cores.usable).unwrap_or(u32::MAX);
    let profile = machine_profile::wait_costs()?.found.profile();
    let (page_fd, page) = MachinePage::create(nodes, cores, profile)?;
    let (segment_fd, _) = Segment::create(nodes, ranks)?;
    let mut shared = vec![page_fd.as_fd(), segment_fd.as_fd()];
    shared.extend(door);
    let managers = start_managers(job, parts(job), input, &shared)?;
    Ok((managers, page))
}

fn start_managers(
    job: &JobPlan,
    parts: Vec<Vec<NodeId>>,
    input: BorrowedFd<'_>,
    shared: &[BorrowedFd<'_>],
) -> anyhow::Result<Vec<ManagerHandle>> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .context("failed to open /dev/null")?;
    let mut words = vec!["bcs", "node-manager"];
    // Its last descriptor is the door of its ranks.
    words.extend((shared.len() > 2).then_some(node_manager::ADOPTING));
    let image = Image::new("/proc/self/exe".as_ref(), &words, [], None)?;
    let mut spawner = Spawner::default();
    let reading = match job.input {
        InputReader::Rank(rank) => job.placement.node_of(rank),
        InputReader::All | InputReader::Through(_) | InputReader::None => None,
    };
    let mut managers = Vec::with_capacity(parts.len());
    for nodes in parts {
        let (near, far) = control_socket()?;
        let reads = reading.is_some_and(|node| nodes.contains(&node));
        let inherited = [&[far.as_fd()], shared].concat();
        let setup = Setup {
            // It writes to standard error only in a panic; the output of ranks comes over the
            // socket.
            standard: [
                if reads { input } else { null.as_fd() },
                null.as_fd(),
                rustix::stdio::stderr(),
            ],
            inherited: &inherited,
            // It must outlive us until it has ended the processes that its ranks have started.
            dies_with_parent: false,
            open_files: None,
            cores: &[],
            // In a job inside a job, this place is that of the rank that runs us.
            variables: &[c"BCS_SLOT="],
        };
        let SpawnedProcess { pid, pidfd } = spawner.spawn(&image, &setup).with_context(|| {
            format!(
                "failed to start {}",
                manager_name(&nodes, job.settings.driver == NicThreading::Shared)
            )
        })?;
        managers.push(ManagerHandle {
            nodes,
            host: None,
            pid,
            pidfd: Some(pidfd),
            is_elsewhere: false,
            control: Some(near),
            standard_error: None,
            reader: FrameReader::default(),
            writer: FrameWriter::default(),
        });
    }
    Ok(managers)
}

/// Returns a name that no other run has, so that the dumps of two runs are not mixed.
fn job_name() -> String {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_millis());
    format!("{time:x}-{}", std::process::id())
}
