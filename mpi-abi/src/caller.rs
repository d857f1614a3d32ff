//! The place of a call in the program: its return address.
//!
//! A function of the ABI begins with a few instructions (the crate `abi-lists` makes them) that store the return
//! address in a thread-local variable. Then it continues in Rust, which cannot read its own return
//! address. The variable is read only where a place is reported: by a rank that is about to sleep,
//! by the MDS, and for a new request or a sent message.
//!
//! The variable uses the TLS model of a library that may be loaded at any time (a TLS descriptor),
//! and not the model of one that is there from the start: programs that load many libraries refuse
//! the latter.

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

/// Returns the return address of this thread's current call of the ABI.
#[inline]
pub fn address() -> u64 {
    // SAFETY: it reads a variable of this thread.
    unsafe { bcs_caller_get() }
}

/// Calls a function of the program, which may call functions of ours, and restores this call's
/// address.
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
}
