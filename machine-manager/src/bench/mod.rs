//! What `bcs bench` makes of the rows that the program `bench` measured: a table and a picture.

mod picture;
mod table;

pub use picture::{BenchPlotError, picture};
pub use table::table;
