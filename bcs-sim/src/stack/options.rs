//! The options of a run.

use super::fault::FaultSet;
use bcs_nic::simulator::fabric::FabricKind;

/// The configuration of one run.
#[derive(Clone, Debug)]
pub struct SimulatedJobOptions {
    /// The seed, which fixes everything.
    pub seed: u64,
    /// The fabric between its nodes.
    pub fabric: FabricKind,
    /// Kinds of faults that may strike.
    pub faults: FaultSet,
    /// The program of its ranks.
    pub program: SimulatedProgram,
}

/// The kind of program that the ranks of a run execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedProgram {
    /// A program drawn from the seed.
    Drawn,
    /// A check that the drawn transports keep the rules of transports.
    Rules,
}
