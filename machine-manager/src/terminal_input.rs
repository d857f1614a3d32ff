//! A rank's standard input, when it is a terminal.
//!
//! Ranks have process groups of their own, and the kernel stops a process that reads a terminal
//! from the background. So `bcs run`, which is in the foreground, reads the terminal and passes
//! what the user types on through a pipe. Any other standard input is given to the rank itself.

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;

/// The way from the terminal to the rank.
#[derive(Debug)]
pub struct TerminalInput {
    /// Closed when the user types Ctrl-D, or nobody reads.
    pipe: Option<OwnedFd>,
    typed: Vec<u8>,
}

/// Whether standard input may be read: the kernel stops a process that reads a terminal from the
/// background.
#[must_use]
pub fn is_ours_to_read() -> bool {
    let terminal = rustix::stdio::stdin();
    let foreground = rustix::termios::tcgetpgrp(terminal);
    // An error: it is no terminal.
    foreground.map_or(true, |group| group == rustix::process::getpgrp())
}

impl TerminalInput {
    /// If standard input is a terminal: the way, and what the rank is to read.
    ///
    /// # Errors
    /// When no pipe can be made.
    pub fn open() -> Result<Option<(Self, OwnedFd)>, Errno> {
        if !rustix::termios::isatty(rustix::stdio::stdin()) {
            return Ok(None);
        }
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        Ok(Some((
            Self {
                pipe: Some(writer),
                typed: Vec::new(),
            },
            reader,
        )))
    }

    /// What to poll for: room in the pipe, or else the terminal while it is ours to read.
    #[must_use]
    pub fn poll_fd(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        if !self.typed.is_empty() {
            return Some(PollFd::new(pipe, PollFlags::OUT));
        }
        is_ours_to_read().then(|| PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN))
    }

    /// Passes on, after poll.
    pub fn pass_on(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        if self.typed.is_empty() {
            let mut line = [0; 4096];
            match rustix::io::read(rustix::stdio::stdin(), &mut line) {
                Ok(len) if len > 0 => self.typed.extend_from_slice(&line[..len]),
                Err(Errno::INTR | Errno::AGAIN) => return,
                // Ctrl-D, or the terminal is gone.
                Ok(_) | Err(_) => {
                    self.pipe = None;
                    return;
                }
            }
        }
        match rustix::io::write(pipe, &self.typed) {
            Ok(len) => drop(self.typed.drain(..len)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            // Nobody reads any more.
            Err(_) => self.pipe = None,
        }
    }
}
