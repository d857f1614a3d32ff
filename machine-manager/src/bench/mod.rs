//! The output of `bcs bench`: a table and a picture of the rows that the program `bench` measured.

mod picture;
mod table;

pub use picture::{BenchPlotError, picture};
pub use table::table;
