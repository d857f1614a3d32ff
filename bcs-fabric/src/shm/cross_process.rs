//! How the kernel moves bytes between this process and another one.
//!
//! `process_vm_readv` and `process_vm_writev` take many pieces in a call and copy once. A
//! container's seccomp profile may refuse them. Then the file `/proc/PID/mem` serves. The kernel
//! guards it by the same check (may this process trace that one?) and not by the name of a system
//! call. It takes one piece a call and copies twice. It is opened for each move: a file kept open
//! for each rank and NIC thread would need thousands of descriptors. A refusal is not remembered
//! either. It costs less than a microsecond to be refused again, and the refusal may be about one
//! process and not about another.
//!
//! **A process id may pass to another process.** A node manager withdraws the id of a rank that it
//! has started before it reaps it, and no process can have the number before that. (One case is
//! left: a NIC thread has read the id, and does not run until all other numbers have been given
//! out.) A script reaps the program that it started at any time. Its node manager learns of the
//! death a moment later (by a pidfd). In between, any new process of this user may have the number.
//! A *read* from that process only gives a wrong answer to a job that the death has ended. A
//! *write* into it must not happen, whatever the odds. So the file of such a program's memory is
//! opened when it says hello ([`memory_file`]), and NICs write by it alone: an open file is that of
//! one address space, and when that is gone nothing can be written. Ranks that are started as usual
//! do not need the file. Other methods do not hold. A pidfd tells whether its process lives, but
//! nobody can write by it, and the process may end between the check and `process_vm_writev`. To be
//! notified of the death before the script is, one would have to trace the program, and then nobody
//! could debug it. (A NIC writes only into ranks whose node manager it shares a process with. Ranks
//! of the node write into each other only in slots: [`READ_ONLY`](bcs_core::smartmap::READ_ONLY).)
//!
//! One check is absent: a write through the file also succeeds where the other process has mapped
//! memory of its own for reading only. It harms only the rank that named such an address.
#![expect(
    unsafe_code,
    reason = "process_vm_readv and process_vm_writev take raw addresses"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// A piece of another process.
pub(super) fn remote_iovec(address: u64, len: usize) -> libc::iovec {
    let address = usize::try_from(address).expect("addresses have 64 bits here");
    libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address),
        iov_len: len,
    }
}

/// The direction in which bytes go between this process and another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferDirection {
    In,
    Out,
}

/// Bytes that move to a rank or from one. They are this process's, or in a slot that is mapped
/// here.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalBytes(*mut [u8]);

impl LocalBytes {
    /// Makes a handle of these bytes.
    ///
    /// # Safety
    /// Until they are moved they may be read, or written if they are moved in. This process does
    /// not borrow them otherwise, and they are not in the slot of the rank at the other end.
    pub(super) unsafe fn new(bytes: *mut [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn start(self) -> *mut u8 {
        self.0.cast()
    }

    pub(super) fn len(self) -> usize {
        self.0.len()
    }

    /// Returns a part of the bytes.
    pub(super) fn part(self, part: Range<usize>) -> Self {
        assert!(part.start <= part.end && part.end <= self.len());
        let start = self.start().wrapping_add(part.start);
        Self(std::ptr::slice_from_raw_parts_mut(start, part.len()))
    }
}

/// Moves pieces of a process. They have as many bytes in all as `bytes`.
///
/// # Errors
/// The kernel's answer; an end before the last byte is an error, too.
pub(super) fn exchange(
    way: TransferDirection,
    pid: libc::pid_t,
    pieces: &[libc::iovec],
    bytes: LocalBytes,
) -> io::Result<()> {
    match exchange_by_call(way, pid, pieces, bytes) {
        Err(error) if is_refusal(&error) => memory_file(pid)
            .and_then(|file| exchange_by_file(way, &file, pieces, bytes))
            .map_err(|_| error),
        answer => answer,
    }
}

fn is_refusal(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    matches!(code, Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

fn exchange_by_call(
    way: TransferDirection,
    pid: libc::pid_t,
    pieces: &[libc::iovec],
    bytes: LocalBytes,
) -> io::Result<()> {
    let local = libc::iovec {
        iov_base: bytes.start().cast(),
        iov_len: bytes.len(),
    };
    let (remote, count) = (pieces.as_ptr(), pieces.len() as libc::c_ulong);
    let moved = match way {
        // SAFETY: the promise of the bytes; the kernel checks the remote side.
        TransferDirection::In => unsafe {
            libc::process_vm_readv(pid, &raw const local, 1, remote, count, 0)
        },
        // SAFETY: as above.
        TransferDirection::Out => unsafe {
            libc::process_vm_writev(pid, &raw const local, 1, remote, count, 0)
        },
    };
    check_complete(moved, bytes.len())
}

fn check_complete(moved: isize, len: usize) -> io::Result<()> {
    match usize::try_from(moved) {
        Ok(moved) if moved == len => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Opens the memory of a process. When that has ended, the file is not the memory of any other
/// process.
///
/// # Errors
/// The kernel does not allow it.
pub fn memory_file(pid: libc::pid_t) -> io::Result<File> {
    let path = format!("/proc/{pid}/mem");
    OpenOptions::new().read(true).write(true).open(path)
}

/// Moves pieces of the process whose memory this is. They have as many bytes in all as `bytes`.
///
/// # Errors
/// As for [`exchange`].
pub(super) fn exchange_by_file(
    way: TransferDirection,
    file: &File,
    pieces: &[libc::iovec],
    bytes: LocalBytes,
) -> io::Result<()> {
    let file = file.as_raw_fd();
    for_each_piece(pieces, bytes.len(), |there, part| {
        let here = bytes.part(part);
        let (start, len) = (here.start().cast(), here.len());
        match way {
            // SAFETY: the promise of the bytes.
            TransferDirection::In => unsafe { libc::pread(file, start, len, there) },
            // SAFETY: as above.
            TransferDirection::Out => unsafe { libc::pwrite(file, start, len, there) },
        }
    })
}

/// Moves pieces of a process one by one. `move_part` gets the address of each in that process, and
/// the part of the `len` bytes that it is.
fn for_each_piece(
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

/// How this process accesses the memory of others.
#[derive(Debug)]
pub enum ProcessMemoryAccess {
    /// It calls `process_vm_readv` and `process_vm_writev`.
    Calls,
    /// It uses `/proc/PID/mem`, since the kernel refuses the calls with this answer.
    File(io::Error),
}

/// Finds how the kernel lets this process read the memory of another process of the same user.
/// `pid` is a child to try it on.
///
/// # Errors
/// The kernel's answer, if it allows neither.
pub fn probe_process_memory(pid: i32, address: u64) -> io::Result<ProcessMemoryAccess> {
    let (piece, mut byte) = ([remote_iovec(address, 1)], [0_u8]);
    // SAFETY: a byte of our own.
    let byte = unsafe { LocalBytes::new(&raw mut byte) };
    let Err(error) = exchange_by_call(TransferDirection::In, pid, &piece, byte) else {
        return Ok(ProcessMemoryAccess::Calls);
    };
    let file = memory_file(pid)
        .and_then(|file| exchange_by_file(TransferDirection::In, &file, &piece, byte));
    if is_refusal(&error) && file.is_ok() {
        return Ok(ProcessMemoryAccess::File(error));
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> libc::pid_t {
        std::process::id().cast_signed()
    }

    type Move = fn(TransferDirection, libc::pid_t, &[libc::iovec], LocalBytes) -> io::Result<()>;
    /// By calls, and by the file.
    const ROADS: [Move; 2] = [exchange_by_call, |way, pid, pieces, bytes| {
        exchange_by_file(way, &memory_file(pid)?, pieces, bytes)
    }];

    fn ours(bytes: &mut [u8]) -> LocalBytes {
        // SAFETY: borrowed for the move that follows.
        unsafe { LocalBytes::new(&raw mut *bytes) }
    }

    fn pieces(of: &mut [[u8; 16]], len: usize) -> Vec<libc::iovec> {
        let address = |piece: &mut [u8; 16]| piece.as_mut_ptr().expose_provenance() as u64;
        of.iter_mut()
            .map(|piece| remote_iovec(address(piece), len))
            .collect()
    }

    /// Both methods do the same, to this process itself.
    #[test]
    fn pieces_are_read_and_written_whole() {
        for by in ROADS {
            let mut memory = [[0_u8; 16]; 5];
            let there = pieces(&mut memory, 12);
            let mut out: Vec<u8> = (1..=60).collect();
            by(TransferDirection::Out, me(), &there, ours(&mut out)).unwrap();
            let memory = std::hint::black_box(&memory);
            assert!(
                memory.iter().all(|piece| piece[12..] == [0; 4]),
                "gaps stay"
            );
            let mut back = vec![0; 60];
            by(TransferDirection::In, me(), &there, ours(&mut back)).unwrap();
            assert!(back == out);
            let mut byte = [0];
            for (way, address) in [
                (TransferDirection::In, 8),
                (TransferDirection::Out, 8),
                (TransferDirection::In, u64::MAX - 7),
            ] {
                assert!(by(way, me(), &[remote_iovec(address, 1)], ours(&mut byte)).is_err());
            }
        }
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        // No process has this number.
        let piece = [remote_iovec(4096, 1)];
        for by in ROADS {
            assert!(by(TransferDirection::In, i32::MAX, &piece, ours(&mut [0])).is_err());
        }
        assert!(probe_process_memory(i32::MAX, 4096).is_err());
    }
}
