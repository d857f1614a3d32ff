//! The analysis of dumps: figures by name, by slice, between ranks, and the causes of waits.
//! Reports, pages and pictures show the results; this module does not depend on them.
//!
//! Dumps may hold any values ([`dump`](mds::dump)): times may run backwards, ranks may be any
//! number. So this code only subtracts with saturation, and never makes a table as large as a
//! number in a dump.

mod activity;
mod calls;
mod metric;
mod ranges;
mod series;
mod sites;
mod span;
mod traffic;
mod waits;

pub use activity::{ActivityShares, CALL_CLASSES, activity, call_class};
pub use calls::{collective, is_send, primitive};
pub use metric::{Metric, Unit, UnknownMetric, find, known, legend};
pub use ranges::ranges;
pub use series::{Series, SeriesColumn, SliceLine, UnknownColumn, column, columns};
pub use sites::{sites, sites_are_exact};
pub use span::span_ns;
pub use traffic::{Flow, TrafficSum, flows, matrix};
pub(crate) use waits::MessageKey;
pub use waits::{Blame, Culprit, Split, Sufferer, WaitCause, WaitLink, WaitPair, WaitSide, blame};
