//! The report about a run.

use super::fault::StruckFaults;
use bcs_core::job::{IntranodeTransport, StrobeMode};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// All ranks have finalised.
    Finalized,
    /// The job was aborted for this reason, which its user got: not all ranks could go on.
    Aborted(String),
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct SimulatedJobReport {
    /// Nodes.
    pub nodes: usize,
    /// Ranks.
    pub ranks: usize,
    /// The strobe.
    pub strobe: StrobeMode,
    /// The transport within a node.
    pub intranode: IntranodeTransport,
    /// Slices struck.
    pub slices: u64,
    /// Steps of threads.
    pub steps: u64,
    /// Virtual time in nanoseconds.
    pub virtual_ns: u64,
    /// Parts of the program, by name.
    pub plan: String,
    /// Which faults struck.
    pub struck: StruckFaults,
    /// How it ended.
    pub end: JobEnd,
    /// A hash of all events, in order.
    pub trace_hash: u64,
    /// The violation that was found, if any.
    pub objection: Option<String>,
}
