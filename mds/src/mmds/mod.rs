//! The Main MDS: what one rank does, recorded inside the rank by the MPI library (paper, section 5.1).
//!
//! ```text
//!   rank                                    node manager
//!   Recorder ──► words of a shared file ──► read ──► dump::RankDump
//! ```
//!
//! The recorder adds to memory that the rank shares with its node manager ([`Layout`]), which reads it when the rank is
//! over, whatever became of it: a rank writes no dump and has no signal handler.

mod event;
mod glance;
mod histogram;
mod layout;
mod memory;
mod primitive;
mod reader;
mod recorder;
mod so_far;
#[cfg(test)]
mod tests;

pub use event::{Begun, Called, Message, Site};
pub use glance::{Glance, glance};
pub use layout::Layout;
pub use memory::{Alleged, Memory};
pub use primitive::Primitive;
pub use reader::{OTHER_PLACES, read};
pub use recorder::Recorder;
pub use so_far::{Times, Traffic};
