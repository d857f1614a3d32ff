//! A part of a run, between two moments.

use std::collections::HashSet;
use std::str::FromStr;

use thiserror::Error;

use crate::figures::span_ns;
use mds::dump::RunDumps;

use super::event::{TraceEvent, TraceShape};

/// A moment of a run, as users name it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moment {
    /// The strobe of this slice.
    Slice(u64),
    /// A time since the run began, in nanoseconds.
    Since(f64),
}

/// A text that names no moment, or a slice without a strobe.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum UnknownMoment {
    /// The text is no number, or has an unknown unit.
    #[error("{0:?} is no moment: give a time as 0.5s, 20ms or 300us, or the number of a slice")]
    NoMoment(String),
    /// No slice from this number on has a row.
    #[error("no slice from number {0} on has a row of its strobe: the last one is {1}")]
    NoSlice(u64, String),
}

/// The times between which events are kept, by the clock of the dumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceWindow {
    from_ns: u64,
    to_ns: u64,
}

impl FromStr for Moment {
    type Err = UnknownMoment;

    fn from_str(text: &str) -> Result<Self, UnknownMoment> {
        if let Ok(slice) = text.parse() {
            return Ok(Self::Slice(slice));
        }
        let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let time = units.into_iter().find_map(|(unit, ns)| {
            let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some(Self::Since(number * ns))
        });
        time.ok_or_else(|| UnknownMoment::NoMoment(text.to_owned()))
    }
}

impl TraceWindow {
    /// The whole run.
    pub const ALL: Self = Self {
        from_ns: 0,
        to_ns: u64::MAX,
    };

    /// Returns the time from one moment to another; from the beginning and to the end without one.
    /// A slice as the second moment is included.
    ///
    /// # Errors
    ///
    /// [`UnknownMoment::NoSlice`].
    pub fn between(
        dumps: &RunDumps,
        from: Option<Moment>,
        to: Option<Moment>,
    ) -> Result<Self, UnknownMoment> {
        let from_ns = from.map(|from| time_ns(dumps, from)).transpose()?;
        let to_ns = to.map(|to| match to {
            // Up to the strobe of the next slice, if there is one.
            Moment::Slice(slice) => match time_ns(dumps, Moment::Slice(slice.saturating_add(1))) {
                Ok(to_ns) => Ok(to_ns),
                Err(_) => time_ns(dumps, to).map(|_| u64::MAX),
            },
            Moment::Since(_) => time_ns(dumps, to),
        });
        Ok(Self {
            from_ns: from_ns.unwrap_or(Self::ALL.from_ns),
            to_ns: to_ns.transpose()?.unwrap_or(Self::ALL.to_ns),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that is not negative; a cast bounds one that is too long"
)]
fn time_ns(dumps: &RunDumps, moment: Moment) -> Result<u64, UnknownMoment> {
    let number = match moment {
        Moment::Since(ns) => return Ok(span_ns(dumps).0.saturating_add(ns as u64)),
        Moment::Slice(number) => number,
    };
    let global = dumps.nodes.iter().filter_map(|dump| dump.global.as_ref());
    let strobes = global.flat_map(|global| &global.strobes);
    let strobes = strobes.map(|row| (row.slice, row.strobe_ns));
    let slices = dumps.nodes.iter().flat_map(|dump| &dump.slices);
    let slices = slices.map(|row| (row.slice, row.strobe_ns));
    let all: Vec<(u64, u64)> = strobes.chain(slices).collect();
    let struck = all.iter().filter(|(slice, _)| *slice >= number).min();
    struck.map(|(_, strobe_ns)| *strobe_ns).ok_or_else(|| {
        let last = all.iter().map(|(slice, _)| slice).max();
        let last = last.map_or_else(|| "none".to_owned(), u64::to_string);
        UnknownMoment::NoSlice(number, last)
    })
}

/// Keeps the events that overlap the window. An arrow keeps both of its ends.
pub(super) fn keep(window: TraceWindow, events: &mut Vec<TraceEvent>) {
    if window == TraceWindow::ALL {
        return;
    }
    let mut begun = HashSet::new();
    let mut ended = HashSet::new();
    for event in events.iter() {
        match event.shape {
            TraceShape::ArrowFrom(number) if event.at_ns <= window.to_ns => {
                begun.insert(number);
            }
            TraceShape::ArrowTo(number) if event.at_ns >= window.from_ns => {
                ended.insert(number);
            }
            _ => {}
        }
    }
    events.retain(|event| match event.shape {
        TraceShape::ArrowFrom(number) | TraceShape::ArrowTo(number) => {
            begun.contains(&number) && ended.contains(&number)
        }
        TraceShape::Bar | TraceShape::Point => {
            let ended_ns = event.at_ns.saturating_add(event.lasts_ns);
            event.at_ns <= window.to_ns && ended_ns >= window.from_ns
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_times_with_a_unit_or_slices() {
        let moment = |text: &str| text.parse::<Moment>();
        assert_eq!(moment("12"), Ok(Moment::Slice(12)));
        assert_eq!(moment("0.5s"), Ok(Moment::Since(5e8)));
        assert_eq!(moment("20 ms"), Ok(Moment::Since(2e7)));
        for wrong in ["", "s", "-1s", "1.5", "NaNs", "1h"] {
            assert_eq!(
                moment(wrong),
                Err(UnknownMoment::NoMoment(wrong.to_owned()))
            );
        }
    }
}
