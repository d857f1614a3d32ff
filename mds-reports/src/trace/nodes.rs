//! The tracks of the Strobe Sender and of NICs.

use serde_json::{Map, Value};

use mds::dump::{NONE, Row, RunDumps, SliceRow};

use super::event::{TraceEvent, Track, TrackId};

/// A function that returns a time of a row.
type Pick = fn(&SliceRow) -> u64;

/// The process of the whole job.
const JOB: TrackId = TrackId {
    process: 0,
    thread: 1,
};

/// The thread of the microphases of a node, and of its first NIC thread.
const MICROPHASES: u64 = 1;
const THREADS: [(&str, Pick); 6] = [
    ("SR", |row| row.ltr_sr_ns),
    ("BS", |row| row.ltr_bs_ns),
    ("BR", |row| row.ltr_br_ns),
    ("DH", |row| row.ltr_dh_ns),
    ("CH", |row| row.ltr_ch_ns),
    ("RH", |row| row.ltr_rh_ns),
];
const FIRST_THREAD: u64 = 2;

const PHASES: [(&str, Pick); 5] = [
    ("DEM", |row| row.ltdem_ns),
    ("MSM", |row| row.ltmsm_ns),
    ("PM", |row| row.ltpm_ns),
    ("BBM", |row| row.ltbbm_ns),
    ("RM", |row| row.ltrm_ns),
];

/// Returns the process of a node.
pub(super) fn process(node: u32) -> u64 {
    u64::from(node) + 1
}

/// Returns all tracks but those of ranks.
pub(super) fn tracks(dumps: &RunDumps) -> Vec<Track> {
    let mut tracks = Vec::new();
    if dumps.nodes.iter().any(|dump| dump.global.is_some()) {
        tracks.push(Track {
            place: JOB,
            process: "job".to_owned(),
            thread: "strobes".to_owned(),
        });
    }
    for dump in &dumps.nodes {
        let names = THREADS.iter().map(|(name, _)| format!("NIC thread {name}"));
        for (thread, name) in
            (MICROPHASES..).zip(["microphases".to_owned()].into_iter().chain(names))
        {
            tracks.push(Track {
                place: TrackId {
                    process: process(dump.node),
                    thread,
                },
                process: format!("node {}", dump.node),
                thread: name,
            });
        }
    }
    tracks
}

pub(super) fn add(dumps: &RunDumps, events: &mut Vec<TraceEvent>) {
    for dump in &dumps.nodes {
        for row in dump.global.iter().flat_map(|global| &global.strobes) {
            events.push(TraceEvent {
                category: "strobe",
                figures: figures(row),
                ..TraceEvent::bar(
                    JOB,
                    format!("slice {}", row.slice),
                    row.strobe_ns,
                    bounded(row.gtts_ns),
                )
            });
        }
        for row in &dump.slices {
            slice(dump.node, row, events);
        }
    }
}

/// Adds a slice of a node: itself, its microphases in it, and the time of each NIC thread.
fn slice(node: u32, row: &SliceRow, events: &mut Vec<TraceEvent>) {
    let place = |thread| TrackId {
        process: process(node),
        thread,
    };
    let lasts_ns = bounded(row.ltts_ns);
    let ended_ns = row.strobe_ns.saturating_add(lasts_ns);
    events.push(TraceEvent {
        category: "slice",
        figures: figures(row),
        ..TraceEvent::bar(
            place(MICROPHASES),
            format!("slice {}", row.slice),
            row.strobe_ns,
            lasts_ns,
        )
    });
    let mut at_ns = row.strobe_ns;
    for (name, time_ns) in PHASES {
        let time_ns = bounded(time_ns(row)).min(ended_ns.saturating_sub(at_ns));
        if time_ns > 0 {
            events.push(TraceEvent {
                category: "microphase",
                ..TraceEvent::bar(place(MICROPHASES), name, at_ns, time_ns)
            });
            at_ns = at_ns.saturating_add(time_ns);
        }
    }
    for (thread, (name, time_ns)) in (FIRST_THREAD..).zip(THREADS) {
        let time_ns = bounded(time_ns(row)).min(lasts_ns);
        if time_ns > 0 {
            events.push(TraceEvent {
                category: "nic",
                ..TraceEvent::bar(place(thread), name, row.strobe_ns, time_ns)
            });
        }
    }
}

/// Returns a time, or 0 if it is absent.
fn bounded(ns: u64) -> u64 {
    if ns == NONE { 0 } else { ns }
}

/// Returns all figures of a row that are not absent.
pub(super) fn figures<R: Row>(row: &R) -> Map<String, Value> {
    let words = R::COLUMNS.iter().zip(row.words());
    let there = words.filter(|(_, word)| *word != NONE);
    there
        .map(|(column, word)| (column.name.to_owned(), word.into()))
        .collect()
}
