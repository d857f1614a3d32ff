//! What must never happen, whatever the faults.

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
    /// No more enters a node in a slice than its budget.
    Budget,
    /// Collectives give what a sequential program would, to the bit.
    Collective,
    /// Nothing is left in rings and tables at the end.
    Leak,
    /// By the clock: nothing completes before the strobe that releases it.
    Release,
    /// Between slices, whoever can go on by a slice has demanded one.
    Demand,
    /// Once faults stop, every request completes.
    Liveness,
    /// A NIC failed the job, though the program is correct.
    Soundness,
}

/// What a checker saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckerViolation {
    /// Which checker.
    pub checker: Checker,
    /// What it saw.
    pub what: String,
    /// In which slice.
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

/// What one pair sends with one tag, in the order of the sends.
#[derive(Default)]
struct SendSequence<'a> {
    messages: Vec<(&'a ProgramMessage, bool)>,
    /// Receives go on from here.
    next: usize,
}

impl SendSequence<'_> {
    /// The place of a message that nobody has got yet, from `first` on.
    fn find(&self, got: &ObservedReceive, first: usize) -> Option<usize> {
        let is_it = |(message, taken): &(&ProgramMessage, bool)| {
            let bytes = || super::program::ScriptedProgram::payload(message);
            !taken && message.len as u64 == got.len && bytes() == got.bytes
        };
        let rest = self.messages.iter().skip(first);
        rest.clone().position(is_it).map(|place| first + place)
    }
}

/// Checks one rank's receives of one round, in the order of their posts, and what it extracted: that
/// is ordered against nothing, for a program that waits for an extraction posts no receive meanwhile.
/// What is not there may be only what `lost` receives had no room for; anything, without that number, for
/// it may have been lost with a node.
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
    // Messages without bytes are all alike: those that were received in order come first.
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

/// By the clock: what was posted after cut `posted` of its node is exchanged with the next one and
/// released after the one that follows, at the earliest.
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
