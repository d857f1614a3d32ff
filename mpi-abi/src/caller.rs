//! Where in the program a call is: its return address.
//!
//! A function of the ABI begins with a few instructions (made by `build.rs`) that put the return address where this
//! thread's calls have it, and goes on in Rust, which has no way to ask for it. It is looked at only where a place is
//! told: by a rank that is about to sleep, by the MDS, of a request that is handed out, of a message that is sent.
//!
//! The variable is reached as by a library that may be loaded at any time (a TLS descriptor), and not as one that is
//! there from the start: such libraries are refused by programs that load many.

use std::arch::global_asm;

global_asm!(
    ".section .tbss.bcs_caller, \"awT\", @nobits",
    ".hidden bcs_caller",
    ".globl bcs_caller",
    ".type bcs_caller, @object",
    ".size bcs_caller, 8",
    ".p2align 3",
    "bcs_caller:",
    ".zero 8",
    ".text",
    ".hidden bcs_caller_get",
    ".globl bcs_caller_get",
    ".type bcs_caller_get, @function",
    "bcs_caller_get:",
    "lea rax, [rip + bcs_caller@tlsdesc]",
    "call qword ptr [rax + bcs_caller@tlscall]",
    "mov rax, qword ptr fs:[rax]",
    "ret",
    ".size bcs_caller_get, . - bcs_caller_get",
    ".hidden bcs_caller_set",
    ".globl bcs_caller_set",
    ".type bcs_caller_set, @function",
    "bcs_caller_set:",
    "lea rax, [rip + bcs_caller@tlsdesc]",
    "call qword ptr [rax + bcs_caller@tlscall]",
    "mov qword ptr fs:[rax], rdi",
    "ret",
    ".size bcs_caller_set, . - bcs_caller_set",
);

unsafe extern "C" {
    fn bcs_caller_get() -> u64;
    fn bcs_caller_set(address: u64);
}

/// The return address of the call of the ABI that this thread is in.
#[inline]
pub fn address() -> u64 {
    // SAFETY: it reads a variable of this thread.
    unsafe { bcs_caller_get() }
}

/// Calls a function of the program, which may call functions of ours: this call is where it was.
pub fn preserve_address<T>(function: impl FnOnce() -> T) -> T {
    let address = address();
    let returned = function();
    // SAFETY: it writes a variable of this thread.
    unsafe { bcs_caller_set(address) };
    returned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_the_address_of_its_own_call() {
        unsafe { bcs_caller_set(7) };
        let other = std::thread::spawn(address).join().unwrap();
        assert_eq!((address(), other), (7, 0));
        let inner = preserve_address(|| {
            unsafe { bcs_caller_set(8) };
            address()
        });
        assert_eq!((inner, address()), (8, 7));
    }

    /// A function of the list, called as C does.
    #[test]
    fn a_call_leaves_its_return_address() {
        unsafe extern "C" {
            fn MPI_Wtick() -> f64;
            fn PMPI_Wtick() -> f64;
        }
        for call in [MPI_Wtick, PMPI_Wtick] {
            unsafe { bcs_caller_set(0) };
            let tick = unsafe { call() };
            let here = a_call_leaves_its_return_address as fn() as usize as u64;
            assert!(tick > 0.0);
            assert!(address().wrapping_sub(here) < 4096, "{:#x}", address());
        }
    }
}
