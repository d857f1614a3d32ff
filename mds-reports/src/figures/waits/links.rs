//! The waits of each rank for each other one: how often, for how long, and in which call.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::figures::primitive;
use mds::dump::CallRow;
use mds::mmds::Primitive;

use super::cause_split::{Split, add};
use super::peer_activity::{CallWait, WaitSide};
use super::strobes::Strobes;

/// The waits of one rank, in one kind of call, for one place of another rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitLink {
    /// The rank that waited.
    pub waiter: u32,
    /// The rank that it waited for, and the side that waited; `None` if that is not known.
    pub other: Option<(u32, WaitSide)>,
    /// The call that waited; `None` for a number that is no call.
    pub primitive: Option<Primitive>,
    /// The place of the other rank: of its send, its receive or its call of the collective. Empty
    /// if that is not known.
    pub place: String,
    /// Whether each of these waits was short and for little data: such waits matter by their
    /// number.
    pub small: bool,
    /// The number of waits.
    pub waits: u64,
    /// The sum of their parts, in nanoseconds.
    pub split: Split,
    /// The part of "scheduled late" that was for the budget of slices.
    pub budget_ns: u64,
    /// The part of "moved late" of messages and collectives that are not small.
    pub moved_long_ns: u64,
}

impl WaitLink {
    /// The longest message that costs its start and not its bytes: a memory copies it in less time
    /// than a call takes.
    pub const SMALL_BYTES: u64 = 1 << 10;

    /// The longest wait that a program feels only by the number of such waits. The start of a
    /// message takes a hundredth of it within a node, and a third between nodes.
    pub const SHORT_NS: u64 = 100_000;

    /// Returns the time of all these waits.
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        self.split
            .iter()
            .fold(0, |sum, part| sum.saturating_add(*part))
    }
}

/// The key of a link: the waiter, its call, whether the waits are small, and the other side with
/// its place.
type LinkKey<'a> = (u32, u64, bool, Option<(u32, WaitSide, &'a str)>);

/// All links while they are summed.
#[derive(Default)]
pub(super) struct Links<'a> {
    sums: HashMap<LinkKey<'a>, WaitLink>,
}

impl<'a> Links<'a> {
    /// Adds the wait of a call.
    pub(super) fn add(
        &mut self,
        waiter: u32,
        call: &CallRow,
        wait: Option<&CallWait<'a>>,
        split: &Split,
        strobes: &Strobes,
    ) {
        let bytes = wait.map_or(call.bytes, |wait| wait.bytes);
        let waited_ns = call.ended_ns.saturating_sub(call.begun_ns);
        let small = bytes <= WaitLink::SMALL_BYTES && waited_ns <= WaitLink::SHORT_NS;
        let other = wait.map(|wait| (wait.other.dump.rank, wait.side, wait.other.place()));
        let key = (waiter, call.primitive, small, other);
        let link = self.sums.entry(key).or_insert_with(|| WaitLink {
            waiter,
            other: other.map(|(rank, side, _)| (rank, side)),
            primitive: primitive(call),
            place: other.map_or_else(String::new, |(.., place)| place.to_owned()),
            small,
            waits: 0,
            split: Split::default(),
            budget_ns: 0,
            moved_long_ns: 0,
        });
        link.waits += 1;
        add(&mut link.split, split);
        if bytes > WaitLink::SMALL_BYTES {
            link.moved_long_ns = link.moved_long_ns.saturating_add(split[2]);
        }
        if let Some(wait) = wait {
            let budget_ns = for_budget(wait, split, strobes);
            link.budget_ns = link.budget_ns.saturating_add(budget_ns);
        }
    }

    /// Returns the links, those with the longest waits first.
    pub(super) fn sorted(self) -> Vec<WaitLink> {
        let mut links: Vec<WaitLink> = self.sums.into_values().collect();
        let name = |link: &WaitLink| (link.waiter, link.other, link.primitive, link.place.clone());
        links.sort_by_cached_key(|link| (Reverse(link.waited_ns()), name(link), link.small));
        links
    }
}

/// Returns the part of the wait for a strobe in which the message waited for a budget.
fn for_budget(wait: &CallWait<'_>, split: &Split, strobes: &Strobes) -> u64 {
    let (Some(into), true) = (wait.into, wait.by_nic && split[1] > 0) else {
        return 0;
    };
    let posted_ns = wait.called_ns.saturating_add(split[0]);
    let struck_ns = posted_ns.saturating_add(split[1]);
    let budget_ns = strobes.for_budget(into, (wait.last.dump.node, posted_ns), struck_ns);
    budget_ns.min(split[1])
}
