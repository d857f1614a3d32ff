//! The ranks that a call waited for: those of its message or collective, and the times of their
//! calls.

use std::collections::HashMap;

use crate::figures::{collective, primitive};
use mds::dump::{CallRow, MessageRow, MessageTransport, NONE, RankDump, RunDumps};
use mds::mmds::Primitive;

use super::strobes::Strobes;

/// The side that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitSide {
    /// A receiver waited for a message.
    Receive,
    /// A sender waited for the receive.
    Send,
    /// A member of a collective waited for another member.
    Collective,
}

/// A message, identified in the same way on both sides: its stream and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MessageKey {
    from: u64,
    to: u64,
    context: u64,
    tag: u64,
    ordinal: u64,
}

impl MessageKey {
    /// Returns the key, or `None` if the recorder had no room to count the stream.
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

/// A collective, identified in the same way by all its members: its communicator and its number
/// there.
type CollectiveKey = (u64, u64);

/// An action of a rank, with its time and place.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankAction<'a> {
    pub(super) dump: &'a RankDump,
    pub(super) at_ns: u64,
    site: u64,
}

impl<'a> RankAction<'a> {
    /// Returns the place in the program; a text about it if the dump does not know it.
    pub(super) fn place(&self) -> &'a str {
        let site = usize::try_from(self.site).ok();
        let site = site.and_then(|site| self.dump.sites.get(site));
        site.map_or("an unknown place", |site| site.place.as_str())
    }
}

/// The other side that a call waited for, and the times of the wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallWait<'a> {
    pub(super) side: WaitSide,
    /// The length of the message, or the data of the collective.
    pub(super) bytes: u64,
    pub(super) called_ns: u64,
    pub(super) returned_ns: u64,
    /// When the operation was complete.
    pub(super) complete_ns: u64,
    /// The action that made the call wait.
    pub(super) other: RankAction<'a>,
    /// The last post, which then waits for the slice.
    pub(super) last: RankAction<'a>,
    /// Whether it needs a slice.
    pub(super) by_nic: bool,
    /// The node of the receiver, for a message.
    pub(super) into: Option<u32>,
}

/// A message that was complete in a call.
#[derive(Debug, Clone, Copy)]
struct CompletedMessage<'a> {
    side: WaitSide,
    bytes: u64,
    other: RankAction<'a>,
    last: RankAction<'a>,
    by_nic: bool,
    into: u32,
    complete_ns: u64,
}

/// Numbers the collectives of a rank. All members call those of one communicator in the same order.
/// The dump has the last rows, so this counts from the end.
pub(super) struct CollectiveCounter {
    next: HashMap<u64, u64>,
}

impl CollectiveCounter {
    pub(super) fn of(dump: &RankDump) -> Self {
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

    /// Returns the number of the call, if it is a collective. The calls must come in their order.
    pub(super) fn number(&mut self, call: &CallRow) -> Option<CollectiveKey> {
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

/// The members that entered a collective, in the order in which they did.
#[derive(Default)]
struct CollectiveEntries<'a> {
    members: Vec<RankAction<'a>>,
    by_nic: bool,
}

/// The activity of all other ranks.
pub(super) struct PeerActivity<'a> {
    /// Each message by its sender's row and by its receiver's row.
    sent: HashMap<MessageKey, (&'a RankDump, &'a MessageRow)>,
    received: HashMap<MessageKey, (&'a RankDump, &'a MessageRow)>,
    entered: HashMap<CollectiveKey, CollectiveEntries<'a>>,
    strobes: Strobes,
}

impl<'a> PeerActivity<'a> {
    pub(super) fn of(dumps: &'a RunDumps) -> Self {
        let mut others = Self {
            sent: HashMap::new(),
            received: HashMap::new(),
            entered: HashMap::new(),
            strobes: Strobes::of(dumps),
        };
        for dump in &dumps.ranks {
            for row in &dump.messages {
                if let Some(key) = MessageKey::of(dump.rank, row) {
                    let side = match row.received {
                        0 => &mut others.sent,
                        _ => &mut others.received,
                    };
                    side.insert(key, (dump, row));
                }
            }
            let mut collectives = CollectiveCounter::of(dump);
            for call in &dump.calls {
                if let Some(key) = collectives.number(call) {
                    others.enter(dump, call, key);
                }
            }
        }
        let all_by_nic = dumps.run.as_ref().is_some_and(|run| run.intranode == "nic");
        for entered in others.entered.values_mut() {
            entered.members.sort_by_key(|deed| deed.at_ns);
            entered.by_nic |= all_by_nic;
        }
        others
    }

    pub(super) fn strobes(&self) -> &Strobes {
        &self.strobes
    }

    fn enter(&mut self, dump: &'a RankDump, call: &CallRow, key: CollectiveKey) {
        let entered = self.entered.entry(key).or_default();
        let first = entered.members.first();
        entered.by_nic |= first.is_some_and(|first| first.dump.node != dump.node);
        entered.members.push(RankAction {
            dump,
            at_ns: call.begun_ns,
            site: call.site,
        });
    }

    /// Returns what a call other than a collective waited for: of the messages that completed in
    /// it, the one that can have completed last. A wait for all requests learns of all at its end,
    /// so the time at which it learnt of each has no meaning. A wait for some returns with the
    /// first. Returns `None` if the peer of one of the messages is not known.
    pub(super) fn message_wait(
        &self,
        dump: &'a RankDump,
        call: &CallRow,
        by_completion: &[&'a MessageRow],
    ) -> Option<CallWait<'a>> {
        let before = by_completion.partition_point(|row| row.completed_ns < call.begun_ns);
        let after = by_completion.partition_point(|row| row.completed_ns <= call.ended_ns);
        let rows = by_completion.get(before..after)?.iter();
        let rows = rows.filter(|row| is_of(call, row));
        let meetings = rows.map(|row| self.meeting(dump, row));
        // A send that was complete before the other side posted did not wait for it.
        let waited = |meeting: &CompletedMessage<'_>| meeting.other.at_ns <= meeting.complete_ns;
        let mut meetings = meetings.filter(|meeting| meeting.as_ref().is_none_or(waited));
        let last = match primitive(call) {
            Some(Primitive::Waitsome) => meetings.next()??,
            _ => meetings.reduce(|one, other| Some(self.later(one?, other?)))??,
        };
        Some(CallWait {
            side: last.side,
            bytes: last.bytes,
            called_ns: call.begun_ns,
            returned_ns: call.ended_ns,
            complete_ns: last.complete_ns,
            other: last.other,
            last: last.last,
            by_nic: last.by_nic,
            into: Some(last.into),
        })
    }

    /// Finds both sides of a message.
    fn meeting(&self, dump: &'a RankDump, row: &MessageRow) -> Option<CompletedMessage<'a>> {
        let key = MessageKey::of(dump.rank, row)?;
        let others = match row.received {
            0 => &self.received,
            _ => &self.sent,
        };
        let (other_dump, other) = *others.get(&key)?;
        let deed = |dump, row: &MessageRow| RankAction {
            dump,
            at_ns: row.posted_ns,
            site: row.site,
        };
        let (own, other) = (deed(dump, row), deed(other_dump, other));
        Some(CompletedMessage {
            side: match row.received {
                0 => WaitSide::Send,
                _ => WaitSide::Receive,
            },
            bytes: row.bytes,
            other,
            last: if own.at_ns > other.at_ns { own } else { other },
            by_nic: row.road == MessageTransport::Nic as u64,
            into: match row.received {
                0 => other_dump.node,
                _ => dump.node,
            },
            complete_ns: row.completed_ns,
        })
    }

    /// Returns the one of two messages that can have completed later; both are complete at the
    /// later time.
    fn later(
        &self,
        one: CompletedMessage<'a>,
        other: CompletedMessage<'a>,
    ) -> CompletedMessage<'a> {
        let earliest_ns = |meeting: &CompletedMessage<'_>| {
            let posted_ns = meeting.last.at_ns;
            let node = meeting.last.dump.node;
            let strobe = meeting.by_nic.then(|| self.strobes.next(node, posted_ns));
            strobe.flatten().unwrap_or(posted_ns)
        };
        let complete_ns = one.complete_ns.max(other.complete_ns);
        let later = if earliest_ns(&one) > earliest_ns(&other) {
            one
        } else {
            other
        };
        CompletedMessage {
            complete_ns,
            ..later
        }
    }

    /// Returns what a collective waited for: the last member that entered it before the call
    /// returned. The call cannot have waited for a later one; a broadcast may return before all
    /// have entered.
    pub(super) fn collective_wait(
        &self,
        dump: &'a RankDump,
        call: &CallRow,
        key: CollectiveKey,
    ) -> Option<CallWait<'a>> {
        let entered = self.entered.get(&key)?;
        let members = &entered.members;
        let there = members.partition_point(|deed| deed.at_ns <= call.ended_ns);
        let last = *members[..there].last()?;
        let other = match last.dump.rank == dump.rank {
            true => RankAction {
                at_ns: call.begun_ns,
                ..last
            },
            false => last,
        };
        Some(CallWait {
            side: WaitSide::Collective,
            bytes: call.bytes,
            called_ns: call.begun_ns,
            returned_ns: call.ended_ns,
            complete_ns: call.ended_ns,
            other,
            last,
            by_nic: entered.by_nic,
            into: None,
        })
    }
}

/// Returns whether this call completed a message that completed during it, and not another thread
/// of the rank. A call that posts messages waits for these. A call that waits for a request records
/// the request's message, if that was known.
fn is_of(call: &CallRow, row: &MessageRow) -> bool {
    let names = |named: u64, is: u64| named == NONE || named == is;
    match primitive(call) {
        Some(Primitive::Wait) => {
            names(call.context, row.context)
                && names(call.peer, row.peer)
                && names(call.tag, row.tag)
        }
        Some(Primitive::Waitall | Primitive::Waitany | Primitive::Waitsome) => true,
        _ => row.posted_ns == call.begun_ns,
    }
}
