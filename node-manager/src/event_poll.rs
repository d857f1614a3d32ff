//! The events that the agent waits for: an epoll with names for its descriptors.

use crate::control::Stream;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// An event. Ranks are named by their index among those of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// A message of the launcher, its end, or room in its channel.
    Control,
    /// The NIC reports a failure.
    Nic,
    /// The process of a rank ended.
    Process(usize),
    /// The process that said Hello ended, and it is not the one that was started.
    Descendant(usize),
    /// A message of a rank.
    Conversation(usize),
    /// Output of a rank.
    Output(usize, Stream),
    /// A rank's input has room, or no reader any more.
    Input(usize),
    /// A PMI request of a rank.
    Pmi(usize),
}

const KINDS: u64 = 9;

impl EventSource {
    fn encode(self) -> u64 {
        let (kind, index) = match self {
            Self::Control => (0, 0),
            Self::Nic => (1, 0),
            Self::Process(index) => (2, index),
            Self::Descendant(index) => (3, index),
            Self::Conversation(index) => (4, index),
            Self::Output(index, Stream::Out) => (5, index),
            Self::Output(index, Stream::Err) => (6, index),
            Self::Input(index) => (7, index),
            Self::Pmi(index) => (8, index),
        };
        kind + KINDS * index as u64
    }

    fn decode(code: u64) -> Self {
        let index = usize::try_from(code / KINDS).expect("encoded from a usize");
        match code % KINDS {
            0 => Self::Control,
            1 => Self::Nic,
            2 => Self::Process(index),
            3 => Self::Descendant(index),
            4 => Self::Conversation(index),
            5 => Self::Output(index, Stream::Out),
            6 => Self::Output(index, Stream::Err),
            7 => Self::Input(index),
            _ => Self::Pmi(index),
        }
    }
}

/// Events taken by one wait. The next wait takes the others.
const BATCH: usize = 64;

/// The epoll.
#[derive(Debug)]
pub(crate) struct EventPoll {
    epoll: OwnedFd,
}

impl EventPoll {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
        })
    }

    /// Watches for something to read, or the end of the stream.
    pub(crate) fn add(&self, fd: impl AsFd, source: EventSource) -> Result<(), Errno> {
        epoll::add(
            &self.epoll,
            fd,
            EventData::new_u64(source.encode()),
            EventFlags::IN,
        )
    }

    /// Watches for room to write, or for the end of the reader.
    pub(crate) fn add_for_room(&self, fd: impl AsFd, source: EventSource) -> Result<(), Errno> {
        epoll::add(
            &self.epoll,
            fd,
            EventData::new_u64(source.encode()),
            EventFlags::OUT,
        )
    }

    /// Stops watching. A descriptor must be removed before it is closed: a child that is just being
    /// started may hold a copy, which would keep it in the epoll.
    pub(crate) fn remove(&self, fd: impl AsFd) {
        // Fails only if the descriptor is not watched.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Sleeps until an event or the deadline.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Result<Vec<EventSource>, Errno> {
        let mut events = Vec::<Event>::with_capacity(BATCH);
        let timeout = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            Timespec::try_from(left).expect("at most MAX_KILL_DELAY")
        });
        match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        Ok(events
            .iter()
            .map(|event| EventSource::decode(event.data.u64()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_survive_the_kernel() {
        for source in [
            EventSource::Control,
            EventSource::Nic,
            EventSource::Process(0),
            EventSource::Descendant(1023),
            EventSource::Conversation(7),
            EventSource::Output(3, Stream::Out),
            EventSource::Output(1, Stream::Err),
            EventSource::Input(2),
            EventSource::Pmi(5),
        ] {
            assert_eq!(EventSource::decode(source.encode()), source);
        }
    }
}
