//! What recorders leave behind: one JSON file for every rank and every node.
//!
//! A file is one JSON object. Its first members are `"format"` and `"version"`; times are in nanoseconds and
//! sizes in bytes, as the names of the members say. A distribution is `{"count", "min", "average", "max",
//! "total", "histogram"}`, its histogram a list of `[figure, count]` in rising order, where `figure`
//! is the smallest one of a bucket that is less than 1 % wide. So a line of `jq` or Python reads all of it:
//!
//! ```text
//! jq '.primitives.MPI_Isend.latency_ns.average' rank-00003.json
//! ```

mod distribution;
mod error;
mod file;
mod node;
mod rank;
mod rows;
mod run;

pub use distribution::DistributionDump;
pub use error::DumpError;
pub use file::{Dumps, read_dir, read_node, read_rank, write_node, write_rank};
pub use node::{NodeDump, StrobeDump};
pub use rank::{CommunicatorDump, PeerDump, PrimitiveDump, RankDump, Road, SiteDump};
pub use rows::{CallRow, Column, MessageRow, NONE, NearRow, Row, SliceRow, StrobeRow};
pub use run::RunDump;
