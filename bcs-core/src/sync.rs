//! The one switch between the atomics of `std` and those of loom.
//!
//! The modules that run under loom ([`crate::memory::ring`], [`crate::wake::bell`]) take their
//! atomics from here. They work on any storage, because loom's atomics have another layout than
//! shared memory needs.

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

/// Locks a mutex that a panic does not poison.
pub(crate) fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(not(loom))]
    return crate::lockstep::lock(mutex);
    #[cfg(loom)]
    return mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
}

/// Issues a full fence between this thread's writes and its reads of what other threads have
/// written. If two threads both do this, at least one of them sees what the other has written.
///
/// It replaces `fence(SeqCst)`, for which compilers emit `mfence` on x86-64. `mfence` also waits
/// for all earlier loads, which is not needed here. An atomic operation on the thread's own stack
/// is an equally good fence for all stores except non-temporal ones, and takes half as long.
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

/// Issues half of a full fence, for the thread that passes it often. The other half is
/// [`process_fence`]: the threads that call it have the kernel run a fence on this thread, too. At
/// least one of two such threads sees what the other has written.
#[inline(always)]
pub(crate) fn light_fence() {
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Runs a full fence on all threads of this process. This takes microseconds.
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

/// Returns whether the kernel can run fences on all threads. If it can, this registers the process
/// for them.
#[cfg(not(loom))]
pub(crate) fn all_fence_works() -> bool {
    !cfg!(miri) && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}
