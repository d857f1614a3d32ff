//! Events of a trace, and their tracks.

use serde_json::{Map, Value, json};

/// A process and a thread of the trace. Their numbers decide the place in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) place: TrackId,
    pub(super) process: String,
    pub(super) thread: String,
}

/// The numbers of a process and a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackId {
    pub(super) process: u64,
    pub(super) thread: u64,
}

/// The shape of an event: the letter of its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceShape {
    /// A bar.
    Bar,
    /// A point.
    Point,
    /// The beginning of the arrow with this number.
    ArrowFrom(usize),
    /// The end of the arrow with this number.
    ArrowTo(usize),
}

#[derive(Debug, Clone)]
pub(super) struct TraceEvent {
    pub(super) shape: TraceShape,
    pub(super) place: TrackId,
    pub(super) name: String,
    pub(super) category: &'static str,
    pub(super) at_ns: u64,
    pub(super) lasts_ns: u64,
    pub(super) figures: Map<String, Value>,
}

impl Track {
    /// Returns the events that give the track its names and its place.
    pub(super) fn names(&self) -> [Value; 4] {
        let TrackId { process, thread } = self.place;
        let named = |what: &str, value: Value| json!({"ph": "M", "name": what, "pid": process, "tid": thread, "args": value});
        [
            named("process_name", json!({"name": self.process})),
            named("process_sort_index", json!({"sort_index": process})),
            named("thread_name", json!({"name": self.thread})),
            named("thread_sort_index", json!({"sort_index": thread})),
        ]
    }
}

impl TraceEvent {
    /// Makes a bar that begins at a time.
    pub(super) fn bar(place: TrackId, name: impl Into<String>, at_ns: u64, lasts_ns: u64) -> Self {
        Self {
            shape: TraceShape::Bar,
            place,
            name: name.into(),
            category: "call",
            at_ns,
            lasts_ns,
            figures: Map::new(),
        }
    }

    /// Returns the object of the trace, with times from the beginning of the run on.
    pub(super) fn json(&self, began_ns: u64) -> Value {
        let (phase, id) = match self.shape {
            TraceShape::Bar => ("X", None),
            TraceShape::Point => ("i", None),
            TraceShape::ArrowFrom(number) => ("s", Some(number)),
            TraceShape::ArrowTo(number) => ("f", Some(number)),
        };
        let mut event = json!({
            "ph": phase,
            "name": self.name,
            "cat": self.category,
            "pid": self.place.process,
            "tid": self.place.thread,
            "ts": microseconds(self.at_ns.saturating_sub(began_ns)),
        });
        match self.shape {
            TraceShape::Bar => event["dur"] = microseconds(self.lasts_ns),
            // The point is as wide as its thread.
            TraceShape::Point => event["s"] = json!("t"),
            // The arrow ends at the bar that is there, not at the next one.
            TraceShape::ArrowTo(_) => event["bp"] = json!("e"),
            TraceShape::ArrowFrom(_) => {}
        }
        if let Some(id) = id {
            event["id"] = json!(id);
        }
        if !self.figures.is_empty() {
            event["args"] = Value::Object(self.figures.clone());
        }
        event
    }
}

/// Converts a time. The format counts in microseconds; three decimals are nanoseconds. Times up to
/// 52 days stay distinct.
fn microseconds(ns: u64) -> Value {
    json!(ns as f64 / 1e3)
}
