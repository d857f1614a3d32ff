//! The recorder inside a rank. It only adds to memory; the node manager reads that after the rank
//! has ended.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::{NO_NUMBER, PackedEvent};
use crate::histogram::BucketScale;
use crate::layout::{
    ACCOUNTED_UNTIL, BEGAN, BLOCKED, CALLS, COMMUNICATOR_WORDS, CURRENT_CALL, ENDED, EVENT_WORDS,
    LOCAL_ROW_WORDS, LOCAL_ROWS, MESSAGES, MOST_COMMUNICATORS, MOST_SITES, MOST_STEPS,
    MOST_STREAMS, PEER_WORDS, PLACE_BYTES, RecorderLayout, SITE_PLACE, SITE_TIMES, SITE_WORDS,
    SITES, STREAM_WORDS,
};
use crate::selection::{Metric, RankSelection, SliceWindow};
use crate::thread_usage::UsageReading;
use crate::{CallInfo, CallOrigin, MessageInfo, MessageTransport, Primitive, Site, WordMemory};

/// Records one rank: computation granularity, communication overhead, and for each call, message
/// and collective the contents of a `RankDump` of the crate `mds` (paper, section 5.1).
///
/// There is one writer: the thread with exclusive access. It writes only into its [`WordMemory`],
/// which is consistent whenever the rank ends: a count is stored after what it counts.
///
/// Invariant: the two distributions together hold exactly the time from the beginning to the word
/// `ACCOUNTED_UNTIL`, each nanosecond in one of them once. The rest is computation, or overhead if
/// the rank is in a blocking call.
#[derive(Debug)]
pub struct Recorder<M> {
    pub(super) memory: M,
    pub(super) layout: RecorderLayout,
    window: SliceWindow,
    /// Indexed by the numbers of primitives.
    primitives: [bool; Primitive::ALL.len()],
    pub(super) metrics: Metrics,
    /// Until this time each nanosecond is in one of the two distributions.
    pub(super) accounted_ns: u64,
    /// Threads of the rank that are in blocking calls.
    pub(super) blocked: u64,
    /// The last reading of the thread's account with the kernel.
    pub(super) usage: UsageReading,
    calls: Ring,
    messages: Ring,
    near: Ring,
    /// The slice of the last row.
    near_slice: Option<u64>,
    /// Returns the text of a line to which a rank has given an address.
    name_of: fn(u64) -> Option<String>,
}

/// The metrics that are recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metrics {
    latency: bool,
    size: bool,
    sites: bool,
    peers: bool,
    pub(super) communicators: bool,
    pub(super) calls: bool,
    messages: bool,
    near: bool,
}

/// A ring of rows that keeps the last ones.
#[derive(Debug)]
struct Ring {
    first: usize,
    row_words: usize,
    rows: usize,
    /// Where the next row goes.
    next: usize,
    /// How many rows have been counted.
    count: u64,
}

impl Ring {
    fn new(first: usize, row_words: usize, rows: usize) -> Self {
        Self {
            first,
            row_words,
            rows,
            next: 0,
            count: 0,
        }
    }

    /// Counts a row. Returns where it is written, or `None` if no rows are kept.
    #[inline(always)]
    fn advance(&mut self) -> Option<usize> {
        self.count += 1;
        if self.rows == 0 {
            return None;
        }
        let at = self.first + self.next * self.row_words;
        self.next = if self.next + 1 == self.rows {
            0
        } else {
            self.next + 1
        };
        Some(at)
    }

    /// Returns where the last row is.
    fn last(&self) -> Option<usize> {
        let row = self.next.checked_sub(1).or(self.rows.checked_sub(1))?;
        Some(self.first + row * self.row_words)
    }
}

/// Adds to a word that has only this writer.
#[inline(always)]
fn add(word: &AtomicU64, more: u64) {
    word.store(
        word.load(Ordering::Relaxed).wrapping_add(more),
        Ordering::Relaxed,
    );
}

/// Spreads keys over a table whose size is a power of two.
#[inline(always)]
fn spread(key: u64, places: usize) -> usize {
    let hash = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
    hash & (places - 1)
}

impl<M: WordMemory> Recorder<M> {
    /// Makes a recorder in memory that reads as zero, for a rank that computes from `now_ns` on.
    ///
    /// # Panics
    /// If the memory is smaller than the layout of what is recorded.
    #[must_use]
    pub fn new(
        memory: M,
        layout: RecorderLayout,
        of: &RankSelection,
        window: SliceWindow,
        now_ns: u64,
    ) -> Self {
        assert!(
            memory.words().len() >= layout.words(),
            "a recorder has room"
        );
        let has = |metric| of.metrics.has(metric);
        let recorder = Self {
            memory,
            layout,
            window,
            primitives: std::array::from_fn(|number| of.primitives.has(Primitive::ALL[number])),
            metrics: Metrics {
                latency: has(Metric::Latency),
                size: has(Metric::Size),
                sites: has(Metric::Sites),
                peers: has(Metric::Peers),
                communicators: has(Metric::Communicators),
                calls: has(Metric::Calls),
                messages: has(Metric::Messages),
                near: has(Metric::Near),
            },
            accounted_ns: now_ns,
            blocked: 0,
            usage: UsageReading::default(),
            calls: Ring::new(layout.calls, EVENT_WORDS, layout.call_rows),
            messages: Ring::new(layout.messages, EVENT_WORDS, layout.message_rows),
            near: Ring::new(layout.near, LOCAL_ROW_WORDS, layout.near_rows),
            near_slice: None,
            name_of: |_| None,
        };
        recorder
            .head(ACCOUNTED_UNTIL)
            .store(now_ns, Ordering::Relaxed);
        recorder.head(BEGAN).store(now_ns.max(1), Ordering::Release);
        recorder
    }

    /// Records that a call begins. Calls that the library makes itself are not reported here.
    #[inline(always)]
    pub fn enter(&mut self, site: Site, called: &CallInfo, now_ns: u64, slice: u64) -> CallOrigin {
        let site = self.site(site, called.primitive);
        if called.blocking {
            if self.blocked == 0 {
                self.account(self.layout.computation(), now_ns);
            }
            self.blocked += 1;
            self.head(BLOCKED).store(self.blocked, Ordering::Relaxed);
        }
        let begun = CallOrigin::new(now_ns, slice, called.primitive, site);
        if self.metrics.calls {
            self.write(CURRENT_CALL, &packed(&begun, called, u64::MAX));
        }
        begun
    }

    /// Records that the call returns. The length of the data may be known better than when it
    /// began. For a primitive that only starts an operation, [`latency`](Self::latency) reports the
    /// latency on completion.
    #[inline(always)]
    pub fn leave(&mut self, begun: &CallOrigin, called: &CallInfo, now_ns: u64) {
        if called.blocking {
            self.blocked = self.blocked.saturating_sub(1);
            self.head(BLOCKED).store(self.blocked, Ordering::Relaxed);
            if self.blocked == 0 {
                self.account(self.layout.overhead(), now_ns);
            }
        }
        if !self.primitives[called.primitive as usize] {
            return;
        }
        if self.metrics.sites {
            let first = self.layout.sites + usize::from(begun.site()) * SITE_WORDS;
            let words = self.memory.words();
            add(&words[first + 1], called.bytes);
            let time_ns = now_ns.saturating_sub(begun.at_ns());
            BucketScale::COARSE.record(words, first + SITE_TIMES, time_ns);
        }
        if self.metrics.calls {
            if let Some(at) = self.calls.advance() {
                self.write(at, &packed(begun, called, now_ns));
            }
            self.head(CALLS).store(self.calls.count, Ordering::Release);
            if self.head(CURRENT_CALL).load(Ordering::Relaxed) == begun.at_ns() {
                self.head(CURRENT_CALL).store(0, Ordering::Relaxed);
            }
        }
    }

    /// Records that an operation of `primitive` is complete: at once, or after it was started.
    /// Sizes are recorded for primitives that move data.
    #[inline(always)]
    pub fn latency(&mut self, primitive: Primitive, latency_ns: u64, bytes: u64) {
        let number = primitive as usize;
        if !self.primitives[number] {
            return;
        }
        let scale = self.layout.scale;
        if self.metrics.latency {
            scale.record(
                self.memory.words(),
                self.layout.latency_of(number),
                latency_ns,
            );
        }
        if self.metrics.size && primitive.has_size() {
            scale.record(self.memory.words(), self.layout.size_of(number), bytes);
        }
    }

    /// Records that a message to a peer was posted.
    #[inline(always)]
    pub fn posted(&mut self, begun: &mut CallOrigin, message: &MessageInfo) {
        self.count_message(message, 0);
        if self.metrics.near && message.road == MessageTransport::Smartmap {
            self.add_to_slice(begun.slice, [1, message.bytes, 0]);
        }
        *begun = begun.numbered(self.ordinal(message, false));
    }

    /// Records that a message to a peer, which was [`posted`](Self::posted), is complete.
    #[inline(always)]
    pub fn sent(&mut self, begun: &CallOrigin, message: &MessageInfo, now_ns: u64) {
        self.message(begun, message, now_ns, false);
    }

    /// Records that a message from a peer is complete.
    #[inline(always)]
    pub fn received(&mut self, begun: &CallOrigin, message: &MessageInfo, now_ns: u64) {
        self.count_message(message, 2);
        let ordinal = self.ordinal(message, true);
        self.message(&begun.numbered(ordinal), message, now_ns, true);
    }

    /// Records that the rank entered a collective and gives or gets `bytes` bytes. `near` means
    /// that other members of the communicator are on its node and need no NIC.
    pub fn collective(&mut self, context: u32, bytes: u64, near: bool, slice: u64) {
        if self.metrics.communicators {
            let words = self.communicator(context);
            add(&words[5], 1);
            add(&words[6], bytes);
        }
        if self.metrics.near && near {
            self.add_to_slice(slice, [0, 0, 1]);
        }
    }

    /// Records that the rank has finalized.
    pub fn finish(&mut self, now_ns: u64) {
        let at = match self.blocked {
            0 => self.layout.computation(),
            _ => self.layout.overhead(),
        };
        self.account(at, now_ns);
        self.head(ENDED).store(now_ns.max(1), Ordering::Release);
    }

    /// Returns the memory.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.memory
    }

    #[inline(always)]
    fn head(&self, at: usize) -> &AtomicU64 {
        &self.memory.words()[at]
    }

    /// Adds the time since the last account to one of the two distributions.
    #[inline(always)]
    fn account(&mut self, to: usize, now_ns: u64) {
        let time_ns = now_ns.saturating_sub(self.accounted_ns);
        self.layout.scale.record(self.memory.words(), to, time_ns);
        self.accounted_ns = self.accounted_ns.max(now_ns);
        self.head(ACCOUNTED_UNTIL)
            .store(self.accounted_ns, Ordering::Relaxed);
    }

    #[inline(always)]
    fn write(&self, at: usize, event: &PackedEvent) {
        let words = self.memory.words().get(at..);
        if let Some(words) = words.and_then(|words| words.first_chunk::<EVENT_WORDS>()) {
            for (word, value) in words.iter().zip(event.words()) {
                word.store(value, Ordering::Relaxed);
            }
        }
    }

    #[inline(always)]
    fn count_message(&mut self, message: &MessageInfo, direction: usize) {
        if self.metrics.peers && (message.peer as usize) < self.layout.ranks {
            let road = match message.road {
                MessageTransport::Nic => 0,
                MessageTransport::Smartmap => PEER_WORDS / 2,
            };
            let first = self.layout.peers + message.peer as usize * PEER_WORDS + road + direction;
            let words = &self.memory.words()[first..][..2];
            add(&words[0], 1);
            add(&words[1], message.bytes);
        }
        if self.metrics.communicators {
            let words = self.communicator(message.context);
            add(&words[1 + direction], 1);
            add(&words[2 + direction], message.bytes);
        }
    }

    #[inline(always)]
    fn message(&mut self, begun: &CallOrigin, message: &MessageInfo, now_ns: u64, received: bool) {
        if !self.metrics.messages || !self.primitives[begun.primitive()] {
            return;
        }
        if let Some(at) = self.messages.advance() {
            let near = message.road == MessageTransport::Smartmap;
            let event = PackedEvent {
                begun_ns: begun.at_ns(),
                ended_ns: now_ns,
                slice: begun.slice,
                site: begun.site(),
                kind: u8::from(received) | u8::from(near) << 1,
                context: message.context,
                peer: message.peer,
                tag: message.tag.cast_unsigned(),
                ordinal: begun.ordinal(),
                bytes: message.bytes,
            };
            self.write(at, &event);
        }
        self.head(MESSAGES)
            .store(self.messages.count, Ordering::Release);
    }

    /// Adds to the row of a slice: messages, bytes, collectives.
    fn add_to_slice(&mut self, slice: u64, more: [u64; 3]) {
        if !self.window.has(slice) {
            return;
        }
        // A late thread's data counts in the slice that another thread has reached.
        if self.near_slice.is_none_or(|last| slice > last) {
            self.near_slice = Some(slice);
            if let Some(at) = self.near.advance() {
                let words = &self.memory.words()[at..][..LOCAL_ROW_WORDS];
                words
                    .iter()
                    .for_each(|word| word.store(0, Ordering::Relaxed));
                words[0].store(slice, Ordering::Relaxed);
            }
            self.head(LOCAL_ROWS)
                .store(self.near.count, Ordering::Release);
        }
        if let Some(at) = self.near.last() {
            let words = &self.memory.words()[at + 1..][..3];
            words
                .iter()
                .zip(more)
                .for_each(|(word, more)| add(word, more));
        }
    }

    /// Returns the words of a communicator, or those behind the table if it is full.
    #[inline(always)]
    fn communicator(&self, context: u32) -> &[AtomicU64] {
        let key = u64::from(context) + 1;
        let first = context as usize & (MOST_COMMUNICATORS - 1);
        let place = |place: usize| {
            &self.memory.words()[self.layout.communicators + place * COMMUNICATOR_WORDS..]
                [..COMMUNICATOR_WORDS]
        };
        for step in 0..MOST_STEPS {
            let words = place((first + step) & (MOST_COMMUNICATORS - 1));
            match words[0].load(Ordering::Relaxed) {
                found if found == key => return words,
                0 => {
                    words[0].store(key, Ordering::Relaxed);
                    return words;
                }
                _ => {}
            }
        }
        place(MOST_COMMUNICATORS)
    }

    /// Returns the number of a message in its stream.
    #[inline(always)]
    fn ordinal(&mut self, message: &MessageInfo, received: bool) -> u32 {
        if !self.metrics.messages {
            return NO_NUMBER;
        }
        let whom = u64::from(message.context) | u64::from(message.peer) << 32;
        let which = u64::from(message.tag.cast_unsigned()) | u64::from(received) << 32 | 1 << 33;
        let first = spread(whom ^ which.rotate_left(17), MOST_STREAMS);
        for step in 0..MOST_STEPS {
            let place = (first + step) & (MOST_STREAMS - 1);
            let words = &self.memory.words()[self.layout.streams + place * STREAM_WORDS..][..3];
            let key = [
                words[0].load(Ordering::Relaxed),
                words[1].load(Ordering::Relaxed),
            ];
            if key[1] == 0 {
                words[0].store(whom, Ordering::Relaxed);
                words[1].store(which, Ordering::Relaxed);
            } else if key != [whom, which] {
                continue;
            }
            let number = words[2].load(Ordering::Relaxed);
            words[2].store(number.wrapping_add(1), Ordering::Relaxed);
            return u32::try_from(number).unwrap_or(NO_NUMBER);
        }
        NO_NUMBER
    }

    /// Makes this function provide the text of lines to which the rank gives addresses, as it does
    /// for programs that an interpreter runs. Other addresses have `None`.
    pub fn name_lines(&mut self, name_of: fn(u64) -> Option<String>) {
        self.name_of = name_of;
    }

    /// Returns the number of a site, or 0 if there is no room for it or its calls are not recorded.
    #[inline(always)]
    fn site(&mut self, site: Site, primitive: Primitive) -> u16 {
        if !self.metrics.sites || !self.primitives[primitive as usize] {
            return 0;
        }
        let key = site.key(primitive);
        let first = spread(key, MOST_SITES);
        for step in 0..MOST_STEPS {
            let place = (first + step) & (MOST_SITES - 1);
            // The first place is for all sites without a place of their own.
            if place == 0 {
                continue;
            }
            let found =
                self.memory.words()[self.layout.sites + place * SITE_WORDS].load(Ordering::Relaxed);
            let number = u16::try_from(place).unwrap_or(0);
            if found == key {
                return number;
            }
            if found == 0 {
                self.add_site(number, site, key);
                return number;
            }
        }
        0
    }

    #[cold]
    fn add_site(&self, number: u16, site: Site, key: u64) {
        let first = self.layout.sites + usize::from(number) * SITE_WORDS;
        let words = &self.memory.words()[first..][..SITE_WORDS];
        let place = site.place(self.name_of);
        // The end of a path is more specific than its beginning.
        let bytes = &place.as_bytes()[place.len().saturating_sub(PLACE_BYTES)..];
        for (word, bytes) in words[SITE_PLACE..].iter().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        words[2].store(bytes.len() as u64, Ordering::Relaxed);
        words[0].store(key, Ordering::Relaxed);
        let used = self.head(SITES).load(Ordering::Relaxed);
        if let Some(word) = usize::try_from(used).ok().filter(|used| *used < MOST_SITES) {
            self.head(self.layout.used_sites + word)
                .store(u64::from(number), Ordering::Relaxed);
        }
        self.head(SITES).store(used + 1, Ordering::Release);
    }
}

#[inline(always)]
fn packed(begun: &CallOrigin, called: &CallInfo, ended_ns: u64) -> PackedEvent {
    PackedEvent {
        begun_ns: begun.at_ns(),
        ended_ns,
        slice: begun.slice,
        site: begun.site(),
        kind: called.primitive as u8,
        context: called.context.unwrap_or(NO_NUMBER),
        peer: called.peer.unwrap_or(NO_NUMBER),
        tag: called.tag.map_or(NO_NUMBER, i32::cast_unsigned),
        ordinal: NO_NUMBER,
        bytes: called.bytes,
    }
}
