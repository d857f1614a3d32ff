//! The times of strobes, and the slices in which a message moved.

use std::collections::{HashMap, HashSet};

use mds::dump::{RunDump, RunDumps};

/// A slice that was struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Strobe {
    at_ns: u64,
    slice: u64,
}

/// The slices that have rows.
pub(super) struct Strobes {
    /// The struck slices, in rising order.
    struck: Vec<Strobe>,
    /// Whether completions are released by a strobe.
    by_clock: bool,
    /// The nodes that keep rows.
    nodes: HashSet<u32>,
    /// When nodes received the strobes of slices. A node then takes what its ranks have posted.
    heard: HashMap<(u32, u64), u64>,
    /// The nodes and slices in which messages into the node were left for later slices.
    carried: HashSet<(u32, u64)>,
}

impl Strobes {
    /// Takes the times from the Strobe Sender's table, or, without one, from the nodes' tables.
    pub(super) fn of(dumps: &RunDumps) -> Self {
        let slices = || {
            let nodes = dumps.nodes.iter();
            nodes.flat_map(|dump| dump.slices.iter().map(|row| (dump.node, row)))
        };
        let strobe = |at_ns, slice| Strobe { at_ns, slice };
        let global = dumps.nodes.iter().filter_map(|dump| dump.global.as_ref());
        let mut struck: Vec<Strobe> = global
            .flat_map(|global| &global.strobes)
            .map(|row| strobe(row.strobe_ns, row.slice))
            .collect();
        if struck.is_empty() {
            let seen = slices().map(|(_, row)| strobe(row.strobe_ns, row.slice));
            struck = seen.collect();
        }
        struck.sort_unstable();
        struck.dedup();
        let carried = slices().filter(|(_, row)| row.carried_bytes > 0);
        Self {
            struck,
            by_clock: dumps.run.as_ref().is_some_and(RunDump::strobes_by_clock),
            nodes: slices().map(|(node, _)| node).collect(),
            heard: slices()
                .map(|(node, row)| ((node, row.slice), row.strobe_ns))
                .collect(),
            carried: carried.map(|(node, row)| (node, row.slice)).collect(),
        }
    }

    /// Returns the strobe of the first slice in which a node takes what was posted there at this
    /// time.
    pub(super) fn next(&self, node: u32, from_ns: u64) -> Option<u64> {
        let strobe = self.from(node, from_ns).first();
        strobe.map(|strobe| strobe.at_ns.max(from_ns))
    }

    /// Returns the slices in which a node takes what was posted there at this time. The post may
    /// have come after a strobe, if the node had not received it yet.
    fn from(&self, node: u32, from_ns: u64) -> &[Strobe] {
        let mut first = self.struck.partition_point(|one| one.at_ns < from_ns);
        let taken = |one: &Strobe| {
            let heard_ns = self.heard.get(&(node, one.slice));
            heard_ns.is_some_and(|heard_ns| *heard_ns >= from_ns)
        };
        while first > 0 && taken(&self.struck[first - 1]) {
            first -= 1;
        }
        &self.struck[first..]
    }

    /// Returns the strobe that an operation had waited for. The node `from` posted last, at
    /// `from_ns`, and the operation was complete at `to_ns`. For a message `into` a node it is the
    /// first strobe whose slice left no message for later: other slices may be struck before its
    /// rank is awake. With strobes by the clock, and for everything else that goes by slices, it is
    /// the last strobe. Without any strobe in this time the result is the beginning: a post just
    /// after a strobe, and before its cut, moves at once. Returns `None` if no rows of that time
    /// are kept, because then the strobe is not known.
    pub(super) fn waited_for(
        &self,
        into: Option<u32>,
        (from, from_ns): (u32, u64),
        to_ns: u64,
    ) -> Option<u64> {
        let taken = self.from(from, from_ns);
        if self.struck.first()?.at_ns > to_ns || taken.is_empty() {
            return None;
        }
        let struck = &taken[..taken.partition_point(|one| one.at_ns <= to_ns)];
        let Some(last) = struck.last() else {
            return Some(from_ns);
        };
        let into = into.filter(|node| !self.by_clock && self.nodes.contains(node));
        let moved = into.and_then(|node| {
            let mut struck = struck.iter();
            struck.find(|one| !self.carried.contains(&(node, one.slice)))
        });
        Some(moved.unwrap_or(last).at_ns.max(from_ns))
    }

    /// Returns how much of the wait for the strobe at `struck_ns` was for the budget of slices:
    /// from the first strobe that took the message, if a slice since then left messages into the
    /// node for later ones.
    pub(super) fn for_budget(&self, into: u32, (from, from_ns): (u32, u64), struck_ns: u64) -> u64 {
        let taken = self.from(from, from_ns);
        let passed = &taken[..taken.partition_point(|one| one.at_ns < struck_ns)];
        let first = passed.first().map(|one| one.at_ns.max(from_ns));
        let carried = |one: &Strobe| self.carried.contains(&(into, one.slice));
        let first = first.filter(|_| passed.iter().any(carried));
        first.map_or(0, |first_ns| struck_ns.saturating_sub(first_ns))
    }
}
