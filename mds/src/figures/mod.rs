//! What follows from dumps: figures by name, by slice, between ranks, and who waited for whom. Reports, pages and
//! pictures show these, and nothing here knows how.
//!
//! Dumps may say anything ([`dump`](crate::dump)): times may run backwards, ranks may be any number. So nothing here
//! subtracts without saturating, or makes a table as large as a number says.

mod metric;
mod placement;
mod ranges;
mod series;
mod traffic;
mod waits;

pub use metric::{Metric, Unit, UnknownMetric, find, known, legend};
pub use placement::{is_collective, is_send, span_ns};
pub use ranges::ranges;
pub use series::{Series, SeriesColumn, SliceLine, UnknownColumn, column, columns};
pub use traffic::{Cell, Flow, flows, matrix};
pub(crate) use waits::MessageKey;
pub use waits::{Blame, Cause, Culprit, Split, Sufferer, blame};
