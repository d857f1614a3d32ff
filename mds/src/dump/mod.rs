//! The files that recorders leave for every rank, every node, and the run.
//!
//! | file | holds |
//! |---|---|
//! | `run.json` | [`RunDump`]: the command, the settings, the times |
//! | `rank-00003.json`, `.hlog`, `.calls`, `.messages`, `.near` | [`RankDump`], its histograms, its tables |
//! | `node-0000.json`, `.hlog`, `.slices`, `.strobes` | [`NodeDump`], its histograms, its tables |
//!
//! `docs/dumps.md` describes the formats for those who read them with other programs. A line of
//! `jq` or Python reads all of them:
//!
//! ```text
//! jq '.primitives.MPI_Isend.latency_ns.average' rank-00003.json
//! ```
//!
//! Each file is written whole or not at all. The readers are total functions, strict for each file
//! and tolerant for the directory: files that cannot be read are left out and reported.

mod atomic_file;
mod columns;
mod directory;
mod distribution;
mod error;
mod file;
mod histograms;
mod label;
mod limits;
mod node;
mod rank;
mod rows;
mod run;

pub use ::mmds::MessageTransport;
pub use directory::{RunDumps, read_dir, read_summaries, read_tables};
pub use distribution::DistributionDump;
pub use error::DumpError;
pub use file::{read_run, write_node, write_rank, write_run};
pub use node::{NodeDump, StrobeDump};
pub use rank::{CommunicatorDump, PeerDump, PrimitiveDump, RankDump, SiteDump, UsageDump};
pub use rows::{CallRow, Column, LocalSliceRow, MessageRow, NONE, Row, SliceRow, StrobeRow};
pub use run::RunDump;
