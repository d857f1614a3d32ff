//! Dumps for other programs: all of it as one JSON object, or as files of comma-separated values. Traces are in
//! [`trace`](crate::trace).

mod csv;
mod json;

pub use csv::write_csv;
pub use json::{report, write_json};
