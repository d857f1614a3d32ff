//! `syscall`, the C library's function for a system call by its number. Programs can also make the
//! calls of [`pages`](crate::pages) and [`processes`](crate::processes) by it.
//!
//! All other calls go to the kernel from the caller's own stack, as by the C library's function.
//! `vfork` requires this, and so does a `clone` that is given a stack: the child returns where that
//! function would. So this is written in assembly, and compares the number first, which costs some
//! tenths of a nanosecond.
//!
//! Not supported: a `clone` without `CLONE_VM` and with a stack. Its child would return on that
//! stack before anything could be done for it, and it shares the heap.
#![cfg(target_arch = "x86_64")]
#![expect(unsafe_code, reason = "system calls")]

use crate::pages;
use slot_heap::fork::fork_by;
use slot_heap::{remapping, system_call};
use std::ffi::{c_int, c_long};

/// See the C library's manual.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall(number: c_long) -> c_long {
    std::arch::naked_asm!(
        // Calls that may affect the heap.
        "cmp rdi, {mmap}",
        "je 7f",
        "cmp rdi, {mprotect}",
        "je 7f",
        "cmp rdi, {munmap}",
        "je 7f",
        "cmp rdi, {mremap}",
        "je 7f",
        "cmp rdi, {madvise}",
        "je 7f",
        "cmp rdi, {fork}",
        "je 7f",
        "cmp rdi, {shmat}",
        "je 7f",
        "cmp rdi, {pkey_mprotect}",
        "je 7f",
        "cmp rdi, {clone3}",
        "je 4f",
        "cmp rdi, {clone}",
        "jne 2f",
        // The flags and the stack of `clone`.
        "test rsi, {clone_vm}",
        "jnz 2f",
        "test rdx, rdx",
        "jz 7f",
        // All other calls.
        "2:",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 3f",
        "ret",
        "3:",
        "neg rax",
        "push rax",
        "call qword ptr [rip + __errno_location@GOTPCREL]",
        "pop rdx",
        "mov dword ptr [rax], edx",
        "mov rax, -1",
        "ret",
        // The same for the arguments of `clone3`, which are in memory, if the address is not null.
        "4:",
        "test rsi, rsi",
        "jz 2b",
        "cmp rdx, 64",
        "jb 2b",
        "test qword ptr [rsi], {clone_vm}",
        "jnz 2b",
        "cmp qword ptr [rsi + 40], 0",
        "jne 2b",
        "7:",
        "jmp {about_the_heap}",
        mmap = const libc::SYS_mmap,
        mprotect = const libc::SYS_mprotect,
        munmap = const libc::SYS_munmap,
        mremap = const libc::SYS_mremap,
        madvise = const libc::SYS_madvise,
        fork = const libc::SYS_fork,
        shmat = const libc::SYS_shmat,
        pkey_mprotect = const libc::SYS_pkey_mprotect,
        clone3 = const libc::SYS_clone3,
        clone = const libc::SYS_clone,
        clone_vm = const libc::CLONE_VM,
        about_the_heap = sym about_the_heap,
    )
}

/// Makes a system call that may affect the heap, with the arguments in the order of `syscall`.
///
/// # Safety
/// That of the call.
unsafe extern "C" fn about_the_heap(
    number: c_long,
    one: usize,
    two: usize,
    three: usize,
    four: usize,
    five: usize,
    six: usize,
) -> c_long {
    // An `int` is the lower half of the word.
    let int = |word: usize| {
        let [one, two, three, four, ..] = word.to_le_bytes();
        c_int::from_le_bytes([one, two, three, four])
    };
    let answer = match number {
        // SAFETY: the caller's promise, here and below.
        libc::SYS_mmap => unsafe {
            remapping::map(one, two, int(three), int(four), int(five), six)
        },
        // SAFETY: as above.
        libc::SYS_munmap => unsafe { remapping::unmap(one, two) },
        // SAFETY: as above.
        libc::SYS_mremap => unsafe { remapping::remap(one, two, three, int(four), five) },
        // SAFETY: as above.
        libc::SYS_madvise => unsafe { remapping::advise(one, two, int(three)) },
        // SAFETY: as above.
        libc::SYS_mprotect => unsafe { remapping::protect(one, two, int(three), None) },
        libc::SYS_pkey_mprotect => {
            let key = Some(int(four)).filter(|&key| key != -1);
            // SAFETY: as above.
            unsafe { remapping::protect(one, two, int(three), key) }
        }
        libc::SYS_shmat => {
            let start = std::ptr::with_exposed_provenance(two);
            // SAFETY: as above.
            return unsafe { pages::shmat(int(one), start, int(three)) }.addr() as c_long;
        }
        _ => {
            let arguments = [one, two, three, four, five, six];
            // SAFETY: as above. The child continues on its copy of this stack.
            let make = || unsafe { system_call::system_call(number, arguments) };
            fork_by(Ok(0), make).and_then(|made| made)
        }
    };
    pages::to_c_result(answer) as c_long
}
