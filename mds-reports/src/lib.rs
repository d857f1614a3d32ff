//! Reports of the Monitoring and Debugging System (MDS), after section 5 of the BCS-MPI paper: the
//! figures of a run, computed from its dumps, and texts, pages and traces that show them.
//!
//! ```text
//!   mds::dump::read_dir ──►  figures ──►  diagnosis, report, plot, page, trace, export
//! ```
//!
//! The crate `mds` records and writes dumps, in every node manager. This one reads them, after the
//! program has ended, in the `bcs` command alone. So a change of a report rebuilds nothing that
//! takes part in a job.

pub mod diagnosis;
pub mod export;
pub mod figures;
pub mod page;
pub mod plot;
pub mod report;
pub mod trace;

mod words;
