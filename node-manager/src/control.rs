//! What `bcs run` and a node manager say to each other: over a stream socket pair, or, where a command such as
//! ssh stands between them, over whatever that has made the standard streams of.

pub use crate::frames::{Frame, FrameError, FrameReadOutcome, FrameReader, FrameWriter, Greeting};

use crate::rank_cores::RankCores;
use crate::survey::SurveyPart;
use bcs_core::job::{Cores, NodeId, Placement, Settings};
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
/// ... the machine page as this one,
pub const PAGE_FD: i32 = 4;
/// ... and the segment of the fabric as this one.
pub const SEGMENT_FD: i32 = 5;

/// What the launcher says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToManager {
    /// To a node manager of several machines, before all else: say how others reach you.
    Handshake(Box<HandshakeRequest>),
    /// Then: say of which of these, by party, you can map the shared memory.
    TestSharedMemory(Vec<Option<SharedMemoryKeys>>),
    /// Start the ranks of your nodes: the first message to a node manager of this machine.
    Start(Box<JobStart>),
    /// All ranks of the job have ended well: whoever strobes strikes what is still wanted, and then no more.
    Quiesce,
    /// Nothing moves any more: stop the NIC, write the dumps, exit.
    Finish,
    /// End the ranks: SIGTERM, and SIGKILL after [`JobStart::kill_delay`].
    Terminate,
    /// Pass a signal on to the ranks, which go on otherwise.
    Signal(UserSignal),
    /// With [`InputReader::All`] and [`InputReader::Through`]: what every rank, or that one, is to read next; nothing at the end. The next comes
    /// after [`FromManager::InputTaken`], so no more than one waits anywhere.
    Input(Vec<u8>),
    /// Say where your ranks are.
    QueryWaitStates(WaitStateQuery),
    /// Have a slice struck: a NIC holds what only a slice can move on, and has not asked for one.
    StrikeSlice,
    /// Say all that is known of them: the survey of this number.
    Survey(u32),
}

/// What a node manager needs to know before the machines of a job can be joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeRequest {
    /// The launcher's version: who is of another one cannot go on.
    pub version: String,
    /// The job's key. It is said here and nowhere else.
    pub key: JobKey,
    /// How datagrams are guarded.
    pub crypto: Crypto,
    /// The job, as far as 32 bits tell.
    pub epoch: u32,
    /// Nodes of the job.
    pub nodes: usize,
    /// Ranks of the job.
    pub ranks: usize,
    /// The address to be reached by, or the interface or network that it is of, if the user says it.
    pub interface: Option<String>,
    /// The ports from which to take one.
    pub ports: (u16, u16),
    /// Where the job runs.
    pub directory: PathBuf,
}

/// Where a node manager keeps shared memory open: words of
/// [`DescriptorLocation`](bcs_fabric::shm::DescriptorLocation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMemoryKeys {
    /// The machine page.
    pub page: [u64; 2],
    /// The segment of the fabric.
    pub segment: [u64; 2],
}

/// How a node manager is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeReply {
    /// Its socket.
    pub address: SocketAddr,
    /// What its socket holds, in bytes.
    pub receive_bytes: usize,
    /// Its shared memory.
    pub keeps: SharedMemoryKeys,
    /// Its process, as its machine knows it.
    pub pid: i32,
    /// Which machine it is on, as the kernel names a start of it.
    pub boot: String,
    /// The cores that it may use.
    pub cores: Cores,
}

/// How the machines of a job are joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultiHostStart {
    /// The nodes of each node manager.
    pub parties: Vec<Vec<NodeId>>,
    /// Which of them this one is.
    pub me: usize,
    /// The nodes of each machine, among which memory is shared.
    pub machines: Vec<Vec<NodeId>>,
    /// How many nodes are on this one's host, whether or not they share memory.
    pub on_this_host: usize,
    /// The others that share memory with the node manager of node 0.
    pub beside_first: Vec<usize>,
    /// Whose page and segment that is, if it is another node manager's.
    pub leader: Option<SharedMemoryKeys>,
    /// Where each is reached.
    pub addresses: Vec<SocketAddr>,
    /// What each socket holds, in bytes.
    pub receive_bytes: Vec<usize>,
    /// A node that is silent for so long is lost.
    pub node_timeout: Duration,
}

impl MultiHostStart {
    /// All nodes with which this node manager's share memory.
    #[must_use]
    pub fn shared_memory_nodes(&self) -> &[NodeId] {
        let is_this = |machine: &&Vec<NodeId>| machine.contains(&self.parties[self.me][0]);
        self.machines
            .iter()
            .find(is_this)
            .map_or(&[], Vec::as_slice)
    }
}

/// A look at the ranks of all node managers. Only one is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStateQuery {
    /// Which look.
    pub number: u32,
    /// Whether to look at the threads of the ranks, too, if nothing else moves.
    pub closely: bool,
}

/// A signal that means what the program wants it to mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserSignal {
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
}

/// A program of a job, and what belongs to it. A job has one, or several (MPMD): world ranks
/// follow their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// How many ranks run it.
    pub ranks: usize,
    /// The file to execute; absolute if `directory` is set.
    pub program: OsString,
    /// Its arguments, the name first.
    pub arguments: Vec<OsString>,
    /// Variables that are set beside those that the node manager inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs, if not where `bcs run` does.
    pub directory: Option<PathBuf>,
}

/// Who reads the standard input of `bcs run`. The others find it empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputReader {
    /// One rank.
    Rank(u32),
    /// One rank, through us.
    Through(u32),
    /// Every rank, through us.
    All,
    /// Nobody.
    None,
}

/// What a node manager needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStart {
    /// The name of this run, in dumps.
    pub job: String,
    /// Which ranks run where.
    pub placement: Placement,
    /// How the runtime is set.
    pub settings: Settings,
    /// The nodes that this node manager manages.
    pub nodes: Vec<NodeId>,
    /// Whether the Strobe Sender runs in this process.
    pub strobe_sender: bool,
    /// The cores of the job.
    pub cores: Cores,
    /// What the ranks run, in the order of the ranks.
    pub applications: Vec<Application>,
    /// Who reads the standard input.
    pub input: InputReader,
    /// Where ranks write instead of to us, if anywhere: `rank.N.out` and `rank.N.err`.
    pub output_dir: Option<PathBuf>,
    /// Which cores ranks may use.
    pub rank_cores: RankCores,
    /// From SIGTERM to SIGKILL, when ranks are told to end.
    pub kill_delay: Duration,
    /// Whether to say how many ranks have a slot ([`FromManager::Slots`]), and how messages from other machines came
    /// ([`FromManager::InboundBytes`]).
    pub verbose: bool,
    /// The directory for dumps of the MDS.
    pub mds: Option<PathBuf>,
    /// What is recorded, if there is one.
    pub record: Selection,
    /// Whether a heap in slots is preloaded into programs that it suits.
    pub preload: bool,
    /// How machines are joined, if there are several.
    pub far: Option<MultiHostStart>,
}

impl JobStart {
    /// The index of a rank's application.
    pub(crate) fn application_of(&self, rank: u32) -> usize {
        let mut after = 0;
        self.applications
            .iter()
            .position(|application| {
                after += application.ranks;
                (rank as usize) < after
            })
            .expect("applications have as many ranks as the job")
    }
}

/// What a node manager says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromManager {
    /// How it is reached: the answer to [`ToManager::Handshake`].
    HandshakeReply(Box<HandshakeReply>),
    /// Whose shared memory it can map, by party: the answer to [`ToManager::TestSharedMemory`].
    MappableMemory(Vec<bool>),
    /// No process of its ranks has called our MPI_Init so far, and one is of another MPI: once, when such a one has
    /// ended, or all have.
    ForeignMpi {
        /// The rank.
        rank: u32,
        /// Its node.
        node: NodeId,
        /// The library of the other MPI.
        library: String,
    },
    /// None of its ranks has called MPI_Init: before [`FromManager::AllDone`].
    NoneJoined,
    /// All its ranks have ended well.
    AllDone,
    /// Its Strobe Sender rests: the answer to [`ToManager::Quiesce`] of the one that has it.
    Quiesced,
    /// A rank failed (ScELA's PROCESS_FAIL).
    ProcessFail(RankFailure),
    /// A rank could not be started.
    NotStarted {
        /// The rank.
        rank: u32,
        /// Its node.
        node: NodeId,
        /// What failed.
        message: String,
    },
    /// A NIC found something that ends the job.
    NicFailed {
        /// The node.
        node: NodeId,
        /// The rank at fault, if it is one rank's.
        rank: Option<u32>,
        /// What was found and what to do.
        message: String,
    },
    /// All its ranks have taken the last [`ToManager::InputReader`].
    InputTaken,
    /// Where its ranks are, for [`ToManager::QueryWaitStates`].
    WaitStates(Box<WaitStateReport>),
    /// A part of what it was asked by [`ToManager::SurveyPart`].
    SurveyPart(Box<SurveyPart>),
    /// How a rank of a job that has ended well has ended: one for each, at the end.
    FinalReport(Box<RankFinalReport>),
    /// How many of its ranks have a slot: once, when all have said hello, or at the end.
    Slots(SlotReport),
    /// Others have fetched much from a rank that has no slot: once, of the first one.
    SlowCopyHint {
        /// The rank.
        rank: u32,
        /// Why it has none, where that is known.
        why: Option<String>,
    },
    /// Datagrams come to it that are not of the job: once, when it has begun.
    Strays(RejectedDatagrams),
    /// How many that were: at the end, if there were any.
    StraysInAll(RejectedDatagrams),
    /// How bytes of messages from other machines came to its ranks: at the end, if there were any.
    InboundBytes(InboundBytes),
    /// What was recorded of its ranks or nodes is lost, or some of it: why. The job has not failed by that.
    NoDump(String),
    /// This was all. A command that stands between may wait for the end of its own input, which is the launcher's to
    /// close.
    Goodbye,
    /// The node manager itself failed.
    ManagerFailed {
        /// What failed.
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
    /// What the program has left on it, if anything ([`Left::encode`](bcs_core::whereabouts::Left::encode)).
    pub left: Vec<u64>,
    /// What the rank said last, if it has finalized.
    pub last: Vec<u64>,
    /// The places of the addresses in what is left.
    pub code: Vec<(u64, CodePlace)>,
}

/// Whose heaps lie in slots ([`bcs_core::memory::slot`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotReport {
    /// Ranks that have called MPI_Init.
    pub received: usize,
    /// Those of them whose program has its heap in one.
    pub with_slot: usize,
    /// The first that has not, and why, where that is known.
    pub refused: Option<(u32, String)>,
}

/// What a look at the ranks of a node manager saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStateReport {
    /// Which look.
    pub look: u32,
    /// How many of its ranks have neither ended nor finalized.
    pub running: usize,
    /// How often all these ranks, and the OS threads of its NICs, have gone to sleep, if all sleep until
    /// somebody rings.
    pub naps: Option<u64>,
    /// What a NIC holds that only a slice can move on, though no slice is wanted: looked for if all sleep.
    pub forgotten: Option<String>,
    /// What other threads these ranks have.
    pub threads: OtherThreads,
    /// Those of the ranks that are blocked in a call.
    pub blocked: Vec<BlockedRankReport>,
    /// Ranks that have finalized or ended; only after a close look.
    pub gone: Vec<DepartedRank>,
}

/// The threads of a node manager's ranks beside those that sleep in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OtherThreads {
    /// At least one runs, or a rank is stopped, or nobody has looked.
    #[default]
    Running,
    /// There are some, and all sleep. The number changes when one of them has run.
    Asleep(u64),
    /// There are none.
    None,
}

/// A rank that is blocked in a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedRankReport {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// The same only as long as it is in the same call.
    pub number: u64,
    /// Where it says it is ([`WaitState::encode`](bcs_core::whereabouts::WaitState::encode)).
    pub words: Vec<u64>,
    /// The place of its call, if that is an address.
    pub code: Option<CodePlace>,
    /// The same of the places of its titles.
    pub made_at: Vec<Option<CodePlace>>,
}

/// A rank from which nothing comes any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRank {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// Whether it has called MPI_Finalize; otherwise its process has ended without MPI_Init.
    pub finalized: bool,
    /// What it said last, if it has finalized.
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
    /// What it did.
    pub what: RankFailureKind,
}

/// What a failing rank did.
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
    /// Was received, and left with exit code 0 but without MPI_Finalize.
    NotFinalized,
    /// Called MPI_Abort.
    Aborted {
        /// With this code.
        code: i32,
        /// Why, if the library called it.
        reason: String,
        /// The place of the call, if the program says it by an address.
        place: Option<CodePlace>,
    },
    /// Said something to its node manager that makes no sense.
    MalformedMessage(String),
}

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}
