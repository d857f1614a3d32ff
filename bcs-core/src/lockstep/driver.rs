//! The driver: the one thread that owns the time.

use super::context::{ANY, LockstepContext, SEAT, run_thread};
use super::shared::{DRIVER, LockstepState, Shared, Thread, ThreadNumber, ThreadState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Threads in lockstep, and their virtual time.
pub struct Lockstep(Arc<Shared>);

impl std::fmt::Debug for Lockstep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Lockstep at {} ns", self.now_ns())
    }
}

/// The state of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    /// It runs or waits.
    Alive,
    /// It has returned.
    Ended,
    /// It has panicked, with this message.
    Panicked(String),
    /// It was killed.
    Dead,
}

impl Lockstep {
    /// Makes this thread the driver of a lockstep, until the result is dropped. `draw` draws a
    /// number below its argument: these draws determine which thread runs when.
    ///
    /// # Panics
    /// When this thread is in a lockstep already.
    #[must_use]
    pub fn drive(draw: impl FnMut(u64) -> u64 + Send + 'static) -> Self {
        ANY.store(true, Ordering::Relaxed);
        let shared = Arc::new(Shared {
            inner: Mutex::new(LockstepState {
                now_ns: 0,
                threads: Vec::new(),
                draw: Box::new(draw),
                trace: 0,
                steps: 0,
            }),
            turn: AtomicUsize::new(DRIVER),
            driver: std::thread::current(),
        });
        let seat = LockstepContext {
            shared: shared.clone(),
            number: None,
        };
        let before = SEAT.replace(Some(seat));
        assert!(before.is_none(), "a thread drives one lockstep at a time");
        Self(shared)
    }

    /// Starts a thread, which begins when it gets its turn.
    ///
    /// # Errors
    /// When the kernel refuses a thread.
    pub fn spawn(
        &self,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<ThreadNumber> {
        spawn(&self.0, name, body)
    }

    /// Returns the virtual time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.0.lock().now_ns
    }

    /// Returns the number of steps that threads have done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.0.lock().steps
    }

    /// Returns a hash of the order in which threads ran: equal for equal seeds.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.0.lock().trace
    }

    /// Lets one of the ready threads, chosen by the seed, run until it gives its turn back. Returns
    /// false if none is ready.
    #[must_use]
    pub fn step(&self) -> bool {
        let chosen = {
            let mut inner = self.0.lock();
            let now = inner.now_ns;
            let ready = |thread: &Thread| matches!(thread.state, ThreadState::Ready { at_ns } if at_ns <= now);
            let ready: Vec<usize> = (0..inner.threads.len())
                .filter(|&number| ready(&inner.threads[number]))
                .collect();
            if ready.is_empty() {
                return false;
            }
            let place = (inner.draw)(ready.len() as u64);
            let chosen = ready[usize::try_from(place).expect("below a length")];
            inner.steps += 1;
            inner.note([1, chosen as u64, now]);
            chosen
        };
        let os = self.0.lock().threads[chosen].os.clone();
        self.0.turn.store(chosen, Ordering::Release);
        os.unpark();
        self.0.await_turn(DRIVER);
        true
    }

    /// Returns the time at which the next thread becomes ready.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        let inner = self.0.lock();
        let wants = |thread: &Thread| match thread.state {
            ThreadState::Ready { at_ns } => Some(at_ns),
            ThreadState::Asleep { deadline_ns, .. } => deadline_ns,
            ThreadState::Ended { .. } | ThreadState::Dead => None,
        };
        inner.threads.iter().filter_map(wants).min()
    }

    /// Advances the time. Sleeps whose deadline has come end.
    pub fn advance(&self, to_ns: u64) {
        let mut inner = self.0.lock();
        inner.now_ns = inner.now_ns.max(to_ns);
        let now = inner.now_ns;
        for thread in &mut inner.threads {
            if matches!(thread.state, ThreadState::Asleep { deadline_ns: Some(at), .. } if at <= now)
            {
                thread.state = ThreadState::Ready { at_ns: now };
            }
        }
    }

    /// Kills a thread and all threads that it has started: they never run again.
    pub fn kill(&self, thread: ThreadNumber) {
        self.0.lock().kill(thread.0);
    }

    /// Returns the state of a thread.
    #[must_use]
    pub fn thread_status(&self, thread: ThreadNumber) -> ThreadStatus {
        match &self.0.lock().threads[thread.0].state {
            ThreadState::Ready { .. } | ThreadState::Asleep { .. } => ThreadStatus::Alive,
            ThreadState::Ended { panic: None } => ThreadStatus::Ended,
            ThreadState::Ended { panic: Some(said) } => ThreadStatus::Panicked(said.clone()),
            ThreadState::Dead => ThreadStatus::Dead,
        }
    }

    /// Describes each thread that has not returned, for users.
    #[must_use]
    pub fn describe(&self) -> String {
        let inner = self.0.lock();
        let stands = |thread: &Thread| match &thread.state {
            ThreadState::Ended { panic: None } => None,
            state => Some(format!("{} {state:?}", thread.name)),
        };
        let stand: Vec<String> = inner.threads.iter().filter_map(stands).collect();
        stand.join(", ")
    }
}

impl Drop for Lockstep {
    fn drop(&mut self) {
        SEAT.take();
    }
}

fn spawn(
    shared: &Arc<Shared>,
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> std::io::Result<ThreadNumber> {
    let (own, number) = (shared.clone(), shared.lock().threads.len());
    let thread = std::thread::Builder::new().name(name.to_owned());
    let handle = thread.spawn(move || {
        // The state of the thread reports a panic.
        let _told = catch_unwind(AssertUnwindSafe(|| run_thread(own, number, body)));
    })?;
    Ok(shared.join_in(name, None, handle.thread()))
}
