//! The Main MDS: what one rank does, recorded inside the rank by the MPI library (paper, section 5.1).
//!
//! ```text
//!   rank                                    node manager
//!   Recorder ──► words of a shared file ──► mds::mmds::read ──► mds::dump::RankDump
//! ```
//!
//! The recorder adds to memory that the rank shares with its node manager ([`RecorderLayout`]), which reads it when the rank is
//! over, whatever became of it: a rank writes no dump and has no signal handler. So this is all of the monitoring that a
//! program is linked with; who reads, reports and plots is the crate `mds`.
//!
//! [`selection`] says what is recorded, by ranks and by NICs.

pub mod event;
pub mod histogram;
pub mod layout;
pub mod limits;
pub mod selection;

mod memory;
mod primitive;
mod recorder;
mod totals;

pub use event::{CallInfo, CallOrigin, MessageInfo, MessageTransport, Site};
pub use layout::RecorderLayout;
pub use memory::{UncheckedWords, WordMemory};
pub use primitive::Primitive;
pub use recorder::Recorder;
pub use selection::Selection;
pub use totals::{RankTimes, RankTraffic};
