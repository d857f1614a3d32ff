//! The Main MDS: records one rank's activity inside the rank, in the MPI library (paper, section
//! 5.1).
//!
//! ```text
//!   rank                                    node manager
//!   Recorder ──► words of a shared file ──► mds::mmds::read ──► mds::dump::RankDump
//! ```
//!
//! The recorder adds to memory that the rank shares with its node manager ([`RecorderLayout`]). The
//! node manager reads it after the rank has ended, in whatever way: a rank writes no dump and has
//! no signal handler. A program is linked with this part of the monitoring only. The crate `mds`
//! reads, reports and plots.
//!
//! [`selection`] defines what ranks and NICs record.

pub mod event;
pub mod histogram;
pub mod layout;
pub mod limits;
pub mod selection;

mod memory;
mod primitive;
mod recorder;
mod thread_usage;
mod totals;
mod usage;

pub use event::{CallInfo, CallOrigin, MessageInfo, MessageTransport, Site};
pub use layout::RecorderLayout;
pub use memory::{UncheckedWords, WordMemory};
pub use primitive::Primitive;
pub use recorder::Recorder;
pub use selection::Selection;
pub use thread_usage::ThreadUsage;
pub use totals::{RankTimes, RankTraffic};
