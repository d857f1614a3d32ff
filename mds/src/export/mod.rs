//! Dumps for other programs: all of it as one JSON object, as files of comma-separated values, or its tables as files of
//! Apache Parquet, with the feature `parquet`. Traces are in [`trace`](crate::trace).

mod csv;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod tables;

#[cfg(feature = "parquet")]
pub use self::parquet::write_parquet;
pub use csv::write_csv;
pub(crate) use json::summary;
pub use json::{report, write_json};
