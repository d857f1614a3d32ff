//! What the recorders of ranks hold, read by their node managers: the recorder itself is the crate `mmds`, whose
//! names are here, too.
//!
//! ```text
//!   rank                                    node manager
//!   Recorder ──► words of a shared file ──► read ──► dump::RankDump
//! ```

mod distribution;
mod glance;
mod reader;
#[cfg(test)]
mod tests;

pub use ::mmds::{
    Alleged, Begun, Called, Layout, Memory, Message, Primitive, Recorder, Site, Times, Traffic,
};
pub use glance::{Glance, glance};
pub use reader::{OTHER_PLACES, read};
