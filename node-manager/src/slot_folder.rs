//! The folder in which ranks make the files of their slots: the root of a `tmpfs` of the job, with
//! huge pages.
//!
//! Shared memory has huge pages if a setting of the whole machine enables them (`shmem_enabled`),
//! which distributions leave off, or in a `tmpfs` that is mounted with them. There the first touch
//! of a page costs a twelfth. Such a mount needs the right to mount. Root has it; other users have
//! it in a user namespace of their own, if the machine grants one. The mount is attached nowhere
//! and has no name: it is an open descriptor, and gone with the last one.
//!
//! Without such a folder a rank makes a memfd instead.
#![expect(
    unsafe_code,
    reason = "clone, and the calls of a child that borrows its parent's memory"
)]

use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::{CStr, c_int, c_long, c_void};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;

/// Stack of the child. Its few frames take some hundred bytes.
const STACK_BYTES: usize = 64 << 10;

/// Makes the folder; returns `None` if the machine does not let us.
#[must_use]
pub fn make() -> Option<OwnedFd> {
    let fd = match mount() {
        -1 => mount_in_namespace()?,
        fd => fd,
    };
    // SAFETY: a fresh descriptor, which nobody else knows.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Mounts a `tmpfs` that has huge pages where they are requested (`MADV_HUGEPAGE`), and whose size
/// only memory limits. Returns a descriptor of its root, or -1. Makes only system calls.
fn mount() -> RawFd {
    const CLOEXEC: c_long = 1;
    const SET_STRING: c_long = 1;
    const CREATE: c_long = 6;
    const NO_SETUID_OR_DEVICES: c_long = 2 | 4;
    let text = |text: &'static CStr| text.as_ptr() as c_long;
    let call = |number: c_long, [a, b, c, d, e]: [c_long; 5]| {
        // SAFETY: the strings are constants, and no other argument is an address.
        unsafe { libc::syscall(number, a, b, c, d, e) }
    };
    let system = call(libc::SYS_fsopen, [text(c"tmpfs"), CLOEXEC, 0, 0, 0]);
    if system < 0 {
        return -1;
    }
    let set = |name, value| call(libc::SYS_fsconfig, [system, SET_STRING, name, value, 0]) == 0;
    let made = set(text(c"huge"), text(c"advise"))
        && set(text(c"size"), text(c"0"))
        && call(libc::SYS_fsconfig, [system, CREATE, 0, 0, 0]) == 0;
    let mounted = match made {
        true => call(
            libc::SYS_fsmount,
            [system, CLOEXEC, NO_SETUID_OR_DEVICES, 0, 0],
        ),
        false => -1,
    };
    let _closed = call(libc::SYS_close, [system, 0, 0, 0, 0]);
    RawFd::try_from(mounted).unwrap_or(-1)
}

/// The data that parent and child share.
struct MountTask {
    /// The maps of the namespace's users and groups: each holds only this user or group.
    maps: [String; 2],
    folder: RawFd,
}

/// Mounts it in a child with namespaces of its own, which borrows our memory and our descriptors.
fn mount_in_namespace() -> Option<RawFd> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut errand = MountTask {
        maps: [
            format!("0 {} 1", user.as_raw()),
            format!("0 {} 1", group.as_raw()),
        ],
        folder: -1,
    };
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let borrowing = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
    let flags = borrowing | libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::SIGCHLD;
    // SAFETY: the stack is ours, aligned, and large enough for the child's few frames. This thread
    // is suspended until the child has ended, and the task outlives that.
    let pid = unsafe {
        libc::clone(
            child,
            stack.as_mut_ptr_range().end.cast(),
            flags,
            (&raw mut errand).cast(),
            null_mut::<c_int>(),
        )
    };
    let pid = (pid > 0).then(|| Pid::from_raw(pid)).flatten()?;
    let _collected = waitpid(Some(pid), WaitOptions::empty());
    (errand.folder >= 0).then_some(errand.folder)
}

extern "C" fn child(errand: *mut c_void) -> c_int {
    // SAFETY: the parent lends it for as long as it is suspended, which is until the child ends.
    let errand = unsafe { &mut *errand.cast::<MountTask>() };
    let [users, groups] = &errand.maps;
    // Without a map, files there would have no owner.
    let is_mapped = write(c"/proc/self/setgroups", "deny")
        && write(c"/proc/self/uid_map", users)
        && write(c"/proc/self/gid_map", groups);
    if is_mapped {
        errand.folder = mount();
    }
    // SAFETY: ends only the child, without running the parent's exit handlers.
    unsafe { libc::_exit(0) }
}

/// Writes a file. Makes only system calls.
fn write(path: &CStr, text: &str) -> bool {
    // SAFETY: a NUL-terminated string.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return false;
    }
    // SAFETY: the length is that of the text.
    let written = unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) };
    // SAFETY: opened above.
    unsafe { libc::close(fd) };
    written == text.len().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::memory::slot::file_in;
    use std::os::fd::{AsFd, AsRawFd};

    /// If the machine lets nobody mount, there is nothing to test.
    #[test]
    fn both_ways_make_a_folder_for_slots() {
        for way in [mount(), mount_in_namespace().unwrap_or(-1)] {
            if way < 0 {
                eprintln!("skipped: this machine grants no such mount");
                continue;
            }
            // SAFETY: fresh.
            let folder = unsafe { OwnedFd::from_raw_fd(way) };
            let file = file_in(folder.as_fd().as_raw_fd()).expect("a file in the folder");
            bcs_core::memory::slot::check(&file).unwrap();
            let stat = rustix::fs::fstat(&file).unwrap();
            assert_eq!((stat.st_nlink, stat.st_blocks), (0, 0));
            drop(folder);
            bcs_core::memory::slot::check(&file).unwrap();
        }
    }
}
