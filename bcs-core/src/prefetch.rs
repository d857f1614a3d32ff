//! Hints that a cache line of another core's will be used soon, so that it comes while this core does
//! something else. They change nothing else, and are nothing on machines without.
//!
//! Who reads ahead of a writer takes the lines away from it: a line that will be read is asked for only where
//! it has most likely been written.
#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the hint is an instruction of the processor")
)]

/// The line is written soon: no other core is to keep it.
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

/// The line is read soon.
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
