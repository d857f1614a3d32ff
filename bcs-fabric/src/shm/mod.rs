//! The shared-memory fabric: the nodes of one machine.
//!
//! Global memory of all nodes lies in one segment, mapped by the NICs only. A PUT is a copy, and
//! is complete when the call returns. Compare-And-Writes are decided by one [`Sequencer`], which
//! the OS thread of the Strobe Sender runs: so they have a total order without a lock that could
//! die with its holder. If the sequencer dies, so does the job.
//!
//! Where one OS thread works with all ports of the job, there is nobody to ask: it decides itself ([`Colocated`]).
//!
//! The sequencer writes the variable on all nodes itself before it gives the verdict: with one writer
//! the order is the same on every node. A log that every node applies would have to be bounded by its
//! slowest reader, for nothing.

mod bells;
mod colocated;
mod deposit;
mod ledger;
mod lent;
mod other_process;
mod port;
mod process_memory;
mod segment;
mod sequencer;
mod windows;

pub use bells::Bells;
pub use colocated::Colocated;
pub use deposit::Deposit;
pub use ledger::{Entry, Ledger};
pub use lent::Lent;
pub use other_process::{ProcessMemory, memory_file, probe_process_memory};
pub use port::ShmPort;
pub use process_memory::NodeMemory;
pub(crate) use segment::RawRequest;
pub use segment::Segment;
pub use sequencer::Sequencer;
