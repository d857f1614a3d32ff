//! `bcs tune`: which settings of the slice a program runs fastest with.
//!
//! | file | is |
//! |---|---|
//! | `setting.rs` | a strobe mode, a slice length and an eager limit; ranges of them |
//! | `race.rs` | the search: who runs next, who is out, what is known |
//! | `statistics.rs` | medians and ranks of run times |
//! | `job.rs` | the command line of a run, from what `bcs tune` was given |
//! | `trial.rs` | a run: a process, its time, its last words |
//! | `reasons.rs` | what dumps say of the choice |
//! | `results.rs` | all that was found, as JSON |
//! | `table.rs`, `picture.rs` | the same as table with a chart in it, and drawn |
//! | `verdict.rs` | the same in words |
//! | `file.rs` | the choice, written into `bcs.toml` |

pub mod file;
pub mod picture;
pub mod race;
pub mod reasons;
pub mod results;
pub mod run_arguments;
pub mod setting;
pub mod statistics;
pub mod table;
pub mod trial;
pub mod verdict;
