//! What the recorders of ranks hold, read by their node managers: the recorder itself is the crate `mmds`, whose
//! names are here, too.
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
