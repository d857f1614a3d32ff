//! A job: the placement of ranks, the settings of the runtime, and the handshake of a rank.

mod bad_job;
mod cores;
pub mod handshake;
mod node;
mod phase;
mod placement;
mod settings;
mod spawning;

pub use bad_job::{BadJob, in_units};
pub use cores::Cores;
pub use node::{NodeId, NodeSet};
pub use phase::{Microphase, NicThreadId};
pub use placement::{NodeRanks, Placement};

pub use settings::{
    CollectiveMode, CopyMethod, FoldingMode, IntranodeTransport, NicThreading, Settings, StrobeMode,
};
pub use spawning::{RankAnswer, RankRequest, SpawnCommand, SpawnedGroup};
