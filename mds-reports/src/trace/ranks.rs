//! The tracks of ranks: their calls, their messages, and the arrows between them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::figures::{MessageKey, primitive};
use mds::dump::{MessageRow, MessageTransport, NONE, RankDump, RunDumps};
use mds::mmds::Primitive;

use super::event::{TraceEvent, TraceShape, Track, TrackId};
use super::nodes::{figures, process};

/// The thread of the first rank; the NIC's threads are below.
const FIRST_RANK: u64 = 100;

/// Threads of the trace for one rank. Its calls overlap if several of its own threads make them.
const LANES: u64 = 64;

/// Adds the activity of ranks, and returns their tracks.
pub(super) fn add(dumps: &RunDumps, ended_ns: u64, events: &mut Vec<TraceEvent>) -> Vec<Track> {
    let mut tracks = Vec::new();
    for dump in &dumps.ranks {
        let lanes = calls(dump, ended_ns, events);
        for lane in 0..lanes {
            tracks.push(Track {
                place: place(dump, lane),
                process: format!("node {}", dump.node),
                thread: match lane {
                    0 => format!("rank {}", dump.rank),
                    _ => format!("rank {} ({})", dump.rank, lane + 1),
                },
            });
        }
        for row in &dump.messages {
            events.push(message(dump, row));
        }
    }
    arrows(dumps, events);
    tracks
}

fn place(dump: &RankDump, lane: u64) -> TrackId {
    TrackId {
        process: process(dump.node),
        thread: FIRST_RANK + u64::from(dump.rank) * LANES + lane,
    }
}

/// Adds the calls of a rank, and returns the number of lanes. A call that never returned lasts
/// until the end of the run.
fn calls(dump: &RankDump, ended_ns: u64, events: &mut Vec<TraceEvent>) -> u64 {
    let mut lanes: Vec<u64> = vec![0];
    let mut in_order: Vec<_> = dump.calls.iter().collect();
    in_order.sort_by_key(|call| call.begun_ns);
    for call in in_order {
        let ended_ns = match call.ended_ns {
            NONE => ended_ns.max(call.begun_ns),
            ended_ns => ended_ns.max(call.begun_ns),
        };
        let free = lanes.iter().position(|busy_ns| *busy_ns <= call.begun_ns);
        let full = lanes.len() as u64 >= LANES;
        let lane = free.unwrap_or(if full { 0 } else { lanes.len() });
        if lane == lanes.len() {
            lanes.push(0);
        }
        lanes[lane] = lanes[lane].max(ended_ns);
        let name = primitive(call).map_or("a call", Primitive::name);
        let mut figures = figures(call);
        figures.remove("primitive");
        named(dump, &mut figures);
        if call.ended_ns == NONE {
            figures.insert("returned".to_owned(), false.into());
        }
        let lasts_ns = ended_ns.saturating_sub(call.begun_ns);
        events.push(TraceEvent {
            figures,
            ..TraceEvent::bar(place(dump, lane as u64), name, call.begun_ns, lasts_ns)
        });
    }
    lanes.len() as u64
}

/// Replaces numbers by names: the place of a site, the transport, the world, ranks.
fn named(dump: &RankDump, figures: &mut Map<String, Value>) {
    let number =
        |figures: &Map<String, Value>, name: &str| figures.get(name).and_then(Value::as_u64);
    let site = number(figures, "site");
    let site = site.and_then(|site| dump.sites.get(usize::try_from(site).ok()?));
    let site = site.map(|site| ("site", site.place.clone()));
    let road = number(figures, "road").map(|road| {
        let roads = [MessageTransport::Nic, MessageTransport::Smartmap];
        let known = roads.into_iter().find(|known| *known as u64 == road);
        (
            "road",
            known.map_or_else(
                || format!("road {road}"),
                |known| road_name(known).to_owned(),
            ),
        )
    });
    let context = number(figures, "context").map(|context| match context {
        0 => ("context", "MPI_COMM_WORLD".to_owned()),
        other => ("context", format!("communicator {other}")),
    });
    let peer = number(figures, "peer").map(|peer| ("peer", format!("rank {peer}")));
    for (name, value) in [site, road, context, peer].into_iter().flatten() {
        figures.insert(name.to_owned(), value.into());
    }
}

const fn road_name(road: MessageTransport) -> &'static str {
    match road {
        MessageTransport::Nic => "NIC",
        MessageTransport::Smartmap => "SMARTMAP",
    }
}

/// Makes the event of a message on one side.
fn message(dump: &RankDump, row: &MessageRow) -> TraceEvent {
    let name = match row.received {
        0 => format!("send to {}", row.peer),
        _ => format!("receive from {}", row.peer),
    };
    let mut figures = figures(row);
    figures.remove("received");
    named(dump, &mut figures);
    TraceEvent {
        shape: TraceShape::Point,
        category: "message",
        figures,
        ..TraceEvent::bar(place(dump, 0), name, row.posted_ns, 0)
    }
}

/// Adds an arrow for each message that has a row on both sides.
fn arrows(dumps: &RunDumps, events: &mut Vec<TraceEvent>) {
    let mut sent: HashMap<MessageKey, (&RankDump, &MessageRow)> = HashMap::new();
    for dump in &dumps.ranks {
        for row in dump.messages.iter().filter(|row| row.received == 0) {
            if let Some(key) = MessageKey::of(dump.rank, row) {
                sent.insert(key, (dump, row));
            }
        }
    }
    let mut arrows = 0;
    for dump in &dumps.ranks {
        for row in dump.messages.iter().filter(|row| row.received != 0) {
            let key = MessageKey::of(dump.rank, row);
            let Some((sender, send)) = key.and_then(|key| sent.remove(&key)) else {
                continue;
            };
            // An arrow does not go back in time.
            let from_ns = send.posted_ns.min(row.completed_ns);
            let end = |shape, dump: &RankDump, at_ns| TraceEvent {
                shape,
                category: "message",
                ..TraceEvent::bar(place(dump, 0), "message", at_ns, 0)
            };
            events.push(end(TraceShape::ArrowFrom(arrows), sender, from_ns));
            events.push(end(TraceShape::ArrowTo(arrows), dump, row.completed_ns));
            arrows += 1;
        }
    }
}
