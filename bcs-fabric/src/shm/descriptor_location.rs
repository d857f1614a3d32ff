//! Descriptors that node managers keep for the NICs of other processes.
//!
//! A NIC needs the memory of a rank of another node when it first moves bytes of it. Until then,
//! that should cost nothing. So no process sends descriptors around: a node manager writes into the
//! segment, which only NICs can write, which of its descriptors it is, and a NIC that needs it
//! opens it under `/proc/PID/fd`. The kernel then checks whether one process may look at the other
//! (both are the same user's), and not whether it may trace it: it allows this where it refuses
//! `process_vm_readv` and `ptrace`.
//!
//! **It is never another process's file.** The number of a node manager that has died may be given
//! to another process, which may have anything open under the same number. So the file's own number
//! is compared: no two files of memory have the same one at a time. (The death of a node manager
//! ends the job besides.)

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The place where a process of this machine keeps a descriptor of shared memory open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLocation {
    process: u32,
    descriptor: u32,
    /// The number of the file itself.
    file: u64,
}

impl DescriptorLocation {
    /// Returns the location of a descriptor that this process keeps open as long as it lives.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn for_descriptor(fd: impl AsFd) -> Result<Self, Errno> {
        let file = rustix::fs::fstat(&fd)?.st_ino;
        let descriptor = fd.as_fd().as_raw_fd();
        Ok(Self {
            process: std::process::id(),
            descriptor: descriptor.unsigned_abs(), // An open descriptor is not negative.
            file,
        })
    }

    /// Opens the descriptor, in any process.
    ///
    /// # Errors
    /// The kernel's answer; ESTALE if it is another file by now.
    pub fn open(self) -> Result<OwnedFd, Errno> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        // Opening the path has no consequence, whatever file another process may have there.
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let opened = rustix::fs::open(path, flags, Mode::empty())?;
        let is_it = rustix::fs::fstat(&opened)?.st_ino == self.file;
        is_it.then_some(opened).ok_or(Errno::STALE)
    }

    /// Returns it as words of the segment.
    #[must_use]
    pub fn words(self) -> [u64; 2] {
        let place = u64::from(self.process) << 32 | u64::from(self.descriptor);
        [place, self.file]
    }

    /// Reads it from words of the segment. Returns `None` where nobody has written any.
    #[must_use]
    pub fn from_words([place, file]: [u64; 2]) -> Option<Self> {
        let process = u32::try_from(place >> 32)
            .ok()
            .filter(|&process| process > 0)?;
        Some(Self {
            process,
            descriptor: u32::try_from(place & u64::from(u32::MAX)).ok()?,
            file,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::memory::sealed_memfd;

    #[test]
    fn a_descriptor_is_opened_by_whoever_has_the_words() {
        let memory = sealed_memfd("deposit", 4096).unwrap();
        let deposit = DescriptorLocation::for_descriptor(&memory).unwrap();
        assert_eq!(
            DescriptorLocation::from_words(deposit.words()),
            Some(deposit)
        );
        assert_eq!(DescriptorLocation::from_words([0; 2]), None);
        rustix::io::pwrite(&memory, b"the same", 0).unwrap();
        let mut bytes = [0; 8];
        rustix::io::pread(deposit.open().unwrap(), &mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"the same");
    }

    /// The process is gone, and its number and that of the descriptor are used again.
    #[test]
    fn what_a_stranger_has_under_the_same_numbers_is_not_taken() {
        let [ours, strangers] = ["ours", "strange"].map(|name| sealed_memfd(name, 4096).unwrap());
        let deposit = DescriptorLocation::for_descriptor(&ours).unwrap();
        let moved = DescriptorLocation {
            descriptor: DescriptorLocation::for_descriptor(&strangers)
                .unwrap()
                .descriptor,
            ..deposit
        };
        assert_eq!(moved.open().unwrap_err(), Errno::STALE);
        let gone = DescriptorLocation {
            process: u32::MAX,
            ..deposit
        };
        assert_eq!(gone.open().unwrap_err(), Errno::NOENT);
    }
}
