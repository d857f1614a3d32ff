//! How the kernel moves bytes between this process and another one.
//!
//! `process_vm_readv` and `process_vm_writev` take many pieces in a call and copy once. A container's
//! seccomp profile may refuse them; then the file `/proc/PID/mem` serves, which is guarded by the same
//! question (may this process trace that one?) and not by the name of a system call. It takes a piece a
//! call and copies twice. It is opened for each move: kept open for each rank and NIC thread, it would be
//! descriptors by the thousand. Nothing is remembered of a refusal either, since it costs less than a
//! microsecond to be refused again, and may be about one process and not about another.
//!
//! **A process id may become a stranger's.** A node manager withdraws the id of a rank that it has
//! started before it reaps it, and nobody can have the number before that. (What is left is a NIC
//! thread that has looked at the id and is not let to its call until all other numbers have been
//! given out.) A program that a script started is reaped by the script, whenever that likes; its
//! node manager hears of the death a moment later (by a pidfd). In between, the number may be that
//! of any new process of this user. To *read* from that one costs nothing but the answer of a job
//! that the death has ended. To *write* into it must not happen, whatever the odds. So the file of
//! such a program's memory is opened when it says hello ([`memory_file`]), and NICs write by it
//! alone: an open file is that of one address space, and when that is gone there is nothing to be
//! written. It costs the ranks that are started as usual nothing. Other ways do not hold: a pidfd
//! can be asked whether its process lives, but not be written by, and between the question and
//! `process_vm_writev` the process may end; to be told of the death before the script is, one would
//! have to trace the program, and nobody could debug it any more. (A NIC writes only into ranks
//! whose node manager it shares a process with. Ranks of the node write into each other only where
//! that is in a slot: [`READ_ONLY`](crate::smartmap::READ_ONLY).)
//!
//! What is absent: a write through the file also succeeds where the other process has mapped memory of its
//! own for reading only. It harms nobody but who alleged such an address.
#![expect(
    unsafe_code,
    reason = "process_vm_readv and process_vm_writev take raw addresses"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// A piece of another process.
pub(super) fn remote(address: u64, len: usize) -> libc::iovec {
    let address = usize::try_from(address).expect("addresses have 64 bits here");
    libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address),
        iov_len: len,
    }
}

/// Reads pieces of a process, of as many bytes in all. These may be another process's, too: in a window.
///
/// # Safety
/// `bytes` may be written, and are none that this process borrows.
///
/// # Errors
/// The kernel's answer; an end before the last byte is one, too.
pub(super) unsafe fn read(
    pid: libc::pid_t,
    pieces: &[libc::iovec],
    bytes: *mut [u8],
) -> io::Result<()> {
    // SAFETY: the caller's promise.
    let called = unsafe { call_read(pid, pieces, bytes) };
    let Err(error) = called else {
        return Ok(());
    };
    if !is_refusal(&error) {
        return Err(error);
    }
    // SAFETY: the caller's promise.
    unsafe { read_file(pid, pieces, bytes) }.map_err(|_| error)
}

/// Writes pieces of a process, of as many bytes in all. These may be another process's, too: in a window.
///
/// # Safety
/// `bytes` may be read.
///
/// # Errors
/// The kernel's answer; an end before the last byte is one, too.
pub(super) unsafe fn write(
    pid: libc::pid_t,
    pieces: &[libc::iovec],
    bytes: *const [u8],
) -> io::Result<()> {
    // SAFETY: the caller's promise.
    match unsafe { call_write(pid, pieces, bytes) } {
        Err(error) if is_refusal(&error) => memory_file(pid)
            // SAFETY: the caller's promise.
            .and_then(|file| unsafe { write_by(&file, pieces, bytes) })
            .map_err(|_| error),
        answer => answer,
    }
}

fn is_refusal(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    matches!(code, Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

fn local(bytes: *const u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.cast_mut().cast(),
        iov_len: len,
    }
}

/// # Safety
/// As for [`read`].
unsafe fn call_read(pid: libc::pid_t, pieces: &[libc::iovec], bytes: *mut [u8]) -> io::Result<()> {
    let local = local(bytes.cast(), bytes.len());
    let (remote, count) = (pieces.as_ptr(), pieces.len() as libc::c_ulong);
    // SAFETY: the caller's promise about `local`; the kernel checks the remote side.
    let moved = unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote, count, 0) };
    whole(moved, bytes.len())
}

/// # Safety
/// As for [`write`].
unsafe fn call_write(
    pid: libc::pid_t,
    pieces: &[libc::iovec],
    bytes: *const [u8],
) -> io::Result<()> {
    let local = local(bytes.cast(), bytes.len());
    let (remote, count) = (pieces.as_ptr(), pieces.len() as libc::c_ulong);
    // SAFETY: the kernel only reads `local`, by the caller's promise, and checks the remote side.
    let moved = unsafe { libc::process_vm_writev(pid, &raw const local, 1, remote, count, 0) };
    whole(moved, bytes.len())
}

fn whole(moved: isize, len: usize) -> io::Result<()> {
    match usize::try_from(moved) {
        Ok(moved) if moved == len => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// The memory of a process, which is that of no other one when it has ended.
///
/// # Errors
/// The kernel does not let us.
pub fn memory_file(pid: libc::pid_t) -> io::Result<File> {
    let path = format!("/proc/{pid}/mem");
    OpenOptions::new().read(true).write(true).open(path)
}

/// # Safety
/// As for [`read`].
unsafe fn read_file(pid: libc::pid_t, pieces: &[libc::iovec], bytes: *mut [u8]) -> io::Result<()> {
    let file = memory_file(pid)?;
    let file = file.as_raw_fd();
    each_part(pieces, bytes.len(), |from, part| {
        let at = bytes.cast::<libc::c_void>().wrapping_byte_add(part.start);
        // SAFETY: the caller's promise: a part of the bytes.
        unsafe { libc::pread(file, at, part.len(), from) }
    })
}

/// Writes pieces of the process whose memory this is, of as many bytes in all.
///
/// # Safety
/// As for [`write`].
///
/// # Errors
/// As for [`write`].
pub(super) unsafe fn write_by(
    file: &File,
    pieces: &[libc::iovec],
    bytes: *const [u8],
) -> io::Result<()> {
    let file = file.as_raw_fd();
    each_part(pieces, bytes.len(), |to, part| {
        let at = bytes.cast::<libc::c_void>().wrapping_byte_add(part.start);
        // SAFETY: the caller's promise: a part of the bytes.
        unsafe { libc::pwrite(file, at, part.len(), to) }
    })
}

/// Has pieces of a process moved one by one, by what is told the address of each in that process and which
/// part of so many bytes it is.
fn each_part(
    pieces: &[libc::iovec],
    len: usize,
    mut move_part: impl FnMut(libc::off_t, Range<usize>) -> isize,
) -> io::Result<()> {
    let mut done = 0;
    for piece in pieces {
        let end = len.min(done + piece.iov_len);
        let mut address = piece.iov_base.addr();
        while done < end {
            let at = libc::off_t::try_from(address).map_err(|_| io::ErrorKind::InvalidInput)?;
            let moved = match usize::try_from(move_part(at, done..end)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(moved) => moved,
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => continue,
                    error => return Err(error),
                },
            };
            done += moved;
            address += moved;
        }
    }
    Ok(())
}

/// How this process gets at the memory of others.
#[derive(Debug)]
pub enum ProcessMemory {
    /// By `process_vm_readv` and `process_vm_writev`.
    Calls,
    /// By `/proc/PID/mem`, since the kernel refuses the calls, with this answer.
    File(io::Error),
}

/// How the kernel lets this process read the memory of another of the same user, tried on `pid`, a
/// child.
///
/// # Errors
/// It does not: its answer.
pub fn probe_process_memory(pid: i32, address: u64) -> io::Result<ProcessMemory> {
    let (piece, mut byte) = ([remote(address, 1)], [0_u8]);
    // SAFETY: a byte of our own.
    let Err(error) = (unsafe { call_read(pid, &piece, &raw mut byte) }) else {
        return Ok(ProcessMemory::Calls);
    };
    // SAFETY: as above.
    if is_refusal(&error) && unsafe { read_file(pid, &piece, &raw mut byte) }.is_ok() {
        return Ok(ProcessMemory::File(error));
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> libc::pid_t {
        std::process::id().cast_signed()
    }

    type Read = fn(libc::pid_t, &[libc::iovec], &mut [u8]) -> io::Result<()>;
    type Write = fn(libc::pid_t, &[libc::iovec], &[u8]) -> io::Result<()>;
    /// By calls, and by the file.
    const ROADS: [(Read, Write); 2] = [
        (
            // SAFETY: borrowed, here and in the others.
            |pid, pieces, bytes| unsafe { call_read(pid, pieces, &raw mut *bytes) },
            // SAFETY: as above.
            |pid, pieces, bytes| unsafe { call_write(pid, pieces, &raw const *bytes) },
        ),
        (
            // SAFETY: as above.
            |pid, pieces, bytes| unsafe { read_file(pid, pieces, &raw mut *bytes) },
            |pid, pieces, bytes| {
                let file = memory_file(pid)?;
                // SAFETY: as above.
                unsafe { write_by(&file, pieces, &raw const *bytes) }
            },
        ),
    ];

    fn pieces(of: &mut [[u8; 16]], len: usize) -> Vec<libc::iovec> {
        let address = |piece: &mut [u8; 16]| piece.as_mut_ptr().expose_provenance() as u64;
        of.iter_mut()
            .map(|piece| remote(address(piece), len))
            .collect()
    }

    /// Both roads do the same, to this process itself.
    #[test]
    fn pieces_are_read_and_written_whole() {
        for (read, write) in ROADS {
            let mut memory = [[0_u8; 16]; 5];
            let there = pieces(&mut memory, 12);
            let out: Vec<u8> = (1..=60).collect();
            write(me(), &there, &out).unwrap();
            let memory = std::hint::black_box(&memory);
            assert!(
                memory.iter().all(|piece| piece[12..] == [0; 4]),
                "gaps stay"
            );
            let mut back = vec![0; 60];
            read(me(), &there, &mut back).unwrap();
            assert!(back == out);
            let mut byte = [0];
            assert!(read(me(), &[remote(8, 1)], &mut byte).is_err());
            assert!(write(me(), &[remote(8, 1)], &byte).is_err());
            assert!(read(me(), &[remote(u64::MAX - 7, 1)], &mut byte).is_err());
        }
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        // No process has this number.
        let piece = [remote(4096, 1)];
        for (read, _) in ROADS {
            assert!(read(i32::MAX, &piece, &mut [0]).is_err());
        }
        assert!(probe_process_memory(i32::MAX, 4096).is_err());
    }
}
