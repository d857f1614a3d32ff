//! Collective info: records by which the ranks of one node do collectives in each other's memory
//! (SMARTMAP; collectives paper, section IV, `coll_info_t`).
//!
//! A rank has one record for each context that it is a member of. Only this rank writes it, and all
//! members read it. So a collective has no atomic read-modify-write and no line with many writers,
//! except for the [`tally`] of many members.
//!
//! ```text
//! areas       stamp │ call │ digest │ a short contribution, or the address of a long one
//! step        the rank's progress in a long collective
//! outcome     the result of a collective of several nodes
//! listening   it does not poll any more: the member that ends a phase notifies it
//! tally       of the first of many members: how many have entered, and that all have ([`tally`])
//! payloads    contributions that do not fit their area
//! ```
//!
//! In an *exchange*, each member gives different data to each member. There the first argument is a
//! *head* that records where these data lie: in the record after the head, in the payload, or at an
//! address.
//!
//! Collectives of a context have *numbers*, from 1. All members enter them in this order, one at a
//! time. Number `n` uses area `n` mod [`AREAS`], and its stamp is `n`. A reader that finds the
//! stamp finds the whole contribution; up to 32 bytes lie in the same line.
//!
//! **Gates.** A member may go on before all have entered, if it needs nothing from them: the root
//! of a short broadcast, or a member that contributes to a short reduction for another root. But
//! numbers that are multiples of a third of the areas are gates. Before a member enters a gate, it
//! waits until all have entered the previous gate. Then all have finished all numbers before that.
//! So members are less than two thirds of the areas apart, no member still reads the areas that are
//! used next, and a stamp is this number, the number that had the area before, or invalid.
//!
//! **Digest.** A member that goes on at once does not see whether all have called the same. So each
//! number has a digest of the member's calls since the last gate, and a member that waits for all,
//! or at a gate, compares the digests. If they differ, all calls between the two gates are still
//! there: that is the purpose of the last third.
//!
//! **Communicators that span nodes.** The members of one node do a part of a collective here. One
//! of them, the *leader*, does the rest with its NIC, and then publishes the *outcome*.
//!
//! A reader does not trust the record of another rank: it copies the words out before it checks
//! them.
//!
//! Happens-before, named on both sides:
//! - **ENTERED**: the `Release` store of an area's stamp publishes the area and its payload to the
//!   `Acquire` load of it. It also returns the areas of earlier collectives to their writers: a
//!   member has read them before it enters the next one.
//! - **STEP**: the `Release` store of a step or verdict publishes the member's reads and writes of
//!   memory up to that step to the `Acquire` load of it.
//! - **LISTEN**: a member that begins to listen sets its word, passes a SeqCst fence and polls once
//!   more. A member that does not listen passes a fence when it sees that all have come. In both
//!   cases the fence follows the member's own stores. A member that sees that all have come
//!   notifies the listeners. So the member whose fence is the last one sees all stores and all
//!   listeners of that time, and a member that listens later sees the stores itself. Only one of
//!   the members that could notify a listener takes its word. A member that does not wait for all
//!   passes its fence when it has entered, and polls then. A member that gathers a reduction needs
//!   a fence only at gates, because no member that has called the same waits for it.

mod area;
mod gates;
#[cfg(all(test, loom))]
mod loom_tests;
mod presence;
mod record;
mod steps;
mod tally;
#[cfg(test)]
mod tests;

pub use gates::{digested, gate, gate_before, is_gate};
pub use presence::Presence;
pub use record::{
    AFTER_HEAD_BYTES, AREAS, ARGUMENT_WORDS, CollInfo, INLINE_BYTES, PAYLOAD_BYTES,
    RECORD_PAYLOAD_BYTES, RECORD_WORDS, RecordMemory,
};
pub use tally::TallyRelease;
