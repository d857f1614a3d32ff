//! A communicator and its collectives; they may be away, with a thread that goes on with them.

use super::group::Group;
use super::machine::Machine;
use super::queue::Queue;
use super::spare::Spare;
use crate::roads::smartmap::requests::Id;
use std::fmt;

/// A communicator.
#[derive(Debug)]
pub(in crate::roads::smartmap) enum Communicator {
    Here(Queue),
    Away(Away),
}

/// Makes a collective of a communicator that is away, when it is back.
type Make = Box<dyn FnOnce(&Group, u32, &mut Spare) -> Box<dyn Machine> + Send>;

/// What is known of a communicator while it is away.
pub(in crate::roads::smartmap) struct Away {
    /// What it has gone away with.
    pub(in crate::roads::smartmap) requests: Vec<Id>,
    /// What was posted since.
    pub(in crate::roads::smartmap) posted: Vec<(Id, Make)>,
    pub(in crate::roads::smartmap) closed: bool,
}

impl fmt::Debug for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Away")
            .field("requests", &self.requests)
            .field("posted", &self.posted.len())
            .finish_non_exhaustive()
    }
}

impl Communicator {
    pub(in crate::roads::smartmap) fn here(&self) -> Option<&Queue> {
        match self {
            Self::Here(queue) => Some(queue),
            Self::Away(_) => None,
        }
    }

    pub(in crate::roads::smartmap) fn here_mut(&mut self) -> Option<&mut Queue> {
        match self {
            Self::Here(queue) => Some(queue),
            Self::Away(_) => None,
        }
    }

    /// What was posted and is not over.
    pub(in crate::roads::smartmap) fn requests(&self) -> Vec<Id> {
        match self {
            Self::Here(queue) => queue.requests().collect(),
            Self::Away(away) => {
                let posted = away.posted.iter().map(|(request, _)| *request);
                away.requests.iter().copied().chain(posted).collect()
            }
        }
    }

    pub(in crate::roads::smartmap) fn post(
        &mut self,
        request: Id,
        first: u32,
        spare: &mut Spare,
        make: impl FnOnce(&Group, u32, &mut Spare) -> Box<dyn Machine> + Send + 'static,
    ) {
        match self {
            Self::Here(queue) => {
                let posted = make(&queue.group, first, spare);
                queue.post(request, posted);
            }
            Self::Away(away) => away.posted.push((request, Box::new(make))),
        }
    }
}

impl Away {
    /// This rank uses the communicator no more.
    pub(in crate::roads::smartmap) fn close(&mut self) {
        self.closed = true;
    }
}
