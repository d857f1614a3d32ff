//! A lock that costs its owner next to nothing. It is the endpoint's lock: in nearly every program
//! one thread takes it for each call, and no other thread ever does.
//!
//! The thread that made the lock owns it. It records that it is inside, and checks whether the lock
//! is *shared*: a store, a load, and a store when it leaves. (An uncontended mutex is two atomic
//! operations, 17 ns here: a seventh of a short message.) The first other thread that comes makes
//! the lock shared for good. From then on all threads take the mutex.
//!
//! The owner's store and its load must not be reordered, which would take a fence. Instead the
//! thread that makes the lock shared has the kernel run that fence once on all threads of the
//! process (`membarrier`). Where the kernel does not support that, the lock has no owner.
//!
//! | edge | from | to |
//! |---|---|---|
//! | OWNER | the owner records that it is inside, or outside, and checks whether the lock is shared | another thread makes the lock shared (barrier), then checks whether the owner is inside |
//! | LEFT | the owner leaves, and so publishes its writes | another thread finds it outside |
#![cfg_attr(
    not(loom),
    expect(unsafe_code, reason = "a lock hands out what it guards")
)]

use crate::sync::{
    AtomicU32, Condvar, Mutex, MutexGuard, Ordering, light_fence, lock_of, process_fence,
};
use std::sync::PoisonError;

/// No thread enters any more.
const CLOSED: u32 = 2;

/// The lock itself, without the data, for threads that have numbers.
#[derive(Debug)]
struct RawOwnerLock {
    owner: Option<u64>,
    /// 1 while the owner is inside without the mutex.
    inside: AtomicU32,
    /// 1 as soon as another thread has come; [`CLOSED`] in a forked child.
    shared: AtomicU32,
    mutex: Mutex<()>,
    /// Notified when the owner has left, after the lock was made shared.
    left: Condvar,
}

/// A guard: its thread is inside until it is dropped.
#[derive(Debug)]
struct LockEntry<'a> {
    door: &'a RawOwnerLock,
    by: EntryMode<'a>,
}

/// The way of entry. Its tag is a word: a copy of a guard reads words, and to read a word that was
/// just written as a byte would wait for the write.
#[derive(Debug)]
#[repr(usize)]
enum EntryMode<'a> {
    /// As the owner.
    Alone,
    /// By the mutex.
    Mutex(#[expect(dead_code, reason = "it is unlocked when it is dropped")] MutexGuard<'a, ()>),
}

impl RawOwnerLock {
    fn new(owner: Option<u64>) -> Self {
        Self {
            owner,
            inside: AtomicU32::new(0),
            shared: AtomicU32::new(0),
            mutex: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    #[inline(always)]
    fn enter(&self, thread: u64) -> LockEntry<'_> {
        if self.owner == Some(thread) && self.enters_alone() {
            return LockEntry {
                door: self,
                by: EntryMode::Alone,
            };
        }
        self.enter_shared()
    }

    /// Enters as the owner, unless others may be inside.
    #[inline(always)]
    fn enters_alone(&self) -> bool {
        if self.shared.load(Ordering::Relaxed) != 0 {
            return false;
        }
        // Otherwise the data would be handed out twice.
        assert!(
            self.inside.load(Ordering::Relaxed) == 0,
            "a thread takes a lock that it has"
        );
        self.inside.store(1, Ordering::Relaxed);
        light_fence(); // OWNER
        let alone = self.shared.load(Ordering::Relaxed) == 0;
        if !alone {
            self.leave();
        }
        alone
    }

    #[inline(never)]
    fn enter_shared(&self) -> LockEntry<'_> {
        // The thread that was inside, or that has the mutex, may not exist in the child.
        assert!(
            self.shared.load(Ordering::Relaxed) != CLOSED,
            "a forked child uses what belongs to its parent"
        );
        let mut held = lock_of(&self.mutex);
        if self.shared.load(Ordering::Relaxed) == 0 {
            self.shared.store(1, Ordering::Relaxed);
            if self.owner.is_some() {
                process_fence(); // OWNER
            }
        }
        // LEFT
        while self.inside.load(Ordering::Acquire) != 0 {
            held = self.left.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        LockEntry {
            door: self,
            by: EntryMode::Mutex(held),
        }
    }

    /// Leaves as the owner, which has no mutex.
    #[inline]
    fn leave(&self) {
        self.inside.store(0, Ordering::Release); // LEFT
        light_fence(); // OWNER
        if self.shared.load(Ordering::Relaxed) != 0 {
            self.tell();
        }
    }

    #[cold]
    fn tell(&self) {
        // A thread that checks whether the owner is inside has the mutex until it waits.
        drop(lock_of(&self.mutex));
        self.left.notify_all();
    }
}

impl Drop for LockEntry<'_> {
    #[inline]
    fn drop(&mut self) {
        if matches!(self.by, EntryMode::Alone) {
            self.door.leave();
        }
    }
}

#[cfg(not(loom))]
mod lock {
    use super::{CLOSED, LockEntry, RawOwnerLock};
    use crate::lockstep;
    use crate::sync::all_fence_works;
    use std::cell::{Cell, UnsafeCell};
    use std::ops::{Deref, DerefMut};
    use std::sync::atomic::{AtomicU64, Ordering};

    thread_local! {
        /// This thread's number, once it has one.
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }

    /// Returns the number of this thread, which no other thread of the process has or will have.
    #[inline]
    #[must_use]
    pub fn this_thread() -> u64 {
        match NUMBER.get() {
            0 => number_this_thread(),
            number => number,
        }
    }

    #[cold]
    fn number_this_thread() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        NUMBER.set(number);
        number
    }

    /// A mutex for data that one thread uses nearly always: the thread that makes it. It is not
    /// poisoned.
    ///
    /// # Panics
    /// When a thread takes it that has it already (once another thread has taken it, that hangs
    /// instead), or after [`close`](Self::close).
    #[derive(Debug)]
    pub struct OwnerLock<T> {
        door: RawOwnerLock,
        guarded: UnsafeCell<T>,
    }

    // SAFETY: one thread at a time uses the guarded data, and they may be sent to it.
    unsafe impl<T: Send> Sync for OwnerLock<T> {}

    impl<T> OwnerLock<T> {
        /// Makes a lock that this thread owns.
        pub fn new(guarded: T) -> Self {
            Self {
                // Threads in lockstep run one at a time: none is preempted between a store and a
                // load.
                door: RawOwnerLock::new(
                    (!lockstep::is_active() && all_fence_works()).then(this_thread),
                ),
                guarded: UnsafeCell::new(guarded),
            }
        }

        /// Closes the lock in a forked child: the guarded data belong to its parent, and no thread
        /// here gets them any more.
        pub fn close(&self) {
            self.door.shared.store(CLOSED, Ordering::Relaxed);
        }

        /// Waits until no other thread uses the guarded data.
        #[inline(always)]
        pub fn lock(&self) -> OwnerGuard<'_, T> {
            let inside = self.door.enter(this_thread());
            OwnerGuard {
                guarded: &self.guarded,
                inside,
            }
        }

        /// Uses the guarded data when no other thread does. It is for short and frequent uses,
        /// because a guard would be copied.
        #[inline(always)]
        pub fn with<R>(&self, using: impl FnOnce(&mut T) -> R) -> R {
            let _inside = self.door.enter(this_thread());
            // SAFETY: one thread is inside, until the end of this function.
            using(unsafe { &mut *self.guarded.get() })
        }

        /// Returns whether other threads than the owner may have taken it.
        #[inline]
        pub fn is_shared(&self) -> bool {
            self.door.owner.is_none() || self.door.shared.load(Ordering::Relaxed) != 0
        }
    }

    /// The guarded data, until this is dropped.
    #[derive(Debug)]
    pub struct OwnerGuard<'a, T> {
        guarded: &'a UnsafeCell<T>,
        #[expect(dead_code, reason = "it opens the lock when it is dropped")]
        inside: LockEntry<'a>,
    }

    impl<T> Deref for OwnerGuard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            // SAFETY: one thread is inside, and this is its only guard.
            unsafe { &*self.guarded.get() }
        }
    }

    impl<T> DerefMut for OwnerGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: one thread is inside, and this is its only guard, borrowed mutably.
            unsafe { &mut *self.guarded.get() }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::{OwnerLock, all_fence_works};
        use std::sync::Barrier;

        #[test]
        fn its_owner_takes_it_again_and_again() {
            let lock = OwnerLock::new(0);
            for _ in 0..1000 {
                *lock.lock() += 1;
            }
            assert_eq!(*lock.lock(), 1000);
            assert!(!lock.is_shared() || !all_fence_works());
            std::thread::scope(|scope| {
                scope.spawn(|| drop(lock.lock()));
            });
            assert!(lock.is_shared());
        }

        #[test]
        fn a_thread_that_has_it_does_not_get_it_twice() {
            let lock = OwnerLock::new(0);
            let _first = lock.lock();
            if all_fence_works() {
                let second = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lock.lock()));
                assert!(second.is_err());
            }
        }

        #[test]
        fn what_uses_it_has_it_alone_and_leaves_it_by_a_panic() {
            let lock = OwnerLock::new(0);
            let fails = || lock.with(|_| panic!("as the test wants it"));
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(fails));
            assert!(failed.is_err());
            lock.with(|number| *number += 1);
            if all_fence_works() {
                let twice = || lock.with(|_| lock.with(|_| ()));
                assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(twice)).is_err());
            }
            std::thread::scope(|scope| {
                scope.spawn(|| lock.with(|number| *number += 1));
            });
            assert!(lock.is_shared() || !all_fence_works());
            assert_eq!(lock.with(|number| *number), 2);
        }

        #[test]
        fn nobody_gets_it_when_it_is_closed() {
            let lock = OwnerLock::new(0);
            lock.close();
            let taken = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| *lock.lock()));
            assert!(taken().is_err());
            std::thread::scope(|scope| assert!(scope.spawn(taken).join().unwrap().is_err()));
        }

        #[test]
        fn others_wait_for_the_owner_and_it_for_them() {
            // Each round has a new lock, since a lock is made shared only once. The two numbers of
            // a round differ while a thread is between the two increments.
            for _ in 0..2000 {
                let (lock, start) = (OwnerLock::new([0_u64; 2]), Barrier::new(3));
                let add = |guarded: &mut [u64; 2]| {
                    assert_eq!(guarded[0], guarded[1]);
                    guarded[0] += 1;
                    std::hint::black_box(&mut *guarded);
                    guarded[1] += 1;
                };
                let work = || {
                    for _ in 0..10 {
                        add(&mut lock.lock());
                        lock.with(add);
                    }
                };
                std::thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            start.wait();
                            work();
                        });
                    }
                    start.wait();
                    work();
                });
                assert_eq!(*lock.lock(), [60, 60]);
            }
        }
    }
}

#[cfg(not(loom))]
pub use lock::{OwnerGuard, OwnerLock, this_thread};

#[cfg(all(test, loom))]
mod loom_tests {
    use super::RawOwnerLock;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Guarded(UnsafeCell<u32>);

    // SAFETY: the lock lets one thread in at a time, which is what is tested.
    #[expect(unsafe_code, reason = "loom looks who uses it")]
    unsafe impl Sync for Guarded {}

    fn threads_enter_one_at_a_time(others: u32, times: u32) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(if others > 1 { 2 } else { 4 });
        model.check(move || {
            let shared = Arc::new((RawOwnerLock::new(Some(0)), Guarded(UnsafeCell::new(0))));
            let add = |shared: &(RawOwnerLock, Guarded), thread: u32| {
                let inside = shared.0.enter(u64::from(thread));
                shared.1.0.with_mut(|number| {
                    // SAFETY: loom fails if another thread uses it now, or has without an edge to
                    // here.
                    #[expect(unsafe_code, reason = "loom hands out pointers")]
                    unsafe {
                        *number += 1;
                    }
                });
                drop(inside);
            };
            let threads: Vec<_> = (1..=others)
                .map(|thread| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || add(&shared, thread))
                })
                .collect();
            for _ in 0..times {
                add(&shared, 0);
            }
            // With a lost word, one of these would wait for ever: loom reports it.
            for thread in threads {
                thread.join().unwrap();
            }
            let inside = shared.0.enter(0);
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "loom hands out pointers")]
            let number = shared.1.0.with(|number| unsafe { *number });
            assert_eq!(number, others + times);
            drop(inside);
        });
    }

    #[test]
    fn owner_and_another() {
        threads_enter_one_at_a_time(1, 2);
    }

    #[test]
    fn owner_and_two_others() {
        threads_enter_one_at_a_time(2, 1);
    }
}
