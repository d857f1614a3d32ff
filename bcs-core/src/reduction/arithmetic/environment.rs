//! The floating-point environment that Rust, and our law, assume.
//!
//! SSE arithmetic obeys the thread's MXCSR register: rounding, flush to zero (FTZ), denormals are
//! zero (DAZ), exception masks and sticky exception flags. A program may have changed it (a C
//! compiler's `-ffast-math` does so at start-up), and a result must not depend on that. So the
//! arithmetic runs in the default environment, and restores MXCSR afterwards.

#![expect(unsafe_code, reason = "no safe way to read and write MXCSR")]

use std::arch::asm;
use std::hint::black_box;

/// Round to nearest, every exception masked, no FTZ, no DAZ, no flags.
const DEFAULT: u32 = 0x1f80;

/// The sticky exception flags, which do not affect results.
const FLAGS: u32 = 0x3f;

/// Runs `kernel` on an accumulator and one or several operands, in the default environment.
pub(super) fn with_default<O>(
    accumulator: &mut [u8],
    operand: O,
    kernel: impl FnOnce(&mut [u8], O),
) {
    let _environment = FloatEnvironment::enter(DEFAULT);
    // For the compiler, arithmetic does not depend on MXCSR, so it might move it across the change.
    // It cannot compute on values that it does not know yet: they come out of this black box.
    let (accumulator, operand) = black_box((accumulator, operand));
    kernel(accumulator, operand);
    // Nor may it delay the arithmetic until after the restoration: the result goes into this black
    // box.
    black_box(accumulator);
}

/// An environment that is in force until this is dropped, by return or by unwinding.
struct FloatEnvironment {
    /// All of MXCSR as it was before, flags included.
    before: u32,
}

impl FloatEnvironment {
    fn enter(control: u32) -> Self {
        let before = read();
        // The common case costs two reads of a register: one here, one at the end.
        if before & !FLAGS != control {
            write(control);
        }
        Self { before }
    }
}

impl Drop for FloatEnvironment {
    fn drop(&mut self) {
        // Flags raised inside are not the program's: the soft path would not have raised them.
        if read() != self.before {
            write(self.before);
        }
    }
}

fn read() -> u32 {
    let mut mxcsr = 0_u32;
    // SAFETY: stmxcsr stores four bytes at the address of a local u32; x86-64 always has it.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
    }
    mxcsr
}

fn write(mxcsr: u32) {
    // SAFETY: ldmxcsr loads four bytes from the address of a local u32. No reserved bit is set,
    // which would fault: the value is DEFAULT or was read from the register (or comes from a test
    // that did so). The value is either the environment that Rust assumes or, on leaving, the one
    // that we found; the code that changed it is responsible for that. No Rust arithmetic runs
    // between the two but that of `kernel`.
    unsafe {
        asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags, readonly));
    }
}

/// Runs `body`, which does no floating-point arithmetic of its own, in the given environment, and
/// asserts that `body` did not change MXCSR.
#[cfg(test)]
pub(super) fn with_mode<T>(control: u32, body: impl FnOnce() -> T) -> T {
    // It is not entered by `enter`, which is under test.
    let environment = FloatEnvironment { before: read() };
    write(control);
    let before = read();
    let result = black_box(body());
    let after = read();
    drop(environment);
    assert_eq!(after, before, "MXCSR was changed, mode or flags");
    result
}
