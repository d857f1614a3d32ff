//! A hint that a cache line of another core's will be written soon, so that it comes while this core does
//! something else. It changes nothing else, and is nothing on machines without.
//!
//! There is none for lines that will be read: who reads ahead of a writer takes the lines away from it.
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
