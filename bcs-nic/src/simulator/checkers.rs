//! What must never happen, whatever the faults.

use super::program::Message;
use bcs_core::job::Strobe;
use std::collections::BTreeMap;

/// A checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checker {
    /// Every message is received once, whole, with its own status.
    ExactlyOnce,
    /// Messages of one pair and tag are received in the order of their sends.
    Order,
    /// Nothing is in flight when a slice ends.
    NetworkEmpty,
    /// All NICs have finished the same microphase when a slice ends.
    Agreement,
    /// No more enters a node in a slice than its budget.
    Budget,
    /// Collectives give what a sequential program would, to the bit.
    Collective,
    /// Nothing is left in rings and tables at the end.
    Leak,
    /// Fixed: nothing completes before the strobe that releases it.
    Release,
    /// Once faults stop, every request completes.
    Liveness,
    /// A NIC failed the job, though the program is correct.
    Soundness,
}

/// What a checker saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// Which checker.
    pub checker: Checker,
    /// What it saw.
    pub what: String,
    /// In which slice.
    pub slice: u64,
}

/// A receive that has completed.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) source: u32,
    pub(super) tag: i32,
    pub(super) len: u64,
    pub(super) bytes: Vec<u8>,
}

/// Checks one rank's receives of one round, in the order of their posts, and what it extracted: that
/// is ordered against nothing, for a program that waits for an extraction posts no receive meanwhile.
pub(super) fn check_receives(
    rank: u32,
    messages: &[Message],
    received: &[Option<Received>],
    extracted: &[Received],
    nobody_died: bool,
) -> Result<u64, (Checker, String)> {
    // For each pair and tag, what is still to come, in the order of the sends.
    let mut to_come: BTreeMap<(u32, i32), Vec<&Message>> = BTreeMap::new();
    for message in messages
        .iter()
        .filter(|message| message.destination == rank)
    {
        to_come
            .entry((message.source, message.tag))
            .or_default()
            .push(message);
    }
    let mut checked = 0;
    let in_order = received.iter().flatten().map(|got| (got, true));
    let all = extracted.iter().map(|got| (got, false)).chain(in_order);
    for (got, ordered) in all {
        let queue = to_come.entry((got.source, got.tag)).or_default();
        let name = |what: &str| {
            format!(
                "rank {rank} received {what} from rank {} with tag {}",
                got.source, got.tag
            )
        };
        let is_it = |message: &Message| {
            message.len as u64 == got.len && super::program::Program::payload(message) == got.bytes
        };
        match queue.iter().position(|message| is_it(message)) {
            // A receive that failed for the death of a node has used its message up.
            Some(place) if !ordered => {
                queue.remove(place);
            }
            Some(place) if place == 0 || !nobody_died => {
                queue.drain(..=place);
            }
            Some(_) => return Err((Checker::Order, name("a later message"))),
            None => return Err((Checker::ExactlyOnce, name("bytes that were not sent to it"))),
        }
        checked += 1;
    }
    let left: usize = to_come.values().map(Vec::len).sum();
    if nobody_died && left > 0 {
        return Err((
            Checker::ExactlyOnce,
            format!("rank {rank} never received {left} messages"),
        ));
    }
    Ok(checked)
}

/// Fixed: what was posted after cut `posted` of its node is exchanged with the next one and
/// released after the one that follows, at the earliest.
pub(super) fn check_release(
    strobe: Strobe,
    rank: u32,
    posted: u64,
    released: u64,
) -> Result<(), (Checker, String)> {
    if strobe == Strobe::Fixed && released < posted + 2 {
        let what =
            format!("rank {rank} posted after cut {posted} and was released after cut {released}");
        return Err((Checker::Release, what));
    }
    Ok(())
}
