//! The first words of a node manager of several machines: how it is reached, and with whom it can share memory.
//!
//! It is not born with the page and the segment of the job, which it could not have on another machine: it makes its
//! own. Who can open what another one has made ([`Deposit`]) is on the same machine and of the same user, whatever the names of hosts
//! and the namespaces of the kernel say; then it takes those, and its own are gone.

use crate::control::{FarStart, Keeps, Meet, Met};
use crate::cores;
use crate::inherited::Inherited;
use bcs_core::clock::now_ns;
use bcs_core::fabric::shm::{Deposit, Segment};
use bcs_core::fabric::udp::path::{longest_datagram, mtu_of};
use bcs_core::fabric::udp::socket::{BindError, Socket};
use bcs_core::fabric::udp::{
    Address, Hub, HubConfig, LinkSettings, Path, Sealing, UnknownInterface, Wires, choose_address,
};
use bcs_core::job::{Cores, NodeId};
use bcs_core::memory::MapError;
use bcs_core::wake::MachinePage;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Machines cannot be joined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeetingError {
    #[error("it is BCS-MPI {ours}, and bcs run is {theirs}: install the same version on all hosts")]
    Version { ours: &'static str, theirs: String },
    #[error(
        "it cannot go to {directory}, where bcs run was started: {error}; --wdir names another directory"
    )]
    Directory { directory: String, error: io::Error },
    #[error(transparent)]
    Interface(#[from] UnknownInterface),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Memory(#[from] MapError),
    #[error("its memory cannot be shared: {0}")]
    Deposit(Errno),
    #[error("the memory of another node manager of this machine is gone: {0}")]
    Leader(Errno),
    #[error("no datagram gets to {to}: {error}; --host-interface says which way to take")]
    Path { to: SocketAddr, error: io::Error },
    #[error("the wires cannot be set up: {0}")]
    Wires(io::Error),
    #[error("bcs run began with something else")]
    Order,
}

/// A node manager that has said how it is reached.
#[derive(Debug)]
pub(crate) struct Meeting {
    meet: Meet,
    socket: Socket,
    page: OwnedFd,
    segment: OwnedFd,
}

/// What joins the machines.
#[derive(Debug)]
pub(crate) struct Joined {
    sealing_epoch: u32,
    meet: Meet,
    socket: Socket,
}

fn deposit(fd: &OwnedFd) -> Result<[u64; 2], MeetingError> {
    Ok(Deposit::of(fd).map_err(MeetingError::Deposit)?.words())
}

fn open(words: [u64; 2]) -> Result<OwnedFd, Errno> {
    Deposit::from_words(words).ok_or(Errno::NOENT)?.open()
}

/// The start of this machine's kernel, which no other has.
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| String::new(), |boot| boot.trim().to_owned())
}

impl Meeting {
    pub(crate) fn begin(meet: Meet) -> Result<(Self, Met), MeetingError> {
        let ours = env!("CARGO_PKG_VERSION");
        if meet.version != ours {
            let theirs = meet.version.clone();
            return Err(MeetingError::Version { ours, theirs });
        }
        std::env::set_current_dir(&meet.directory).map_err(|error| MeetingError::Directory {
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
        let (page, _) = MachinePage::create(meet.nodes, usable)?;
        let (segment, _) = Segment::create(meet.nodes, meet.ranks)?;
        let met = Met {
            address: socket.local_addr(),
            receive_bytes: socket.receive_bytes(),
            keeps: Keeps {
                page: deposit(&page)?,
                segment: deposit(&segment)?,
            },
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

    /// Whose shared memory this one can open.
    pub(crate) fn reach(others: &[Option<Keeps>]) -> Vec<bool> {
        let can = |keeps: Keeps| open(keeps.page).is_ok() && open(keeps.segment).is_ok();
        others.iter().map(|other| other.is_some_and(can)).collect()
    }

    /// Takes the memory of its machine.
    pub(crate) fn join(self, far: &FarStart) -> Result<(Inherited, Joined), MeetingError> {
        let (page, segment) = match far.leader {
            None => (self.page, self.segment),
            Some(leader) => (
                open(leader.page).map_err(MeetingError::Leader)?,
                open(leader.segment).map_err(MeetingError::Leader)?,
            ),
        };
        let joined = Joined {
            sealing_epoch: self.meet.epoch,
            meet: self.meet,
            socket: self.socket,
        };
        Ok((Inherited { page, segment }, joined))
    }
}

/// How long an acknowledgement waits for something to go with it. Only who would send much waits for one.
const ACKNOWLEDGE_NS: u64 = 300_000;

impl Joined {
    /// The wires to other machines, of a hub for which all else is said.
    pub(crate) fn wires(
        self,
        far: &FarStart,
        mut hub: HubConfig,
    ) -> Result<Arc<Wires>, MeetingError> {
        let here = self.socket.local_addr().ip();
        let is_far = |node: &NodeId| !far.machine().contains(node);
        let mut addresses = Vec::new();
        hub.paths = vec![None; far.parties.len()];
        let links = far.parties.iter().filter(|nodes| is_far(&nodes[0])).count();
        for (party, (nodes, &socket)) in far.parties.iter().zip(&far.addresses).enumerate() {
            if !is_far(&nodes[0]) {
                continue;
            }
            let path = |error| MeetingError::Path { to: socket, error };
            let mtu = mtu_of(here, socket).map_err(path)?;
            let bytes = longest_datagram(mtu, socket.ip()) - self.meet.crypto.tag_bytes();
            hub.paths[party] = Some(Path {
                datagram_bytes: bytes,
                window_bytes: (far.receive_bytes[party] / links.max(1)) as u64,
            });
            addresses.push(Address {
                party,
                node: nodes[0],
                socket,
            });
        }
        hub.link = LinkSettings {
            epoch: self.sealing_epoch,
            acknowledge_ns: ACKNOWLEDGE_NS,
            quiet_ns: u64::try_from(far.node_timeout.as_nanos() / 6).unwrap_or(u64::MAX),
            ..hub.link
        };
        let sealing = Sealing {
            key: self.meet.key,
            crypto: self.meet.crypto,
            epoch: self.meet.epoch,
            me: far.parties[far.me][0],
        };
        let hub = Hub::new(hub, now_ns());
        let wires = Wires::new(hub, self.socket, &sealing, &addresses);
        Ok(Arc::new(wires.map_err(MeetingError::Wires)?))
    }
}
