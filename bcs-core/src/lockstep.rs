//! Threads that run one at a time, in virtual time: how the simulator runs ranks (DESIGN section 11, "One NIC").
//!
//! A rank of the simulator is a thread that runs the very `bcs-mpi` of a process. Wherever such a thread
//! would look at the clock, spin, yield, sleep on a bell, ring one, or take a lock that it has to wait for,
//! it comes here instead, and hands its turn back to the *driver*: the one thread that owns the time and
//! decides, by a seed, who runs next. So one seed fixes everything between the call of MPI and the fabric,
//! and a failed seed repeats exactly.
//!
//! Threads are preempted only here. What happens between two such places is one step to all others: the
//! interleavings within rings, queues and bells are loom's affair.
//!
//! A process that never makes a [`Lockstep`] pays for it with one relaxed load where it looks at the clock or
//! is about to wait, and with nothing elsewhere.
//!
//! A thread that is [killed](Lockstep::kill) never runs again. It is not unwound, because the memory that it
//! shares must stay as it was, as after SIGKILL; its OS thread is parked until the process ends.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

/// Whether any thread of this process has ever been in lockstep.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

/// A thread's place in a lockstep.
#[derive(Clone)]
struct Seat {
    shared: Arc<Shared>,
    /// Its number; the driver has none.
    number: Option<usize>,
}

/// The turn belongs to the driver.
const DRIVER: usize = usize::MAX;

/// The longest time, in nanoseconds, that a step of a thread may take of the virtual time.
const STEP_NS: u64 = 2_000;
/// The longest time that a woken thread needs until it runs.
const WAKE_NS: u64 = 20_000;
/// How long a thread waits before it looks again for what nothing wakes it for.
const POLL_NS: u64 = 50_000;

/// What becomes of a thread.
#[derive(Debug)]
enum State {
    /// It wants to go on at this time.
    Ready { at_ns: u64 },
    /// It sleeps until this word is rung, or until this time.
    Asleep {
        word: usize,
        deadline_ns: Option<u64>,
    },
    /// It has ended, by a panic with these words if there are any.
    Ended { panic: Option<String> },
    /// It was killed.
    Dead,
}

struct Thread {
    name: String,
    /// The first thread of its process: what kills one of them kills all.
    process: usize,
    state: State,
    os: std::thread::Thread,
}

struct Inner {
    now_ns: u64,
    threads: Vec<Thread>,
    random: ChaCha8Rng,
    trace: u64,
    steps: u64,
}

struct Shared {
    inner: Mutex<Inner>,
    /// Whose turn it is: a thread's number, or the driver's.
    turn: AtomicUsize,
    driver: std::thread::Thread,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that has just been started takes part.
    fn join_in(
        &self,
        name: &str,
        process: Option<usize>,
        os: &std::thread::Thread,
    ) -> ThreadNumber {
        let mut inner = self.lock();
        let at_ns = inner.now_ns;
        let process = process.map_or(inner.threads.len(), |first| inner.threads[first].process);
        inner.threads.push(Thread {
            name: name.to_owned(),
            process,
            state: State::Ready { at_ns },
            os: os.clone(),
        });
        ThreadNumber(inner.threads.len() - 1)
    }

    fn await_turn(&self, number: usize) {
        while self.turn.load(Ordering::Acquire) != number {
            std::thread::park();
        }
    }

    /// Hands the turn to the driver, and waits until it comes back.
    fn hand_back(&self, number: usize) {
        self.turn.store(DRIVER, Ordering::Release);
        self.driver.unpark();
        self.await_turn(number);
    }
}

impl Inner {
    fn note(&mut self, words: [u64; 3]) {
        for word in words {
            self.trace = (self.trace.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn kill(&mut self, number: usize) {
        let process = self.threads[number].process;
        for thread in &mut self.threads {
            if thread.process == process && !matches!(thread.state, State::Ended { .. }) {
                thread.state = State::Dead;
            }
        }
    }

    /// Wakes who sleeps on this word.
    fn wake(&mut self, word: usize) {
        let at_ns = self.now_ns + self.random.random_range(0..=WAKE_NS);
        for thread in &mut self.threads {
            if matches!(thread.state, State::Asleep { word: on, .. } if on == word) {
                thread.state = State::Ready { at_ns };
            }
        }
    }
}

/// Threads in lockstep, and the time that they have.
pub struct Lockstep(Arc<Shared>);

impl std::fmt::Debug for Lockstep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Lockstep at {} ns", self.now_ns())
    }
}

/// A thread in lockstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadNumber(usize);

/// How a thread stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It runs or waits.
    Alive,
    /// It has returned.
    Ended,
    /// It has panicked, with these words.
    Panicked(String),
    /// It was killed.
    Dead,
}

impl Lockstep {
    /// Makes this thread the driver of a lockstep, until that is dropped.
    ///
    /// # Panics
    /// When it is in one already.
    #[must_use]
    pub fn drive(seed: u64) -> Self {
        ANY.store(true, Ordering::Relaxed);
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner {
                now_ns: 0,
                threads: Vec::new(),
                random: ChaCha8Rng::seed_from_u64(seed),
                trace: 0,
                steps: 0,
            }),
            turn: AtomicUsize::new(DRIVER),
            driver: std::thread::current(),
        });
        let seat = Seat {
            shared: shared.clone(),
            number: None,
        };
        let before = SEAT.replace(Some(seat));
        assert!(before.is_none(), "a thread drives one lockstep at a time");
        Self(shared)
    }

    /// A new thread, which begins when it is its turn.
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

    /// The virtual time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.0.lock().now_ns
    }

    /// Steps that threads have done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.0.lock().steps
    }

    /// A hash of who ran when: equal for equal seeds.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.0.lock().trace
    }

    /// Lets one of the threads that are ready now, whichever the seed says, go on until it comes here again.
    /// False if none is ready.
    #[must_use]
    pub fn step(&self) -> bool {
        let chosen = {
            let mut inner = self.0.lock();
            let now = inner.now_ns;
            let ready =
                |thread: &Thread| matches!(thread.state, State::Ready { at_ns } if at_ns <= now);
            let ready: Vec<usize> = (0..inner.threads.len())
                .filter(|&number| ready(&inner.threads[number]))
                .collect();
            if ready.is_empty() {
                return false;
            }
            let chosen = ready[inner.random.random_range(0..ready.len())];
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

    /// When the next thread wants to go on.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        let inner = self.0.lock();
        let wants = |thread: &Thread| match thread.state {
            State::Ready { at_ns } => Some(at_ns),
            State::Asleep { deadline_ns, .. } => deadline_ns,
            State::Ended { .. } | State::Dead => None,
        };
        inner.threads.iter().filter_map(wants).min()
    }

    /// Advances the time. Sleeps whose deadline has come are over.
    pub fn advance(&self, to_ns: u64) {
        let mut inner = self.0.lock();
        inner.now_ns = inner.now_ns.max(to_ns);
        let now = inner.now_ns;
        for thread in &mut inner.threads {
            if matches!(thread.state, State::Asleep { deadline_ns: Some(at), .. } if at <= now) {
                thread.state = State::Ready { at_ns: now };
            }
        }
    }

    /// A thread, and all that it has started, never run again.
    pub fn kill(&self, thread: ThreadNumber) {
        self.0.lock().kill(thread.0);
    }

    /// How a thread stands.
    #[must_use]
    pub fn standing(&self, thread: ThreadNumber) -> Standing {
        match &self.0.lock().threads[thread.0].state {
            State::Ready { .. } | State::Asleep { .. } => Standing::Alive,
            State::Ended { panic: None } => Standing::Ended,
            State::Ended { panic: Some(said) } => Standing::Panicked(said.clone()),
            State::Dead => Standing::Dead,
        }
    }

    /// How each thread stands that has not ended well, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let inner = self.0.lock();
        let stands = |thread: &Thread| match &thread.state {
            State::Ended { panic: None } => None,
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
        // Whoever looks how the thread stands is told of a panic.
        let _told = catch_unwind(AssertUnwindSafe(|| take_part(own, number, body)));
    })?;
    Ok(shared.join_in(name, None, handle.thread()))
}

/// What a thread of this number does, from its first turn on.
fn take_part(shared: Arc<Shared>, number: usize, body: impl FnOnce()) {
    SEAT.set(Some(Seat {
        shared: shared.clone(),
        number: Some(number),
    }));
    shared.await_turn(number);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    SEAT.take();
    let panic = outcome.as_ref().err().map(|panic| words(&**panic));
    shared.lock().threads[number].state = State::Ended { panic };
    shared.turn.store(DRIVER, Ordering::Release);
    shared.driver.unpark();
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
    said.unwrap_or("a panic without words").to_owned()
}

/// Runs something at the lockstep that this thread is in, with its number there, if it is in one.
fn at_seat<T>(act: impl FnOnce(&Arc<Shared>, Option<usize>) -> T) -> Option<T> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    // A copy: what is done there may end in another borrow.
    let seat = SEAT.try_with(|seat| seat.borrow().clone()).ok()??;
    Some(act(&seat.shared, seat.number))
}

/// Whether this thread's time is virtual.
#[must_use]
#[inline]
pub fn is_on() -> bool {
    ANY.load(Ordering::Relaxed) && at_seat(|_, _| ()).is_some()
}

/// The virtual time, if this thread has one.
#[inline]
pub(crate) fn now_ns() -> Option<u64> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    at_seat(|shared, _| shared.lock().now_ns)
}

/// The thread goes on a moment later, and others may run before. Returns whether it is in a lockstep.
#[inline]
pub fn pause() -> bool {
    ANY.load(Ordering::Relaxed) && pause_for(STEP_NS)
}

/// As [`pause`], of who looks again and again for what nobody wakes it for.
pub fn poll() -> bool {
    ANY.load(Ordering::Relaxed) && pause_for(POLL_NS)
}

#[cold]
fn pause_for(most_ns: u64) -> bool {
    at_seat(|shared, number| {
        let Some(number) = number else { return };
        {
            let mut inner = shared.lock();
            let at_ns = inner.now_ns + inner.random.random_range(0..=most_ns);
            inner.threads[number].state = State::Ready { at_ns };
        }
        shared.hand_back(number);
    })
    .is_some()
}

/// In a lockstep, one time in so many others may run before this thread goes on.
#[inline]
pub fn maybe_pause(one_in: u32) {
    if ANY.load(Ordering::Relaxed) {
        sometimes(one_in);
    }
}

#[cold]
fn sometimes(one_in: u32) {
    let drawn = |shared: &Arc<Shared>, number: Option<usize>| {
        number.is_some() && shared.lock().random.random_range(0..one_in) == 0
    };
    if at_seat(drawn) == Some(true) {
        pause();
    }
}

/// The thread is killed by what it has done itself: it and all of its process never run again. Returns only if it is in no
/// lockstep.
pub fn die() {
    at_seat(|shared, number| {
        let Some(number) = number else { return };
        shared.lock().kill(number);
        shared.hand_back(number);
    });
}

/// A number below `most` that the seed fixes, if this thread is in a lockstep.
#[must_use]
pub fn draw(most: u32) -> Option<u32> {
    at_seat(|shared, _| shared.lock().random.random_range(0..most))
}

/// As [`std::thread::scope`]: threads that borrow. Those of a thread in lockstep are in it, too.
pub fn scope<'env, T>(body: impl for<'scope> FnOnce(&Scope<'scope, 'env>) -> T) -> T {
    std::thread::scope(|threads| {
        let scope = Scope {
            threads,
            ended: Mutex::default(),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        // The scope would wait for those that nobody has joined, outside the lockstep.
        for ended in lock(&scope.ended).drain(..) {
            until_set(&ended);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Waits until a thread of this lockstep has ended.
fn until_set(ended: &AtomicU32) {
    while ended.load(Ordering::Acquire) == 0 {
        sleep(ended, 0, None);
    }
}

/// Where threads live that borrow.
#[derive(Debug)]
pub struct Scope<'scope, 'env> {
    threads: &'scope std::thread::Scope<'scope, 'env>,
    /// Words that are 1 when a thread has ended, of threads in lockstep.
    ended: Mutex<Vec<Arc<AtomicU32>>>,
}

/// A thread of a scope.
#[derive(Debug)]
pub struct ScopedThread<'scope, T> {
    handle: std::thread::ScopedJoinHandle<'scope, T>,
    /// 1 when it has ended, if it is in lockstep.
    ended: Option<Arc<AtomicU32>>,
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// A new thread.
    ///
    /// # Panics
    /// When the kernel refuses it.
    pub fn spawn<T: Send + 'scope>(
        &self,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedThread<'scope, T> {
        let Some((shared, mine)) = at_seat(|shared, mine| (shared.clone(), mine)) else {
            let handle = self.threads.spawn(body);
            return ScopedThread {
                handle,
                ended: None,
            };
        };
        let ended = Arc::new(AtomicU32::new(0));
        lock(&self.ended).push(ended.clone());
        let (word, number) = (ended.clone(), shared.lock().threads.len());
        let own = shared.clone();
        let handle = self.threads.spawn(move || {
            let mut answer = None;
            take_part(own, number, || {
                let outcome = catch_unwind(AssertUnwindSafe(body));
                word.store(1, Ordering::Release);
                // Without a pause: whoever waits joins the thread, outside the lockstep.
                at_seat(|shared, _| shared.lock().wake(std::ptr::from_ref(&*word).addr()));
                answer = Some(outcome.unwrap_or_else(|panic| resume_unwind(panic)));
            });
            answer.expect("a thread that panics does not come here")
        });
        shared.join_in("beside", mine, handle.thread());
        let ended = Some(ended);
        ScopedThread { handle, ended }
    }
}

impl<T> ScopedThread<'_, T> {
    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// Its panic.
    pub fn join(self) -> std::thread::Result<T> {
        if let Some(ended) = self.ended {
            until_set(&ended);
        }
        self.handle.join()
    }
}

/// The futex of threads in lockstep: waits while `word` holds `expected`. Returns whether this thread is in a
/// lockstep; then it may have been woken for nothing.
///
/// # Panics
/// When the driver itself would sleep.
pub(crate) fn sleep(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> bool {
    at_seat(|shared, number| {
        let number = number.expect("the driver of a lockstep never sleeps");
        {
            let mut inner = shared.lock();
            let for_nothing = inner.random.random_range(0..50) == 0;
            let at_ns = inner.now_ns + WAKE_NS;
            inner.threads[number].state = if word.load(Ordering::Acquire) != expected || for_nothing
            {
                State::Ready { at_ns }
            } else {
                let word = std::ptr::from_ref(word).addr();
                State::Asleep { word, deadline_ns }
            };
        }
        shared.hand_back(number);
    })
    .is_some()
}

/// Wakes who sleeps on this word. Returns whether this thread is in a lockstep.
pub(crate) fn wake(word: &AtomicU32) -> bool {
    let woken = at_seat(|shared, _| shared.lock().wake(std::ptr::from_ref(word).addr()));
    maybe_pause(4);
    woken.is_some()
}

/// Takes a lock that another thread of the lockstep may hold while it is not its turn.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    if !ANY.load(Ordering::Relaxed) {
        return mutex.lock().unwrap_or_else(PoisonError::into_inner);
    }
    maybe_pause(4);
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if pause() => {}
            Err(TryLockError::WouldBlock) => {
                return mutex.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Waits until it is told, or for no reason: the lock is free when this returns.
pub fn wait<T>(told: &Condvar, guard: MutexGuard<'_, T>) {
    let slept = at_seat(|_, _| ()).is_some();
    if !slept {
        drop(told.wait(guard));
        return;
    }
    drop(guard); // Nobody else runs before this thread sleeps.
    at_seat(|shared, number| {
        let number = number.expect("the driver of a lockstep never sleeps");
        shared.lock().threads[number].state = State::Asleep {
            word: std::ptr::from_ref(told).addr(),
            deadline_ns: None,
        };
        shared.hand_back(number);
    });
}

/// Tells all who [wait](wait()).
pub fn notify_all(told: &Condvar) {
    if at_seat(|shared, _| shared.lock().wake(std::ptr::from_ref(told).addr())).is_none() {
        told.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::wake::bell::{self, Futex, KernelFutex};

    /// Two threads ring each other in turn, and count; the driver lets them.
    fn ping_pong(seed: u64) -> (u64, u64) {
        let lockstep = Lockstep::drive(seed);
        let words = Arc::new([const { AtomicU32::new(0) }; 2]);
        let rounds = Arc::new(AtomicU32::new(0));
        for me in 0..2_u32 {
            let (words, rounds) = (words.clone(), rounds.clone());
            let body = move || {
                for _ in 0..100 {
                    while rounds.load(Ordering::Acquire) % 2 != me {
                        let deadline = None;
                        let mine = || rounds.load(Ordering::Acquire) % 2 == me;
                        bell::sleep(&words[me as usize], &KernelFutex, deadline, mine);
                    }
                    rounds.fetch_add(1, Ordering::AcqRel);
                    bell::ring(&words[1 - me as usize], &KernelFutex, || ());
                }
            };
            lockstep.spawn("player", body).unwrap();
        }
        loop {
            while lockstep.step() {}
            let Some(next) = lockstep.next_ns() else {
                break;
            };
            lockstep.advance(next);
        }
        assert_eq!(rounds.load(Ordering::Acquire), 200);
        assert_eq!(lockstep.describe(), "");
        (lockstep.trace_hash(), lockstep.now_ns())
    }

    #[test]
    fn a_seed_fixes_who_runs_when() {
        assert_eq!(ping_pong(7), ping_pong(7));
        assert_ne!(ping_pong(7), ping_pong(8));
    }

    #[test]
    fn time_passes_for_threads_in_lockstep_alone() {
        let lockstep = Lockstep::drive(1);
        lockstep.advance(5_000_000);
        assert_eq!(clock::now_ns(), 5_000_000);
        let (said, elsewhere) = (Arc::new(Mutex::new(0)), std::thread::spawn(clock::now_ns));
        assert_ne!(elsewhere.join().unwrap(), 5_000_000);
        let hears = said.clone();
        lockstep
            .spawn("clock", move || *lock(&hears) = clock::now_ns())
            .unwrap();
        while lockstep.next_ns().is_some() {
            lockstep.advance(lockstep.next_ns().unwrap());
            assert!(lockstep.step());
        }
        assert!((5_000_000..5_100_000).contains(&*said.lock().unwrap()));
        drop(lockstep);
        assert_ne!(clock::now_ns(), 5_000_000);
    }

    #[test]
    fn the_dead_never_run_again_and_panics_are_told() {
        let lockstep = Lockstep::drive(1);
        let word = Arc::new(AtomicU32::new(0));
        let sleeps = word.clone();
        let sleeper = lockstep.spawn("sleeper", move || {
            KernelFutex.wait(&sleeps, 0, None);
            sleeps.store(2, Ordering::Release);
        });
        let panics = lockstep.spawn("panics", || panic!("as it should"));
        let dies = lockstep.spawn("dies", || {
            die();
            unreachable!("it is dead");
        });
        while lockstep.step() {}
        lockstep.kill(sleeper.unwrap());
        word.store(1, Ordering::Release);
        KernelFutex.wake(&word);
        assert!(!lockstep.step());
        assert_eq!(word.load(Ordering::Acquire), 1);
        let said = Standing::Panicked("as it should".to_owned());
        assert_eq!(lockstep.standing(panics.unwrap()), said);
        assert_eq!(lockstep.standing(dies.unwrap()), Standing::Dead);
        assert_eq!(lockstep.next_ns(), None);
    }
}
