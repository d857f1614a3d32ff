//! Every wait, split by its cause. All ranks and NICs of a job have one clock, so what each did when is known to all.
//!
//! A blocking call waits for one thing: the message that was complete last before it returned, or the last rank that
//! entered the collective. The time from the call to its return falls into
//!
//! ```text
//!   called        other side posts       last strobe before      complete     returned
//!     │    posted late    │    scheduled late    │     moved late     │   other   │
//! ```
//!
//! *Scheduled late* is the time until the strobe of the slice in which the last bytes moved: the wait for a strobe, or for the
//! budget of slices before. What goes by SMARTMAP needs no slice. Of a wait whose other side is not known, because its rank
//! left no dump or keeps no row of it, all is *other*.

use std::collections::{BTreeMap, HashMap};

use crate::dump::{CallRow, Dumps, MessageRow, NONE, RankDump, Road};
use crate::mmds::Primitive;

use super::{collective, primitive};

/// Why somebody waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The other side had not posted: it was computing.
    PostedLate,
    /// Both had posted, and it waited for a strobe, or for the budget of a slice.
    ScheduledLate,
    /// The bytes moved.
    MovedLate,
    /// Not known: the other side has no row of it, or nothing was under way any more.
    Other,
}

impl Cause {
    /// All causes, in the order of the figure.
    pub const ALL: [Self; 4] = [
        Self::PostedLate,
        Self::ScheduledLate,
        Self::MovedLate,
        Self::Other,
    ];

    /// In words.
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

/// A wait, in nanoseconds by cause, in the order of [`Cause::ALL`].
pub type Split = [u64; 4];

/// Who is to blame: the rank that posted late, or whose message was scheduled or moved late, and from where it posted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Culprit {
    /// Why others waited.
    pub cause: Cause,
    /// The rank.
    pub rank: u32,
    /// The place in its program.
    pub place: String,
    /// How many waits.
    pub waits: u64,
    /// How long they were, summed over those who waited.
    pub waited_ns: u64,
}

/// Who waited, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sufferer {
    /// The rank.
    pub rank: u32,
    /// From when to when calls of it are kept, which is what was looked at.
    pub from_ns: u64,
    /// See `from_ns`.
    pub to_ns: u64,
    /// Its waits.
    pub split: Split,
}

/// All waits of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blame {
    /// By rank, in their order.
    pub sufferers: Vec<Sufferer>,
    /// By the waiting that they caused, the most first.
    pub culprits: Vec<Culprit>,
}

impl Blame {
    /// All waits together.
    #[must_use]
    pub fn total(&self) -> Split {
        let mut total = Split::default();
        for sufferer in &self.sufferers {
            add(&mut total, &sufferer.split);
        }
        total
    }
}

fn add(sum: &mut Split, split: &Split) {
    for (sum, part) in sum.iter_mut().zip(split) {
        *sum = sum.saturating_add(*part);
    }
}

/// One message as both sides know it: its stream and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MessageKey {
    from: u64,
    to: u64,
    context: u64,
    tag: u64,
    ordinal: u64,
}

impl MessageKey {
    /// Nothing if the recorder had no room to count the stream.
    pub(crate) fn of(rank: u32, row: &MessageRow) -> Option<Self> {
        let own = u64::from(rank);
        let (from, to) = match row.received {
            0 => (own, row.peer),
            _ => (row.peer, own),
        };
        (row.ordinal != NONE).then_some(Self {
            from,
            to,
            context: row.context,
            tag: row.tag,
            ordinal: row.ordinal,
        })
    }
}

/// A collective as all of its members know it: its communicator and its number there.
type CollectiveKey = (u64, u64);

/// Who did something, when and from where.
#[derive(Debug, Clone, Copy)]
struct Deed<'a> {
    dump: &'a RankDump,
    at_ns: u64,
    site: u64,
}

impl Deed<'_> {
    fn place(&self) -> String {
        let site = usize::try_from(self.site).ok();
        let site = site.and_then(|site| self.dump.sites.get(site));
        site.map_or_else(|| "an unknown place".to_owned(), |site| site.place.clone())
    }
}

/// What a call waited for.
#[derive(Debug, Clone, Copy)]
struct Wait<'a> {
    called_ns: u64,
    returned_ns: u64,
    /// When what it waited for was complete.
    complete_ns: u64,
    /// Who made it wait.
    other: Deed<'a>,
    /// Who posted last, and so waits for the slice.
    last: Deed<'a>,
    /// Whether it needs a slice.
    by_nic: bool,
}

/// Splits all waits, of which there are rows.
#[must_use]
pub fn blame(dumps: &Dumps) -> Blame {
    let context = Context::of(dumps);
    let mut culprits: BTreeMap<(Cause, u32, String), (u64, u64)> = BTreeMap::new();
    let mut sufferers = Vec::new();
    for dump in &dumps.ranks {
        let mut sufferer = Sufferer {
            rank: dump.rank,
            from_ns: dump.calls.first().map_or(0, |call| call.begun_ns),
            to_ns: dump.began_ns.saturating_add(dump.run_ns),
            split: Split::default(),
        };
        let mut by_completion: Vec<&MessageRow> = dump.messages.iter().collect();
        by_completion.sort_by_key(|row| row.completed_ns);
        let mut collectives = Collectives::of(dump);
        for call in &dump.calls {
            let number = collectives.number(call);
            if call.ended_ns == NONE || !blocks(call) {
                continue;
            }
            let wait = match number {
                Some(key) => context.collective_wait(dump, call, key),
                None => context.message_wait(dump, call, &by_completion),
            };
            let Some(wait) = wait else {
                let waited_ns = call.ended_ns.saturating_sub(call.begun_ns);
                add(&mut sufferer.split, &[0, 0, 0, waited_ns]);
                continue;
            };
            let split = context.split(&wait);
            add(&mut sufferer.split, &split);
            let guilty = [wait.other, wait.last, wait.other];
            for ((cause, by), waited_ns) in Cause::ALL.into_iter().zip(guilty).zip(split) {
                if waited_ns > 0 {
                    let entry = culprits
                        .entry((cause, by.dump.rank, by.place()))
                        .or_default();
                    entry.0 += 1;
                    entry.1 = entry.1.saturating_add(waited_ns);
                }
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
    }
}

/// Whether a call may wait. One that starts something and returns does not: what it started is waited for elsewhere.
fn blocks(call: &CallRow) -> bool {
    let name = primitive(call).map_or("", Primitive::name);
    let starts = ["MPI_I", "MPI_Test", "MPI_Start", "MPI_Comm_free"];
    let intercommunicators = ["MPI_Intercomm_create", "MPI_Intercomm_merge"];
    intercommunicators.contains(&name) || !starts.iter().any(|start| name.starts_with(start))
}

/// Numbers the collectives of a rank: those of one communicator are called in the same order by all. The rows are the last
/// ones, so they are counted from the end.
struct Collectives {
    next: HashMap<u64, u64>,
}

impl Collectives {
    fn of(dump: &RankDump) -> Self {
        let mut next: HashMap<u64, u64> = HashMap::new();
        for known in &dump.communicators {
            next.insert(known.context, known.collectives);
        }
        for call in dump.calls.iter().filter(|call| is_numbered(call)) {
            let number = next.entry(call.context).or_default();
            *number = number.wrapping_sub(1);
        }
        Self { next }
    }

    /// The number of the call, if it is a collective. Calls are asked in their order.
    fn number(&mut self, call: &CallRow) -> Option<CollectiveKey> {
        if !is_numbered(call) {
            return None;
        }
        let next = self.next.entry(call.context).or_default();
        let number = *next;
        *next = next.wrapping_add(1);
        Some((call.context, number))
    }
}

fn is_numbered(call: &CallRow) -> bool {
    call.context != NONE && collective(call).is_some()
}

/// All that others did.
struct Context<'a> {
    /// Both sides of each message: the rank that sent it and that received it.
    sent: HashMap<MessageKey, (&'a RankDump, &'a MessageRow)>,
    received: HashMap<MessageKey, (&'a RankDump, &'a MessageRow)>,
    /// Of each collective the member that entered it last, and whether members are on several nodes.
    entered: HashMap<CollectiveKey, (Deed<'a>, bool)>,
    /// When slices were struck, in rising order.
    strobes_ns: Vec<u64>,
}

impl<'a> Context<'a> {
    fn of(dumps: &'a Dumps) -> Self {
        let mut context = Self {
            sent: HashMap::new(),
            received: HashMap::new(),
            entered: HashMap::new(),
            strobes_ns: strobes_ns(dumps),
        };
        for dump in &dumps.ranks {
            for row in &dump.messages {
                if let Some(key) = MessageKey::of(dump.rank, row) {
                    let side = match row.received {
                        0 => &mut context.sent,
                        _ => &mut context.received,
                    };
                    side.insert(key, (dump, row));
                }
            }
            let mut collectives = Collectives::of(dump);
            for call in &dump.calls {
                if let Some(key) = collectives.number(call) {
                    context.enter(dump, call, key);
                }
            }
        }
        context
    }

    fn enter(&mut self, dump: &'a RankDump, call: &CallRow, key: CollectiveKey) {
        let deed = Deed {
            dump,
            at_ns: call.begun_ns,
            site: call.site,
        };
        let last = self.entered.entry(key).or_insert((deed, false));
        last.1 |= last.0.dump.node != dump.node;
        if last.0.at_ns < deed.at_ns {
            last.0 = deed;
        }
    }

    /// What a call waited for that is no collective: of the messages that were complete while it lasted, the last.
    fn message_wait(
        &self,
        dump: &'a RankDump,
        call: &CallRow,
        by_completion: &[&'a MessageRow],
    ) -> Option<Wait<'a>> {
        let after = by_completion.partition_point(|row| row.completed_ns <= call.ended_ns);
        let row = by_completion[..after].last()?;
        if row.completed_ns < call.begun_ns {
            return None;
        }
        let key = MessageKey::of(dump.rank, row)?;
        let others = match row.received {
            0 => &self.received,
            _ => &self.sent,
        };
        let (other_dump, other) = *others.get(&key)?;
        let own = Deed {
            dump,
            at_ns: row.posted_ns,
            site: row.site,
        };
        let other = Deed {
            dump: other_dump,
            at_ns: other.posted_ns,
            site: other.site,
        };
        let last = if own.at_ns > other.at_ns { own } else { other };
        Some(Wait {
            called_ns: call.begun_ns,
            returned_ns: call.ended_ns,
            complete_ns: row.completed_ns,
            other,
            last,
            by_nic: row.road == Road::Nic as u64,
        })
    }

    /// What a collective waited for: the last of its members to enter it.
    fn collective_wait(
        &self,
        dump: &'a RankDump,
        call: &CallRow,
        key: CollectiveKey,
    ) -> Option<Wait<'a>> {
        let (last, by_nic) = *self.entered.get(&key)?;
        let own = last.dump.rank == dump.rank;
        let other = match own {
            true => Deed {
                at_ns: call.begun_ns,
                ..last
            },
            false => last,
        };
        Some(Wait {
            called_ns: call.begun_ns,
            returned_ns: call.ended_ns,
            complete_ns: call.ended_ns,
            other,
            last,
            by_nic,
        })
    }

    fn split(&self, wait: &Wait<'_>) -> Split {
        let (called, returned) = (wait.called_ns, wait.returned_ns.max(wait.called_ns));
        let complete = wait.complete_ns.clamp(called, returned);
        let posted = wait.other.at_ns.clamp(called, complete);
        let struck = match wait.by_nic {
            true => self.last_strobe(posted, complete).unwrap_or(posted),
            false => posted,
        };
        [
            posted - called,
            struck - posted,
            complete - struck,
            returned - complete,
        ]
    }

    /// The last strobe from one time to another.
    fn last_strobe(&self, from_ns: u64, to_ns: u64) -> Option<u64> {
        let after = self.strobes_ns.partition_point(|strobe| *strobe <= to_ns);
        let last = *self.strobes_ns[..after].last()?;
        (last >= from_ns).then_some(last)
    }
}

/// When slices were struck: by the Strobe Sender if it left its table, else as nodes saw it.
fn strobes_ns(dumps: &Dumps) -> Vec<u64> {
    let global = dumps.nodes.iter().filter_map(|dump| dump.global.as_ref());
    let mut strobes: Vec<u64> = global
        .flat_map(|global| &global.strobes)
        .map(|row| row.strobe_ns)
        .collect();
    if strobes.is_empty() {
        let slices = dumps.nodes.iter().flat_map(|dump| &dump.slices);
        strobes = slices.map(|row| row.strobe_ns).collect();
    }
    strobes.sort_unstable();
    strobes.dedup();
    strobes
}
