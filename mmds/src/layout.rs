//! The layout of a rank's recorder, in words of 64 bits.
//!
//! | part | words | number |
//! |---|---|---|
//! | head: times, counts of rows, the call that is under way | [`HEAD_WORDS`] | 1 |
//! | computation granularity, communication overhead | a distribution | 2 |
//! | communicators, in a hash table, with one more for those without room | [`COMMUNICATOR_WORDS`] | [`MOST_COMMUNICATORS`] + 1 |
//! | places of sites that are in use | 1 | [`MOST_SITES`] |
//! | call sites, in a hash table; the first one is for calls without room in it | [`SITE_WORDS`] | [`MOST_SITES`] |
//! | peers, by their ranks, a line for both transports | [`PEER_WORDS`] | ranks |
//! | streams of messages, in a hash table, for ordinals | [`STREAM_WORDS`] | [`MOST_STREAMS`] |
//! | rows of slices, calls, messages: the last ones | [`LOCAL_ROW_WORDS`], [`EVENT_WORDS`] | as selected |
//! | latencies, then sizes, by primitives | a distribution | 2 for each primitive |
//!
//! At first the memory is a file without data. Parts that are never written take no memory, so even
//! rarely used parts have fixed places. Node manager and rank compute the same [`RecorderLayout`]
//! from the selection.

use crate::Primitive;
use crate::histogram::{BucketScale, HEAD};
use crate::limits::{DEFAULT_EVENTS, DEFAULT_ROWS_OF_JOB};
use crate::selection::{RankSelection, SliceWindow};

/// Words of the head.
pub const HEAD_WORDS: usize = 64;

/// When the recorder began; 0 while there is no recorder.
pub const BEGAN: usize = 0;
/// When the rank had finalized; 0 until then.
pub const ENDED: usize = 1;
/// Until this time each nanosecond is in one of the two distributions.
pub const ACCOUNTED_UNTIL: usize = 2;
/// The number of the rank's threads in blocking calls.
pub const BLOCKED: usize = 3;
/// The number of calls that have returned.
pub const CALLS: usize = 4;
/// The number of complete messages.
pub const MESSAGES: usize = 5;
/// The number of rows of slices, including overwritten ones.
pub const LOCAL_ROWS: usize = 6;
/// The number of sites in use.
pub const SITES: usize = 7;
/// The call that is under way, packed as an event; its beginning is 0 if there is no call.
pub const CURRENT_CALL: usize = 8;
/// The computation for which the kernel's account was read; the next four words are about it.
pub const USAGE_COMPUTATION: usize = 16;
/// The part of it on a core.
pub const USAGE_CPU: usize = 17;
/// The part of it in which the thread was ready, and others had the core.
pub const USAGE_PREEMPTED: usize = 18;
/// The part of it in which the thread slept.
pub const USAGE_BLOCKED: usize = 19;
/// How often the kernel took the core from the thread in it.
pub const USAGE_PREEMPTIONS: usize = 20;
/// Bytes that the process has read and written by system calls; 0 until the end.
pub const FILE_BYTES: usize = 21;
/// The time of a fixed loop on the rank's core; 0 until the end.
pub const CORE_LOOP_NS: usize = 22;

/// Sites that have figures of their own, including the one for all other sites. SWEEP3D has ten; a
/// large program has some hundred calls of MPI.
pub const MOST_SITES: usize = 1024;
/// The longest place (`file:line:column`) that is stored. A longer place is cut at its beginning.
pub const PLACE_BYTES: usize = 256;
/// A site: key, bytes of data, bytes of its place, a spare word, times, place.
pub const SITE_WORDS: usize = SITE_TIMES + BucketScale::COARSE.words() + PLACE_BYTES / 8;
/// Where the times of a site are.
pub const SITE_TIMES: usize = 4;
/// Where the place of a site is.
pub const SITE_PLACE: usize = SITE_TIMES + BucketScale::COARSE.words();

/// Communicators that have figures of their own. Programs have a few; a job cannot have more than
/// 2,048 at once.
pub const MOST_COMMUNICATORS: usize = 512;
/// A communicator: context plus one, messages sent, their bytes, messages received, their bytes,
/// collectives, their bytes.
pub const COMMUNICATOR_WORDS: usize = 8;

/// A peer: for each transport messages sent, their bytes, messages received, their bytes.
pub const PEER_WORDS: usize = 8;

/// Streams (peer, context, tag, direction) whose messages are numbered. A rank that exchanges
/// messages with 26 neighbours, with one tag each, has 52.
pub const MOST_STREAMS: usize = 8192;
/// A stream: two words of key, the number of messages.
pub const STREAM_WORDS: usize = 4;

/// The most places of a hash table that a call searches for a key. This bounds the cost of a full
/// or crowded table. A key that is not found there is counted with all that have no room.
pub const MOST_STEPS: usize = 64;

/// A row of a slice.
pub const LOCAL_ROW_WORDS: usize = 4;
/// A call or message, packed.
pub const EVENT_WORDS: usize = 6;

// An event has 16 bits for a site, and 8 for a primitive.
const _: () = assert!(MOST_SITES <= 1 << 16 && Primitive::ALL.len() <= 1 << 8);
const _: () = assert!(MOST_SITES.is_power_of_two() && MOST_STREAMS.is_power_of_two());
const _: () = assert!(MOST_COMMUNICATORS.is_power_of_two());
const _: () =
    assert!(SITE_WORDS.is_multiple_of(4) && CURRENT_CALL + EVENT_WORDS <= USAGE_COMPUTATION);
const _: () = assert!(CORE_LOOP_NS < HEAD_WORDS);

/// The layout of a recorder: where its parts begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecorderLayout {
    /// The width of buckets.
    pub scale: BucketScale,
    /// The number of ranks of the job.
    pub ranks: usize,
    /// The number of rows of slices.
    pub near_rows: usize,
    /// The number of rows of calls.
    pub call_rows: usize,
    /// The number of rows of messages.
    pub message_rows: usize,
    /// Where the communicators begin.
    pub communicators: usize,
    /// Where the places of used sites begin.
    pub used_sites: usize,
    /// Where the sites begin.
    pub sites: usize,
    /// Where the peers begin.
    pub peers: usize,
    /// Where the streams begin.
    pub(crate) streams: usize,
    /// Where the rows of slices begin.
    pub near: usize,
    /// Where the rows of calls begin.
    pub calls: usize,
    /// Where the rows of messages begin.
    pub messages: usize,
    primitives: usize,
}

impl RecorderLayout {
    /// Computes the layout for this selection in a job of `ranks` ranks, with rows of the slices of
    /// this window.
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

    /// Returns the length in words. Most of them are never written.
    #[must_use]
    pub fn words(&self) -> usize {
        self.size_of(Primitive::ALL.len())
    }

    /// Returns where the computation granularity begins.
    #[must_use]
    #[inline(always)]
    pub fn computation(&self) -> usize {
        HEAD_WORDS
    }

    /// Returns where the communication overhead begins.
    #[must_use]
    #[inline(always)]
    pub fn overhead(&self) -> usize {
        HEAD_WORDS + self.scale.words()
    }

    /// Returns where the latencies of a primitive begin.
    #[must_use]
    #[inline(always)]
    pub fn latency_of(&self, primitive: usize) -> usize {
        self.primitives + primitive * self.scale.words()
    }

    /// Returns where the sizes of a primitive begin.
    #[must_use]
    #[inline(always)]
    pub fn size_of(&self, primitive: usize) -> usize {
        self.latency_of(Primitive::ALL.len() + primitive)
    }
}

const _: () = assert!(HEAD < 8);
