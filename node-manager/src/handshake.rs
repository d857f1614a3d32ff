//! The handshake of a node manager of several machines: it reports how others reach it, and with
//! whom it can share memory.
//!
//! It cannot inherit the page and the segment of the job on another machine, so it makes its own.
//! If it can open those of another node manager ([`DescriptorLocation`]), both are on the same
//! machine and of the same user, whatever the host names and kernel namespaces are. Then it uses
//! those and drops its own.

use crate::control::{
    HandshakeReply, HandshakeRequest, MultiHostStart, SharedMemoryKeys, SharedMemoryTest,
};
use crate::cores;
use crate::job_memory::SharedJobMemory;
use crate::machine_profile::{self, ProfileFileError};
use crate::reaper::{NoProc, find_proc};
use bcs_core::job::Cores;
use bcs_core::memory::MapError;
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::{DescriptorLocation, Segment};
use bcs_fabric::udp::socket::{BindError, Socket};
use bcs_fabric::udp::{
    AdvertisedSocket, HubConfig, JoinError, SealSettings, UdpEndpoint, UnknownInterface,
    choose_address,
};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Machines cannot be joined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("it is BCS-MPI {ours}, and bcs run is {theirs}: install the same version on all hosts")]
    Version { ours: &'static str, theirs: String },
    #[error(
        "it cannot go to {directory}, where bcs run was started: {error}; --wdir names another directory"
    )]
    Directory { directory: String, error: io::Error },
    #[error(transparent)]
    Proc(#[from] NoProc),
    #[error(transparent)]
    Interface(#[from] UnknownInterface),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Figures(#[from] ProfileFileError),
    #[error(transparent)]
    Memory(#[from] MapError),
    #[error("its memory cannot be shared: {0}")]
    Deposit(Errno),
    #[error("the memory of another node manager of this machine is gone: {0}")]
    Leader(Errno),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error("bcs run began with something else")]
    Order,
}

/// A node manager that has reported how others reach it.
#[derive(Debug)]
pub(crate) struct HostHandshake {
    meet: HandshakeRequest,
    socket: Socket,
    page: OwnedFd,
    segment: OwnedFd,
}

/// The sockets and keys that join the machines.
#[derive(Debug)]
pub(crate) struct UdpSetup {
    meet: HandshakeRequest,
    socket: Socket,
}

fn deposit(fd: &OwnedFd) -> Result<[u64; 2], HandshakeError> {
    Ok(DescriptorLocation::for_descriptor(fd)
        .map_err(HandshakeError::Deposit)?
        .words())
}

fn open(words: [u64; 2]) -> Result<OwnedFd, Errno> {
    DescriptorLocation::from_words(words)
        .ok_or(Errno::NOENT)?
        .open()
}

/// Returns the boot id of this machine's kernel, which is unique.
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| String::new(), |boot| boot.trim().to_owned())
}

impl HostHandshake {
    pub(crate) fn begin(meet: HandshakeRequest) -> Result<(Self, HandshakeReply), HandshakeError> {
        let ours = env!("CARGO_PKG_VERSION");
        if meet.version != ours {
            let theirs = meet.version.clone();
            return Err(HandshakeError::Version { ours, theirs });
        }
        find_proc()?;
        std::env::set_current_dir(&meet.directory).map_err(|error| HandshakeError::Directory {
            directory: meet.directory.display().to_string(),
            error,
        })?;
        let address = choose_address(meet.interface.as_deref())?;
        let socket = Socket::bind(address, meet.ports.0..=meet.ports.1)?;
        let cores = Cores {
            allowed: cores::allowed(),
            usable: cores::usable(),
            of_nics: Vec::new(),
        };
        let usable = u32::try_from(cores.usable).unwrap_or(u32::MAX);
        let profile = machine_profile::wait_costs()?.found.profile();
        let (page, _) = MachinePage::create(meet.nodes, usable, profile)?;
        let (segment, _) = Segment::create(meet.nodes, meet.ranks)?;
        let met = HandshakeReply {
            address: socket.local_addr(),
            receive_bytes: socket.receive_bytes(),
            keeps: SharedMemoryKeys {
                page: deposit(&page)?,
                segment: deposit(&segment)?,
            },
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            boot: boot(),
            cores,
        };
        let meeting = Self {
            meet,
            socket,
            page,
            segment,
        };
        Ok((meeting, met))
    }

    /// Returns the first party before this one whose shared memory this process can open.
    pub(crate) fn find_shared_memory(test: &SharedMemoryTest, me: usize) -> Option<usize> {
        let can =
            |keeps: &SharedMemoryKeys| open(keeps.page).is_ok() && open(keeps.segment).is_ok();
        let own = test.groups.get(me)?;
        let before = test.keeps.iter().zip(&test.groups).take(me);
        let mut before = before.enumerate();
        let found = before.find(|(_, (keeps, group))| *group == own && can(keeps));
        found.map(|(party, _)| party)
    }

    /// Takes the shared memory of its machine.
    pub(crate) fn join(
        self,
        far: &MultiHostStart,
    ) -> Result<(SharedJobMemory, UdpSetup), HandshakeError> {
        let (page, segment) = match far.leader {
            None => (self.page, self.segment),
            Some(leader) => (
                open(leader.page).map_err(HandshakeError::Leader)?,
                open(leader.segment).map_err(HandshakeError::Leader)?,
            ),
        };
        let joined = UdpSetup {
            meet: self.meet,
            socket: self.socket,
        };
        Ok((SharedJobMemory { page, segment }, joined))
    }
}

impl UdpSetup {
    /// Makes the wires to other machines, of a hub with this configuration.
    pub(crate) fn wires(
        self,
        far: &MultiHostStart,
        hub: HubConfig,
    ) -> Result<Arc<UdpEndpoint>, HandshakeError> {
        let sealing = SealSettings {
            key: self.meet.key,
            crypto: self.meet.crypto,
            epoch: self.meet.epoch,
            me: far.parties[far.me][0],
        };
        let sockets = far.addresses.iter().zip(&far.receive_bytes);
        let reached = sockets.map(|(&socket, &receive_bytes)| AdvertisedSocket {
            socket,
            receive_bytes,
        });
        let reached: Vec<AdvertisedSocket> = reached.collect();
        let wires = UdpEndpoint::join(self.socket, &sealing, hub, &reached, far.node_timeout);
        Ok(Arc::new(wires?))
    }
}
