//! Threads that borrow.

use super::context::{run_thread, with_context};
use super::futex::sleep;
use super::lock::lock;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

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
                // Without a pause: whoever waits joins the thread, outside the lockstep.
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
    /// Its panic.
    pub fn join(self) -> std::thread::Result<T> {
        if let Some(ended) = self.ended {
            until_set(&ended);
        }
        self.handle.join()
    }
}
