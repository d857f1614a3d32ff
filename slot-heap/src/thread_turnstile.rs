//! Turnstiles, and which of them is the current thread's.
//!
//! The current one is a thread-local variable whose place is fixed before the program runs (the
//! initial-exec model). Rust uses the other model in a shared library: there the C library
//! allocates the variable when a thread first touches it, or after a `dlopen`. It does so by
//! `malloc`, and where this is its `malloc` that would never end. Rust does not offer the
//! initial-exec model yet, so on x86-64 the variable is written in assembly. (mimalloc's own
//! variables use this model, too: the feature `local_dynamic_tls` of its crate is off.)

use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32};

/// One thread's entry to the allocator.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Turnstile {
    pub(crate) inside: AtomicU32,
    /// Whether the thread must look closer before it goes in.
    pub(crate) look: AtomicU32,
    pub(crate) owned: AtomicU32,
    /// When its thread last purged, in seconds of the system's clock.
    pub(crate) purged: AtomicI64,
    /// The last block of medium size that its thread has freed, or null. mimalloc still counts it
    /// as in use.
    pub(crate) kept: AtomicPtr<u8>,
}

impl Turnstile {
    pub(crate) const fn new(look: u32) -> Self {
        Self {
            inside: AtomicU32::new(0),
            look: AtomicU32::new(look),
            owned: AtomicU32::new(0),
            purged: AtomicI64::new(0),
            kept: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

/// The turnstile of threads that have none of their own yet. It always tells them to look closer.
pub(crate) static UNREGISTERED: Turnstile = Turnstile::new(1);

/// Returns this thread's turnstile; [`UNREGISTERED`] if it has none.
#[inline]
pub(crate) fn get() -> &'static Turnstile {
    variable::get()
}

/// Gives this thread a turnstile.
pub(crate) fn set(turnstile: &'static Turnstile) {
    variable::set(turnstile);
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a thread-local variable in assembly")]
mod variable {
    use super::{Turnstile, UNREGISTERED};
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tdata.bcs_slot_heap_turnstile, \"awT\", @progbits",
        ".p2align 3",
        ".hidden bcs_slot_heap_turnstile",
        ".globl bcs_slot_heap_turnstile",
        ".type bcs_slot_heap_turnstile, @object",
        ".size bcs_slot_heap_turnstile, 8",
        "bcs_slot_heap_turnstile:",
        ".quad {nobodys}",
        ".popsection",
        nobodys = sym UNREGISTERED,
    );

    #[inline]
    pub(super) fn get() -> &'static Turnstile {
        let mine: *const Turnstile;
        // SAFETY: reads this thread's variable.
        unsafe {
            asm!(
                "mov {mine}, qword ptr [rip + bcs_slot_heap_turnstile@GOTTPOFF]",
                "mov {mine}, qword ptr fs:[{mine}]",
                mine = out(reg) mine,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        // SAFETY: [`UNREGISTERED`], or one that `set` was given.
        unsafe { &*mine }
    }

    pub(super) fn set(turnstile: &'static Turnstile) {
        // SAFETY: writes this thread's variable.
        unsafe {
            asm!(
                "mov {place}, qword ptr [rip + bcs_slot_heap_turnstile@GOTTPOFF]",
                "mov qword ptr fs:[{place}], {turnstile}",
                place = out(reg) _,
                turnstile = in(reg) std::ptr::from_ref(turnstile),
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod variable {
    use super::{Turnstile, UNREGISTERED};
    use std::cell::Cell;

    thread_local! {
        static MINE: Cell<&'static Turnstile> = const { Cell::new(&UNREGISTERED) };
    }

    #[inline]
    pub(super) fn get() -> &'static Turnstile {
        MINE.get()
    }

    pub(super) fn set(turnstile: &'static Turnstile) {
        MINE.set(turnstile);
    }
}
