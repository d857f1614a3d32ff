//! The channel to the launcher, or to the relay of this process, which leads there.

use crate::agent_error::{AgentError, kernel};
use crate::control::{Frame, FrameReadOutcome, FrameReader, FrameWriter, ToManager};
use crate::job_memory::{ControlChannel, SharedJobMemory};
use crate::launch_tree::relay_thread::{self, RunningRelay};
use crate::reaper;
use crate::subtree::Subtree;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The channel to the launcher, with its messages in both directions.
pub(crate) struct LauncherLink {
    pub(crate) channel: ControlChannel,
    pub(crate) reader: FrameReader,
    pub(crate) writer: FrameWriter,
    /// The relay at the other end, if this agent has started others.
    pub(crate) relay: Option<RunningRelay>,
}

impl LauncherLink {
    pub(crate) fn new(channel: ControlChannel) -> Self {
        Self {
            channel,
            reader: FrameReader::default(),
            writer: FrameWriter::default(),
            relay: None,
        }
    }

    /// Makes this the link to a relay of this process, which takes the channel.
    pub(crate) fn become_relayed(
        &mut self,
        subtree: &Subtree,
        memory: Option<&SharedJobMemory>,
    ) -> Result<(), AgentError> {
        let failed = |errno: Errno| AgentError::Relay(errno.into());
        let dup = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(failed);
        let channel = ControlChannel {
            input: dup(&self.channel.input)?,
            output: dup(&self.channel.output)?,
        };
        let reader = std::mem::take(&mut self.reader);
        let writer = std::mem::take(&mut self.writer);
        let started = relay_thread::start(channel, (reader, writer), subtree, memory);
        let (channel, relay) = started.map_err(AgentError::Relay)?;
        *self = Self {
            relay: Some(relay),
            ..Self::new(channel)
        };
        Ok(())
    }

    /// Kills and reaps all descendants but the agents that this one has started. The launcher
    /// adopts the processes that we may not kill. It waits for them, and reports them.
    pub(crate) fn end_descendants(&self) {
        let agents = self.relay.as_ref().map(|relay| relay.agents.lock());
        let spared: &[_] = agents.as_ref().map_or(&[], |agents| agents.as_slice());
        let _for_the_launcher = reaper::end_descendants(spared, Duration::ZERO);
    }

    /// Closes the channel. Returns when the agents that this one has started have ended, too, and
    /// what they have left.
    pub(crate) fn close(self) {
        drop(self.channel);
        if let Some(relay) = self.relay {
            relay.join();
            let _for_the_launcher = reaper::end_descendants(&[], Duration::ZERO);
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
