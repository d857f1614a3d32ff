//! The Monitoring and Debugging System (MDS), after section 5 of the BCS-MPI paper.
//!
//! ```text
//!   rank (MPI library)          node (NIC)                   machine manager
//!   mmds::Recorder (a crate)    emds::SliceRecorder (SR)      emds::StrobeRecorder (SS)
//!          │ mmds::read                │ finish                     │ finish
//!          ▼                           ▼                            ▼
//!   dump::RankDump              dump::NodeDump ◄──────────── dump::StrobeDump
//!          │ write_rank                │ write_node
//!          ▼                           ▼
//!   rank-00003.json, ...        node-0000.json, ...           run.json
//!          └───────────────────────────┴── read_dir ────────────────┘
//!                                             ▼
//!                              the crate mds-reports
//! ```
//!
//! The recorders only add to memory that they allocated when they were made, so monitoring costs a
//! program almost nothing. Everything else happens once, after the program has ended. This crate
//! has no clock: time is always an argument, in nanoseconds since any fixed moment.

pub mod dump;
pub mod emds;
pub mod mmds;

mod distribution;

pub use ::mmds::{Selection, selection};
pub use distribution::Distribution;
