//! The records that a rank makes of itself for the MDS (paper section 5.1). Only this file knows
//! the recorder.
//!
//! A call reads one word to find out whether calls are recorded ([`Recording::is_on`]). If so it
//! goes through [`Recording::record_call`], which reads the clock when the call begins and when it
//! returns. An operation that the call starts carries a [`CallStart`] until it is complete. An
//! operation without one is not recorded.
//!
//! Calls that the library makes itself inside of a call are not recorded.

use crate::foreign;
use crate::thread_usage::{self, Surroundings};
use bcs_core::clock::quick_ns;
use bcs_core::mapped_code::scripts;
use bcs_core::memory::RecorderMemory;
use bcs_core::wake::MachinePage;
use bcs_core::wake::owner_lock::OwnerLock;
pub(crate) use mmds::MessageTransport;
use mmds::selection::{RankSelection, SliceWindow};
pub(crate) use mmds::{CallInfo, MessageInfo, Primitive, Site};
use mmds::{RankTimes, RankTraffic, Recorder, RecorderLayout, WordMemory};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The recorder of a rank that records.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Whether calls are recorded now.
    on: AtomicBool,
    recorder: Option<OwnerLock<RecorderState>>,
    page: MachinePage,
}

/// The parts from which a rank's recorder is made.
#[derive(Debug)]
pub(crate) struct RecorderSetup {
    pub(crate) memory: RecorderMemory,
    pub(crate) layout: RecorderLayout,
    pub(crate) selection: RankSelection,
    pub(crate) window: SliceWindow,
}

#[derive(Debug)]
struct RecorderState {
    recorder: Recorder<RecorderWords>,
    /// When the last operation of the current call completed, and its length.
    complete: Option<(u64, u64)>,
    /// The process when the recorder began.
    began: Surroundings,
}

#[derive(Debug)]
struct RecorderWords(RecorderMemory);

impl WordMemory for RecorderWords {
    #[inline(always)]
    fn words(&self) -> &[AtomicU64] {
        self.0.words()
    }
}

/// When an operation was started, and by which call; nothing if it is not recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallStart(Option<mmds::CallOrigin>);

/// The data of a request that are recorded when it is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedOperation {
    pub(crate) begun: CallStart,
    /// The call whose latency ends then; nothing if it is part of a blocking call, which records
    /// its own latency.
    pub(crate) latency_of: Option<Primitive>,
}

/// How a call uses time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallTiming {
    /// It returns when an operation is done. Its time is communication, and its latency.
    Waits,
    /// It returns at once. Its time is its latency.
    Asks,
    /// It returns at once. Its latency lasts until the operation that it has started is complete.
    Starts,
}

thread_local! {
    /// Whether this thread is in a call that is recorded.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as being in a recorded call, as long as it lives.
struct RecordedCallGuard;

impl RecordedCallGuard {
    fn enter() -> Option<Self> {
        (!INSIDE.replace(true)).then_some(Self)
    }
}

impl Drop for RecordedCallGuard {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

impl CallStart {
    /// The value for an operation that is not recorded.
    pub(crate) const UNKNOWN: Self = Self(None);

    /// Returns whether it is not recorded.
    #[inline(always)]
    pub(crate) fn is_unknown(self) -> bool {
        self.0.is_none()
    }

    /// Records this under another call: a start is recorded as the operation that it starts.
    pub(crate) fn of(self, primitive: Primitive) -> Self {
        Self(self.0.map(|begun| begun.with_primitive(primitive)))
    }
}

impl RecordedOperation {
    /// The value for an operation that is not recorded.
    pub(crate) const NOT: Self = Self {
        begun: CallStart::UNKNOWN,
        latency_of: None,
    };

    /// Returns the value for a part of a blocking call.
    #[inline(always)]
    pub(crate) fn part(begun: CallStart) -> Self {
        Self {
            begun,
            latency_of: None,
        }
    }

    /// Returns the value for an operation that a call has started.
    #[inline(always)]
    pub(crate) fn started(begun: CallStart, primitive: Primitive) -> Self {
        Self {
            begun,
            latency_of: Some(primitive),
        }
    }
}

impl Recording {
    /// Makes the recording of a rank, if it has a recorder.
    pub(crate) fn new(record: Option<RecorderSetup>, page: MachinePage) -> Self {
        let state = |record: RecorderSetup| {
            let RecorderSetup {
                memory,
                layout,
                selection,
                window,
            } = record;
            let began = Surroundings::of_this_process();
            let mut recorder = Recorder::new(
                RecorderWords(memory),
                layout,
                &selection,
                window,
                quick_ns(),
            );
            recorder.name_lines(|address| Some(scripts::line_at(address)?.to_string()));
            recorder.take_usage(thread_usage::read(), quick_ns(), false);
            OwnerLock::new(RecorderState {
                recorder,
                complete: None,
                began,
            })
        };
        Self {
            on: AtomicBool::new(record.is_some()),
            recorder: record.map(state),
            page,
        }
    }

    /// Returns whether calls are recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Turns the recording of calls on or off, if this rank has a recorder.
    pub(crate) fn switch(&self, on: bool) {
        self.on
            .store(on && self.recorder.is_some(), Ordering::Relaxed);
    }

    #[inline(always)]
    fn with<R>(&self, using: impl FnOnce(&mut RecorderState) -> R) -> Option<R> {
        Some(self.recorder.as_ref()?.with(using))
    }

    /// Makes a call. Records it, unless the library makes it inside of another one.
    #[inline(never)]
    pub(crate) fn record_call<T>(
        &self,
        site: Site,
        manner: CallTiming,
        called: CallInfo,
        call: impl FnOnce(CallStart) -> T,
    ) -> T {
        let Some(_inside) = RecordedCallGuard::enter() else {
            return call(CallStart::UNKNOWN);
        };
        debug_assert_eq!(called.blocking, manner == CallTiming::Waits);
        let begun = self.enter(foreign::site(site), &called);
        let answer = call(CallStart(begun));
        if let Some(begun) = begun {
            self.leave(&begun, manner, &called);
        }
        answer
    }

    #[inline(always)]
    fn enter(&self, site: Site, called: &CallInfo) -> Option<mmds::CallOrigin> {
        let slice = self.page.slice();
        self.with(|state| {
            state.complete = None;
            let now_ns = quick_ns();
            let begun = state.recorder.enter(site, called, now_ns, slice);
            if called.blocking && state.recorder.is_usage_due(now_ns) {
                read_usage(state, now_ns, true);
            }
            begun
        })
    }

    fn leave(&self, begun: &mmds::CallOrigin, manner: CallTiming, called: &CallInfo) {
        self.with(|state| {
            let complete = state
                .complete
                .take()
                .filter(|_| ends_with_completion(called.primitive));
            let now_ns = complete.map_or_else(quick_ns, |(now_ns, _)| now_ns);
            // For a receive, the length is known only now.
            let came = complete.map(|(_, bytes)| bytes).filter(|bytes| {
                matches!(called.primitive, Primitive::Recv | Primitive::Mrecv)
                    && *bytes != called.bytes
            });
            let known = came.map(|bytes| CallInfo { bytes, ..*called });
            let called = known.as_ref().unwrap_or(called);
            state.recorder.leave(begun, called, now_ns);
            if called.blocking && state.recorder.is_usage_due(now_ns) {
                read_usage(state, now_ns, false);
            }
            if manner != CallTiming::Starts {
                let latency_ns = now_ns.saturating_sub(begun.at_ns());
                state
                    .recorder
                    .latency(called.primitive, latency_ns, called.bytes);
            }
        });
    }

    /// Records that a message was posted.
    #[inline]
    pub(crate) fn posted(&self, begun: &mut CallStart, message: impl FnOnce() -> MessageInfo) {
        if let Some(begun) = &mut begun.0 {
            self.with(|state| state.recorder.posted(begun, &message()));
        }
    }

    /// Records a message that was posted and is complete, in a blocking call of this message alone.
    #[inline]
    pub(crate) fn sent(&self, begun: CallStart, message: MessageInfo) {
        if let CallStart(Some(mut begun)) = begun {
            self.with(|state| {
                let now_ns = quick_ns();
                state.recorder.posted(&mut begun, &message);
                state.recorder.sent(&begun, &message, now_ns);
                state.complete = Some((now_ns, message.bytes));
            });
        }
    }

    /// Records that an operation of this length is complete. It may be a message, to or from a
    /// peer.
    #[inline]
    pub(crate) fn complete(
        &self,
        recorded: RecordedOperation,
        bytes: u64,
        message: Option<DeliveredMessage>,
    ) {
        let CallStart(Some(begun)) = recorded.begun else {
            return;
        };
        self.with(|state| {
            let now_ns = quick_ns();
            match message {
                Some(DeliveredMessage::Sent(message)) => {
                    state.recorder.sent(&begun, &message, now_ns)
                }
                Some(DeliveredMessage::Received(message)) => {
                    state.recorder.received(&begun, &message, now_ns);
                }
                None => {}
            }
            if let Some(primitive) = recorded.latency_of {
                let latency_ns = now_ns.saturating_sub(begun.at_ns());
                state.recorder.latency(primitive, latency_ns, bytes);
            }
            state.complete = Some((now_ns, bytes));
        });
    }

    /// Records that the rank has entered a collective.
    pub(crate) fn collective(&self, begun: CallStart, context: u32, bytes: u64, near: bool) {
        if let CallStart(Some(begun)) = begun {
            self.with(|state| {
                state.recorder.collective(context, bytes, near, begun.slice);
            });
        }
    }

    /// Closes the record: the rank has finalized.
    pub(crate) fn finish(&self) {
        self.with(|state| {
            self.on.store(false, Ordering::Relaxed);
            state.recorder.finish(quick_ns());
            let ended = Surroundings::of_this_process();
            let file_bytes = ended.file_bytes.saturating_sub(state.began.file_bytes);
            let core_loop_ns = ended.core_loop_ns.min(state.began.core_loop_ns);
            state.recorder.surroundings(file_bytes, core_loop_ns);
        });
    }

    /// Returns the number of calls that have returned, if calls are recorded.
    pub(crate) fn calls(&self) -> Option<u64> {
        self.with(|state| state.recorder.calls_so_far())?
    }

    /// Returns how the rank has spent its time, if that is recorded.
    pub(crate) fn times(&self) -> Option<RankTimes> {
        self.with(|state| state.recorder.times_so_far(quick_ns()))
    }

    /// Returns the messages, if they are recorded.
    pub(crate) fn traffic(&self) -> Option<RankTraffic> {
        self.with(|state| state.recorder.traffic_so_far())?
    }

    /// Returns whether there is a recorder.
    pub(crate) fn has_recorder(&self) -> bool {
        self.recorder.is_some()
    }

    /// Gives up the recorder in a forked child, whose calls are not the rank's.
    pub(crate) fn abandon(&self) {
        self.on.store(false, Ordering::Relaxed);
        if let Some(recorder) = &self.recorder {
            recorder.close();
        }
    }
}

/// Reads the thread's account with the kernel. It is not part of the path that every call takes.
#[cold]
#[inline(never)]
fn read_usage(state: &mut RecorderState, now_ns: u64, enters: bool) {
    let usage = thread_usage::read();
    state.recorder.take_usage(usage, now_ns, enters);
}

/// A message that is over for this rank.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeliveredMessage {
    Sent(MessageInfo),
    Received(MessageInfo),
}

/// Returns whether these calls return as soon as their last operation is complete, so that one
/// reading of the clock is enough.
fn ends_with_completion(primitive: Primitive) -> bool {
    use Primitive::{Mrecv, Recv, Rsend, Send, Ssend, Wait, Waitall, Waitany};
    matches!(
        primitive,
        Send | Ssend | Rsend | Recv | Mrecv | Wait | Waitall | Waitany
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn recording(what: &str) -> Recording {
        let selection: mmds::Selection = what.parse().unwrap();
        let (window, mmds) = (selection.window(), selection.mmds.unwrap());
        let layout = RecorderLayout::new(&mmds, window, 4);
        let record = RecorderSetup {
            memory: RecorderMemory::private(layout.words()).unwrap(),
            layout,
            selection: mmds,
            window,
        };
        Recording::new(Some(record), MachinePage::private(1, 2).unwrap())
    }

    fn called() -> CallInfo {
        CallInfo {
            context: Some(0),
            peer: Some(1),
            tag: Some(7),
            bytes: 8,
            ..CallInfo::plain(Primitive::Send, true)
        }
    }

    fn message() -> MessageInfo {
        MessageInfo {
            context: 0,
            peer: 1,
            tag: 7,
            bytes: 8,
            road: MessageTransport::Smartmap,
        }
    }

    /// A thread that does not exist in the child may be inside of the recorder.
    #[test]
    fn a_forked_child_does_not_get_its_parents_recorder() {
        let parents = recording("mmds");
        parents.record_call(Site::here(), CallTiming::Waits, called(), |_| ());
        assert_eq!(parents.calls(), Some(1));
        parents.abandon();
        assert!(!parents.is_on());
        let asked = std::panic::AssertUnwindSafe(|| parents.calls());
        assert!(std::panic::catch_unwind(asked).is_err());
    }

    /// `cargo test --release -p bcs-mpi recording_costs -- --ignored --nocapture`
    #[test]
    #[ignore = "a measurement"]
    fn recording_costs() {
        const CALLS: u32 = 2_000_000;
        let time = |what: &str, call: &dyn Fn()| {
            let best = (0..7).map(|_| {
                let start = Instant::now();
                (0..CALLS).for_each(|_| call());
                start.elapsed()
            });
            let ns = best.min().unwrap_or_default().as_secs_f64() * 1e9 / f64::from(CALLS);
            println!("{what}: {ns:.1} ns");
        };
        time("the clock twice", &|| {
            std::hint::black_box((quick_ns(), quick_ns()));
        });
        let all = recording("mmds");
        time("a call that waits and moves nothing", &|| {
            let called = CallInfo::plain(Primitive::Barrier, true);
            all.record_call(Site::here(), CallTiming::Waits, called, |_| ());
        });
        let send = |recording: &Recording| {
            recording.record_call(Site::here(), CallTiming::Waits, called(), |begun| {
                recording.sent(begun, message());
            });
        };
        time("a send", &|| send(&all));
        let receive = |recording: &Recording| {
            recording.record_call(Site::here(), CallTiming::Waits, called(), |begun| {
                let told = RecordedOperation::part(begun);
                recording.complete(told, 8, Some(DeliveredMessage::Received(message())));
            });
        };
        time("a receive", &|| receive(&all));
        let table = recording("mmds:metrics=latency");
        time("a send, for Table 5.3 alone", &|| send(&table));
        let off = recording("mmds");
        off.switch(false);
        time("a call that is not recorded", &|| {
            if std::hint::black_box(&off).is_on() {
                send(&off);
            }
        });
    }

    #[test]
    fn calls_inside_of_calls_are_not_recorded() {
        let recording = recording("mmds");
        let plain = CallInfo::plain(Primitive::Barrier, true);
        let inner = recording.record_call(Site::here(), CallTiming::Waits, plain, |outer| {
            assert!(!outer.is_unknown());
            recording.record_call(Site::here(), CallTiming::Waits, plain, |inner| inner)
        });
        assert!(inner.is_unknown());
        let next = recording.record_call(Site::here(), CallTiming::Waits, plain, |begun| begun);
        assert!(!next.is_unknown(), "the first one is over");
    }
}
