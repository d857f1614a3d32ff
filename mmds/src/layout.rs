//! Where everything lies in a rank's recorder, in words of 64 bits.
//!
//! | what | words | how often |
//! |---|---|---|
//! | head: times, how many rows there were, the call that is under way | [`HEAD_WORDS`] | 1 |
//! | computation granularity, communication overhead | a distribution | 2 |
//! | communicators, in a hash table, with one more for those without room | [`COMMUNICATOR_WORDS`] | [`MOST_COMMUNICATORS`] + 1 |
//! | places of sites that are in use | 1 | [`MOST_SITES`] |
//! | call sites, in a hash table; the first one is of calls for which there was no room | [`SITE_WORDS`] | [`MOST_SITES`] |
//! | peers, by their ranks, a line for both roads | [`PEER_WORDS`] | ranks |
//! | streams of messages, in a hash table, for ordinals | [`STREAM_WORDS`] | [`MOST_STREAMS`] |
//! | rows of slices, calls, messages: the last ones | [`LOCAL_ROW_WORDS`], [`EVENT_WORDS`] | as selected |
//! | latencies, then sizes, by primitives | a distribution | 2 for each primitive |
//!
//! The memory is a file without bytes at first: what is never written takes none, so the places are fixed however rarely
//! they are used. Node manager and rank find them by the same [`RecorderLayout`], which follows from what is recorded.

use crate::Primitive;
use crate::histogram::{BucketScale, HEAD};
use crate::limits::{DEFAULT_EVENTS, DEFAULT_ROWS_OF_JOB};
use crate::selection::{RankSelection, SliceWindow};

/// Words of the head.
pub const HEAD_WORDS: usize = 64;

/// When the recorder began; 0 while there is none.
pub const BEGAN: usize = 0;
/// When the rank had finalized; 0 until then.
pub const ENDED: usize = 1;
/// Up to then all time is in one of the two distributions.
pub const ACCOUNTED_UNTIL: usize = 2;
/// How many threads of the rank are in blocking calls.
pub const BLOCKED: usize = 3;
/// How many calls have returned.
pub const CALLS: usize = 4;
/// How many messages were complete.
pub const MESSAGES: usize = 5;
/// How many rows of slices there were.
pub const LOCAL_ROWS: usize = 6;
/// How many sites are in use.
pub const SITES: usize = 7;
/// The call that is under way, as an event is packed; its beginning is 0 if there is none.
pub const CURRENT_CALL: usize = 8;

/// Sites that have figures of their own, and the one of all others. SWEEP3D has ten; a large program has some hundred
/// calls of MPI.
pub const MOST_SITES: usize = 1024;
/// The longest place (`file:line:column`) that is kept; of a longer one the end.
pub const PLACE_BYTES: usize = 256;
/// A site: key, bytes of data, bytes of its place, a word to spare, times, place.
pub const SITE_WORDS: usize = SITE_TIMES + BucketScale::COARSE.words() + PLACE_BYTES / 8;
/// Where the times of a site are.
pub const SITE_TIMES: usize = 4;
/// Where the place of a site is.
pub const SITE_PLACE: usize = SITE_TIMES + BucketScale::COARSE.words();

/// Communicators that have figures of their own. Programs have a few; a job cannot have more than 2,048 at a time.
pub const MOST_COMMUNICATORS: usize = 512;
/// A communicator: context and one, sent, their bytes, received, their bytes, collectives, their bytes.
pub const COMMUNICATOR_WORDS: usize = 8;

/// A peer: for each road messages sent, their bytes, messages received, their bytes.
pub const PEER_WORDS: usize = 8;

/// Streams (peer, context, tag, direction) whose messages are numbered. A rank that exchanges with 26 neighbours by a
/// tag each has 52.
pub const MOST_STREAMS: usize = 8192;
/// A stream: two words of key, how many messages.
pub const STREAM_WORDS: usize = 4;

/// Places of a hash table that are looked at for a key. A table that is full, or has a crowd, costs a call no more than
/// that: what is not found there is counted with all that has no room.
pub const MOST_STEPS: usize = 64;

/// A row of a slice.
pub const LOCAL_ROW_WORDS: usize = 4;
/// A call or message, packed.
pub const EVENT_WORDS: usize = 6;

// A site is named in 16 bits of an event, a primitive in 8.
const _: () = assert!(MOST_SITES <= 1 << 16 && Primitive::ALL.len() <= 1 << 8);
const _: () = assert!(MOST_SITES.is_power_of_two() && MOST_STREAMS.is_power_of_two());
const _: () = assert!(MOST_COMMUNICATORS.is_power_of_two());
const _: () = assert!(SITE_WORDS.is_multiple_of(4) && CURRENT_CALL + EVENT_WORDS <= HEAD_WORDS);

/// Where everything lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecorderLayout {
    /// How wide buckets are.
    pub scale: BucketScale,
    /// Ranks of the job.
    pub ranks: usize,
    /// Rows of slices that are kept,
    pub near_rows: usize,
    /// rows of calls,
    pub call_rows: usize,
    /// and rows of messages.
    pub message_rows: usize,
    /// Where the communicators are,
    pub communicators: usize,
    /// the places of sites in use,
    pub used_sites: usize,
    /// the sites,
    pub sites: usize,
    /// the peers,
    pub peers: usize,
    /// the streams,
    pub(crate) streams: usize,
    /// the rows of slices,
    pub near: usize,
    /// of calls,
    pub calls: usize,
    /// and of messages.
    pub messages: usize,
    primitives: usize,
}

impl RecorderLayout {
    /// The layout of a recorder of this, in a job of so many ranks, with rows of the slices of this window.
    #[must_use]
    pub fn new(of: &RankSelection, window: SliceWindow, ranks: usize) -> Self {
        let rows = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let scale = BucketScale::of_digits(of.digits);
        let mut end = HEAD_WORDS + 2 * scale.words();
        let mut place = |words: usize| {
            let first = end;
            end = (end + words).next_multiple_of(8);
            first
        };
        let share = |most: u64| (DEFAULT_ROWS_OF_JOB / (ranks as u64).max(1)).clamp(1, most);
        let events = |chosen: Option<u64>| rows(chosen.unwrap_or_else(|| share(DEFAULT_EVENTS)));
        let (call_rows, message_rows) = (events(of.calls), events(of.messages));
        let near_rows = match window == SliceWindow::default() {
            true => rows(share(window.rows())),
            false => rows(window.rows()),
        };
        Self {
            scale,
            ranks,
            near_rows,
            call_rows,
            message_rows,
            communicators: place((MOST_COMMUNICATORS + 1) * COMMUNICATOR_WORDS),
            used_sites: place(MOST_SITES),
            sites: place(MOST_SITES * SITE_WORDS),
            peers: place(ranks * PEER_WORDS),
            streams: place(MOST_STREAMS * STREAM_WORDS),
            near: place(near_rows * LOCAL_ROW_WORDS),
            calls: place(call_rows * EVENT_WORDS),
            messages: place(message_rows * EVENT_WORDS),
            primitives: place(0),
        }
    }

    /// The words that it takes, most of which are never written.
    #[must_use]
    pub fn words(&self) -> usize {
        self.size_of(Primitive::ALL.len())
    }

    /// Where the computation granularity is.
    #[must_use]
    #[inline(always)]
    pub fn computation(&self) -> usize {
        HEAD_WORDS
    }

    /// Where the communication overhead is.
    #[must_use]
    #[inline(always)]
    pub fn overhead(&self) -> usize {
        HEAD_WORDS + self.scale.words()
    }

    /// Where the latencies of a primitive are.
    #[must_use]
    #[inline(always)]
    pub fn latency_of(&self, primitive: usize) -> usize {
        self.primitives + primitive * self.scale.words()
    }

    /// Where the sizes of a primitive are.
    #[must_use]
    #[inline(always)]
    pub fn size_of(&self, primitive: usize) -> usize {
        self.latency_of(Primitive::ALL.len() + primitive)
    }
}

const _: () = assert!(HEAD < 8);
