//! Reading the recorders of ranks, in their node managers. The crate `mmds` is the recorder itself;
//! its names are re-exported here.
//!
//! ```text
//!   rank                                    node manager
//!   Recorder ──► words of a shared file ──► read ──► dump::RankDump
//! ```

mod distribution;
mod reader;
mod snapshot;
#[cfg(test)]
mod tests;

pub use ::mmds::{
    CallInfo, CallOrigin, MessageInfo, Primitive, RankTimes, RankTraffic, Recorder, RecorderLayout,
    Site, UncheckedWords, WordMemory,
};
pub use reader::{OTHER_PLACES, read};
pub use snapshot::{RecorderSnapshot, take_snapshot};
