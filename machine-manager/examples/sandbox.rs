//! Runs a program as a container would: `sandbox [--no-kill] PROGRAM [ARGUMENT ...]`.
//!
//! - user and mount namespaces of its own, in which it is an ordinary user without capabilities;
//! - 64 MiB of `/dev/shm`;
//! - a seccomp filter that refuses `process_vm_readv`, `process_vm_writev` and `ptrace` (EPERM);
//! - with `--no-kill` also `kill`, as if every process were another user's.
//!
//! Before the program starts, it is made sure that the filter refuses. Where the kernel does not let
//! this be built, it says so and exits with 77.
#![expect(unsafe_code, reason = "namespaces, capabilities and seccomp")]

use std::error::Error;
use std::ffi::CStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// This machine cannot tell.
const CANNOT: u8 = 77;

/// The user that the program runs as: not 0, which would get its capabilities back by an execve.
const USER: u32 = 1000;

const REFUSED: [libc::c_long; 3] = [
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
];

fn done(answer: libc::c_int, what: &str) -> Result<(), Box<dyn Error>> {
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(format!("{what} is refused: {error}").into())
}

/// Namespaces in which this process may mount.
fn enter_namespaces() -> Result<(), Box<dyn Error>> {
    // SAFETY: asks for a number.
    let uid = unsafe { libc::getuid() };
    // SAFETY: asks for a number.
    let gid = unsafe { libc::getgid() };
    // SAFETY: this process has one thread, and nothing of it lies in a mount namespace.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) };
    done(unshared, "a user namespace")?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{USER} {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{USER} {gid} 1"))?;
    Ok(())
}

fn small_shared_memory() -> Result<(), Box<dyn Error>> {
    let mount = |kind: &CStr, on: &CStr, flags, data: &CStr| {
        let (kind, data) = (kind.as_ptr(), data.as_ptr().cast());
        // SAFETY: all are strings.
        unsafe { libc::mount(kind, on.as_ptr(), kind, flags, data) }
    };
    let private = mount(c"none", c"/", libc::MS_REC | libc::MS_PRIVATE, c"");
    done(private, "a mount namespace of its own")?;
    done(mount(c"tmpfs", c"/dev/shm", 0, c"size=64m"), "a tmpfs")
}

/// What capset takes (capabilities(7), version 3: two words of each set).
#[repr(C)]
struct Head {
    version: u32,
    pid: i32,
}

fn drop_capabilities() -> Result<(), Box<dyn Error>> {
    let last: libc::c_ulong = std::fs::read_to_string("/proc/sys/kernel/cap_last_cap")?
        .trim()
        .parse()?;
    for capability in 0..=last {
        // SAFETY: changes what this process may do.
        let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        done(dropped, "dropping a capability")?;
    }
    let head = Head {
        version: 0x2008_0522,
        pid: 0,
    };
    let none = [0_u32; 6];
    // SAFETY: a head and two words for each of three sets, as version 3 has it.
    let set = unsafe { libc::syscall(libc::SYS_capset, &raw const head, none.as_ptr()) };
    done(i32::from(set != 0), "giving up capabilities")?;
    // SAFETY: as above; a filter wants it of a process without capabilities.
    let no_more = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    done(no_more, "no new privileges")
}

fn filter_system_calls(no_kill: bool) -> Result<(), Box<dyn Error>> {
    let mut refused = REFUSED.to_vec();
    refused.extend(no_kill.then_some(libc::SYS_kill));
    let step = |code: u32, jt, jf, k| libc::sock_filter {
        code: u16::try_from(code).expect("BPF codes have 16 bits"),
        jt,
        jf,
        k,
    };
    // The number of the call is the first word of what a filter sees.
    let mut program = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for (nth, &number) in (0_u8..).zip(&refused) {
        let refusal = u8::try_from(refused.len())? - nth;
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        program.push(step(equal, refusal, 0, u32::try_from(number)?));
    }
    let answer = libc::BPF_RET | libc::BPF_K;
    program.push(step(answer, 0, 0, libc::SECCOMP_RET_ALLOW));
    let eperm = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    program.push(step(answer, 0, 0, eperm));
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len())?,
        filter: program.as_mut_ptr(),
    };
    let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
    // SAFETY: a program of that length, which the kernel copies and checks.
    let filtered = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter, 0, 0) };
    done(filtered, "a seccomp filter")?;
    let none = std::ptr::null::<libc::iovec>();
    let me = std::process::id().cast_signed();
    // SAFETY: moves nothing.
    let moved = unsafe { libc::process_vm_readv(me, none, 0, none, 0, 0) };
    let error = io::Error::last_os_error();
    if moved >= 0 || error.raw_os_error() != Some(libc::EPERM) {
        return Err("the seccomp filter does not refuse".into());
    }
    Ok(())
}

fn build(no_kill: bool) -> Result<(), Box<dyn Error>> {
    enter_namespaces()?;
    small_shared_memory()?;
    drop_capabilities()?;
    filter_system_calls(no_kill)
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    let no_kill = words.next_if(|word| word == "--no-kill").is_some();
    let Some(program) = words.next() else {
        eprintln!("sandbox: there is no program to run");
        return ExitCode::from(2);
    };
    if let Err(error) = build(no_kill) {
        eprintln!("sandbox: {error}");
        return ExitCode::from(CANNOT);
    }
    let error = Command::new(&program).args(words).exec();
    eprintln!("sandbox: {} cannot be run: {error}", program.display());
    ExitCode::from(126)
}
