//! Why a run was slow: the largest cause, what it costs, and what to try.
//!
//! ```text
//!   dumps ──► blame ──► Facts ──► diagnose ──► Diagnosis ──► three sentences
//! ```
//!
//! [`Facts`] are sums of a dump, and [`diagnose`] is a pure function of them. Every cause has a
//! cost in time of ranks: the time that ranks waited because of it, or that it took from them. The
//! largest cost wins. No rule knows a program or a place.

mod answer;
mod cause;
mod facts;
mod late_ranks;
mod rules;
mod words;

#[cfg(test)]
mod tests;

pub use answer::Diagnosis;
pub use cause::{CostlyCause, SlowCause};
pub use facts::{Facts, RankFacts, SmallCalls};
pub use rules::diagnose;
