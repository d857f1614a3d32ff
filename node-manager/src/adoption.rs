//! Ranks that another launcher has started, such as the `mpiexec` of MPICH or `srun`.
//!
//! They connect to the node manager over a listening socket, its *rank listener*, which it has
//! inherited. The rank listener's name is random, and only processes of the job know it. The kernel
//! says which process connects, and of which user. The first message of a rank is its number, an
//! allegation: it has to be a rank of this node manager that has not come before. From then on the
//! connection is the same as that of a rank that we have started.
//!
//! We are not the parent of these ranks. So the kernel does not kill them when we die, and does not
//! tell us how they end. A rank sends one end of a pair of sockets, its *lifeline*. The kernel
//! kills it when our end is closed (`bcs-mpi/src/adoption/lifeline.rs`). A rank that ends without
//! MPI_Finalize is a failure, whatever its exit code: its launcher reports that.

use crate::agent_error::{AdoptionError, AgentError, kernel};
use crate::control::{JobStart, Stream};
use crate::launcher_link::LauncherLink;
use crate::output::OutputPipe;
use crate::pmi::{PmiConnection, PmiStage};
use crate::rank_connection::{RankConnection, RankReadOutcome};
use crate::rank_process::{RankProcess, RankStage, SlotState, StartedElsewhere};
use crate::recorder::RankRecorder;
use bcs_core::job::NodeId;
use bcs_core::job::handshake::FromRank;
use bcs_core::mapped_code::MappedCode;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};
use rustix::process::{PidfdFlags, geteuid, pidfd_open};
use rustix::time::Timespec;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A rank that has not connected after this time does not come: all ranks connect at the same point
/// of MPI_Init, before their node manager is started.
const PATIENCE: Duration = Duration::from_mins(1);

/// Connections that have not sent their rank. Ranks send it at once, so more are not of this job.
const UNKNOWN_AT_ONCE: usize = 64;

/// Waits until all ranks of this node manager, given with their nodes, have connected.
pub(crate) fn adopt(
    start: &JobStart,
    placed: &[(NodeId, u32)],
    rank_listener: &OwnedFd,
    link: &LauncherLink,
) -> Result<Vec<RankProcess>, AgentError> {
    // The rank that has opened the rank listener: it may end before it comes.
    let first = sockopt::socket_peercred(rank_listener)
        .and_then(|rank| pidfd_open(rank.pid, PidfdFlags::empty()))
        .map_err(|_| AdoptionError::Ended)?;
    let mut adopted: Vec<Option<RankProcess>> = placed.iter().map(|_| None).collect();
    let mut unknown: Vec<RankConnection> = Vec::new();
    let end = Instant::now() + PATIENCE;
    let mut buffer = [0; 256];
    while let Some(missing) = adopted.iter().position(Option::is_none) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let (rank, seconds) = (placed[missing].1, PATIENCE.as_secs());
            return Err(AdoptionError::Missing { rank, seconds }.into());
        }
        let known = adopted.iter().flatten();
        let processes = known.filter_map(|rank| rank.pidfd.as_ref()).chain([&first]);
        let ready = wait(rank_listener, link, processes, &unknown, left)?;
        let (known, rest): (Vec<_>, Vec<_>) = unknown
            .into_iter()
            .zip(ready)
            .partition(|(_, is_ready)| *is_ready);
        unknown = rest.into_iter().map(|(connection, _)| connection).collect();
        for (connection, _) in known {
            let received = connection.receive(&mut buffer);
            let RankReadOutcome::Message(FromRank::Join { rank }, pid, Some(lifeline)) = received
            else {
                continue;
            };
            let index = placed.iter().position(|(_, placed)| *placed == rank);
            let Some(index) = index.filter(|&index| adopted[index].is_none()) else {
                continue;
            };
            let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| AdoptionError::Ended)?;
            let (node, rank) = placed[index];
            let process = StartedElsewhere { lifeline };
            let mut rank = rank_process(start, node, rank, connection)?;
            (rank.pid, rank.pidfd, rank.elsewhere) = (pid, Some(pidfd), Some(process));
            adopted[index] = Some(rank);
        }
        while unknown.len() < UNKNOWN_AT_ONCE
            && let Some(connection) = accept(rank_listener)
        {
            unknown.push(connection);
        }
    }
    Ok(adopted.into_iter().flatten().collect())
}

/// Waits for connections and their messages. Returns which of the unknown ones has sent something.
fn wait<'a>(
    rank_listener: &'a OwnedFd,
    link: &'a LauncherLink,
    processes: impl Iterator<Item = &'a OwnedFd>,
    unknown: &'a [RankConnection],
    left: Duration,
) -> Result<Vec<bool>, AgentError> {
    let mut fds = vec![
        PollFd::new(&link.channel.input, PollFlags::RDHUP),
        PollFd::new(rank_listener, PollFlags::IN),
    ];
    fds.extend(processes.map(|process| PollFd::new(process, PollFlags::IN)));
    let before = fds.len();
    let connections = unknown.iter();
    fds.extend(connections.map(|one| PollFd::from_borrowed_fd(one.fd(), PollFlags::IN)));
    let left = Timespec::try_from(left).expect("at most PATIENCE");
    match poll(&mut fds, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(kernel("failed to wait for ranks")(errno)),
    }
    if !fds[0].revents().is_empty() {
        return Err(AdoptionError::Alone.into());
    }
    let mut processes = fds[2..before].iter();
    if processes.any(|process| !process.revents().is_empty()) {
        return Err(AdoptionError::Ended.into());
    }
    let connections = fds[before..].iter();
    Ok(connections.map(|fd| !fd.revents().is_empty()).collect())
}

/// Takes the next connection of a process of this user.
fn accept(rank_listener: &OwnedFd) -> Option<RankConnection> {
    loop {
        // The rank listener does not block.
        let socket = match accept_with(rank_listener, SocketFlags::CLOEXEC) {
            Err(Errno::INTR) => continue,
            accepted => accepted.ok()?,
        };
        let is_ours = sockopt::socket_peercred(&socket).is_ok_and(|peer| peer.uid == geteuid());
        if is_ours {
            return Some(RankConnection::accepted(socket));
        }
    }
}

fn rank_process(
    start: &JobStart,
    node: NodeId,
    rank: u32,
    conversation: RankConnection,
) -> Result<RankProcess, AgentError> {
    let recorder = match &start.mds {
        None => None,
        Some(_) => RankRecorder::new(&start.record, rank, start.placement.capacity())
            .map_err(AgentError::Recorder)?,
    };
    // It speaks PMI with its own launcher.
    let (pmi, _) = PmiConnection::open().map_err(kernel("failed to make a socket"))?;
    Ok(RankProcess {
        rank,
        node,
        pid: rustix::process::getpid(),
        pidfd: None,
        elsewhere: None,
        conversation,
        stage: RankStage::Started,
        pmi,
        pmi_stage: PmiStage::Unknown,
        slot: SlotState::Unknown,
        no_preload: None,
        recorder,
        ended_ns: None,
        output: [Stream::Out, Stream::Err].map(|stream| OutputPipe::new(None, stream)),
        code: MappedCode::default(),
        last_call_at: None,
        left: None,
        foreign_mpi: None,
        has_written: false,
        failed: false,
        application: 0,
        spawned: None,
        asks: false,
        dismissed: false,
    })
}
