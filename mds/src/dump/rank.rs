//! The dump of a rank.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use ::mmds::MessageTransport;
use ::mmds::Primitive;

use super::{CallRow, DistributionDump, LocalSliceRow, MessageRow};

/// The Main MDS of one rank (Table 5.3): `rank-00003.json`, format `bcs-mds-rank`, and its tables.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RankDump {
    /// The name of the run, the same in all its dumps, so that readers notice two runs in one
    /// directory. A recorder leaves it empty: the writer of the dump sets it.
    #[serde(default)]
    pub job: String,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its node.
    pub node: u32,
    /// The name of the node's host; empty if it is not known.
    #[serde(default)]
    pub host: String,
    /// The cores of that host that the job may use; 0 if that is not known.
    #[serde(default)]
    pub host_cores: u64,
    /// When the recorder began, by the clock of all dumps of the run.
    pub began_ns: u64,
    /// From the start of the recorder to its end.
    pub run_ns: u64,
    /// Whether the rank has finalized. If not, it was killed or ended without, and the record ends
    /// there.
    pub finalized: bool,
    /// How the kernel treated the rank while it computed; absent if that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageDump>,
    /// The primitives that were called.
    pub primitives: BTreeMap<Primitive, PrimitiveDump>,
    /// Times between two blocking primitives.
    pub computation_granularity_ns: DistributionDump,
    /// Times inside blocking primitives.
    pub communication_overhead_ns: DistributionDump,
    /// The places from which MPI was called. The first one is for calls for which there was no
    /// room.
    pub sites: Vec<SiteDump>,
    /// The ranks that this one sent to or received from.
    pub peers: Vec<PeerDump>,
    /// The communicators that were used.
    pub communicators: Vec<CommunicatorDump>,
    /// Calls that were made before those in `calls`, which are the last ones.
    pub calls_dropped: u64,
    /// Messages before those in `messages`.
    pub messages_dropped: u64,
    /// Slices before those in `near`.
    pub near_dropped: u64,
    /// The last calls, in the order in which they began.
    #[serde(skip)]
    pub calls: Vec<CallRow>,
    /// The last messages, in the order in which they were complete.
    #[serde(skip)]
    pub messages: Vec<MessageRow>,
    /// Traffic by SMARTMAP, by slices.
    #[serde(skip)]
    pub near: Vec<LocalSliceRow>,
}

/// The figures of one primitive.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PrimitiveDump {
    /// From the call to its completion, also for non-blocking ones.
    pub latency_ns: DistributionDump,
    /// The data moved by each call; absent for primitives that move no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<DistributionDump>,
}

/// Calls of one primitive from one place in the program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SiteDump {
    /// `file:line:column` of a Rust program.
    pub place: String,
    /// Which call; absent for the site of calls for which there was no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primitive: Option<Primitive>,
    /// Times in the call itself, in a histogram that is coarser than those of primitives.
    pub time_ns: DistributionDump,
    /// All data of these calls.
    pub bytes: u64,
}

/// Messages between this rank and another one, by one transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerDump {
    /// The other rank, in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The transport.
    pub road: MessageTransport,
    /// Messages to it.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages from it.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
}

/// The use of one communicator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommunicatorDump {
    /// Its context id; 0 is `MPI_COMM_WORLD`.
    pub context: u64,
    /// Messages that were sent with it.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages that were received with it.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Collectives.
    pub collectives: u64,
    /// Their bytes, as this rank gave or got them.
    pub collective_bytes: u64,
}

/// How the kernel treated a rank's thread while it computed, by readings at most a millisecond
/// apart at its blocking calls. The three parts add up to `computation_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageDump {
    /// The computation that was between readings.
    pub computation_ns: u64,
    /// The part on a core.
    pub cpu_ns: u64,
    /// The part in which the thread was ready, and others had the core.
    pub preempted_ns: u64,
    /// The part in which the thread slept: it waited for a file, a lock, or a time.
    pub blocked_ns: u64,
    /// How often the kernel took the core from the thread.
    pub preemptions: u64,
    /// Bytes that the process read and wrote by system calls (`/proc/self/io`).
    pub file_bytes: u64,
    /// The time of a loop that is the same in all ranks: it tells a slow core. 0 if the rank did
    /// not finalize.
    pub core_loop_ns: u64,
}
