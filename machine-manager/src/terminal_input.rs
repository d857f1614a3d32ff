//! A rank's standard input, when it is a terminal.
//!
//! Ranks have process groups of their own, and the kernel stops a process that reads a terminal
//! from the background. So `bcs run`, which is in the foreground, reads the terminal and passes the
//! user's input on through a pipe. Any other standard input goes to the rank itself.

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;

/// The path from the terminal to the rank.
#[derive(Debug)]
pub struct TerminalInput {
    /// The pipe; closed when the user types Ctrl-D, or nobody reads.
    pipe: Option<OwnedFd>,
    typed: Vec<u8>,
}

/// Returns whether we may read standard input: the kernel stops a process that reads a terminal
/// from the background.
#[must_use]
pub fn is_ours_to_read() -> bool {
    let terminal = rustix::stdio::stdin();
    let foreground = rustix::termios::tcgetpgrp(terminal);
    // An error means that it is no terminal.
    foreground.map_or(true, |group| group == rustix::process::getpgrp())
}

impl TerminalInput {
    /// Opens the path if standard input is a terminal. Returns it, and the rank's end.
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

    /// Returns what to poll: room in the pipe, or else the terminal while we may read it.
    #[must_use]
    pub fn poll_fd(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        if !self.typed.is_empty() {
            return Some(PollFd::new(pipe, PollFlags::OUT));
        }
        is_ours_to_read().then(|| PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN))
    }

    /// Passes input on, after poll.
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
