//! The options of one run, and its report.

use super::checkers::CheckerViolation;
use super::fabric::FabricKind;
use crate::bug::PlantedBug;
use bcs_core::job::StrobeMode;
use bcs_fabric::sim::FaultCounts;

/// The kinds of faults that a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultKinds {
    /// Transfers fail whole.
    pub lose: bool,
    /// Transfers are late.
    pub delay: bool,
    /// Transfers of different pairs overtake each other.
    pub reorder: bool,
    /// Nodes are slow.
    pub slow: bool,
    /// Nodes die.
    pub crash: bool,
    /// Memory that ranks name is not there.
    pub memory: bool,
    /// Datagrams arrive twice.
    pub repeat: bool,
    /// No datagram arrives for a while.
    pub cut: bool,
}

impl FaultKinds {
    /// All kinds: each run has each with probability one half.
    pub const ALL: Self = Self {
        lose: true,
        delay: true,
        reorder: true,
        slow: true,
        crash: true,
        memory: true,
        repeat: true,
        cut: true,
    };
    /// No faults.
    pub const NONE: Self = Self {
        lose: false,
        delay: false,
        reorder: false,
        slow: false,
        crash: false,
        memory: false,
        repeat: false,
        cut: false,
    };
}

/// The configuration of one run.
#[derive(Clone, Debug)]
pub struct SimulatorOptions {
    /// The seed, which fixes everything.
    pub seed: u64,
    /// The fabric between its nodes.
    pub fabric: FabricKind,
    /// Nodes; `None` lets the seed choose 2 to 16.
    pub nodes: Option<usize>,
    /// Kinds of faults.
    pub faults: FaultKinds,
    /// A planted bug.
    pub bug: Option<PlantedBug>,
    /// The strobe; `None` lets the seed choose.
    pub strobe: Option<StrobeMode>,
}

impl SimulatorOptions {
    /// Creates a run of this seed with every kind of fault.
    #[must_use]
    pub fn seed(seed: u64) -> Self {
        Self {
            seed,
            fabric: FabricKind::Sim,
            nodes: None,
            faults: FaultKinds::ALL,
            bug: None,
            strobe: None,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct SimulatorReport {
    /// Nodes.
    pub nodes: usize,
    /// Ranks.
    pub ranks: usize,
    /// The strobe.
    pub strobe: StrobeMode,
    /// Slices struck.
    pub slices: u64,
    /// Messages and collectives checked.
    pub operations: u64,
    /// Virtual time in nanoseconds.
    pub virtual_ns: u64,
    /// Faults injected.
    pub faults: FaultCounts,
    /// How often a rank got an error because memory was not there.
    pub memory_faults: u64,
    /// A hash of all events, in order.
    pub trace_hash: u64,
    /// The violation that a checker found, if any.
    pub objection: Option<CheckerViolation>,
}
