//! The channel to the launcher.

use crate::agent::{AgentError, kernel};
use crate::control::{Frame, FrameReadOutcome, FrameReader, FrameWriter, ToManager};
use crate::job_memory::ControlChannel;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// The channel to the launcher, with its messages in both directions.
pub(crate) struct LauncherLink {
    pub(crate) channel: ControlChannel,
    pub(crate) reader: FrameReader,
    pub(crate) writer: FrameWriter,
}

impl LauncherLink {
    pub(crate) fn new(channel: ControlChannel) -> Self {
        Self {
            channel,
            reader: FrameReader::default(),
            writer: FrameWriter::default(),
        }
    }

    pub(crate) fn send(&mut self) -> Result<(), Errno> {
        self.writer.send(&self.channel.output)
    }

    /// Sends everything, and waits until the launcher has taken it or is gone.
    pub(crate) fn send_all(&mut self) {
        while self.send().is_ok() && self.writer.waiting() > 0 {
            wait(&self.channel.output, PollFlags::OUT);
        }
    }

    /// Waits for the next message; returns `None` when the launcher is gone.
    pub(crate) fn next(&mut self, buffer: &mut [u8]) -> Result<Option<ToManager>, AgentError> {
        loop {
            if let Some(Frame::Message(message)) = self.reader.frame()? {
                return Ok(Some(message));
            }
            wait(&self.channel.input, PollFlags::IN);
            let arrived = self.reader.receive(&self.channel.input, buffer);
            if arrived.map_err(kernel("failed to read from bcs run"))? == FrameReadOutcome::End {
                return Ok(None);
            }
        }
    }
}

fn wait(fd: &OwnedFd, flags: PollFlags) {
    while poll(&mut [PollFd::new(fd, flags)], None) == Err(Errno::INTR) {}
}
