//! The properties that must hold, whatever the faults.

use super::program::ProgramMessage;
use bcs_core::job::StrobeMode;
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
    /// In no slice do more bytes enter a node than its budget.
    Budget,
    /// Collectives have the same result as a sequential program, to the bit.
    Collective,
    /// Nothing is left in rings and tables at the end.
    Leak,
    /// By the clock: nothing completes before the strobe that releases it.
    Release,
    /// Between slices, every thread that a slice would advance has demanded one.
    Demand,
    /// Once faults stop, every request completes.
    Liveness,
    /// A NIC failed the job, though the program is correct.
    Soundness,
}

/// A violation that a checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckerViolation {
    /// The checker.
    pub checker: Checker,
    /// The violation, as text.
    pub what: String,
    /// The slice.
    pub slice: u64,
}

/// A receive that has completed.
#[derive(Clone, Debug)]
pub(super) struct ObservedReceive {
    pub(super) source: u32,
    pub(super) tag: i32,
    pub(super) len: u64,
    pub(super) bytes: Vec<u8>,
}

/// The sends of one pair with one tag, in order.
#[derive(Default)]
struct SendSequence<'a> {
    messages: Vec<(&'a ProgramMessage, bool)>,
    /// The index from which the next receive must match.
    next: usize,
}

impl SendSequence<'_> {
    /// Returns the index of the message that was received, if it has not been received before, from
    /// `first` on.
    fn find(&self, got: &ObservedReceive, first: usize) -> Option<usize> {
        let is_it = |(message, taken): &(&ProgramMessage, bool)| {
            let bytes = || super::program::ScriptedProgram::payload(message);
            !taken && message.len as u64 == got.len && bytes() == got.bytes
        };
        let rest = self.messages.iter().skip(first);
        rest.clone().position(is_it).map(|place| first + place)
    }
}

/// Checks one rank's receives of one round, in the order of their posts, and its extracted
/// messages. The latter have no order: a program that waits for an extraction posts no receive
/// meanwhile. Exactly `lost` messages may be missing, those for which receives had no room. Without
/// that number any may be missing, because they may have been lost with a node.
pub(super) fn check_receives(
    rank: u32,
    messages: &[ProgramMessage],
    received: &[Option<ObservedReceive>],
    extracted: &[ObservedReceive],
    lost: Option<usize>,
) -> Result<u64, (Checker, String)> {
    let mut lanes: BTreeMap<(u32, i32), SendSequence<'_>> = BTreeMap::new();
    for message in messages
        .iter()
        .filter(|message| message.destination == rank && !message.missing)
    {
        let lane = lanes.entry((message.source, message.tag)).or_default();
        lane.messages.push((message, false));
    }
    let mut checked = 0;
    // Messages without bytes are all alike, so match those that were received in order first.
    let in_order = received.iter().flatten().map(|got| (got, true));
    for (got, ordered) in in_order.chain(extracted.iter().map(|got| (got, false))) {
        let lane = lanes.entry((got.source, got.tag)).or_default();
        let first = if ordered { lane.next } else { 0 };
        let name = |what: &str| {
            format!(
                "rank {rank} received {what} from rank {} with tag {}",
                got.source, got.tag
            )
        };
        let Some(place) = lane.find(got, first) else {
            return Err(match lane.find(got, 0) {
                Some(_) => (Checker::Order, name("an earlier message")),
                None => (Checker::ExactlyOnce, name("bytes that were not sent to it")),
            });
        };
        lane.messages[place].1 = true;
        if ordered {
            lane.next = place + 1;
        }
        checked += 1;
    }
    let all = lanes.values().flat_map(|lane| &lane.messages);
    let left = all.filter(|(_, taken)| !taken).count();
    if let Some(lost) = lost
        && left != lost
    {
        return Err((
            Checker::ExactlyOnce,
            format!("rank {rank} never received {left} messages, and had no room for {lost}"),
        ));
    }
    Ok(checked)
}

/// Checks releases by the clock: what was posted after cut `posted` of its node is exchanged with
/// the next cut and released after the one that follows, at the earliest.
pub(super) fn check_release(
    strobe: StrobeMode,
    rank: u32,
    posted: u64,
    released: u64,
) -> Result<(), (Checker, String)> {
    if !strobe.is_elastic() && released < posted + 2 {
        let what =
            format!("rank {rank} posted after cut {posted} and was released after cut {released}");
        return Err((Checker::Release, what));
    }
    Ok(())
}
