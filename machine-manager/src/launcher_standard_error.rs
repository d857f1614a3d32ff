//! The standard error of a command that starts a node manager on a host: ssh writes there why it
//! has failed.
//!
//! While the job is started we hold it, so that we can report a failure with the command's own
//! words. From then on it is shown as it comes.

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// How much is held. Only the last output of a command before a failure matters.
const KEPT_BYTES: usize = 64 << 10;

/// A line that srun writes for each node manager on a cluster that binds no task to cores. There
/// the option that asks for no binding ([`slurm`](super::slurm)) has nothing to do.
const NOTHING_TO_UNBIND: &[u8] = b"srun: cluster configuration lacks support for cpu binding\n";

/// The standard error of a command.
#[derive(Debug, Default)]
pub struct StandardError {
    /// The pipe, until its other end is closed. There is none if an agent sends what it reads.
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl StandardError {
    /// Makes one. Returns it, and the end that the command writes to.
    ///
    /// # Errors
    /// The kernel gives no pipe.
    pub fn new() -> Result<(Self, OwnedFd), Errno> {
        let (pipe, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        let ours = Self {
            pipe: Some(pipe),
            bytes: Vec::new(),
        };
        Ok((ours, theirs))
    }

    /// Returns the pipe, as long as it may have a writer.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Reads all that has come.
    pub fn read(&mut self, buffer: &mut [u8]) {
        while let Some(pipe) = &self.pipe {
            match rustix::io::read(pipe, &mut *buffer) {
                Ok(len) if len > 0 => {
                    self.add(&buffer[..len]);
                }
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => return,
                Ok(_) | Err(_) => self.pipe = None,
            }
        }
    }

    /// Adds what an agent has read.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let over = self.bytes.len().saturating_sub(KEPT_BYTES);
        self.bytes.drain(..over);
    }

    /// Takes the whole lines of what was read, and at the end of the pipe the rest.
    pub fn take(&mut self) -> Vec<u8> {
        let end = self.bytes.iter().rposition(|&byte| byte == b'\n');
        let end = match self.pipe {
            Some(_) => end.map_or(0, |end| end + 1),
            None => self.bytes.len(),
        };
        let taken: Vec<u8> = self.bytes.drain(..end).collect();
        let lines = taken.split_inclusive(|&byte| byte == b'\n');
        lines
            .filter(|line| *line != NOTHING_TO_UNBIND)
            .flatten()
            .copied()
            .collect()
    }

    /// Returns the lines of what was read, without empty ones.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        lines(&self.bytes)
    }
}

/// Splits a text into lines, without empty ones and without invalid characters.
pub(crate) fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.split(['\n', '\r']).map(|line| {
        let line = line.trim_end().chars();
        line.filter(|one| !one.is_control()).collect::<String>()
    });
    lines.filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_whole_and_the_last_one_at_the_end() {
        let (mut ours, theirs) = StandardError::new().unwrap();
        let mut buffer = [0; 8];
        ours.read(&mut buffer);
        assert_eq!(ours.take(), b"");
        rustix::io::write(&theirs, b"Warning: a key\r\n\nPermission").unwrap();
        ours.read(&mut buffer);
        assert_eq!(ours.lines(), ["Warning: a key", "Permission"]);
        assert_eq!(ours.take(), b"Warning: a key\r\n\n");
        drop(theirs);
        ours.read(&mut buffer);
        assert!(ours.fd().is_none());
        assert_eq!(ours.take(), b"Permission");
    }

    #[test]
    fn a_line_without_news_is_left_out() {
        let (mut ours, theirs) = StandardError::new().unwrap();
        rustix::io::write(&theirs, b"one\n").unwrap();
        rustix::io::write(&theirs, NOTHING_TO_UNBIND).unwrap();
        rustix::io::write(&theirs, b"two\n").unwrap();
        ours.read(&mut [0; 256]);
        assert_eq!(ours.take(), b"one\ntwo\n");
    }

    #[test]
    fn of_much_the_last_is_kept() {
        let (mut ours, theirs) = StandardError::new().unwrap();
        let mut buffer = [0; 4096];
        for number in 0..20_000 {
            rustix::io::write(&theirs, format!("{number}\n").as_bytes()).unwrap();
            ours.read(&mut buffer);
        }
        assert!(ours.bytes.len() <= KEPT_BYTES);
        assert_eq!(ours.lines().last().unwrap(), "19999");
    }
}
