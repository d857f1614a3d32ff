//! The laws of the three primitives, written once and kept by every fabric.
//!
//! A fabric's tests implement [`Bench`] and call [`check_all`]. The laws are those of the
//! paper's section 2: Xfer-And-Signal puts to all nodes of a set or to none and signals, in
//! order; Compare-And-Write compares on all nodes and writes on all or none; concurrent ones
//! leave every node with the same value.
//!
//! | file | has |
//! |---|---|
//! | `bench.rs` | what a fabric is tested by |
//! | `puts.rs` | Xfer-And-Signal |
//! | `ahead.rs` | what goes ahead of the beat |
//! | `comparisons.rs` | Compare-And-Write |
//! | `order.rs` | what follows what |
//! | `data.rs` | gets and fetches |
//! | `tests/` | the fabrics, and the layouts of `udp` |

mod ahead;
mod bench;
mod comparisons;
mod data;
mod order;
mod puts;
#[cfg(test)]
mod tests;

use bench::{Bench, NODES};

/// Checks every law on fresh fabrics of five nodes.
fn check_all<B: Bench>(mut make: impl FnMut(usize) -> B) {
    puts::a_put_reaches_the_whole_set_and_nobody_else(&mut make(NODES));
    puts::puts_of_one_port_arrive_in_order(&mut make(NODES));
    puts::a_put_signals_the_thread_it_names(&mut make(NODES));
    ahead::what_is_sent_ahead_comes_once_in_order_and_before_later_puts(&mut make(NODES));
    comparisons::a_comparison_must_hold_on_all_nodes(&mut make(NODES));
    comparisons::a_false_comparison_writes_nothing(&mut make(NODES));
    comparisons::one_that_waits_is_true_in_the_end(&mut make(NODES));
    comparisons::concurrent_writes_leave_one_value(&mut make(NODES));
    order::a_verdict_shows_what_came_before_it(&mut make(NODES));
    order::a_put_shows_what_was_decided_before_it(&mut make(NODES));
    order::a_strobe_shows_what_was_put_before_the_reports_that_it_follows(&mut make(NODES));
    data::a_get_of_what_is_not_there_says_so(&mut make(NODES));
    data::a_fetch_fills_its_buffer(&mut make(NODES));
    data::a_fetch_of_what_is_not_there_gives_its_buffer_back(&mut make(NODES));
}
