//! System calls made directly, without the C library's functions of these names: a preloaded heap
//! intercepts those.
#![expect(unsafe_code, reason = "system calls")]

use libc::c_long;
use rustix::io::Errno;

/// Makes a system call.
///
/// # Errors
/// The kernel's answer.
///
/// # Safety
/// That of the call.
#[cfg(target_arch = "x86_64")]
pub unsafe fn system_call(number: c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [one, two, three, four, five, six] = arguments;
    let answer: c_long;
    // SAFETY: the caller's promise. The kernel changes these two registers besides.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") one,
            in("rsi") two,
            in("rdx") three,
            in("r10") four,
            in("r8") five,
            in("r9") six,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    outcome(answer)
}

/// Makes a system call, on machines where the preloaded heap does not intercept the C library's
/// `syscall`.
///
/// # Errors
/// The kernel's answer.
///
/// # Safety
/// That of the call.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn system_call(number: c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [one, two, three, four, five, six] = arguments;
    // SAFETY: the caller's promise.
    let answer = unsafe { libc::syscall(number, one, two, three, four, five, six) };
    if answer == -1 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    }
    outcome(answer)
}

fn outcome(answer: c_long) -> Result<usize, Errno> {
    const LAST_ERROR: c_long = -4095;
    if (LAST_ERROR..0).contains(&answer) {
        let code = i32::try_from(-answer).expect("it is small");
        return Err(Errno::from_raw_os_error(code));
    }
    Ok(usize::try_from(answer.cast_unsigned()).expect("64 bits"))
}
