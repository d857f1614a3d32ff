//! Hints that a cache line which another core holds will be used soon, so that it comes while this
//! core does something else. They change nothing else, and do nothing on machines without such
//! hints.
//!
//! A reader that fetches lines ahead of a writer takes them away from it. So a reader prefetches a
//! line only if it has most likely been written.
#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the hint is an instruction of the processor")
)]

/// Hints that this core will write the line soon, so no other core should keep it.
#[inline]
pub(crate) fn to_write<T>(line: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let line = std::ptr::from_ref(line);
        // The intrinsic becomes a hint to read where the compiler may not assume this one.
        // SAFETY: a hint changes nothing, and x86-64 processors that do not know it do nothing.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}

/// Hints that this core will read the line soon.
#[inline]
pub(crate) fn to_read<T>(line: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}
