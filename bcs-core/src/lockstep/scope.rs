//! Scoped threads, which may borrow.

use super::context::{run_thread, with_context};
use super::futex::sleep;
use super::lock::lock;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Runs `body` as [`std::thread::scope`] does. If this thread is in lockstep, the scope's threads
/// are, too.
pub fn scope<'env, T>(body: impl for<'scope> FnOnce(&Scope<'scope, 'env>) -> T) -> T {
    std::thread::scope(|threads| {
        let scope = Scope {
            threads,
            ended: Mutex::default(),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        // Otherwise the scope would wait for threads that were not joined, outside the lockstep.
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

/// A scope for threads that borrow.
#[derive(Debug)]
pub struct Scope<'scope, 'env> {
    threads: &'scope std::thread::Scope<'scope, 'env>,
    /// For each thread in lockstep, a word that is 1 when the thread has ended.
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
    /// Starts a thread.
    ///
    /// # Panics
    /// When the kernel refuses it.
    pub fn spawn<T: Send + 'scope>(
        &self,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedThread<'scope, T> {
        let Some((shared, mine)) = with_context(|shared, mine| (shared.clone(), mine)) else {
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
            run_thread(own, number, || {
                let outcome = catch_unwind(AssertUnwindSafe(body));
                word.store(1, Ordering::Release);
                // Without a pause, because the waiting thread then joins this one outside the
                // lockstep.
                with_context(|shared, _| shared.lock().wake(std::ptr::from_ref(&*word).addr()));
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
    /// The panic of the thread.
    pub fn join(self) -> std::thread::Result<T> {
        if let Some(ended) = self.ended {
            until_set(&ended);
        }
        self.handle.join()
    }
}
