//! The functions that C calls to make a process without running fork handlers: `_Fork`, and `clone`
//! where the child does not share memory. The child's heap must be a copy, as after `fork`
//! ([`slot_heap::fork`]).
#![expect(unsafe_code, reason = "functions of C")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the C library's")]

use crate::c_allocator::set_errno;
use crate::libc_heap::of_libc;
use libc::pid_t;
use rustix::mm::{MapFlags, ProtFlags};
use slot_heap::fork::fork_by;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// `_Fork`, as the C library has it.
static FORK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds `_Fork` before `main`: a signal handler may call it, and no symbol can be looked up there.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn find() {
        let _before_glibc_2_34_there_is_none = of_libc(&FORK, c"_Fork");
    }
    find
};

/// See the C library's manual, here and below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Fork() -> pid_t {
    let function = FORK.load(Ordering::Relaxed);
    if function.is_null() {
        set_errno(libc::ENOSYS);
        return -1;
    }
    // SAFETY: the C library's function of that name has this type.
    let function =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> pid_t>(function) };
    // SAFETY: the caller's promise.
    made(fork_by(0, || unsafe { function() }))
}

fn made(child: Result<c_int, rustix::io::Errno>) -> c_int {
    child.unwrap_or_else(|errno| {
        set_errno(errno.raw_os_error());
        -1
    })
}

type CloneFunction = unsafe extern "C" fn(*mut c_void) -> c_int;

unsafe extern "C" {
    #[link_name = "__clone"]
    fn clone_of_libc(
        start: Option<CloneFunction>,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        parent_id: *mut pid_t,
        thread_variables: *mut c_void,
        child_id: *mut pid_t,
    ) -> c_int;
}

/// The last three arguments are present only if the flags require them. Otherwise their values do
/// not matter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    start: Option<CloneFunction>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: *mut pid_t,
    thread_variables: *mut c_void,
    child_id: *mut pid_t,
) -> c_int {
    let go = |start, stack, argument| {
        // SAFETY: the caller's promise.
        unsafe {
            clone_of_libc(
                start,
                stack,
                flags,
                argument,
                parent_id,
                thread_variables,
                child_id,
            )
        }
    };
    let Some(begin) = start.filter(|_| flags & libc::CLONE_VM == 0 && !stack.is_null()) else {
        return go(start, stack, argument);
    };
    with_a_copy(begin, stack, argument, go)
}

/// The arguments that a child starts with.
struct CloneStart {
    start: CloneFunction,
    stack: *mut c_void,
    argument: *mut c_void,
}

/// The size of the child's stack until its heap is its own. The stack that it was given may lie in
/// the heap.
const FIRST_STACK_BYTES: usize = 64 * 1024;

#[cfg(target_arch = "x86_64")]
fn with_a_copy(
    start: CloneFunction,
    stack: *mut c_void,
    argument: *mut c_void,
    clone: impl Fn(Option<CloneFunction>, *mut c_void, *mut c_void) -> c_int,
) -> c_int {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let anywhere = std::ptr::null_mut();
    // SAFETY: a fresh mapping at an address that the kernel chooses aliases nothing.
    let first = unsafe {
        rustix::mm::mmap_anonymous(anywhere, FIRST_STACK_BYTES, protection, MapFlags::PRIVATE)
    };
    let Ok(first) = first else {
        set_errno(libc::ENOMEM);
        return -1;
    };
    let mut child = CloneStart {
        start,
        stack,
        argument,
    };
    let top = first.wrapping_byte_add(FIRST_STACK_BYTES);
    let argument = (&raw mut child).cast();
    // The child does not return here: it continues in `begin`.
    let made = made(fork_by(0, || clone(Some(begin), top, argument)));
    // SAFETY: mapped above. The child has its own.
    let _ = unsafe { rustix::mm::munmap(first, FIRST_STACK_BYTES) };
    made
}

/// Starts the child, on its first stack.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn begin(child: *mut c_void) -> c_int {
    // SAFETY: the address is the parent's, in a stack of which the child has a copy.
    let CloneStart {
        start,
        stack,
        argument,
    } = unsafe { child.cast::<CloneStart>().read() };
    slot_heap::fork::become_forked();
    let top = (stack.addr() & !15) as *mut c_void;
    // SAFETY: the promise of the caller of `clone`.
    unsafe { on_stack(argument, start, top) }
}

/// Calls a function on another stack.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn on_stack(
    argument: *mut c_void,
    start: CloneFunction,
    top: *mut c_void,
) -> c_int {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

/// On other machines the child starts on the stack that it was given, which must not lie in the
/// heap.
#[cfg(not(target_arch = "x86_64"))]
fn with_a_copy(
    start: CloneFunction,
    stack: *mut c_void,
    argument: *mut c_void,
    clone: impl Fn(Option<CloneFunction>, *mut c_void, *mut c_void) -> c_int,
) -> c_int {
    clone(Some(start), stack, argument)
}
