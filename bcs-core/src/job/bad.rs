//! Why a job cannot run.

/// A job that cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadJob {
    /// No rank.
    #[error("a job has at least one rank, but 0 were asked for: give -n a number from 1")]
    NoRanks,
    /// No node.
    #[error("a job has at least one node, but 0 were asked for: give --nodes a number from 1")]
    NoNodes,
    /// No rank on a node.
    #[error("a node takes at least one rank, but 0 were asked for: give --ppn a number from 1")]
    NoRanksOnNode,
    /// Nodes would be empty.
    #[error("{nodes} nodes cannot share {ranks} ranks: give at most as many nodes as ranks")]
    EmptyNodes {
        /// Nodes asked for.
        nodes: usize,
        /// Ranks asked for.
        ranks: usize,
    },
    /// Above a limit.
    #[error("{asked} {what} are more than the {limit} this runtime is built for: ask for fewer")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many were asked for.
        asked: usize,
        /// The limit.
        limit: usize,
    },
    /// A setting outside its range.
    #[error("the {what} of {value} {unit} is out of range: choose one from {min} to {max} {unit}")]
    OutOfRange {
        /// The setting.
        what: &'static str,
        /// The value asked for.
        value: u64,
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
        /// Of what.
        unit: &'static str,
    },
}
