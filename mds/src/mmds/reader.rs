//! Reads a rank's recorder after the rank has ended.
//!
//! The words are not trusted. A rank that overwrote its recorder, or was killed while it wrote,
//! gives a dump with wrong figures, but always a dump. This code trusts no count beyond the bounds
//! of the layout.

use std::collections::BTreeMap;
use std::io;

use super::distribution::dump;
use super::{Primitive, UncheckedWords};
use crate::dump::{
    CallRow, CommunicatorDump, DistributionDump, LocalSliceRow, MessageRow, MessageTransport, NONE,
    PeerDump, PrimitiveDump, RankDump, SiteDump, UsageDump,
};
use ::mmds::event::{NO_NUMBER, PackedEvent, primitive_of};
use ::mmds::histogram::{BucketScale, HEAD};
use ::mmds::layout::{
    ACCOUNTED_UNTIL, BEGAN, BLOCKED, CALLS, COMMUNICATOR_WORDS, CORE_LOOP_NS, CURRENT_CALL, ENDED,
    EVENT_WORDS, FILE_BYTES, HEAD_WORDS, LOCAL_ROW_WORDS, LOCAL_ROWS, MESSAGES, MOST_COMMUNICATORS,
    MOST_SITES, PEER_WORDS, PLACE_BYTES, RecorderLayout, SITE_PLACE, SITE_TIMES, SITE_WORDS, SITES,
    USAGE_BLOCKED, USAGE_COMPUTATION, USAGE_CPU, USAGE_PREEMPTED, USAGE_PREEMPTIONS,
};

/// The name of the site for calls that have no site of their own.
pub const OTHER_PLACES: &str = "other places";

/// Reads the recorder of a rank that has ended, as was seen at `ended_ns`. The dump lacks job, rank
/// and node, which the recorder does not know. A rank that never began to record gives an empty
/// one.
///
/// # Errors
/// If the words cannot be read.
pub fn read(
    words: &impl UncheckedWords,
    layout: &RecorderLayout,
    ended_ns: u64,
) -> io::Result<RankDump> {
    let reader = RecorderReader { words, layout };
    let head = reader.words(0, HEAD_WORDS)?;
    let began_ns = head[BEGAN];
    if began_ns == 0 {
        return Ok(RankDump::default());
    }
    let finalized = head[ENDED] != 0;
    let end_ns = match head[ENDED] {
        0 => ended_ns,
        said => said.min(ended_ns),
    };
    let rest_ns = (!finalized).then(|| end_ns.saturating_sub(head[ACCOUNTED_UNTIL]));
    let in_call = rest_ns.filter(|_| head[BLOCKED] != 0);
    let between = rest_ns.filter(|_| head[BLOCKED] == 0);
    let sites = reader.sites(&head)?;
    let (mut calls, calls_dropped) =
        reader.events(layout.calls, layout.call_rows, head[CALLS], finalized)?;
    let under_way = PackedEvent::from_words(std::array::from_fn(|word| head[CURRENT_CALL + word]));
    if !finalized && under_way.begun_ns != 0 {
        calls.push(PackedEvent {
            ended_ns: NONE,
            ..under_way
        });
    }
    calls.sort_by_key(|call| call.begun_ns);
    let (messages, messages_dropped) = reader.events(
        layout.messages,
        layout.message_rows,
        head[MESSAGES],
        finalized,
    )?;
    let (near, near_dropped) = reader.near(head[LOCAL_ROWS])?;
    Ok(RankDump {
        usage: usage(&head),
        began_ns,
        run_ns: end_ns.saturating_sub(began_ns),
        finalized,
        primitives: reader.primitives()?,
        computation_granularity_ns: reader.distribution(layout.computation(), between)?,
        communication_overhead_ns: reader.distribution(layout.overhead(), in_call)?,
        peers: reader.peers()?,
        communicators: reader.communicators()?,
        calls_dropped,
        messages_dropped,
        near_dropped,
        calls: calls
            .iter()
            .filter_map(|call| call_row(call, &sites))
            .collect(),
        messages: message_rows(&messages, &sites),
        near,
        sites: sites.dumps,
        ..RankDump::default()
    })
}

/// Returns what the kernel said of the rank; `None` if it was never asked.
fn usage(head: &[u64]) -> Option<UsageDump> {
    let usage = UsageDump {
        computation_ns: head[USAGE_COMPUTATION],
        cpu_ns: head[USAGE_CPU],
        preempted_ns: head[USAGE_PREEMPTED],
        blocked_ns: head[USAGE_BLOCKED],
        preemptions: head[USAGE_PREEMPTIONS],
        file_bytes: head[FILE_BYTES],
        core_loop_ns: head[CORE_LOOP_NS],
    };
    (usage != UsageDump::default()).then_some(usage)
}

pub(super) struct RecorderReader<'a, A> {
    pub(super) words: &'a A,
    pub(super) layout: &'a RecorderLayout,
}

/// The sites of a dump, and the index of each of the recorder's sites among them.
struct Sites {
    dumps: Vec<SiteDump>,
    places: BTreeMap<u16, u64>,
}

impl Sites {
    fn of(&self, number: u16) -> u64 {
        self.places.get(&number).copied().unwrap_or(0)
    }
}

fn dropped(count: u64, rows: usize) -> u64 {
    count.saturating_sub(rows as u64)
}

fn number(number: u32) -> u64 {
    if number == NO_NUMBER {
        NONE
    } else {
        number.into()
    }
}

fn call_row(call: &PackedEvent, sites: &Sites) -> Option<CallRow> {
    Primitive::ALL.get(usize::from(call.kind))?;
    Some(CallRow {
        begun_ns: call.begun_ns,
        ended_ns: call.ended_ns,
        slice: call.slice,
        primitive: call.kind.into(),
        site: sites.of(call.site),
        context: number(call.context),
        peer: number(call.peer),
        tag: number(call.tag),
        bytes: call.bytes,
    })
}

/// Returns the rows of messages. The recorder numbered received messages in the order of their
/// completion. Here those of a stream get the same numbers in the order of their posted receives,
/// which is the order in which they were sent.
fn message_rows(messages: &[PackedEvent], sites: &Sites) -> Vec<MessageRow> {
    let row = |message: &PackedEvent| MessageRow {
        received: u64::from(message.kind & 1),
        posted_ns: message.begun_ns,
        completed_ns: message.ended_ns,
        slice: message.slice,
        site: sites.of(message.site),
        context: number(message.context),
        peer: number(message.peer),
        tag: number(message.tag),
        bytes: message.bytes,
        ordinal: number(message.ordinal),
        road: match message.kind & 2 {
            0 => MessageTransport::Nic as u64,
            _ => MessageTransport::Smartmap as u64,
        },
    };
    let mut rows: Vec<MessageRow> = messages.iter().map(row).collect();
    let mut streams: BTreeMap<(u64, u64, u64), Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        if row.received == 1 && row.ordinal != NONE {
            let stream = (row.context, row.peer, row.tag);
            streams.entry(stream).or_default().push(at);
        }
    }
    for mut places in streams.into_values() {
        let mut ordinals: Vec<u64> = places.iter().map(|&at| rows[at].ordinal).collect();
        ordinals.sort_unstable();
        places.sort_by_key(|&at| rows[at].posted_ns);
        for (at, ordinal) in places.into_iter().zip(ordinals) {
            rows[at].ordinal = ordinal;
        }
    }
    rows
}

impl<A: UncheckedWords> RecorderReader<'_, A> {
    pub(super) fn words(&self, first: usize, count: usize) -> io::Result<Vec<u64>> {
        let mut words = vec![0; count];
        self.words.read(first, &mut words)?;
        Ok(words)
    }

    fn distribution(&self, first: usize, more: Option<u64>) -> io::Result<DistributionDump> {
        let scale = self.layout.scale;
        let words = self.words(first, scale.words())?;
        Ok(dump(scale, &words, more))
    }

    /// Reads the same, if there are figures.
    fn used(&self, first: usize) -> io::Result<Option<DistributionDump>> {
        let mut head = [0; HEAD];
        self.words.read(first, &mut head)?;
        if !BucketScale::is_used(head) {
            return Ok(None);
        }
        let dump = self.distribution(first, None)?;
        Ok((dump.count > 0).then_some(dump))
    }

    fn primitives(&self) -> io::Result<BTreeMap<Primitive, PrimitiveDump>> {
        let mut primitives = BTreeMap::new();
        for (number, &primitive) in Primitive::ALL.iter().enumerate() {
            let latency_ns = self.used(self.layout.latency_of(number))?;
            let size_bytes = match primitive.has_size() {
                true => self.used(self.layout.size_of(number))?,
                false => None,
            };
            if latency_ns.is_some() || size_bytes.is_some() {
                let latency_ns = latency_ns.unwrap_or_default();
                let dump = PrimitiveDump {
                    latency_ns,
                    size_bytes,
                };
                primitives.insert(primitive, dump);
            }
        }
        Ok(primitives)
    }

    fn sites(&self, head: &[u64]) -> io::Result<Sites> {
        let used = usize::try_from(head[SITES])
            .unwrap_or(usize::MAX)
            .min(MOST_SITES);
        let mut sites = Sites {
            dumps: Vec::new(),
            places: BTreeMap::new(),
        };
        let mut known = BTreeMap::new();
        let listed = self.words(self.layout.used_sites, used)?;
        for place in std::iter::once(0).chain(listed) {
            let Some(number) = u16::try_from(place)
                .ok()
                .filter(|&n| usize::from(n) < MOST_SITES)
            else {
                continue;
            };
            let dump = self.site(number)?;
            let next = sites.dumps.len();
            // One place in the source may have several keys.
            let same = (dump.place.clone(), dump.primitive);
            let at = *known.entry(same).or_insert(next);
            if at == next {
                sites.dumps.push(dump);
            } else if !sites.places.contains_key(&number) {
                let first = &mut sites.dumps[at];
                first.time_ns.merge(&dump.time_ns);
                first.bytes = first.bytes.saturating_add(dump.bytes);
            }
            sites.places.insert(number, at as u64);
        }
        Ok(sites)
    }

    pub(super) fn site(&self, number: u16) -> io::Result<SiteDump> {
        let words = self.words(
            self.layout.sites + usize::from(number) * SITE_WORDS,
            SITE_WORDS,
        )?;
        let (place, primitive) = match number {
            0 => (OTHER_PLACES.to_owned(), None),
            _ => (
                place(words[2], &words[SITE_PLACE..]),
                primitive_of(words[0]),
            ),
        };
        Ok(SiteDump {
            place,
            primitive,
            time_ns: dump(BucketScale::COARSE, &words[SITE_TIMES..SITE_PLACE], None),
            bytes: words[1],
        })
    }

    fn peers(&self) -> io::Result<Vec<PeerDump>> {
        let words = self.words(self.layout.peers, self.layout.ranks * PEER_WORDS)?;
        let mut peers = Vec::new();
        for (rank, both) in (0_u32..).zip(words.chunks_exact(PEER_WORDS)) {
            for (road, words) in [MessageTransport::Nic, MessageTransport::Smartmap]
                .into_iter()
                .zip(both.chunks_exact(4))
            {
                if words.iter().any(|&word| word != 0) {
                    peers.push(PeerDump {
                        rank,
                        road,
                        sent: words[0],
                        sent_bytes: words[1],
                        received: words[2],
                        received_bytes: words[3],
                    });
                }
            }
        }
        Ok(peers)
    }

    fn communicators(&self) -> io::Result<Vec<CommunicatorDump>> {
        let places = MOST_COMMUNICATORS + 1;
        let words = self.words(self.layout.communicators, places * COMMUNICATOR_WORDS)?;
        let mut dumps = Vec::new();
        for (place, words) in words.chunks_exact(COMMUNICATOR_WORDS).enumerate() {
            let context = match words[0].checked_sub(1) {
                _ if place == MOST_COMMUNICATORS => NONE,
                Some(context) => context,
                None => continue,
            };
            if words[1..].iter().any(|&word| word != 0) {
                dumps.push(CommunicatorDump {
                    context,
                    sent: words[1],
                    sent_bytes: words[2],
                    received: words[3],
                    received_bytes: words[4],
                    collectives: words[5],
                    collective_bytes: words[6],
                });
            }
        }
        dumps.sort_by_key(|dump| dump.context);
        Ok(dumps)
    }

    /// Returns the rows that are left, the oldest first, as words.
    fn rows(
        &self,
        first: usize,
        (rows, row_words): (usize, usize),
        count: u64,
    ) -> io::Result<Vec<u64>> {
        if count <= rows as u64 {
            let count = usize::try_from(count).unwrap_or(0);
            return self.words(first, count * row_words);
        }
        let next = usize::try_from(count % (rows as u64).max(1)).unwrap_or(0);
        let mut words = self.words(first + next * row_words, (rows - next) * row_words)?;
        words.extend(self.words(first, next * row_words)?);
        Ok(words)
    }

    /// Returns calls or messages, and how many were dropped. If the rank has not finalized, the
    /// oldest row may be half overwritten.
    fn events(
        &self,
        first: usize,
        rows: usize,
        count: u64,
        finalized: bool,
    ) -> io::Result<(Vec<PackedEvent>, u64)> {
        let words = self.rows(first, (rows, EVENT_WORDS), count)?;
        let torn = !finalized && rows > 0 && count >= rows as u64;
        let (events, _) = words.as_chunks::<EVENT_WORDS>();
        let kept = events.iter().skip(usize::from(torn)).copied();
        let dropped = dropped(count, rows).saturating_add(u64::from(torn));
        Ok((kept.map(PackedEvent::from_words).collect(), dropped))
    }

    fn near(&self, count: u64) -> io::Result<(Vec<LocalSliceRow>, u64)> {
        let rows = self.layout.near_rows;
        let words = self.rows(self.layout.near, (rows, LOCAL_ROW_WORDS), count)?;
        let (kept, _) = words.as_chunks::<LOCAL_ROW_WORDS>();
        let row = |&[slice, messages, bytes, collectives]: &[u64; LOCAL_ROW_WORDS]| LocalSliceRow {
            slice,
            messages,
            bytes,
            collectives,
        };
        Ok((kept.iter().map(row).collect(), dropped(count, rows)))
    }
}

/// Returns the place of a site, without control characters.
fn place(len: u64, words: &[u64]) -> String {
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(PLACE_BYTES);
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .take(len)
        .collect();
    let text = String::from_utf8_lossy(&bytes);
    text.chars().filter(|one| !one.is_control()).collect()
}
