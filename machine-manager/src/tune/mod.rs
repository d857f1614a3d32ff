//! `bcs tune`: finds the settings of the slice with which a program runs fastest.
//!
//! | file | is |
//! |---|---|
//! | `setting.rs` | a strobe mode, a slice length and an eager limit; ranges of them |
//! | `race.rs` | the search: which setting runs next, which is out, what is known |
//! | `statistics.rs` | medians and ranks of run times |
//! | `trial.rs` | a run: a process, its time, its last words |
//! | `reasons.rs` | what dumps show about the choice |
//! | `results.rs` | all results, as JSON |
//! | `table.rs`, `picture.rs` | the same as table with a chart in it, and drawn |
//! | `verdict.rs` | the same in words |
//! | `file.rs` | the choice, written into `bcs.toml` |

pub mod file;
pub mod picture;
pub mod race;
pub mod reasons;
pub mod results;
pub mod setting;
pub mod statistics;
pub mod table;
pub mod trial;
pub mod verdict;
