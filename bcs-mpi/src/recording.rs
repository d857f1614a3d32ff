//! What a rank records of itself for the MDS (paper section 5.1): the one place that knows the recorder.
//!
//! A call looks at one word whether calls are recorded ([`Recording::is_on`]), and takes one of two ways. On the recorded
//! one it goes by [`Recording::record_call`], which looks at the clock when the call begins and when it returns. What the
//! call starts carries a [`CallStart`] until it is complete; without one nothing is recorded of it.
//!
//! Calls that the library makes itself inside of a call are not recorded.

use crate::foreign;
use bcs_core::clock::quick_ns;
use bcs_core::memory::RecorderMemory;
use bcs_core::wake::MachinePage;
use bcs_core::wake::owner_lock::OwnerLock;
pub(crate) use mmds::MessageTransport;
use mmds::selection::{RankSelection, SliceWindow};
pub(crate) use mmds::{CallInfo, MessageInfo, Primitive, Site};
use mmds::{RankTimes, RankTraffic, Recorder, RecorderLayout, WordMemory};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The recorder of a rank, if it records.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Whether calls are recorded now.
    on: AtomicBool,
    recorder: Option<OwnerLock<RecorderState>>,
    page: MachinePage,
}

/// What a rank's recorder is made of.
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
    /// When something was last complete in the call that is under way, and its length.
    complete: Option<(u64, u64)>,
}

#[derive(Debug)]
struct RecorderWords(RecorderMemory);

impl WordMemory for RecorderWords {
    #[inline(always)]
    fn words(&self) -> &[AtomicU64] {
        self.0.words()
    }
}

/// When, and by what, something was begun; nothing if it is not recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallStart(Option<mmds::CallOrigin>);

/// What is told of a request when it is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedOperation {
    pub(crate) begun: CallStart,
    /// The call whose latency ends then; nothing if a blocking call is made of it, which has its own.
    pub(crate) latency_of: Option<Primitive>,
}

/// What a call does with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallTiming {
    /// It returns when something is done: its time is communication, and its latency.
    Waits,
    /// It returns at once: its time is its latency.
    Asks,
    /// It returns at once, and its latency lasts until what it has started is complete.
    Starts,
}

thread_local! {
    /// Whether this thread is in a call that is recorded.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// This thread is in a recorded call while this lives.
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
    /// Of what is not recorded.
    pub(crate) const UNKNOWN: Self = Self(None);

    /// Whether it is not recorded.
    #[inline(always)]
    pub(crate) fn is_unknown(self) -> bool {
        self.0.is_none()
    }

    /// The same, of something that is told as another call: a start is told as what it starts.
    pub(crate) fn of(self, primitive: Primitive) -> Self {
        Self(self.0.map(|begun| begun.with_primitive(primitive)))
    }
}

impl RecordedOperation {
    /// Of what is not recorded.
    pub(crate) const NOT: Self = Self {
        begun: CallStart::UNKNOWN,
        latency_of: None,
    };

    /// A part of a blocking call.
    #[inline(always)]
    pub(crate) fn part(begun: CallStart) -> Self {
        Self {
            begun,
            latency_of: None,
        }
    }

    /// What a call has started.
    #[inline(always)]
    pub(crate) fn started(begun: CallStart, primitive: Primitive) -> Self {
        Self {
            begun,
            latency_of: Some(primitive),
        }
    }
}

impl Recording {
    /// Records, if there is where to.
    pub(crate) fn new(record: Option<RecorderSetup>, page: MachinePage) -> Self {
        let state = |record: RecorderSetup| {
            let RecorderSetup {
                memory,
                layout,
                selection,
                window,
            } = record;
            OwnerLock::new(RecorderState {
                recorder: Recorder::new(
                    RecorderWords(memory),
                    layout,
                    &selection,
                    window,
                    quick_ns(),
                ),
                complete: None,
            })
        };
        Self {
            on: AtomicBool::new(record.is_some()),
            recorder: record.map(state),
            page,
        }
    }

    /// Whether calls are recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// From now on calls are recorded, or not; if this rank records at all.
    pub(crate) fn switch(&self, on: bool) {
        self.on
            .store(on && self.recorder.is_some(), Ordering::Relaxed);
    }

    #[inline(always)]
    fn with<R>(&self, using: impl FnOnce(&mut RecorderState) -> R) -> Option<R> {
        Some(self.recorder.as_ref()?.with(using))
    }

    /// Makes a call and records it, unless the library makes it inside of another one.
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
            state.recorder.enter(site, called, quick_ns(), slice)
        })
    }

    fn leave(&self, begun: &mmds::CallOrigin, manner: CallTiming, called: &CallInfo) {
        self.with(|state| {
            let complete = state
                .complete
                .take()
                .filter(|_| ends_with_completion(called.primitive));
            let now_ns = complete.map_or_else(quick_ns, |(now_ns, _)| now_ns);
            // A receive knows now what came.
            let came = complete.map(|(_, bytes)| bytes).filter(|bytes| {
                matches!(called.primitive, Primitive::Recv | Primitive::Mrecv)
                    && *bytes != called.bytes
            });
            let known = came.map(|bytes| CallInfo { bytes, ..*called });
            let called = known.as_ref().unwrap_or(called);
            state.recorder.leave(begun, called, now_ns);
            if manner != CallTiming::Starts {
                let latency_ns = now_ns.saturating_sub(begun.at_ns());
                state
                    .recorder
                    .latency(called.primitive, latency_ns, called.bytes);
            }
        });
    }

    /// A message was posted to somebody.
    #[inline]
    pub(crate) fn posted(&self, begun: &mut CallStart, message: impl FnOnce() -> MessageInfo) {
        if let Some(begun) = &mut begun.0 {
            self.with(|state| state.recorder.posted(begun, &message()));
        }
    }

    /// A message to somebody was posted and is complete: all that a blocking call has done.
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

    /// Something is complete, of so many bytes, that may be a message: to somebody, or from somebody.
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

    /// A collective was entered.
    pub(crate) fn collective(&self, begun: CallStart, context: u32, bytes: u64, near: bool) {
        if let CallStart(Some(begun)) = begun {
            self.with(|state| {
                state.recorder.collective(context, bytes, near, begun.slice);
            });
        }
    }

    /// The rank has finalized: its record is whole.
    pub(crate) fn finish(&self) {
        self.with(|state| {
            self.on.store(false, Ordering::Relaxed);
            state.recorder.finish(quick_ns());
        });
    }

    /// Calls that have returned, if they are recorded.
    pub(crate) fn calls(&self) -> Option<u64> {
        self.with(|state| state.recorder.calls_so_far())?
    }

    /// Where the time has gone, if that is recorded.
    pub(crate) fn times(&self) -> Option<RankTimes> {
        self.with(|state| state.recorder.times_so_far(quick_ns()))
    }

    /// Messages, if they are recorded.
    pub(crate) fn traffic(&self) -> Option<RankTraffic> {
        self.with(|state| state.recorder.traffic_so_far())?
    }

    /// Whether there is a recorder.
    pub(crate) fn has_recorder(&self) -> bool {
        self.recorder.is_some()
    }

    /// In a forked child, whose calls are none of the rank's.
    pub(crate) fn abandon(&self) {
        self.on.store(false, Ordering::Relaxed);
        if let Some(recorder) = &self.recorder {
            recorder.close();
        }
    }
}

/// A message that has come to its end for this rank.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeliveredMessage {
    Sent(MessageInfo),
    Received(MessageInfo),
}

/// Whether these calls return as soon as what was last complete in them is, so that one look at the clock is enough.
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

    /// A thread that the child has not got may be inside of it.
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
