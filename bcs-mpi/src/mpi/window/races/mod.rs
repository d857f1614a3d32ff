//! Races of a window in a checked job (`bcs run --checked`): accesses of the same bytes, of which
//! one writes, that nothing orders (MPI 5.0, 12.7).
//!
//! ```text
//!  origin ── 1. adds its access ──────────► log in the memory of the target
//!         ◄─ 2. reads the accesses there ──
//!            3. compares them with its own ─► MPI_ERR_RMA_CONFLICT
//! ```
//!
//! Each rank adds before it reads. So of two ranks that do this at the same time, at least one sees
//! the access of the other. The log is changed by one-sided operations, as control words are, so
//! the target takes no part and nothing depends on where ranks are.
//!
//! **What is ordered** ([`access`], [`crate::checked`], `order.rs`). Accesses of two fence epochs,
//! or of two exposure epochs of a target, are ordered. Accesses under locks are ordered if a call
//! in which all ranks of the window wait is between them, or if one of the locks is exclusive. If
//! the earlier origin has made another call since, by which it may have told others that it has
//! come so far (it has sent a message, say), the accesses may be ordered, and no error is told. The
//! text of an error is the same whatever the timing was, except that either of the two origins may
//! find it.
//!
//! **Own memory.** If the buffer of a call lies in the memory of the rank's own window, the call is
//! an access to it, and compared as those of other ranks. Locks order it only if the rank has
//! locked itself. The buffers of an operation at its origin are in use until the program has waited
//! for it, as those of messages are ([`crate::mpi`], `buffer_claims`).
//!
//! **Not found.** Loads and stores of the program are not seen. A log holds the last
//! [`access_log::ENTRIES`] accesses of a target, and the first 16 pieces of each.

mod access;
mod access_log;
mod detector;

pub(super) use access::{Access, AccessEpoch, AccessKind, Relation, UNDER_SHARED_LOCK};
pub(super) use access_log::{LogCopy, added_at, entry_at};
pub(super) use detector::RaceDetector;
