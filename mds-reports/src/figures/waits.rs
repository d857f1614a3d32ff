//! Splits every wait by its cause. All ranks and NICs of a job have one clock, so the times of all
//! can be compared.
//!
//! A blocking call waits for one thing: the message that can have completed last of those that it
//! waited for, or the last rank that entered the collective before the call returned. The time from
//! the call to its return has these parts:
//!
//! ```text
//!   called        other side posts       last strobe before      complete     returned
//!     │    posted late    │    scheduled late    │     moved late     │   other   │
//! ```
//!
//! *Scheduled late* is the time until the strobe of the slice in which the last bytes moved: the
//! wait for a strobe, or for the budget of slices before. Messages by SMARTMAP need no slice. If
//! the peer is unknown, because it left no dump or has no row of the message, the whole wait is
//! *other*. So is the time after the post of a message that goes by slices, if no rows of these
//! slices are kept.
//!
//! `waits/links.rs` sums the waits of each rank for each other one, `waits/peer_activity.rs` holds
//! the activity of peers, and `waits/strobes.rs` the times of strobes.

mod cause_split;
mod links;
mod peer_activity;
mod strobes;

use std::collections::BTreeMap;

use mds::dump::{CallRow, MessageRow, NONE, RunDumps};
use mds::mmds::Primitive;

use super::primitive;

pub use cause_split::Split;
use cause_split::add;
use links::Links;
pub use links::WaitLink;
pub(crate) use peer_activity::MessageKey;
pub use peer_activity::WaitSide;
use peer_activity::{CallWait, CollectiveCounter, PeerActivity};
use strobes::Strobes;

/// The cause of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitCause {
    /// The peer had not posted: it was computing.
    PostedLate,
    /// Both had posted, and the message waited for a strobe, or for the budget of a slice.
    ScheduledLate,
    /// The bytes were moving.
    MovedLate,
    /// Not known: the peer or the slice has no row, or nothing was under way any more.
    Other,
}

impl WaitCause {
    /// All causes, in the order of the figure above.
    pub const ALL: [Self; 4] = [
        Self::PostedLate,
        Self::ScheduledLate,
        Self::MovedLate,
        Self::Other,
    ];

    /// Returns the name of the cause.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PostedLate => "posted late",
            Self::ScheduledLate => "scheduled late",
            Self::MovedLate => "moved late",
            Self::Other => "other",
        }
    }
}

/// The blame for waits: the rank that posted late, or whose message was scheduled or moved late,
/// and the place of its post.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Culprit {
    /// Why others waited.
    pub cause: WaitCause,
    /// The rank.
    pub rank: u32,
    /// The place in its program.
    pub place: String,
    /// The number of waits.
    pub waits: u64,
    /// Their total length, over all ranks that waited.
    pub waited_ns: u64,
}

/// A rank that waited, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sufferer {
    /// The rank.
    pub rank: u32,
    /// When its first recorded call begins: only recorded calls are analysed.
    pub from_ns: u64,
    /// When its recording ends.
    pub to_ns: u64,
    /// Its waits.
    pub split: Split,
}

/// All waits of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blame {
    /// The ranks that waited, in the order of their numbers.
    pub sufferers: Vec<Sufferer>,
    /// The causes, in the order of the waiting that they caused, the most first.
    pub culprits: Vec<Culprit>,
    /// The waits of each rank for each other one, the most first.
    pub links: Vec<WaitLink>,
}

impl Blame {
    /// Returns the sum of all waits.
    #[must_use]
    pub fn total(&self) -> Split {
        let mut total = Split::default();
        for sufferer in &self.sufferers {
            add(&mut total, &sufferer.split);
        }
        total
    }

    /// Returns the waits between known ranks, those with the longest waits first.
    #[must_use]
    pub fn pairs(&self) -> Vec<WaitPair> {
        let mut sums: BTreeMap<(u32, u32, WaitCause), (u64, u64)> = BTreeMap::new();
        for link in &self.links {
            let Some((other, _)) = link.other else {
                continue;
            };
            for (cause, part_ns) in WaitCause::ALL.into_iter().zip(link.split) {
                if part_ns > 0 {
                    let sum = sums.entry((link.waiter, other, cause)).or_default();
                    sum.0 = sum.0.saturating_add(link.waits);
                    sum.1 = sum.1.saturating_add(part_ns);
                }
            }
        }
        let pair = |((waiter, other, cause), (waits, waited_ns))| WaitPair {
            waiter,
            other,
            cause,
            waits,
            waited_ns,
        };
        let mut pairs: Vec<WaitPair> = sums.into_iter().map(pair).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.waited_ns));
        pairs
    }
}

/// The waits of one rank for another one by one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPair {
    /// The rank that waited.
    pub waiter: u32,
    /// The rank that it waited for.
    pub other: u32,
    /// Why.
    pub cause: WaitCause,
    /// The number of waits in calls that had parts of this cause.
    pub waits: u64,
    /// The sum of these parts.
    pub waited_ns: u64,
}

/// Splits all waits that have rows.
#[must_use]
pub fn blame(dumps: &RunDumps) -> Blame {
    let others = PeerActivity::of(dumps);
    let mut culprits = Accused::new();
    let mut sufferers = Vec::new();
    let mut links = Links::default();
    for dump in &dumps.ranks {
        let mut sufferer = Sufferer {
            rank: dump.rank,
            from_ns: dump.calls.first().map_or(0, |call| call.begun_ns),
            to_ns: dump.began_ns.saturating_add(dump.run_ns),
            split: Split::default(),
        };
        let mut by_completion: Vec<&MessageRow> = dump.messages.iter().collect();
        by_completion.sort_by_key(|row| row.completed_ns);
        let mut collectives = CollectiveCounter::of(dump);
        for call in &dump.calls {
            let number = collectives.number(call);
            if call.ended_ns == NONE || !blocks(call) {
                continue;
            }
            let wait = match number {
                Some(key) => others.collective_wait(dump, call, key),
                None => others.message_wait(dump, call, &by_completion),
            };
            let split = match &wait {
                Some(wait) => split(wait, others.strobes()),
                None => [0, 0, 0, call.ended_ns.saturating_sub(call.begun_ns)],
            };
            add(&mut sufferer.split, &split);
            links.add(dump.rank, call, wait.as_ref(), &split, others.strobes());
            if let Some(wait) = wait {
                accuse(&mut culprits, &wait, split);
            }
        }
        sufferers.push(sufferer);
    }
    let mut culprits: Vec<Culprit> = culprits
        .into_iter()
        .map(|((cause, rank, place), (waits, waited_ns))| Culprit {
            cause,
            rank,
            place,
            waits,
            waited_ns,
        })
        .collect();
    culprits.sort_by_key(|culprit| std::cmp::Reverse(culprit.waited_ns));
    Blame {
        sufferers,
        culprits,
        links: links.sorted(),
    }
}

/// The waits and their total length, by cause, rank and place.
type Accused = BTreeMap<(WaitCause, u32, String), (u64, u64)>;

/// Adds the parts of a wait to those that are to blame for them.
fn accuse(culprits: &mut Accused, wait: &CallWait<'_>, split: Split) {
    let guilty = [wait.other, wait.last, wait.other];
    for ((cause, by), waited_ns) in WaitCause::ALL.into_iter().zip(guilty).zip(split) {
        if waited_ns > 0 {
            let key = (cause, by.dump.rank, by.place().to_owned());
            let entry = culprits.entry(key).or_default();
            entry.0 += 1;
            entry.1 = entry.1.saturating_add(waited_ns);
        }
    }
}

/// Returns whether a call may wait. A call that only starts an operation does not: another call
/// waits for that.
fn blocks(call: &CallRow) -> bool {
    let name = primitive(call).map_or("", Primitive::name);
    let starts = ["MPI_I", "MPI_Test", "MPI_Start", "MPI_Comm_free"];
    let intercommunicators = ["MPI_Intercomm_create", "MPI_Intercomm_merge"];
    intercommunicators.contains(&name) || !starts.iter().any(|start| name.starts_with(start))
}

/// Returns the parts of a wait.
fn split(wait: &CallWait<'_>, strobes: &Strobes) -> Split {
    let (called, returned) = (wait.called_ns, wait.returned_ns.max(wait.called_ns));
    let complete = wait.complete_ns.clamp(called, returned);
    let posted = wait.other.at_ns.clamp(called, complete);
    let struck = match wait.by_nic {
        true => strobes.waited_for(wait.into, (wait.last.dump.node, posted), complete),
        false => Some(posted),
    };
    let Some(struck) = struck else {
        return [posted - called, 0, 0, returned - posted];
    };
    [
        posted - called,
        struck - posted,
        complete - struck,
        returned - complete,
    ]
}
