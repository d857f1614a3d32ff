//! The rules of transports, written once and kept by every transport, and by several at once.
//!
//! A rule is a program that all ranks of a world run, each over its own end ([`ConformanceRank`]):
//! even ranks send to the next ones, or all to rank 0. A rank that finds a violation reports it.
//! Rules do not depend on each other, and leave nothing behind.
//!
//! They run over the bare transports, step by step under a seed, with planted bugs that each must
//! break the expected rules (`buggy_transport.rs`). They also run over endpoints, as a part of
//! simulated jobs and as jobs of processes
//! ([`Endpoint::bcs_conforms`](crate::endpoint::Endpoint::bcs_conforms)).
//!
//! | file | is |
//! |---|---|
//! | `rank.rs` | a rank, its sends and receives |
//! | `matching.rs` | order, tags, contexts, wildcards, probes, cancels |
//! | `data.rs` | lengths, truncation, pieces, unmapped memory |
//! | `tables.rs` | when requests are complete, and full tables |

#[cfg(test)]
mod buggy_transport;
mod data;
#[cfg(test)]
mod in_process;
mod matching;
mod rank;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use rank::{ConformanceRank, RuleViolation};

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule<P> {
    pub(crate) name: &'static str,
    pub(crate) keep: fn(&mut P) -> Result<(), RuleViolation>,
}

macro_rules! rules {
    ($($name:ident in $file:ident),* $(,)?) => {
        /// Returns all rules.
        pub(crate) fn rules<P: ConformanceRank>() -> Vec<Rule<P>> {
            vec![$(Rule { name: stringify!($name), keep: $file::$name }),*]
        }
    };
}

rules! {
    order in matching,
    tags in matching,
    contexts in matching,
    wildcards in matching,
    probes in matching,
    cancels in matching,
    cancelled_sends in matching,
    lengths in data,
    truncation in data,
    pieces in data,
    unreadable in data,
    unwritable in data,
    synchronous in tables,
    requests in tables,
    held in tables,
    credits in tables,
    threads in tables,
}
