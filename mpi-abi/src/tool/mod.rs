//! The tool information interface (MPI 5.0, 15.3): the parts of this library that a tool may read,
//! and their names.
//!
//! | module | is |
//! |---|---|
//! | [`refusal`] | the error codes of functions |
//! | [`interface`] | the initialisation of the interface; one call at a time |
//! | [`places`] | the places of results: pointers that may be null, strings with their lengths |
//! | [`enumerations`], [`form`] | the possible values, and their representation in the tool's memory |
//! | [`categories`] | the categories of variables |
//! | [`control`] | control variables: the settings of the job and the library |
//! | [`performance`] | performance variables: the figures of the rank |
//! | [`counting`], [`binding`], [`sessions`] | a session's use of these |
//! | [`clock`] | the one source of time |
//!
//! A variable is a line of a table (`control.rs`, `performance.rs`); everything else follows from
//! the tables. They are the same in every process of a version of this library, whether `MPI_Init`
//! was called or not, so an index never changes.
//!
//! **Before `MPI_Init`** a rank does not know the settings of its job. The variables exist, but
//! reading one returns `MPI_T_ERR_NOT_ACCESSIBLE`: a tool could take any value for the setting.
//! Performance variables read as 0, which is true: nothing has been done. After `MPI_Finalize` both
//! can still be read.
//!
//! **Nothing can be set.** The settings of a job apply to all its ranks and NICs, and are fixed
//! when it begins. So the scope of a control variable is `MPI_T_SCOPE_READONLY`, or
//! `MPI_T_SCOPE_CONSTANT` if it is a bound of the library, and writing returns
//! `MPI_T_ERR_CVAR_SET_NEVER`.
//!
//! **Each session counts for itself.** Counters, aggregates and timers of the rank only grow, and
//! are never reset. A handle notes their values when it is started. So each session starts, stops,
//! writes and resets independently. Variables that show a state (levels, sizes) are continuous and
//! cannot be written.
//!
//! **Variables that are not recorded** return a code: a variable of the recorder returns
//! `MPI_T_ERR_NOT_ACCESSIBLE` in a job without `--mds`, and where `--mds-record` leaves it out. So
//! does every variable of the rank in a forked child.
//!
//! **Events**: there are none. Functions on events find no index, no name and no handle.

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

pub use refusal::{Refusal, ToolOutcome};
