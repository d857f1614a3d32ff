//! Locks and conditions, as those of the standard library.

use super::context::{ANY, with_context};
use super::shared::ThreadState;
use super::turn::{maybe_pause, pause};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

/// Takes a lock that another thread of the lockstep may hold between its turns.
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

/// Waits until it is notified, or wakes up without reason. The lock is free when this returns.
pub fn wait<T>(told: &Condvar, guard: MutexGuard<'_, T>) {
    let slept = with_context(|_, _| ()).is_some();
    if !slept {
        drop(told.wait(guard));
        return;
    }
    drop(guard); // No other thread runs before this thread sleeps.
    with_context(|shared, number| {
        let number = number.expect("the driver of a lockstep never sleeps");
        shared.lock().threads[number].state = ThreadState::Asleep {
            word: std::ptr::from_ref(told).addr(),
            deadline_ns: None,
        };
        shared.hand_back(number);
    });
}

/// Notifies all threads that [wait](wait()).
pub fn notify_all(told: &Condvar) {
    if with_context(|shared, _| shared.lock().wake(std::ptr::from_ref(told).addr())).is_none() {
        told.notify_all();
    }
}
