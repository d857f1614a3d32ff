//! Forked children of a rank, which are not ranks.
//!
//! A child of `fork` has all that its parent had: the requests, the rings, the bell, the queues of
//! the node. If it called MPI, it would take its parent's messages. If it just returned from
//! `main`, it would finalize in the parent's name. So in a child the library is over before the
//! program's next line. A call is an error, destructors of requests and communicators do nothing,
//! and using a request that the parent had begun is a panic. Each of these affects only the child.
//!
//! It costs calls nothing: the words that they read anyway (whether MPI was finalized, whether the
//! caller has the endpoint's lock) have another value in a child. Children of `vfork` and
//! `posix_spawn` execute another program and run no handlers. A child of a bare `clone` runs none
//! either, and must execute another program, too.
#![expect(unsafe_code, reason = "pthread_atfork")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// Whether this process is a child of one that had called MPI_Init.
static CHILD: AtomicBool = AtomicBool::new(false);

/// How the child gives up its parent's resources.
static ABANDON: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Excludes forked children from now on: a child calls `abandon`, which allocates nothing, takes no
/// lock, and does not unwind.
pub(crate) fn guard(abandon: impl Fn() + Send + Sync + 'static) {
    static INSTALLED: Once = Once::new();
    let _one_a_process = ABANDON.set(Box::new(abandon));
    INSTALLED.call_once(|| {
        // SAFETY: the handler lives as long as the program. It allocates nothing, takes no lock,
        // and does not unwind.
        let refused = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        assert_eq!(refused, 0, "no memory for the handler of forks");
    });
}

/// Returns whether this process is a forked child of a rank.
pub(crate) fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

unsafe extern "C" fn in_child() {
    CHILD.store(true, Ordering::Relaxed);
    if let Some(abandon) = ABANDON.get() {
        abandon();
    }
}
