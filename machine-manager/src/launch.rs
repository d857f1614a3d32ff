//! Starts the processes of a job: its node managers.

use crate::adoption::AdoptedJob;
use crate::agent_links::{Below, ManagerHandle, Route, TreePlace, plan, tell, tell_all};
use crate::hosts::{self, Hosts, JobTopology, Limits};
use crate::launcher_standard_error::StandardError;
use crate::verdict::manager_name;
use anyhow::Context as _;
use bcs_core::job::{Cores, NicThreading, NodeId, Placement, Settings};
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::Segment;
use mds::Selection;
use node_manager::control::{
    Application, FrameReader, Greeting, InputReader, JobStart, PartyStart, ToManager,
};
use node_manager::launch_tree::{AgentStart, HOST, Subtree, shape};
use node_manager::machine_profile::{self, LinkBandwidth, Measurement};
use node_manager::rank_cores::RankCores;
use node_manager::spawn::{Image, Setup, SpawnedProcess, Spawner};
use rustix::event::poll;
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::time::Timespec;
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
    /// `MPI_UNIVERSE_SIZE`, if the user has given it.
    pub universe_size: Option<u32>,
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
    /// The degree of the launch tree, if the user has chosen one.
    pub launch_degree: Option<usize>,
    /// The time that each start of a node manager takes in addition, for tests.
    pub start_cost: Duration,
    /// The ranks that another launcher has started, if it has.
    pub adopted: Option<AdoptedJob>,
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
    let rank_listener = adopted
        .as_ref()
        .map(|adopted| adopted.rank_listener.as_fd());
    let (mut managers, page) = match (&job.hosts, rank_listener) {
        (None, _) => {
            let (managers, page) = start_here(&job, input, rank_listener)?;
            (managers, Some(page))
        }
        (Some(hosts), None) => (start_there(&job, hosts, limits)?, None),
        (Some(hosts), Some(rank_listener)) => (vec![start_first(hosts, rank_listener)?], None),
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
        // Ours is that of the command.
        for (manager, pid) in elsewhere.filter(|(manager, _)| manager.pidfd.is_none()) {
            manager.pid = rustix::process::Pid::from_raw(pid);
        }
    }
    let name = job_name();
    send_start(&job, &name, &mut managers, machines.as_ref());
    let joined = match (&machines, &job.hosts) {
        (Some(machines), Some(hosts)) => machines.lines(hosts),
        _ => Vec::new(),
    };
    let started = managers.iter().map(ManagerHandle::process);
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

/// Sends each node manager its part, and all of them the rest.
fn send_start(
    job: &JobPlan,
    name: &str,
    managers: &mut [ManagerHandle],
    machines: Option<&JobTopology>,
) {
    for party in 0..managers.len() {
        let part = PartyStart {
            me: party,
            nodes: managers[party].nodes.clone(),
            cores: machines.map(|machines| machines.cores_of(party)),
            on_this_host: machines.map_or(0, |machines| machines.on_host_of(party)),
            leader: machines.and_then(|machines| machines.leader_of(party)),
        };
        tell(managers, party, &ToManager::Part(Box::new(part)));
    }
    let start = JobStart {
        job: name.to_owned(),
        placement: job.placement.clone(),
        settings: job.settings.clone(),
        nodes: Vec::new(),
        strobe_sender: false,
        cores: job.cores.clone(),
        applications: job.applications.clone(),
        input: job.input,
        output_dir: job.output_dir.clone(),
        rank_cores: job.rank_cores.clone(),
        kill_delay: job.kill_delay,
        verbose: job.verbose,
        mds: job.mds.clone(),
        record: job.record.clone(),
        preload: job.preload,
        far: machines.map(JobTopology::start_of_all),
        universe_size: job.universe_size,
    };
    tell_all(managers, &ToManager::Start(Box::new(start)));
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
    let parts = parts(job);
    let degree = degree(job, &parts);
    if parts.len() > degree {
        let mut managers = start_tree_there(job, hosts, &mut spawner, parts, degree)?;
        hosts::await_greetings(hosts, &mut managers, &job.placement, limits)?;
        return Ok(managers);
    }
    let mut managers: Vec<ManagerHandle> = Vec::new();
    for wave in hosts.waves(parts) {
        let mut started = Vec::with_capacity(wave.len());
        for nodes in wave {
            pay(job.start_cost);
            started.push(start_one_there(&mut spawner, hosts, nodes, None)?);
        }
        hosts::await_greetings(hosts, &mut started, &job.placement, limits)?;
        managers.append(&mut started);
    }
    managers.sort_by_key(|manager| manager.nodes[0]);
    Ok(managers)
}

/// Starts the node managers that are to start the others.
fn start_tree_there(
    job: &JobPlan,
    hosts: &Hosts,
    spawner: &mut Spawner,
    parts: Vec<Vec<NodeId>>,
    degree: usize,
) -> anyhow::Result<Vec<ManagerHandle>> {
    let names = parts.iter().map(|nodes| hosts.host_of(nodes[0]));
    let names: Vec<Option<String>> = names.map(|name| name.map(str::to_owned)).collect();
    // Without names all are here.
    let places = plan(&names, hosts.names.is_none().then_some(&None), degree);
    let tree = LaunchTree {
        start: AgentStart::Command {
            words: match hosts.names {
                Some(_) => hosts.command_for(HOST),
                None => Vec::new(),
            },
        },
        names,
        places,
        degree,
        start_cost: job.start_cost,
    };
    let mut managers = Vec::with_capacity(parts.len());
    for (index, nodes) in parts.into_iter().enumerate() {
        let mut manager = match tree.places[index].above {
            Some(_) => ManagerHandle::new(nodes, tree.names[index].clone(), None),
            None => {
                pay(job.start_cost);
                start_one_there(spawner, hosts, nodes, None)?
            }
        };
        // It is told its subtree when it has greeted.
        manager.route = tree.route(index);
        managers.push(manager);
    }
    Ok(managers)
}

/// The launch tree of a job, as its agents get it.
struct LaunchTree {
    start: AgentStart,
    names: Vec<Option<String>>,
    places: Vec<TreePlace>,
    degree: usize,
    start_cost: Duration,
}

impl LaunchTree {
    fn route(&self, index: usize) -> Route {
        let TreePlace { above, end } = self.places[index];
        match above {
            Some((root, parent)) => Route::Below(Box::new(Below {
                root,
                parent,
                end,
                greeting: Greeting::Awaited,
                fate: None,
            })),
            None if end == index + 1 => Route::Direct,
            None => Route::Relay {
                subtree: Some(Box::new(Subtree {
                    me: u32::try_from(index).expect("MAX_NODES fits u32"),
                    hosts: self.names[index..end].to_vec(),
                    degree: self.degree,
                    start: self.start.clone(),
                    start_cost: self.start_cost,
                })),
                frames: FrameReader::default(),
                end,
            },
        }
    }
}

/// Returns the degree of the launch tree of node managers with these nodes.
fn degree(job: &JobPlan, parts: &[Vec<NodeId>]) -> usize {
    let ranks_of = |nodes: &Vec<NodeId>| {
        let ranks = nodes
            .iter()
            .map(|&node| job.placement.starting_on(node).count());
        ranks.sum::<usize>()
    };
    let most = parts.iter().map(ranks_of).max().unwrap_or(0);
    job.launch_degree
        .unwrap_or_else(|| shape::degree(parts.len(), most))
}

/// Waits for as long as a start is to cost in addition.
fn pay(cost: Duration) {
    if let Ok(cost) = Timespec::try_from(cost)
        && (cost.tv_sec, cost.tv_nsec) != (0, 0)
    {
        let _a_signal_makes_it_cheaper = poll(&mut [], Some(&cost));
    }
}

/// Starts the node manager of node 0, whose ranks come through this rank listener, on this machine.
fn start_first(hosts: &Hosts, rank_listener: BorrowedFd<'_>) -> anyhow::Result<ManagerHandle> {
    let here = Hosts {
        names: None,
        ..hosts.clone()
    };
    let first = vec![NodeId(0)];
    let mut started = start_one_there(&mut Spawner::default(), &here, first, Some(rank_listener))?;
    started.host = hosts.host_of(NodeId(0)).map(str::to_owned);
    Ok(started)
}

fn start_one_there(
    spawner: &mut Spawner,
    hosts: &Hosts,
    nodes: Vec<NodeId>,
    rank_listener: Option<BorrowedFd<'_>>,
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
        inherited: rank_listener.as_slice(),
        // An ssh that waits for a host does not notice our end, so the kernel kills it. A node
        // manager notices, and resets this.
        dies_with_parent: host.is_some(),
        open_files: None,
        cores: &[],
        variables: &[c"BCS_SLOT="],
    };
    let started = hosts
        .image(host.as_deref(), rank_listener.is_some())
        .and_then(|image| spawner.spawn(&image, &setup));
    let SpawnedProcess { pid, pidfd } = started.with_context(|| match &host {
        Some(host) => format!("failed to start {} for host {host}", hosts.launcher[0]),
        None => "failed to start a node manager".to_owned(),
    })?;
    Ok(ManagerHandle {
        pid: Some(pid),
        pidfd: Some(pidfd),
        standard_error: ours,
        ..ManagerHandle::new(nodes, host, Some(near))
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
    rank_listener: Option<BorrowedFd<'_>>,
) -> anyhow::Result<(Vec<ManagerHandle>, MachinePage)> {
    let (nodes, ranks) = (job.placement.nodes(), job.placement.capacity());
    let cores = u32::try_from(job.cores.usable).unwrap_or(u32::MAX);
    let profile = machine_profile::wait_costs()?.found.profile();
    let (page_fd, page) = MachinePage::create(nodes, cores, profile)?;
    let (segment_fd, _) = Segment::create(nodes, ranks)?;
    let mut shared = vec![page_fd.as_fd(), segment_fd.as_fd()];
    shared.extend(rank_listener);
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
    // Its last descriptor is the rank listener of its ranks.
    words.extend((shared.len() > 2).then_some(node_manager::ADOPTING));
    let image = Image::new("/proc/self/exe".as_ref(), &words, [], None)?;
    let mut spawner = Spawner::default();
    let reading = match job.input {
        InputReader::Rank(rank) => job.placement.node_of(rank),
        InputReader::All | InputReader::Through(_) | InputReader::None => None,
    };
    let names = vec![None; parts.len()];
    let degree = match shared.len() > 2 {
        true => parts.len(),
        false => degree(job, &parts),
    };
    let reads = |nodes: &[NodeId]| reading.is_some_and(|node| nodes.contains(&node));
    let reader = parts.iter().position(|nodes| reads(nodes));
    let reader = reader.map(|reader| u32::try_from(reader).expect("MAX_NODES fits u32"));
    let tree = LaunchTree {
        start: AgentStart::Inherit { reader },
        places: plan(&names, Some(&None), degree),
        names,
        degree,
        start_cost: job.start_cost,
    };
    let mut managers = Vec::with_capacity(parts.len());
    for (index, nodes) in parts.iter().enumerate() {
        let place = tree.places[index];
        let mut manager = ManagerHandle::new(nodes.clone(), None, None);
        manager.route = tree.route(index);
        if place.above.is_none() {
            pay(job.start_cost);
            let leads_to_reader = parts[index..place.end].iter().any(|nodes| reads(nodes));
            let input = if leads_to_reader { input } else { null.as_fd() };
            let (near, far) = control_socket()?;
            let inherited = [&[far.as_fd()], shared].concat();
            let setup = Setup {
                // It writes to standard error only in a panic; the output of ranks comes over the
                // socket.
                standard: [input, null.as_fd(), rustix::stdio::stderr()],
                inherited: &inherited,
                // It must outlive us until it has ended the processes that its ranks have started.
                dies_with_parent: false,
                open_files: None,
                cores: &[],
                // In a job inside a job, this place is that of the rank that runs us.
                variables: &[c"BCS_SLOT="],
            };
            let started = spawner.spawn(&image, &setup);
            let started = started.with_context(|| {
                let is_nic_host = job.settings.driver == NicThreading::Shared;
                format!("failed to start {}", manager_name(nodes, is_nic_host))
            })?;
            manager.pid = Some(started.pid);
            manager.pidfd = Some(started.pidfd);
            manager.control = Some(near);
            manager.begin_subtree();
        }
        managers.push(manager);
    }
    Ok(managers)
}

/// Returns a name that no other run has, so that the dumps of two runs are not mixed.
fn job_name() -> String {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_millis());
    format!("{time:x}-{}", std::process::id())
}
