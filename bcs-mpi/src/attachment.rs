//! How a rank finds its node manager: the socket it inherited (see [`bcs_core::job::welcome`]).
//!
//! The environment variable is only a claim. Until its file descriptor has proved to be a socket of
//! that kind, it belongs to other code and is neither changed nor closed. A program that a rank
//! starts inherits the variable, but not the socket. Such a program is not a rank; if it uses MPI,
//! it is a world of one. So a rank that has taken its socket records that in its environment
//! ([`TAKEN`]). Without that word a missing socket is an error: something between `bcs run` and the
//! program has closed it, and each rank would silently become a world of its own.
#![expect(
    unsafe_code,
    reason = "takes possession of an inherited file descriptor"
)]

use crate::adoption::{self, AdoptedRank, AdoptionError, Lifeline, PmiClient};
use crate::foreign;
use crate::pmi_variables;
use crate::recording::RecorderSetup;
use crate::shared_memory::SharedMemory;
use crate::transport::smartmap::{NodeManager, SlotReply};
use bcs_core::job::handshake::{
    FromRank, MAX_MESSAGE_BYTES, NodeManagerReply, PROTOCOL_VERSION, SOCKET_VARIABLE, Welcome,
};
use bcs_core::job::{RankAnswer, RankRequest};
use bcs_core::memory::slot::SLOT_VARIABLE;
use bcs_core::memory::{MapError, NicMemory, RecorderMemory, slot};
use bcs_core::smartmap::{NodeMemory, RankArea};
use bcs_core::wake::MachinePage;
use mmds::RecorderLayout;
use mmds::Selection;
use mmds::selection::SelectionError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::FdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketType, recvmsg, sendmsg, sockopt,
};
use rustix::time::Timespec;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Why the node manager did not accept this rank.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachError {
    /// The variable does not name an inherited socket.
    #[error(
        "{SOCKET_VARIABLE} is {value:?}, which is no socket of this process ({reason}): start the \
         program with bcs run, or unset the variable to run it alone"
    )]
    NoSocket {
        /// The value of the variable.
        value: String,
        /// Why that is not a socket.
        reason: String,
    },
    /// The connection broke off.
    #[error("failed to {what} the node manager: {source}; did it die?")]
    Socket {
        /// The verb of the failed action.
        what: &'static str,
        /// The kernel's answer.
        source: rustix::io::Errno,
    },
    /// The node manager sent an invalid answer.
    #[error(
        "the node manager's answer makes no sense ({0}): are the program and bcs of one version?"
    )]
    Nonsense(String),
    /// The node manager rejected this rank.
    #[error("the node manager refused this process: {0}")]
    Refused(String),
    /// The memory from the node manager cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Another launcher has started this process, and the job cannot be formed.
    #[error(transparent)]
    Adoption(#[from] AdoptionError),
}

/// The value of the variable for processes that a rank starts.
const TAKEN: &str = "taken";

/// The time that our launcher has to end a job of another launcher after MPI_Abort. It needs
/// milliseconds.
const ABORT_PATIENCE: Duration = Duration::from_secs(1);

/// The longest answer to a request other than Hello.
const ANSWER_BYTES: usize = 64;

/// The connection to the node manager.
#[derive(Debug)]
pub(crate) struct NodeManagerLink {
    socket: OwnedFd,
    /// Held from a request to its answer: threads of a rank may have several.
    turn: Mutex<()>,
    /// The rest, if another launcher has started this process.
    elsewhere: Option<StartedElsewhere>,
}

/// The ties of a rank to the launcher that has started it.
#[derive(Debug)]
struct StartedElsewhere {
    launcher: Mutex<PmiClient>,
    _lifeline: Lifeline,
}

/// A rank that the node manager has accepted.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) link: NodeManagerLink,
    pub(crate) welcome: Welcome,
    pub(crate) memory: SharedMemory,
    /// The recorder's memory, if the rank records.
    pub(crate) record: Option<RecorderSetup>,
}

impl Attachment {
    /// Connects to the node manager and sends Hello; returns `None` if this process has no node
    /// manager.
    pub(crate) fn find() -> Result<Option<Self>, AttachError> {
        match std::env::var(SOCKET_VARIABLE) {
            Ok(value) if value == TAKEN => Ok(None),
            Ok(value) => {
                let socket = inherited(value)?;
                // SAFETY: other threads may read the environment meanwhile. The variable is there,
                // so the C library exchanges one pointer, and neither moves the others nor frees
                // the old text.
                unsafe { std::env::set_var(SOCKET_VARIABLE, TAKEN) };
                if std::env::var_os(SLOT_VARIABLE).is_some() {
                    // A process that it starts is not a rank and needs no slot. SAFETY: as above.
                    unsafe { std::env::set_var(SLOT_VARIABLE, "") };
                }
                slot::hide_folder_from_children();
                pmi_variables::hide_from_children();
                Self::over(socket).map(Some)
            }
            Err(std::env::VarError::NotPresent) => match adoption::find()? {
                None => Ok(None),
                Some(adopted) => Self::adopted(adopted).map(Some),
            },
            Err(std::env::VarError::NotUnicode(value)) => Err(AttachError::NoSocket {
                value: value.to_string_lossy().into_owned(),
                reason: "not a number".to_owned(),
            }),
        }
    }

    /// Connects to the node manager of a rank that another launcher has started.
    fn adopted(adopted: AdoptedRank) -> Result<Self, AttachError> {
        let AdoptedRank {
            rank,
            socket,
            pmi,
            launcher,
        } = adopted;
        let (lifeline, theirs) = Lifeline::new().map_err(|source| AttachError::Socket {
            what: "make a lifeline to",
            source,
        })?;
        let link = NodeManagerLink {
            socket,
            turn: Mutex::default(),
            elsewhere: Some(StartedElsewhere {
                launcher: Mutex::new(pmi),
                _lifeline: lifeline,
            }),
        };
        link.say_with(&FromRank::Join { rank }, Some(theirs.as_fd()))?;
        drop(theirs);
        let attached = Self::with_link(link);
        drop(launcher);
        attached
    }

    fn over(socket: OwnedFd) -> Result<Self, AttachError> {
        Self::with_link(NodeManagerLink {
            socket,
            turn: Mutex::default(),
            elsewhere: None,
        })
    }

    fn with_link(link: NodeManagerLink) -> Result<Self, AttachError> {
        let (slot, no_slot) = match slot::own() {
            Some(Ok(own)) => (
                Some(own.fd()),
                slot::is_library_slot().then(only_a_librarys),
            ),
            Some(Err(refusal)) => (None, Some(refusal.to_string())),
            None => (None, None),
        };
        let hello = FromRank::Hello {
            version: PROTOCOL_VERSION,
            no_slot,
        };
        link.say_with(&hello, slot)?;
        let (answer, mut fds) = link.hear(MAX_MESSAGE_BYTES)?;
        let welcome = match answer {
            NodeManagerReply::Welcome(welcome) => *welcome,
            NodeManagerReply::Refused(reason) => return Err(AttachError::Refused(reason)),
            other @ (NodeManagerReply::Slot
            | NodeManagerReply::NoSlot { .. }
            | NodeManagerReply::Answer(_)) => {
                return Err(nonsense(&other));
            }
        };
        let record = match &welcome.record {
            Some(what) => Some(record(what, welcome.placement.capacity(), fds.pop())?),
            None => None,
        };
        let mut fds = fds.into_iter();
        let (Some(memory), Some(page), node_memory) = (fds.next(), fds.next(), fds.next()) else {
            let reason = "no two file descriptors".to_owned();
            return Err(AttachError::Nonsense(reason));
        };
        let Some(node) = welcome.placement.node_of(welcome.rank) else {
            return Err(AttachError::Nonsense(format!(
                "rank {} has no node",
                welcome.rank
            )));
        };
        let nic = NicMemory::map(memory, welcome.settings.eager_limit)?;
        let mut desk = None;
        if let Some(node_memory) = node_memory {
            let here: Vec<u32> = welcome.placement.ranks_of(node).collect();
            let place = here.iter().position(|&rank| rank == welcome.rank);
            let place = place.expect("a rank is on its node");
            let node = NodeMemory::map(node_memory, here.len())?;
            desk = Some(RankArea { node, place });
        }
        let page = MachinePage::map(page, welcome.placement.nodes())?;
        Ok(Self {
            link,
            welcome,
            memory: SharedMemory::new(nic, desk, page),
            record,
        })
    }
}

/// Returns the message for a slot that does not hold the program's heap.
fn only_a_librarys() -> String {
    "only the memory of the MPI library lies in one".to_owned()
}

/// Makes the recorder that the node manager gave this rank.
fn record(what: &str, ranks: usize, memory: Option<OwnedFd>) -> Result<RecorderSetup, AttachError> {
    let nonsense = |reason: String| AttachError::Nonsense(reason);
    let selection: Selection = what
        .parse()
        .map_err(|error: SelectionError| nonsense(format!("it is to record {what:?}: {error}")))?;
    let window = selection.window();
    let (Some(selection), Some(memory)) = (selection.mmds, memory) else {
        return Err(nonsense("it is to record without a recorder".to_owned()));
    };
    let layout = RecorderLayout::new(&selection, window, ranks);
    Ok(RecorderSetup {
        memory: RecorderMemory::map(memory, layout.words())?,
        layout,
        selection,
        window,
    })
}

fn nonsense(answer: &NodeManagerReply) -> AttachError {
    AttachError::Nonsense(format!("nobody asked for {answer:?}"))
}

/// Returns the socket of this number. It closes when this process executes another program, which
/// is not a rank.
fn inherited(value: String) -> Result<OwnedFd, AttachError> {
    let refuse = |reason: String| AttachError::NoSocket {
        value: value.clone(),
        reason,
    };
    let number: i32 = value
        .parse()
        .map_err(|_| refuse("not a number".to_owned()))?;
    if number <= 2 {
        return Err(refuse("taken by standard input and output".to_owned()));
    }
    // SAFETY: the descriptor is only queried. If the number is not open, or is closed meanwhile,
    // the kernel returns an error.
    let looked_at = unsafe { BorrowedFd::borrow_raw(number) };
    let kind = sockopt::socket_domain(looked_at)
        .and_then(|family| Ok((family, sockopt::socket_type(looked_at)?)))
        .map_err(|error| refuse(error.to_string()))?;
    if kind != (AddressFamily::UNIX, SocketType::SEQPACKET) {
        return Err(refuse("another kind of socket".to_owned()));
    }
    rustix::io::fcntl_setfd(looked_at, FdFlags::CLOEXEC)
        .map_err(|error| refuse(error.to_string()))?;
    // SAFETY: a socket of this kind was inherited for this purpose, and no other code in this
    // process knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Locks the connection, which a panic of another thread cannot spoil.
fn lock(launcher: &Mutex<PmiClient>) -> MutexGuard<'_, PmiClient> {
    launcher.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NodeManagerLink {
    /// Tells another launcher, if it has started this process, that the rank has finalized.
    pub(crate) fn finalize_elsewhere(&self) {
        if let Some(elsewhere) = &self.elsewhere {
            // If it is gone, nobody has to know.
            let _gone = lock(&elsewhere.launcher).finalize();
        }
    }

    /// Ends the job by another launcher, if that has started this process. Our own launcher, which
    /// the node manager has notified, prints the reason and does it. If it is gone, we do it.
    pub(crate) fn abort_elsewhere(&self, code: i32) {
        if let Some(elsewhere) = &self.elsewhere {
            let patience = Timespec::try_from(ABORT_PATIENCE).expect("a second");
            let _killed_here = poll(
                &mut [PollFd::new(&self.socket, PollFlags::RDHUP)],
                Some(&patience),
            );
            lock(&elsewhere.launcher).abort(code);
        }
    }

    /// Sends a message. The kernel adds the identity of the sender.
    pub(crate) fn say(&self, what: &FromRank) -> Result<(), AttachError> {
        self.say_with(what, None)
    }

    fn say_with(
        &self,
        what: &FromRank,
        descriptor: Option<BorrowedFd<'_>>,
    ) -> Result<(), AttachError> {
        let bytes = postcard::to_stdvec(what).expect("what a rank says can be encoded");
        let descriptors = descriptor.as_slice();
        let sent = rustix::io::retry_on_intr(|| {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty() {
                let fits = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
                assert!(fits, "one descriptor fits");
            }
            let slices = [IoSlice::new(&bytes)];
            sendmsg(&self.socket, &slices, &mut ancillary, SendFlags::NOSIGNAL)
        });
        sent.map(|_| ()).map_err(|source| AttachError::Socket {
            what: "talk to",
            source,
        })
    }

    /// Returns the slot of another rank of this node. The caller keeps the link until the answer
    /// has come.
    fn slot(&self, place: usize) -> Result<SlotReply, AttachError> {
        let place = u32::try_from(place).expect("MAX_SLOTS fits u32");
        let _turn = self.turn();
        self.say(&FromRank::Slot { place })?;
        match self.hear(ANSWER_BYTES)? {
            (NodeManagerReply::Slot, fds) => match <[OwnedFd; 1]>::try_from(fds) {
                Ok([fd]) => Ok(SlotReply::Slot(fd)),
                Err(_) => Err(AttachError::Nonsense(
                    "a slot without its memory".to_owned(),
                )),
            },
            (NodeManagerReply::NoSlot { yet: false }, _) => Ok(SlotReply::None),
            (NodeManagerReply::NoSlot { yet: true }, _) => Ok(SlotReply::NotYet),
            (other, _) => Err(nonsense(&other)),
        }
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the launcher of the job for something, and waits for the answer.
    pub(crate) fn ask(&self, request: RankRequest) -> Result<RankAnswer, AttachError> {
        let _turn = self.turn();
        self.say(&FromRank::Ask(request))?;
        match self.hear(MAX_MESSAGE_BYTES)? {
            (NodeManagerReply::Answer(answer), _) => Ok(answer),
            (other, _) => Err(nonsense(&other)),
        }
    }

    fn hear(&self, most: usize) -> Result<(NodeManagerReply, Vec<OwnedFd>), AttachError> {
        let mut bytes = vec![0; most];
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4), ScmCredentials(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            let mut slices = [IoSliceMut::new(&mut bytes)];
            recvmsg(
                self.socket.as_fd(),
                &mut slices,
                &mut ancillary,
                RecvFlags::CMSG_CLOEXEC,
            )
        });
        let received = received.map_err(|source| AttachError::Socket {
            what: "hear from",
            source,
        })?;
        if received.bytes == 0 {
            return Err(AttachError::Nonsense("it closed the connection".to_owned()));
        }
        if received
            .flags
            .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
        {
            return Err(AttachError::Nonsense("it is too long".to_owned()));
        }
        let answer = postcard::from_bytes(&bytes[..received.bytes]);
        let answer = answer.map_err(|error| AttachError::Nonsense(error.to_string()))?;
        let mut fds = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                fds.extend(rights);
            }
        }
        Ok((answer, fds))
    }
}

impl NodeManager for NodeManagerLink {
    fn slot_of(&self, place: usize) -> SlotReply {
        self.slot(place).unwrap_or(SlotReply::NotYet)
    }

    fn report_slow_copies(&self, place: usize) {
        let place = u32::try_from(place).expect("MAX_RANKS_PER_NODE fits u32");
        let _gone = self.say(&FromRank::SlowCopies { place });
    }

    fn aborts(&self, code: i32, reason: &str) {
        // If the node manager is gone, this rank can only end.
        let _gone = foreign::script_places().map(|places| self.say(&places));
        let _gone = self.say(&FromRank::Abort {
            code,
            reason: reason.to_owned(),
            address: foreign::address(),
        });
        self.abort_elsewhere(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::{Placement, Settings};
    use bcs_core::memory::RecorderFile;
    use bcs_core::wake::Profile;
    use rustix::net::{SocketFlags, recv, socketpair};
    use std::os::fd::AsRawFd;

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap()
    }

    /// Does the node manager's part: receives a Hello and answers with these file descriptors.
    fn answer(socket: &OwnedFd, answer: &NodeManagerReply, fds: &[BorrowedFd<'_>]) {
        let mut hello = [0; 64];
        let (len, _) = recv(socket, &mut hello, RecvFlags::empty()).unwrap();
        let version = PROTOCOL_VERSION;
        assert_eq!(
            postcard::from_bytes(&hello[..len]),
            Ok(FromRank::Hello {
                version,
                no_slot: None
            })
        );
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(fds)));
        }
        let bytes = postcard::to_stdvec(answer).unwrap();
        sendmsg(
            socket,
            &[IoSlice::new(&bytes)],
            &mut ancillary,
            SendFlags::empty(),
        )
        .unwrap();
    }

    #[test]
    fn a_rank_is_received_with_its_memory() {
        let (rank, manager) = pair();
        let settings = Settings::default();
        let (memory_fd, memory) = NicMemory::create(settings.eager_limit).unwrap();
        let (page_fd, page) = MachinePage::create(2, 4, Profile::UNKNOWN).unwrap();
        let (node_fd, node) = NodeMemory::create(2).unwrap();
        let what: Selection = "mmds:calls=10".parse().unwrap();
        let layout = RecorderLayout::new(what.of_rank(2).unwrap(), what.window(), 4);
        let recorder = RecorderFile::create(layout.words()).unwrap();
        let welcome = Welcome {
            rank: 2,
            placement: Placement::block(4, 2).unwrap(),
            settings,
            record: Some("mmds:calls=10".to_owned()),
            application: 0,
            universe_size: Some(4),
            job: 7,
            spawned: None,
        };
        let said = NodeManagerReply::Welcome(Box::new(welcome.clone()));
        let manager = std::thread::spawn(move || {
            let [memory, page, node] = [&memory_fd, &page_fd, &node_fd].map(AsFd::as_fd);
            answer(&manager, &said, &[memory, page, node, recorder.fd()]);
            manager
        });
        let attachment = Attachment::over(rank).unwrap();
        let manager = manager.join().unwrap();
        assert_eq!(attachment.welcome, welcome);
        memory
            .unexpected()
            .store(7, std::sync::atomic::Ordering::Relaxed);
        let seen = attachment
            .memory
            .nic
            .unexpected()
            .load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(seen, 7, "it is the same memory");
        let bell = attachment.memory.nic.bell();
        bell.store(1, std::sync::atomic::Ordering::Relaxed);
        let rung = node.bell(0).load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(rung, 1, "rank 2 is the first of node 1");
        page.arm();
        assert_eq!(attachment.memory.page.wanted(), (true, false));
        let record = attachment.record.unwrap();
        assert_eq!((record.layout, record.selection.calls), (layout, Some(10)));
        attachment.link.say(&FromRank::Finalized).unwrap();
        let mut last = [0; 64];
        let (len, _) = recv(&manager, &mut last, RecvFlags::empty()).unwrap();
        assert_eq!(postcard::from_bytes(&last[..len]), Ok(FromRank::Finalized));
    }

    #[test]
    fn a_rank_that_is_not_received_says_why() {
        let refused = |said: NodeManagerReply| {
            let (rank, manager) = pair();
            let manager = std::thread::spawn(move || answer(&manager, &said, &[]));
            let error = Attachment::over(rank).unwrap_err().to_string();
            manager.join().unwrap();
            error
        };
        let reason = "this program speaks version 9".to_owned();
        assert!(refused(NodeManagerReply::Refused(reason.clone())).ends_with(&reason));
        let welcome = Welcome {
            rank: 0,
            placement: Placement::block(1, 1).unwrap(),
            settings: Settings::default(),
            record: None,
            application: 0,
            universe_size: None,
            job: 7,
            spawned: None,
        };
        let without_memory = refused(NodeManagerReply::Welcome(Box::new(welcome)));
        assert!(
            without_memory.contains("no two file descriptors"),
            "{without_memory}"
        );
        let (rank, manager) = pair();
        drop(manager);
        assert!(
            Attachment::over(rank)
                .unwrap_err()
                .to_string()
                .contains("node manager")
        );
    }

    #[test]
    fn a_descriptor_that_is_somebody_else_s_stays_as_it_is() {
        let others = SocketType::STREAM;
        let stream = socketpair(AddressFamily::UNIX, others, SocketFlags::empty(), None);
        let file = std::fs::File::open("/dev/null").unwrap();
        for theirs in [stream.unwrap().0, OwnedFd::from(file)] {
            let before = rustix::io::fcntl_getfd(&theirs).unwrap();
            let error = inherited(theirs.as_raw_fd().to_string()).unwrap_err();
            assert!(
                error.to_string().contains("no socket of this process"),
                "{error}"
            );
            assert_eq!(rustix::io::fcntl_getfd(&theirs), Ok(before));
        }
    }

    #[test]
    fn what_is_no_socket_is_refused() {
        for value in ["", "seven", "-1", "2", "999999"] {
            let error = inherited(value.to_owned()).unwrap_err().to_string();
            assert!(
                error.contains(&format!("{SOCKET_VARIABLE} is {value:?}")),
                "{error}"
            );
        }
    }
}
