//! Dumps for other programs: as one JSON object, as files of comma-separated values, as stacks for
//! flame graphs, or, with the feature `parquet`, their tables as files of Apache Parquet. Traces
//! are in [`trace`](crate::trace).

mod csv;
mod folded;
mod json;
mod paraver;
#[cfg(feature = "parquet")]
mod parquet;
mod tables;

#[cfg(feature = "parquet")]
pub use self::parquet::write_parquet;
pub use csv::write_csv;
pub use folded::write_folded;
pub(crate) use json::summary;
pub use json::{report, write_json};
pub use paraver::write_paraver;
