//! The one switch between the atomics of `std` and those of loom.
//!
//! What runs under loom ([`crate::memory::ring`], [`crate::wake::bell`]) takes its atomics from here and works
//! on any storage, because loom's atomics have another layout than shared memory needs.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(not(loom))]
use rustix::thread::{MembarrierCommand, membarrier};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

/// Takes a mutex, which is not poisoned by a panic.
pub(crate) fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(not(loom))]
    return crate::lockstep::lock(mutex);
    #[cfg(loom)]
    return mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
}

/// Between what a thread has published and its look at what others have, which do the same the other way
/// round: of two such threads at least one sees what the other has published.
///
/// It is `fence(SeqCst)`, for which compilers write `mfence` on x86-64. There it waits for all loads before it,
/// too, which nobody asked for; an atomic operation on the thread's own stack is as good a fence for everything
/// but stores past the caches, and takes half as long.
#[inline(always)]
pub(crate) fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    // SAFETY: it changes nothing; as it may touch memory, the compiler moves no access across it.
    #[expect(unsafe_code, reason = "the fence is an instruction of the processor")]
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0");
    }
    #[cfg(all(not(loom), not(all(target_arch = "x86_64", not(miri)))))]
    std::sync::atomic::fence(Ordering::SeqCst);
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Half of a full fence, for whoever passes it often. The other half, [`process_fence`], is the affair of threads of
/// this process that have the kernel run a fence on this one, too: of two such threads at least one sees what
/// the other has published.
#[inline(always)]
pub(crate) fn light_fence() {
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// A full fence on all threads of this process: microseconds.
///
/// # Panics
/// If it does not [work](all_fence_works).
pub(crate) fn process_fence() {
    #[cfg(not(loom))]
    {
        let barrier = membarrier(MembarrierCommand::PrivateExpedited);
        assert!(barrier.is_ok(), "membarrier was registered");
    }
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Whether the kernel runs fences on all threads: then it is told that this process will want that.
#[cfg(not(loom))]
pub(crate) fn all_fence_works() -> bool {
    !cfg!(miri) && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}
