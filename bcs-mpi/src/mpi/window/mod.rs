//! One-sided communication (MPI 5.0, chapter 12): windows, and operations on the memory that other
//! ranks have in them (docs/one-sided.md).
//!
//! | module | is |
//! |---|---|
//! | `queue_lock` | the lock at a target, as a state machine |
//! | `overtake` | the lock for a rank that holds others |
//! | `memory`, `control`, `remote_words` | memory that a window allocates; the words by which ranks synchronise |
//! | `state`, `epoch`, `outstanding` | a window; which epochs are open; what is under way |
//! | `create`, `dynamic`, `shared` | how windows come and go; attached memory; memory that all ranks have mapped |
//! | `active`, `passive`, `locking` | fences and groups; locks and flushes; how a lock is taken |
//! | `operands`, `operations`, `gapped`, `requests` | data on both sides; puts, gets and accumulates; those of pairs with gaps; those with requests |
//! | `direct` | operations that end at once, by loads and stores |
//! | `races`, `race_search` | accesses that nothing orders, in a checked job; how an origin looks for them |
//! | `properties` | names and hints |
//!
//! All synchronisation is built on one-sided operations on *control words* in each rank's memory,
//! and on waits for own words. So it is the same wherever a rank is.

mod active;
mod checked_operation;
mod control;
mod control_block;
mod create;
mod direct;
mod direct_targets;
mod dynamic;
mod epoch;
mod epoch_state;
mod gapped;
mod locking;
mod memory;
mod operands;
mod operations;
mod outstanding;
mod overtake;
mod passive;
mod posted_operations;
mod properties;
mod queue_lock;
mod race_search;
mod races;
mod remote_words;
mod requests;
mod shared;
mod state;

pub use operands::TargetData;
pub use operations::AccumulateOp;
pub use properties::DEFAULT_HINTS;
pub use queue_lock::LockKind;
pub use shared::SharedMemory;
pub use state::{Window, WindowFlavor};

/// Assertions of a call, as the standard's ABI has them (MPI 5.0, 12.5.5).
pub type Assertions = i32;

/// `MPI_MODE_NOCHECK`: the program knows that no other rank is in the way.
pub const NOCHECK: Assertions = 1024;
/// `MPI_MODE_NOSTORE`: this rank has not written its memory by stores.
pub const NOSTORE: Assertions = 8192;
/// `MPI_MODE_NOPUT`: no operation writes this rank's memory before the next call.
pub const NOPUT: Assertions = 4096;
/// `MPI_MODE_NOPRECEDE`: a fence ends no operations.
pub const NOPRECEDE: Assertions = 2048;
/// `MPI_MODE_NOSUCCEED`: a fence begins no operations.
pub const NOSUCCEED: Assertions = 16384;
