//! The tool information interface (MPI 5.0, 15.3): what of this library a tool may look at, and how it names that.
//!
//! | module | is |
//! |---|---|
//! | [`refusal`] | the codes with which functions refuse |
//! | [`interface`] | who uses the interface; one call at a time |
//! | [`places`] | where a call puts results: pointers that may be null, strings with their lengths |
//! | [`enumerations`], [`form`] | values: which there are, and how they lie in the tool's memory |
//! | [`categories`] | what variables are about |
//! | [`control`] | control variables: how the job and the library are set |
//! | [`performance`] | performance variables: what the rank can say of itself |
//! | [`counting`], [`binding`], [`experiments`] | what a session makes of these |
//! | [`clock`] | the one source of time |
//!
//! A variable is a line of a table (`control.rs`, `performance.rs`); everything else follows from the tables. They are the
//! same in every process of a version of this library, whether `MPI_Init` was called or not, so an index never changes.
//!
//! **Before `MPI_Init`** a rank does not know how its job is set. Its settings are there, and reading one answers
//! `MPI_T_ERR_NOT_ACCESSIBLE`: any value could be taken for the setting. Performance variables read as 0, which is true:
//! nothing has been done. After `MPI_Finalize` both can be read on.
//!
//! **Nothing can be set.** The settings of a job are those of all its ranks and NICs, and are made when it begins. So the
//! scope of a control variable is `MPI_T_SCOPE_READONLY`, or `MPI_T_SCOPE_CONSTANT` if it is a bound of the library, and
//! writing answers `MPI_T_ERR_CVAR_SET_NEVER`.
//!
//! **Counting is a session's own.** Counters, aggregates and timers of the rank only ever grow, and nobody resets them. A
//! handle notes where they stood when it was started: so each session starts, stops, writes and resets for itself. What
//! shows a state (levels, sizes) is continuous and cannot be written.
//!
//! **What is not recorded** is known by its code: a variable of the recorder answers `MPI_T_ERR_NOT_ACCESSIBLE` in a job
//! without `--mds`, and where `--mds-record` leaves it out. So does every variable of the rank in a forked child.
//!
//! **Events**: there are none. Functions about them find no index, no name and no handle.

pub mod binding;
pub mod categories;
pub mod clock;
pub mod control;
pub mod counting;
pub mod enumerations;
pub mod form;
pub mod interface;
pub mod performance;
pub mod places;
pub mod refusal;
pub mod sessions;

pub use refusal::{Outcome, Refusal};
