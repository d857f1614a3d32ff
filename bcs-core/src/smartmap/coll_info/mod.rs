//! Collective info: by which the ranks of one node do collectives in each other's memory (SMARTMAP;
//! collectives paper, section IV, `coll_info_t`).
//!
//! A rank has one record for each context that it is a member of. It alone writes there, and all
//! members read. So there is no atomic read-modify-write in a collective, and no line that many write, but
//! for the [`tally`] of many members.
//!
//! ```text
//! areas       stamp │ what was called │ digest │ a short contribution, or where a long one is
//! step        how far the rank is in the collective, for long ones
//! outcome     what came of a collective of several nodes
//! listening   it does not look by itself any more: whoever ends a phase tells it
//! tally       of the first of many members: how many have entered, and that all have ([`tally`])
//! payloads    contributions that do not fit their area
//! ```
//!
//! In an *exchange*, where each member gives something else to each, the first of the arguments is a *head*
//! that says how what is given lies: in the record, after the head or in the payload, or where it is.
//!
//! Collectives of a context have *numbers*, from 1. All members enter them in this order, one at a time.
//! Number `n` uses area `n` mod [`AREAS`], and its stamp is `n`: a reader that finds it finds the whole
//! contribution, of up to 32 bytes in that very line.
//!
//! **Gates.** A member may go on before all have entered, if it needs nothing of them: the root of a short
//! broadcast, and who contributes to a short reduction to another. But numbers that are multiples of a third of
//! the areas are gates: before it enters one, it waits until all have entered the gate before; then they have
//! finished all numbers before that. So members are less than two thirds of the areas apart, nobody looks any
//! more at the areas that come next, and a stamp is of this number, of the one that had the area before, or
//! rubbish.
//!
//! **Digest.** Who goes on at once does not see whether all have called the same. So each number has a digest
//! of what its member has called since the last gate, and whoever waits for all, or at a gate, compares
//! those. If they differ, what members have called between two gates is all still there: that is what the last
//! third is for.
//!
//! **Communicators that span nodes.** The members of one node do a part of a collective here, and one of
//! them, the *leader*, the rest with its NIC. Then it tells the others the *outcome*.
//!
//! What is here is an allegation of another rank: it is copied out and then looked at.
//!
//! Happens-before, named on both sides:
//! - **ENTERED**: the `TallyRelease` store of an area's stamp publishes the area and its payload to the
//!   `Acquire` load of it. It also returns the areas of the collectives before to their writers: a
//!   member has read them before it enters the next one.
//! - **STEP**: the `TallyRelease` store of a step or verdict publishes what the member has done to memory up to
//!   that step, and that it has read what it had to, to the `Acquire` load of it.
//! - **LISTEN**: a member that says that it listens passes a SeqCst fence and looks once more; one that
//!   does not, passes one when it sees that all have come. Either way, the fence is after what it has
//!   published itself. Whoever sees that all have come tells those who listen. So the member whose
//!   fence is the last sees, after it, what all have published and who listened by then; and who
//!   listens later sees for itself. A listener's word is taken by one of those who would tell it.
//!   Who does not wait for all passes its fence when it has entered, and looks then. Who gathers a reduction,
//!   and is waited for by nobody that has called the same, needs one at gates only.

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
