//! What a recorder holds while its rank runs: the little that a live view shows.
//!
//! The words are an allegation, as in [`super::reader`], and are read while they are written: figures that belong together
//! may be some calls apart.

use std::io;

use serde::{Deserialize, Serialize};

use super::reader::RecorderReader;
use super::{Primitive, UncheckedWords};
use ::mmds::event::PackedEvent;
use ::mmds::histogram::{HEAD, TOTAL};
use ::mmds::layout::{
    ACCOUNTED_UNTIL, BEGAN, BLOCKED, CALLS, CURRENT_CALL, ENDED, HEAD_WORDS, MESSAGES, MOST_SITES,
    RecorderLayout,
};

/// What a rank has done so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderSnapshot {
    /// Calls that have returned.
    pub calls: u64,
    /// Messages that were complete.
    pub messages: u64,
    /// For how long it has been recording.
    pub run_ns: u64,
    /// How much of that it has been inside blocking calls.
    pub in_mpi_ns: u64,
    /// The blocking call that it is in.
    pub call: Option<Primitive>,
    /// Where in the program that is; empty if it is in none, or the place is not known.
    pub place: String,
}

/// Glances at the recorder of a rank that runs at this time; nothing if it has not begun to record.
///
/// # Errors
/// When the words cannot be read.
pub fn take_snapshot(
    words: &impl UncheckedWords,
    layout: &RecorderLayout,
    now_ns: u64,
) -> io::Result<Option<RecorderSnapshot>> {
    let reader = RecorderReader { words, layout };
    let head = reader.words(0, HEAD_WORDS)?;
    if head[BEGAN] == 0 {
        return Ok(None);
    }
    let end_ns = if head[ENDED] == 0 {
        now_ns
    } else {
        head[ENDED]
    };
    let run_ns = end_ns.saturating_sub(head[BEGAN]);
    let overhead = reader.words(layout.overhead(), HEAD)?;
    let is_blocked = head[ENDED] == 0 && head[BLOCKED] != 0;
    let this_call_ns = match is_blocked {
        true => now_ns.saturating_sub(head[ACCOUNTED_UNTIL]),
        false => 0,
    };
    let under_way = PackedEvent::from_words(std::array::from_fn(|word| head[CURRENT_CALL + word]));
    let is_in_call = is_blocked && under_way.begun_ns != 0;
    let call = Primitive::ALL.get(usize::from(under_way.kind));
    let is_known = is_in_call && usize::from(under_way.site) < MOST_SITES && under_way.site != 0;
    let place = match is_known {
        true => reader.site(under_way.site)?.place,
        false => String::new(),
    };
    Ok(Some(RecorderSnapshot {
        calls: head[CALLS],
        messages: head[MESSAGES],
        run_ns,
        in_mpi_ns: overhead[TOTAL].saturating_add(this_call_ns).min(run_ns),
        call: call.copied().filter(|_| is_in_call),
        place,
    }))
}
