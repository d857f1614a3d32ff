//! A run as a trace in the Trace Event Format, which Perfetto and Chrome show.
//!
//! | in the trace | is |
//! |---|---|
//! | process `job` | a thread `strobes` with the slices as the Strobe Sender saw them |
//! | process `node N` | threads of the node's NIC: `microphases`, then each NIC thread; then a thread for each rank |
//! | complete events (`X`) | slices, microphases, times of NIC threads in a slice, calls |
//! | instants (`i`) | each message that a rank sent or received, when it posted it |
//! | arrows (`s`, `f`) | from the post of a message at its sender to its completion at its receiver |
//!
//! Dumps have the lengths of microphases and routines, but not their beginnings. Microphases are
//! drawn one after the other from the strobe of their slice, and each NIC thread from the strobe
//! on. None is drawn longer than the slice.

mod event;
mod nodes;
mod ranks;
mod window;

use std::io::{self, Write};

use crate::figures::span_ns;
use mds::dump::RunDumps;

use event::{TraceEvent, TraceShape, Track};

pub use window::{Moment, TraceWindow, UnknownMoment};

/// The contents of a trace: numbers of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Slices of the Strobe Sender.
    pub strobes: usize,
    /// Slices of nodes.
    pub slices: usize,
    /// Calls.
    pub calls: usize,
    /// Messages, counted once for each side.
    pub messages: usize,
    /// Arrows: messages with a row on both sides.
    pub arrows: usize,
}

/// Writes the trace of all tables, or of what overlaps a window of time: names first, then events
/// in the order of their times.
///
/// # Errors
///
/// Those of `to`.
pub fn write(dumps: &RunDumps, window: TraceWindow, to: &mut impl Write) -> io::Result<Counts> {
    let (began_ns, ended_ns) = span_ns(dumps);
    let mut events = Vec::new();
    let mut tracks = nodes::tracks(dumps);
    nodes::add(dumps, &mut events);
    tracks.extend(ranks::add(dumps, ended_ns, &mut events));
    window::keep(window, &mut events);
    let counts = counts(&events);
    // If two events begin at the same time, the longer one encloses the other.
    events.sort_by_key(|event: &TraceEvent| (event.at_ns, std::cmp::Reverse(event.lasts_ns)));
    to.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut separator = "\n";
    for name in tracks.iter().flat_map(Track::names) {
        write!(to, "{separator}{name}")?;
        separator = ",\n";
    }
    for event in &events {
        write!(to, "{separator}{}", event.json(began_ns))?;
        separator = ",\n";
    }
    to.write_all(b"\n]}\n")?;
    to.flush()?;
    Ok(counts)
}

fn counts(events: &[TraceEvent]) -> Counts {
    let mut counts = Counts::default();
    for event in events {
        match (event.shape, event.category) {
            (TraceShape::Bar, "strobe") => counts.strobes += 1,
            (TraceShape::Bar, "slice") => counts.slices += 1,
            (TraceShape::Bar, "call") => counts.calls += 1,
            (TraceShape::Point, _) => counts.messages += 1,
            (TraceShape::ArrowFrom(_), _) => counts.arrows += 1,
            _ => {}
        }
    }
    counts
}
