//! The shared-memory fabric: the nodes of one machine.
//!
//! Global memory of all nodes lies in one segment, which only the NICs map. A PUT is a copy, and is
//! complete when the call returns. One [`Sequencer`], which the OS thread of the Strobe Sender
//! runs, decides all Compare-And-Writes. So they have a total order without a lock that could die
//! with its holder. If the sequencer dies, so does the job.
//!
//! Where one OS thread works with all ports of the job, no sequencer is needed: the thread decides
//! itself ([`ColocatedPorts`]).
//!
//! The sequencer writes the variable on all nodes itself before it gives the verdict: with one
//! writer the order is the same on every node. A log that every node applies would have to be
//! bounded by its slowest reader, without any gain.

mod bells;
mod colocated;
mod cross_process;
mod descriptor_location;
mod lent_memory;
mod port;
mod rank_memory_access;
mod segment;
mod sequencer;
mod slot_windows;
mod write_log;

pub use bells::PendingBells;
pub use colocated::ColocatedPorts;
pub use cross_process::{ProcessMemoryAccess, memory_file, probe_process_memory};
pub use descriptor_location::DescriptorLocation;
pub use lent_memory::LentMemory;
pub use port::ShmPort;
pub use rank_memory_access::RankMemoryAccess;
pub(crate) use segment::RawRequest;
pub use segment::Segment;
pub use sequencer::Sequencer;
pub use write_log::{WriteLog, WriteLogEntry};
