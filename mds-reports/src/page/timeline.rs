//! The data of the timeline: every call that is kept, for zooming in, and levels of less detail, so
//! that a browser draws a few rectangles for each pixel at most.
//!
//! All figures stand in one stream of bytes: unsigned numbers of seven bits a byte, the lowest
//! first, then compressed (zlib) and written in base64. `timeline.js` reads them in this order:
//!
//! | part | numbers |
//! |---|---|
//! | each rank | how many calls; then by columns: time since the call before, length, call, site, peer plus one, bytes |
//! | each level, each rank | for each part of the run: class of most of the MPI time, share of MPI in 255 |
//! | messages | how many; by columns: time since the one before, time until complete, sender's row, receiver's row, bytes |
//! | strobes | how many; time since the one before |

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

use crate::figures::{self, ActivityShares, CALL_CLASSES, MessageKey, call_class};
use mds::dump::{CallRow, MessageRow, NONE, RankDump, RunDumps};
use mds::mmds::Primitive;

/// The parts of the coarsest level: about as many as a screen has columns.
const COARSEST: usize = 1 << 10;

/// The parts of the finest level. From there on single calls are few enough.
const FINEST: usize = 1 << 16;

/// How many times as many parts the next level has.
const FINER: usize = 4;

/// The largest number that a script represents exactly. A dump may hold any number.
const LARGEST: u64 = 1 << 53;

/// Numbers as bytes.
#[derive(Default)]
struct NumberStream(Vec<u8>);

impl NumberStream {
    fn add(&mut self, number: u64) {
        let mut left = number.min(LARGEST);
        loop {
            let [lowest, ..] = left.to_le_bytes();
            left >>= 7;
            if left == 0 {
                return self.0.push(lowest & 0x7f);
            }
            self.0.push(lowest | 0x80);
        }
    }

    fn add_all(&mut self, numbers: impl Iterator<Item = u64>) {
        numbers.for_each(|number| self.add(number));
    }

    /// Adds the times since the time before.
    fn add_times(&mut self, began_ns: u64, times_ns: impl Iterator<Item = u64>) {
        let mut before_ns = began_ns;
        for at_ns in times_ns {
            self.add(at_ns.saturating_sub(before_ns));
            before_ns = before_ns.max(at_ns);
        }
    }

    fn packed(self) -> std::io::Result<String> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&self.0)?;
        Ok(STANDARD.encode(encoder.finish()?))
    }
}

/// Returns the data of the timeline.
///
/// # Errors
///
/// Never: memory takes all bytes.
pub(super) fn data(dumps: &RunDumps) -> serde_json::Result<Value> {
    let (began_ns, ended_ns) = figures::span_ns(dumps);
    let span_ns = ended_ns.saturating_sub(began_ns);
    let mut stream = NumberStream::default();
    let mut places: Vec<&str> = Vec::new();
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    for dump in &dumps.ranks {
        let sites: Vec<u64> = dump
            .sites
            .iter()
            .map(|site| {
                *numbers.entry(&site.place).or_insert_with(|| {
                    places.push(&site.place);
                    places.len() as u64 - 1
                })
            })
            .collect();
        add_calls(&mut stream, dump, began_ns, &sites);
    }
    let most = dumps.ranks.iter().map(|dump| dump.calls.len()).max();
    let levels = levels(most.unwrap_or(0));
    for parts in &levels {
        for dump in &dumps.ranks {
            let shares = figures::activity(dump, (began_ns, span_ns), *parts);
            for (class, share) in shares.iter().map(summary) {
                stream.add(class);
                stream.add(share);
            }
        }
    }
    add_messages(&mut stream, dumps, began_ns);
    let strobes = strobes(dumps);
    stream.add(strobes.len() as u64);
    stream.add_times(began_ns, strobes.into_iter());
    let rows = dumps.ranks.iter().map(|dump| json!([dump.rank, dump.node]));
    let classes = CALL_CLASSES.map(|(_, name)| name);
    Ok(json!({
        "span_ns": span_ns,
        "ranks": rows.collect::<Vec<_>>(),
        "calls": Primitive::ALL.iter().map(|primitive| json!([primitive.name(), class_of(*primitive)])).collect::<Vec<_>>(),
        "classes": classes,
        "places": places,
        "levels": levels,
        "packed": stream.packed().map_err(serde_json::Error::io)?,
    }))
}

fn class_of(primitive: Primitive) -> usize {
    call_class(&CallRow {
        primitive: primitive as u64,
        ..CallRow::default()
    })
}

fn add_calls(stream: &mut NumberStream, dump: &RankDump, began_ns: u64, sites: &[u64]) {
    let mut calls: Vec<&CallRow> = dump.calls.iter().collect();
    calls.sort_by_key(|call| call.begun_ns);
    let ended_ns = dump.began_ns.saturating_add(dump.run_ns);
    let length_ns = |call: &CallRow| {
        let ended_ns = if call.ended_ns == NONE {
            ended_ns
        } else {
            call.ended_ns
        };
        ended_ns.saturating_sub(call.begun_ns)
    };
    let site = |call: &CallRow| {
        let site = usize::try_from(call.site).ok();
        site.and_then(|site| sites.get(site))
            .map_or(0, |site| site + 1)
    };
    stream.add(calls.len() as u64);
    stream.add_times(began_ns, calls.iter().map(|call| call.begun_ns));
    stream.add_all(calls.iter().map(|call| length_ns(call)));
    stream.add_all(calls.iter().map(|call| call.primitive));
    stream.add_all(calls.iter().map(|call| site(call)));
    stream.add_all(calls.iter().map(|call| call.peer.wrapping_add(1)));
    stream.add_all(calls.iter().map(|call| call.bytes));
}

/// Returns the numbers of parts of the levels for this number of calls of one rank.
fn levels(calls: usize) -> Vec<usize> {
    let finer = std::iter::successors(Some(COARSEST), |parts| Some(parts * FINER));
    finer
        .take_while(|parts| *parts == COARSEST || (*parts <= FINEST && *parts < calls))
        .collect()
}

/// Returns the class that took most of the MPI time of a part, or one more than all classes if
/// nothing is known of the part; and the share of MPI, as a number up to 255.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1"
)]
fn summary(shares: &ActivityShares) -> (u64, u64) {
    let in_mpi = &shares[..CALL_CLASSES.len()];
    let all: f64 = shares.iter().sum();
    if all <= 0.0 {
        return (CALL_CLASSES.len() as u64 + 1, 0);
    }
    let most = in_mpi
        .iter()
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(other.1));
    let class = most.map_or(0, |(class, _)| class as u64);
    let share = in_mpi.iter().sum::<f64>() / all;
    (class, (share * 255.0).round() as u64)
}

/// Adds the messages that have a row on both sides.
fn add_messages(stream: &mut NumberStream, dumps: &RunDumps, began_ns: u64) {
    let mut sent: HashMap<MessageKey, (u64, &MessageRow)> = HashMap::new();
    let rows: BTreeMap<u32, u64> = dumps.ranks.iter().map(|dump| dump.rank).zip(0..).collect();
    let row = |rank: u32| rows.get(&rank).copied().unwrap_or(0);
    let messages = || {
        let ranks = dumps.ranks.iter();
        ranks.flat_map(|dump| {
            dump.messages
                .iter()
                .map(move |message| (dump.rank, message))
        })
    };
    for (rank, message) in messages().filter(|(_, message)| message.received == 0) {
        if let Some(key) = MessageKey::of(rank, message) {
            sent.insert(key, (row(rank), message));
        }
    }
    let mut both = Vec::new();
    for (rank, message) in messages().filter(|(_, message)| message.received != 0) {
        let key = MessageKey::of(rank, message);
        if let Some((from, send)) = key.and_then(|key| sent.remove(&key)) {
            let at_ns = send.posted_ns.min(message.completed_ns);
            both.push((
                at_ns,
                message.completed_ns - at_ns,
                from,
                row(rank),
                message.bytes,
            ));
        }
    }
    both.sort_unstable();
    stream.add(both.len() as u64);
    stream.add_times(began_ns, both.iter().map(|message| message.0));
    stream.add_all(both.iter().map(|message| message.1));
    stream.add_all(both.iter().map(|message| message.2));
    stream.add_all(both.iter().map(|message| message.3));
    stream.add_all(both.iter().map(|message| message.4));
}

/// Returns the times of strobes, in rising order.
fn strobes(dumps: &RunDumps) -> Vec<u64> {
    let global = dumps.nodes.iter().filter_map(|dump| dump.global.as_ref());
    let mut strobes: Vec<u64> = global
        .flat_map(|global| &global.strobes)
        .map(|row| row.strobe_ns)
        .collect();
    strobes.sort_unstable();
    strobes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_seven_bits_a_byte_and_are_bounded() {
        let mut stream = NumberStream::default();
        stream.add_all([0, 127, 128, u64::MAX].into_iter());
        let largest = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
        assert_eq!(stream.0, [&[0, 127, 0x80, 1][..], &largest].concat());
    }

    #[test]
    fn levels_go_down_to_the_calls() {
        assert_eq!(levels(0), [1_024]);
        assert_eq!(levels(5_000), [1_024, 4_096]);
        assert_eq!(levels(1_000_000), [1_024, 4_096, 16_384, 65_536]);
    }
}
