//! The laws of the three primitives, written once and kept by every fabric.
//!
//! Each fabric implements [`Bench`] and is checked against all [`laws`]. The laws are those of the
//! paper's section 2: Xfer-And-Signal puts to all nodes of a set or to none and signals, in order;
//! Compare-And-Write compares on all nodes and writes on all or none; concurrent ones leave every
//! node with the same value.
//!
//! | file | has |
//! |---|---|
//! | `bench.rs` | the interface to a fabric under test |
//! | `puts.rs` | Xfer-And-Signal |
//! | `ahead.rs` | messages outside of the slice |
//! | `comparisons.rs` | Compare-And-Write |
//! | `order.rs` | the order of operations |
//! | `data.rs` | gets and fetches |
//! | `layouts.rs` | which nodes are on which machines |
//! | `tests/` | the fabrics, in this process and in virtual time |
//!
//! The fixture `laws` checks them between processes of several machines, over sockets. A program
//! that does not use them does not contain them: a law is compiled for a bench.

mod ahead;
mod bench;
mod comparisons;
mod data;
mod layouts;
mod order;
mod puts;
#[cfg(test)]
mod tests;

pub use bench::{Bench, NODES, ReceiveBuffers, SOURCE_BYTES};
pub use layouts::{HostLayout, layouts};

/// A law.
#[derive(Debug)]
pub struct Law<B> {
    /// The name of the law.
    pub name: &'static str,
    /// The check. It panics if a fresh fabric of [`NODES`] nodes breaks the law.
    pub check: fn(&mut B),
}

macro_rules! laws {
    ($($name:ident in $file:ident),* $(,)?) => {
        /// Returns all laws.
        #[must_use]
        pub fn laws<B: Bench>() -> Vec<Law<B>> {
            vec![$(Law { name: stringify!($name), check: $file::$name }),*]
        }
    };
}

laws! {
    a_put_reaches_the_whole_set_and_nobody_else in puts,
    puts_of_one_port_arrive_in_order in puts,
    a_put_signals_the_thread_it_names in puts,
    what_is_sent_ahead_comes_once_in_order_and_before_later_puts in ahead,
    a_comparison_must_hold_on_all_nodes in comparisons,
    a_false_comparison_writes_nothing in comparisons,
    one_that_waits_is_true_in_the_end in comparisons,
    concurrent_writes_leave_one_value in comparisons,
    a_verdict_shows_what_came_before_it in order,
    a_put_shows_what_was_decided_before_it in order,
    a_strobe_shows_what_was_put_before_the_reports_that_it_follows in order,
    a_strobe_shows_what_was_written_before_it in order,
    a_comparison_sees_what_its_asker_has_stored in order,
    gets_bring_what_they_name_and_nothing_else in data,
    a_get_of_what_is_not_there_says_so in data,
    a_fetch_fills_its_buffer in data,
    a_fetch_of_what_is_not_there_gives_its_buffer_back in data,
}

/// Checks every law on fresh fabrics.
#[cfg(test)]
fn check_all<B: Bench>(mut make: impl FnMut(usize) -> B) {
    for law in laws() {
        (law.check)(&mut make(NODES));
    }
}
