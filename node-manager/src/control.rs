//! The messages between `bcs run` and a node manager. They go over a stream socket pair or, where a
//! command such as ssh stands between, over the standard streams that this command provides.

pub use crate::frames::{
    Frame, FrameError, FrameReadOutcome, FrameReader, FrameWriter, Greeting, RawFrame, Stream,
    encode,
};
pub use crate::pmi_messages::{PmiAnswer, PmiRequest, PmiTraffic};

use crate::rank_cores::RankCores;
use crate::subtree::Subtree;
use crate::survey::SurveyPart;
use bcs_core::job::{Cores, NodeId, Placement, RankAnswer, RankRequest, Settings, SpawnedGroup};
use bcs_core::mapped_code::CodePlace;
use bcs_fabric::udp::{Crypto, InboundBytes, JobKey, RejectedDatagrams};
use mds::Selection;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A node manager inherits its end of the control socket as this descriptor.
pub const CONTROL_FD: i32 = 3;
/// A node manager inherits the machine page as this descriptor.
pub const PAGE_FD: i32 = 4;
/// A node manager inherits the segment of the fabric as this descriptor.
pub const SEGMENT_FD: i32 = 5;

/// A node manager that adopts ranks inherits the socket to which they connect as this descriptor.
pub const RANK_LISTENER_FD: i32 = 6;
/// The same of a node manager that gets its data from its standard input.
pub const FAR_RANK_LISTENER_FD: i32 = 3;

/// A message of the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToManager {
    /// The first message to an agent that starts others: they are below it in the launch tree.
    /// After it, the link carries frames with addresses ([`crate::launch_tree`]).
    Subtree(Box<Subtree>),
    /// The number of this node manager among the parties of a job on several machines.
    Party(usize),
    /// The first question to a node manager of a job on several machines: how do others reach you?
    Handshake(Box<HandshakeRequest>),
    /// The second one: report whose shared memory you can map.
    TestSharedMemory(Box<SharedMemoryTest>),
    /// The part of the following [`ToManager::Start`] that only this node manager gets.
    Part(Box<PartyStart>),
    /// Start the ranks of your nodes. All node managers get the same message.
    Start(Box<JobStart>),
    /// All ranks of the job have ended well: the Strobe Sender strikes the slices that are still
    /// wanted, then no more.
    Quiesce,
    /// Nothing moves any more: stop the NIC, write the dumps, exit.
    Finish,
    /// End the ranks: SIGTERM, and SIGKILL after [`JobStart::kill_delay`].
    Terminate,
    /// Pass a signal on to the ranks, which go on otherwise.
    Signal(UserSignal),
    /// The next piece of input of every rank ([`InputReader::All`]) or of one
    /// ([`InputReader::Through`]); empty at the end. The next piece comes after
    /// [`FromManager::InputTaken`], so at most one waits anywhere.
    Input(Vec<u8>),
    /// Report the wait states of your ranks.
    QueryWaitStates(WaitStateQuery),
    /// Strike a slice: a NIC holds work that only a slice can advance, and has not demanded one.
    StrikeSlice,
    /// Report all that is known of the ranks, in the survey of this number.
    Survey(u32),
    /// An answer to a [`FromManager::Pmi`], of this node manager or of others.
    Pmi(Box<PmiAnswer>),
    /// Start spare ranks, as far as they are of your nodes. The answer is
    /// [`FromManager::Spawned`].
    Spawn(Box<SpawnStart>),
    /// Kill these ranks. They do not count any more: others that were to start with them could not
    /// be started.
    Dismiss(SpawnedGroup),
    /// The answer to [`FromManager::Asked`], for the rank.
    Answer {
        /// The rank that has asked.
        rank: u32,
        /// The answer.
        answer: Box<RankAnswer>,
    },
}

/// Ranks to start in a running job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnStart {
    /// The ranks.
    pub group: SpawnedGroup,
    /// Their programs, in the order of the ranks.
    pub applications: Vec<Application>,
}

/// The data that a node manager needs before the machines of a job can be joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeRequest {
    /// The launcher's version: a node manager of another version cannot continue.
    pub version: String,
    /// The job's key. No other message holds it.
    pub key: JobKey,
    /// How datagrams are protected.
    pub crypto: Crypto,
    /// The number of the job, in 32 bits.
    pub epoch: u32,
    /// Nodes of the job.
    pub nodes: usize,
    /// Ranks of the job.
    pub ranks: usize,
    /// The address at which others reach the node manager, or its interface or network, if the user
    /// gives one.
    pub interface: Option<String>,
    /// The range of ports from which to take one.
    pub ports: (u16, u16),
    /// Where the job runs.
    pub directory: PathBuf,
}

/// Where other processes find the shared memory of a node manager: words of
/// [`DescriptorLocation`](bcs_fabric::shm::DescriptorLocation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMemoryKeys {
    /// The machine page.
    pub page: [u64; 2],
    /// The segment of the fabric.
    pub segment: [u64; 2],
}

/// The shared memory of all parties. Each tries those before it: the first that it can map is the
/// first of its machine, if itself is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMemoryTest {
    /// Where each party has it.
    pub keeps: Vec<SharedMemoryKeys>,
    /// The group of each party. It tries only parties of its own group.
    pub groups: Vec<usize>,
}

/// The parts of a [`JobStart`] that only one node manager gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartyStart {
    /// Its number: the index of its part in [`MultiHostStart::parties`].
    pub me: usize,
    /// Its nodes.
    pub nodes: Vec<NodeId>,
    /// The cores of its host, if they are not those of all.
    pub cores: Option<Cores>,
    /// [`MultiHostStart::on_this_host`].
    pub on_this_host: usize,
    /// [`MultiHostStart::leader`].
    pub leader: Option<SharedMemoryKeys>,
}

/// How others reach a node manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeReply {
    /// Its socket.
    pub address: SocketAddr,
    /// The capacity of its socket, in bytes.
    pub receive_bytes: usize,
    /// Its shared memory.
    pub keeps: SharedMemoryKeys,
    /// Its process id on its machine.
    pub pid: i32,
    /// The boot id of its machine's kernel.
    pub boot: String,
    /// The cores that it may use.
    pub cores: Cores,
}

/// How the machines of a job are joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultiHostStart {
    /// The nodes of each node manager.
    pub parties: Vec<Vec<NodeId>>,
    /// The index of this node manager.
    pub me: usize,
    /// The nodes of each machine: they share memory.
    pub machines: Vec<Vec<NodeId>>,
    /// The number of nodes on this one's host, whether or not they share memory.
    pub on_this_host: usize,
    /// The other node managers that share memory with that of node 0.
    pub beside_first: Vec<usize>,
    /// The node manager whose page and segment this one uses, if it is another one.
    pub leader: Option<SharedMemoryKeys>,
    /// The address of each node manager.
    pub addresses: Vec<SocketAddr>,
    /// The capacity of each socket, in bytes.
    pub receive_bytes: Vec<usize>,
    /// A node that is silent for this long is lost.
    pub node_timeout: Duration,
}

impl MultiHostStart {
    /// Returns all nodes that share memory with this node manager's nodes.
    #[must_use]
    pub fn shared_memory_nodes(&self) -> &[NodeId] {
        let is_this = |machine: &&Vec<NodeId>| machine.contains(&self.parties[self.me][0]);
        self.machines
            .iter()
            .find(is_this)
            .map_or(&[], Vec::as_slice)
    }
}

/// A query of the wait states of all ranks. Only one is under way at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStateQuery {
    /// The number of the query.
    pub number: u32,
    /// Whether to examine the threads of the ranks, too, if nothing else moves.
    pub closely: bool,
    /// Whether to report ranks that are not blocked, too.
    pub unblocked: bool,
}

/// A signal whose meaning the program defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserSignal {
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
}

/// A program of a job, with its arguments and environment. A job has one, or several (MPMD): world
/// ranks follow their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// The number of ranks that run it.
    pub ranks: usize,
    /// The file to execute; absolute if `directory` is set.
    pub program: OsString,
    /// Its arguments, the name first.
    pub arguments: Vec<OsString>,
    /// Variables that are set in addition to those that the node manager inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory, if not that of `bcs run`.
    pub directory: Option<PathBuf>,
}

/// The rank that reads the standard input of `bcs run`. The input of all others is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputReader {
    /// One rank.
    Rank(u32),
    /// One rank, through the node manager.
    Through(u32),
    /// Every rank, through the node manager.
    All,
    /// No rank.
    None,
}

/// The data that a node manager needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStart {
    /// The name of this run, in dumps.
    pub job: String,
    /// Which ranks run where.
    pub placement: Placement,
    /// The settings of the runtime.
    pub settings: Settings,
    /// The nodes that this node manager manages.
    pub nodes: Vec<NodeId>,
    /// Whether the Strobe Sender runs in this process.
    pub strobe_sender: bool,
    /// The cores of the job.
    pub cores: Cores,
    /// The programs, in the order of the ranks.
    pub applications: Vec<Application>,
    /// The rank that reads the standard input.
    pub input: InputReader,
    /// The folder for `rank.N.out` and `rank.N.err`, if ranks write there instead of to the node
    /// manager.
    pub output_dir: Option<PathBuf>,
    /// Which cores ranks may use.
    pub rank_cores: RankCores,
    /// The time from SIGTERM to SIGKILL.
    pub kill_delay: Duration,
    /// Whether to report how many ranks have a slot ([`FromManager::Slots`]), and how messages from
    /// other machines came ([`FromManager::InboundBytes`]).
    pub verbose: bool,
    /// The directory for dumps of the MDS.
    pub mds: Option<PathBuf>,
    /// The data to record.
    pub record: Selection,
    /// Whether to preload a heap in slots into programs that can use it.
    pub preload: bool,
    /// How machines are joined, if there are several.
    pub far: Option<MultiHostStart>,
    /// `MPI_UNIVERSE_SIZE`, if the user has given it.
    pub universe_size: Option<u32>,
}

impl JobStart {
    /// Takes the part of one node manager.
    #[must_use]
    pub fn with(mut self, part: PartyStart) -> Self {
        // In the process of the first node's NIC, which it then need not wake.
        self.strobe_sender = part.nodes.contains(&NodeId(0));
        self.nodes = part.nodes;
        self.cores = part.cores.unwrap_or(self.cores);
        if let Some(far) = &mut self.far {
            far.me = part.me;
            far.on_this_host = part.on_this_host;
            far.leader = part.leader;
        }
        self
    }

    /// Returns the index of the application of a rank that starts with the job.
    pub(crate) fn application_of(&self, rank: u32) -> usize {
        application_of(&self.applications, rank as usize)
    }
}

/// Returns the index of the application of the rank at this place among those of all of them.
pub(crate) fn application_of(applications: &[Application], place: usize) -> usize {
    let mut after = 0;
    applications
        .iter()
        .position(|application| {
            after += application.ranks;
            place < after
        })
        .expect("applications have as many ranks as the job")
}

/// A message of a node manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromManager {
    /// How others reach it: the answer to [`ToManager::Handshake`].
    HandshakeReply(Box<HandshakeReply>),
    /// The first party before it whose shared memory it can map: the answer to
    /// [`ToManager::TestSharedMemory`].
    MappableMemory(Option<usize>),
    /// A rank uses another MPI, and no process of this node manager's ranks has joined the job.
    /// Sent once, when such a rank or every rank has ended.
    ForeignMpi {
        /// The rank.
        rank: u32,
        /// Its node.
        node: NodeId,
        /// The library of the other MPI.
        library: String,
    },
    /// None of its ranks has joined the job. Sent before [`FromManager::AllDone`].
    NoneJoined,
    /// All its ranks have ended well. Sent again after [`ToManager::Spawn`].
    AllDone,
    /// Its Strobe Sender is idle: the answer to [`ToManager::Quiesce`] of the node manager that has
    /// it.
    Quiesced,
    /// A rank failed (ScELA's PROCESS_FAIL).
    ProcessFail(RankFailure),
    /// A rank could not be started.
    NotStarted {
        /// The rank.
        rank: u32,
        /// Its node.
        node: NodeId,
        /// The error message.
        message: String,
    },
    /// A NIC found an error that ends the job.
    NicFailed {
        /// The node.
        node: NodeId,
        /// The rank at fault, if a single one is.
        rank: Option<u32>,
        /// The error, and what to do.
        message: String,
    },
    /// All its ranks have taken the last [`ToManager::Input`].
    InputTaken,
    /// The wait states of its ranks: the answer to [`ToManager::QueryWaitStates`].
    WaitStates(Box<WaitStateReport>),
    /// A part of the answer to [`ToManager::Survey`].
    SurveyPart(Box<SurveyPart>),
    /// How a rank has ended, in a job that has ended well. Sent for each rank, at the end.
    FinalReport(Box<RankFinalReport>),
    /// How many of its ranks have a slot. Sent once, when all have said Hello, or at the end.
    Slots(SlotReport),
    /// Others have copied much from a rank that has no slot. Sent once, about the first such rank.
    SlowCopyHint {
        /// The rank.
        rank: u32,
        /// Why it has no slot, if that is known.
        why: Option<String>,
    },
    /// It receives many datagrams that are not of the job. Sent once.
    Strays(RejectedDatagrams),
    /// The number of such datagrams. Sent at the end, if there were many, or any in a verbose job.
    StraysInAll(RejectedDatagrams),
    /// How bytes of messages from other machines came to its ranks. Sent at the end, if there were
    /// any.
    InboundBytes(InboundBytes),
    /// A request of its ranks, which are programs of another MPI.
    Pmi(Box<PmiRequest>),
    /// A request of a rank, which waits for [`ToManager::Answer`].
    Asked {
        /// The rank.
        rank: u32,
        /// The request.
        request: Box<RankRequest>,
    },
    /// The answer to [`ToManager::Spawn`].
    Spawned {
        /// The number of the spawn.
        number: u32,
        /// Why one of its ranks could not be started. Those before it run.
        failure: Option<String>,
    },
    /// How many such requests there were. Sent at the end, if there were any.
    PmiTraffic(PmiTraffic),
    /// Recorded data of its ranks or nodes is lost, at least in part, with the reason. The job does
    /// not fail by that.
    NoDump(String),
    /// The last message. A command between node manager and launcher may wait for the end of its
    /// own input, which the launcher has to close.
    Goodbye,
    /// The node manager itself failed.
    ManagerFailed {
        /// The error message.
        message: String,
    },
}

/// How a rank has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFinalReport {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// The leaks of the program on it, if any
    /// ([`LeakReport::encode`](bcs_core::wait_state::LeakReport::encode)).
    pub left: Vec<u64>,
    /// The last wait state of the rank, if it has finalized.
    pub last: Vec<u64>,
    /// The places of the addresses in the leaks.
    pub code: Vec<(u64, CodePlace)>,
}

/// Whose heaps lie in slots ([`bcs_core::memory::slot`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotReport {
    /// Ranks that have called MPI_Init.
    pub received: usize,
    /// The ranks among them whose program has its heap in a slot.
    pub with_slot: usize,
    /// The first rank that has no slot, with the reason where that is known.
    pub refused: Option<(u32, String)>,
}

/// The wait states of a node manager's ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStateReport {
    /// The number of the query.
    pub look: u32,
    /// How many of its ranks have neither ended nor finalized.
    pub running: usize,
    /// How often all these ranks, and the OS threads of its NICs, have gone to sleep, if all sleep
    /// until another thread rings.
    pub naps: Option<u64>,
    /// The ranks that do nothing but poll, which do not sleep. Their sleeps do not count above.
    pub polling: Vec<PollingRank>,
    /// Work in a NIC that only a slice can advance, though no slice is wanted. Searched for if all
    /// sleep.
    pub forgotten: Option<String>,
    /// The other threads of these ranks.
    pub threads: OtherThreads,
    /// Those of the ranks that are blocked in a call.
    pub blocked: Vec<BlockedRankReport>,
    /// Ranks that have finalized or ended; only in the answer to a close query.
    pub gone: Vec<DepartedRank>,
    /// Some of the ranks that are not blocked; only if the query asks for them.
    pub unblocked: Vec<UnblockedRank>,
}

/// A rank that is not blocked in a call of MPI: it computes, sleeps, or is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnblockedRank {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// Whether a signal or a debugger has stopped it.
    pub is_stopped: bool,
    /// Whether it has called MPI_Init.
    pub is_initialized: bool,
    /// The place of its last call of MPI, if that is an address.
    pub last_call: Option<CodePlace>,
}

/// A rank that does nothing but poll, as far as MPI knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollingRank {
    /// The rank.
    pub rank: u32,
    /// The number of its wait state, which grows as long as it polls.
    pub number: u64,
    /// How often its process has read a file, a pipe or a socket, as far as the kernel says so.
    pub reads: u64,
}

/// The threads of a node manager's ranks, except those that sleep in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OtherThreads {
    /// At least one runs, or a rank is stopped, or they were not examined.
    #[default]
    Running,
    /// There are such threads, and all sleep. The number changes when one of them has run.
    Asleep(u64),
    /// There are no such threads.
    None,
}

/// A rank that is blocked in a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedRankReport {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// A number that stays the same only while the rank is in the same call.
    pub number: u64,
    /// Its wait state ([`WaitState::encode`](bcs_core::wait_state::WaitState::encode)).
    pub words: Vec<u64>,
    /// The place of its call, if that is an address.
    pub code: Option<CodePlace>,
    /// The place of the call that has started what it waits for, if that is an address.
    pub started: Option<CodePlace>,
    /// The places of the labels of its communicators, if those are addresses.
    pub made_at: Vec<Option<CodePlace>>,
}

/// A rank that sends no message any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRank {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// Whether it has called MPI_Finalize; otherwise its process has ended without MPI_Init.
    pub finalized: bool,
    /// Its last wait state, if it has finalized.
    pub words: Vec<u64>,
}

/// How a rank failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFailure {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// Its process.
    pub pid: i32,
    /// How it failed.
    pub what: RankFailureKind,
}

/// A kind of failure of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankFailureKind {
    /// Exited with a code that is not 0.
    Exited(i32),
    /// Was killed by a signal.
    Killed {
        /// The signal's number.
        signal: i32,
        /// Whether a core was dumped.
        core_dumped: bool,
    },
    /// Joined the job, and left with exit code 0 but without MPI_Finalize.
    NotFinalized,
    /// Called MPI_Abort.
    Aborted {
        /// With this code.
        code: i32,
        /// The reason, if the library called it.
        reason: String,
        /// The place of the call, if the program gives it as an address.
        place: Option<CodePlace>,
    },
    /// Sent an invalid message to its node manager.
    MalformedMessage(String),
}
