//! Hints that a cache line of another core's will be used soon, so that it comes while this core does
//! something else. They change nothing else, and are nothing on machines without.
#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the hints are intrinsics of the processor")
)]

/// The line is read soon.
#[inline]
pub(crate) fn to_read<T>(line: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint reads nothing, and the address is one of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}

/// The line is written soon: no other core is to keep it.
#[inline]
pub(crate) fn to_write<T>(line: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let line = std::ptr::from_ref(line);
        // The intrinsic becomes a hint to read where the compiler may not assume this one.
        // SAFETY: as above; x86-64 processors that do not know this hint take it for no operation.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}
