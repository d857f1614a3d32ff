//! Contexts: the lockstep that a thread is in, and the thread's start there.

use super::shared::{DRIVER, Shared, ThreadState};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether any thread of this process has ever been in lockstep.
pub(super) static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    pub(super) static SEAT: RefCell<Option<LockstepContext>> = const { RefCell::new(None) };
}

/// A thread's place in a lockstep.
#[derive(Clone)]
pub(super) struct LockstepContext {
    pub(super) shared: Arc<Shared>,
    /// Its number; the driver has none.
    pub(super) number: Option<usize>,
}

/// Runs the body of a thread of this number, from its first turn on.
pub(super) fn run_thread(shared: Arc<Shared>, number: usize, body: impl FnOnce()) {
    SEAT.set(Some(LockstepContext {
        shared: shared.clone(),
        number: Some(number),
    }));
    shared.await_turn(number);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    SEAT.take();
    let panic = outcome.as_ref().err().map(|panic| words(&**panic));
    shared.lock().threads[number].state = ThreadState::Ended { panic };
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

/// Calls `act` with the lockstep that this thread is in, and with its number there, if it is in
/// one.
pub(super) fn with_context<T>(act: impl FnOnce(&Arc<Shared>, Option<usize>) -> T) -> Option<T> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    // It is copied, because `act` may borrow it again.
    let seat = SEAT.try_with(|seat| seat.borrow().clone()).ok()??;
    Some(act(&seat.shared, seat.number))
}
