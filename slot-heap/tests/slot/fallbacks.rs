//! If anything prevents a slot, the rank gets an ordinary heap, and a message.

use crate::rank::{PLACE, before_exec, command, in_slot, is_rank, succeed};
use bcs_core::memory::Slot;
use bcs_core::memory::slot::{SLOT_BYTES, SlotError};
use std::process::Command;

/// Takes the slot's addresses before anything allocates, if the environment says so.
#[used]
#[unsafe(link_section = ".init_array")]
static EARLY: extern "C" fn() = {
    extern "C" fn early() {
        // SAFETY: a name that ends with a zero byte; no thread changes the environment yet.
        if unsafe { libc::getenv(c"SLOT_HEAP_TAKEN".as_ptr()) }.is_null() {
            return;
        }
        let at = Slot::at_place(PLACE).unwrap().base() + SLOT_BYTES / 2;
        // SAFETY: nothing else lies there.
        unsafe {
            libc::mmap(
                at as *mut _,
                4096,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            )
        };
    }
    early
};

/// Checks that a rank without a slot can work nevertheless.
fn check_refusal(expected: impl Fn(&SlotError) -> bool, words: &str) {
    let refusal = slot_heap::slot().expect("a rank has a place").unwrap_err();
    assert!(expected(&refusal), "{refusal:?}");
    assert!(refusal.to_string().contains(words), "{refusal}");
    let blocks: Vec<_> = (0..1000).map(|len| vec![7_u8; len * 100]).collect();
    assert!(!in_slot(blocks.as_ptr()));
    assert!(blocks.iter().flatten().all(|&byte| byte == 7));
    assert_eq!(slot_heap::high_water(), 0);
}

fn limit(command: &mut Command, set: fn() -> std::io::Result<()>) {
    before_exec(command, set);
}

fn set_limit(resource: libc::__rlimit_resource_t, bytes: u64) -> std::io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: a valid structure.
    match unsafe { libc::setrlimit(resource, &raw const limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

macro_rules! fallback {
    ($name:ident, $place:expr, $prepare:expr, $pattern:pat, $words:literal) => {
        #[test]
        fn $name() {
            if is_rank() {
                return check_refusal(|refusal| matches!(refusal, $pattern), $words);
            }
            let mut command = command(concat!("fallbacks::", stringify!($name)), $place);
            let prepare: fn(&mut Command) = $prepare;
            prepare(&mut command);
            succeed(&mut command);
        }
    };
}

fallback!(
    a_limited_address_space,
    "5",
    |command| limit(command, || set_limit(libc::RLIMIT_AS, 4 << 30)),
    SlotError::Limit {
        name: "RLIMIT_AS",
        limit: 0x1_0000_0000,
        ..
    },
    "ulimit -v"
);
fallback!(
    limited_files,
    "5",
    |command| limit(command, || set_limit(libc::RLIMIT_FSIZE, 1 << 20)),
    SlotError::Limit {
        name: "RLIMIT_FSIZE",
        ..
    },
    "ulimit -f"
);
fallback!(
    limited_data,
    "5",
    |command| limit(command, || set_limit(libc::RLIMIT_DATA, 8 << 30)),
    SlotError::Limit {
        name: "RLIMIT_DATA",
        ..
    },
    "ulimit -d"
);
fallback!(
    addresses_that_are_taken,
    "5",
    |command| {
        command.env("SLOT_HEAP_TAKEN", "1");
    },
    SlotError::Taken {
        from: 0x300_0000_0000
    },
    "0x30000000000"
);
fallback!(
    no_memfds,
    "5",
    |command| before_exec(command, deny_memfds),
    SlotError::Kernel {
        call: "memfd_create",
        ..
    },
    "seccomp"
);
fallback!(
    too_many_ranks,
    "160",
    |_| (),
    SlotError::TooMany { place: 160 },
    "160 slots"
);
fallback!(no_number, "seven", |_| (), SlotError::NoPlace, "BCS_SLOT");

/// Refuses `memfd_create`, as some containers do.
fn deny_memfds() -> std::io::Result<()> {
    deny(libc::SYS_memfd_create)
}

/// A seccomp program that refuses a system call.
pub(crate) fn deny(call: libc::c_long) -> std::io::Result<()> {
    let step = |code: u32, skip_if_not: u8, k: u32| libc::sock_filter {
        code: u16::try_from(code).expect("a small constant"),
        jt: 0,
        jf: skip_if_not,
        k,
    };
    let number = u32::try_from(call).expect("a small number");
    let mut program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, number),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned(),
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: 4,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: this affects only this process.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: a valid program, which the kernel copies.
    let set = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
