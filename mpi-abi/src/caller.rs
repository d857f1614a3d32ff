//! The place of a call in the program: its return address.
//!
//! A function of the ABI begins with a few instructions (the crate `abi-lists` makes them) that
//! store the return address in a thread-local variable. Then it continues in Rust, which cannot
//! read its own return address. The variable is read only where a place is reported: by a rank that
//! is about to sleep, by the MDS, and for a new request or a sent message.
//!
//! Procedures of Fortran call through the glue (`toolchain/src/fortran`), so that address lies in
//! the glue. The glue therefore passes its own return address to `bcs_outer_caller` first, which
//! also stores where in the glue it was called. The next call of the ABI comes from the same
//! procedure if its address follows soon after. Only then the outer address counts, so it cannot be
//! mistaken for the place of a later call from C, or from a tool that stands before the library.
//!
//! The variable uses the TLS model of a library that may be loaded at any time (a TLS descriptor),
//! and not the model of one that is there from the start: programs that load many libraries refuse
//! the latter.

use bcs_core::mapped_code::LastCall;
use std::arch::global_asm;
use std::sync::OnceLock;

global_asm!(
    ".section .tbss.bcs_caller, \"awT\", @nobits",
    ".globl bcs_caller",
    ".type bcs_caller, @object",
    ".size bcs_caller, 24",
    ".p2align 3",
    "bcs_caller:",
    ".zero 24",
    ".text",
    ".globl bcs_caller_place",
    ".type bcs_caller_place, @function",
    "bcs_caller_place:",
    "lea rax, [rip + bcs_caller@tlsdesc]",
    "call qword ptr [rax + bcs_caller@tlscall]",
    "add rax, qword ptr fs:[0]",
    "ret",
    ".size bcs_caller_place, . - bcs_caller_place",
    ".globl bcs_outer_caller",
    ".type bcs_outer_caller, @function",
    "bcs_outer_caller:",
    "lea rax, [rip + bcs_caller@tlsdesc]",
    "call qword ptr [rax + bcs_caller@tlscall]",
    "mov r11, qword ptr [rsp]",
    "mov qword ptr fs:[rax + 8], rdi",
    "mov qword ptr fs:[rax + 16], r11",
    "ret",
    ".size bcs_outer_caller, . - bcs_outer_caller",
);

unsafe extern "C" {
    fn bcs_caller_place() -> *mut LastCall;
}

/// Returns the addresses of this thread's last call, as the instructions above lay them out.
fn addresses() -> *mut LastCall {
    // SAFETY: it computes the address of a variable of this thread.
    unsafe { bcs_caller_place() }
}

/// Returns the return address of this thread's current call of the ABI.
#[inline]
pub fn address() -> u64 {
    // SAFETY: the variable is this thread's own, and no reference to it exists.
    unsafe { addresses().read() }.address()
}

/// Returns where the addresses of this thread's last call are, as long as the thread runs; `None`
/// if places of calls are something else.
pub fn last_call_at() -> Option<u64> {
    PLACE_FUNCTION
        .get()
        .is_none()
        .then(|| addresses().expose_provenance() as u64)
}

/// The function that provides the place of a call, where that is not the return address.
static PLACE_FUNCTION: OnceLock<fn() -> u64> = OnceLock::new();

/// Makes this function provide the place of calls from now on, for a program that an interpreter
/// runs ([`python`](crate::python)).
pub fn set_place_function(place: fn() -> u64) {
    let _once = PLACE_FUNCTION.set(place);
}

/// Returns the function that provides the place of calls.
pub fn place_function() -> fn() -> u64 {
    PLACE_FUNCTION.get().copied().unwrap_or(address)
}

/// Returns the place of this thread's current call of the ABI: its return address, or the address
/// that stands for a line of a script.
#[inline]
pub fn place() -> u64 {
    match PLACE_FUNCTION.get() {
        None => address(),
        Some(place) => place(),
    }
}

/// Calls a function of the program, which may call functions of ours, and restores this call's
/// address.
pub fn preserve_address<T>(function: impl FnOnce() -> T) -> T {
    let place = addresses();
    // SAFETY: as in `address`.
    let before = unsafe { place.read() };
    let returned = function();
    // SAFETY: as in `address`.
    unsafe { place.write(before) };
    returned
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn bcs_outer_caller(address: u64);
    }

    fn set(call: u64) {
        let (outer, glue) = (0, 1 << 62);
        unsafe { addresses().write(LastCall { call, outer, glue }) };
    }

    #[test]
    fn each_thread_has_the_address_of_its_own_call() {
        set(7);
        let other = std::thread::spawn(address).join().unwrap();
        assert_eq!((address(), other), (7, 0));
        let inner = preserve_address(|| {
            set(8);
            address()
        });
        assert_eq!((inner, address()), (8, 7));
    }

    /// The glue stores the address of its caller before it calls a function of the list.
    #[test]
    fn an_outer_address_counts_for_the_next_call_of_the_glue_only() {
        set(0);
        unsafe { bcs_outer_caller(77) };
        let place = addresses();
        let glue = unsafe { (*place).glue };
        let here = an_outer_address_counts_for_the_next_call_of_the_glue_only as fn();
        assert!(glue.abs_diff(here as usize as u64) < 1 << 20, "{glue:#x}");
        unsafe { (*place).call = glue + 16 };
        assert_eq!(address(), 77);
        // A call from elsewhere has an address far from the glue.
        unsafe { (*place).call = 1 };
        assert_eq!(address(), 1);
    }
}
