//! Reads the few figures of a recorder that a live view shows, while its rank runs.
//!
//! The words are not trusted, as in [`super::reader`], and the rank writes them meanwhile: figures
//! that belong together may be some calls apart.

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

/// The activity of a rank so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderSnapshot {
    /// The number of calls that have returned.
    pub calls: u64,
    /// The number of complete messages.
    pub messages: u64,
    /// The length of the recorded time.
    pub run_ns: u64,
    /// The part of this time inside blocking calls.
    pub in_mpi_ns: u64,
    /// The current blocking call.
    pub call: Option<Primitive>,
    /// The place of that call in the program; empty without a call, or if the place is not known.
    pub place: String,
}

/// Reads the recorder of a rank that runs at this time. Returns `None` if it has not begun to
/// record.
///
/// # Errors
/// If the words cannot be read.
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
