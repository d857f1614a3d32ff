//! A persistent request, and what starts it.

use super::collective::Collective;
use super::message::Message;
use super::partitioned::{InParts, Partitioned};
use crate::mpi::census::Alive;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::{Comm, Request};
use crate::recording::{Begun, Manner, Primitive, Site};
use bcs_core::whereabouts::Object;
use std::sync::Arc;

/// A persistent request.
///
/// Dropping it does not stop what it has started: the buffer must stay until that is over, or the
/// process ends.
#[derive(Debug)]
pub struct Persistent {
    pub(super) starts: Starts,
    started: Request,
    _alive: Alive,
}

/// What a start begins.
#[derive(Debug)]
pub(super) enum Starts {
    Message(Message),
    Collective(Collective),
    Partitioned(Arc<Partitioned>),
}

impl Persistent {
    pub(super) fn of(starts: Starts) -> Self {
        Self {
            starts,
            started: Request::inactive(),
            _alive: Alive::new(Object::Persistent),
        }
    }

    /// The name of the call that made it.
    pub(super) fn init(&self) -> &'static str {
        match &self.starts {
            Starts::Message(message) => message.init(),
            Starts::Collective(collective) => collective.init,
            Starts::Partitioned(partitioned) => partitioned.init(),
        }
    }

    fn comm(&self) -> &Comm {
        match &self.starts {
            Starts::Message(message) => message.comm(),
            Starts::Collective(collective) => &collective.comm,
            Starts::Partitioned(partitioned) => partitioned.comm(),
        }
    }

    /// `MPI_Start`.
    ///
    /// # Errors
    /// When it was started before and has not been waited for, and as the non-blocking call.
    #[track_caller]
    pub fn start(&mut self) -> Result<()> {
        let process = self.comm().process().clone();
        let site = Site::here();
        process.recorded(Primitive::Start, Manner::Asks, |begun| {
            self.begin(begun, site)
        })
    }

    fn begin(&mut self, begun: Begun, site: Site) -> Result<()> {
        if self.started.is_active() {
            let (operation, call) = (Operation::plain("MPI_Start"), self.init());
            let reason = format!("the request of {call} is active: wait for it first");
            return Err(operation.error(ErrorClass::Request, reason));
        }
        self.started = match &self.starts {
            Starts::Message(message) => message.post(begun, site)?,
            Starts::Collective(collective) => collective.post(begun)?,
            Starts::Partitioned(partitioned) => partitioned.post(begun)?,
        };
        Ok(())
    }

    /// `MPI_Cancel` of what the last start began, if that is a message. What is not under way is not cancelled.
    ///
    /// # Errors
    /// When it starts a collective, or a message in parts.
    pub fn cancel(&mut self) -> Result<()> {
        let what = match &self.starts {
            Starts::Message(_) => {
                self.started.cancel();
                return Ok(());
            }
            Starts::Collective(_) => "a collective",
            Starts::Partitioned(_) => "a message in partitions",
        };
        let reason = format!(
            "the request is of {}: {what} cannot be cancelled",
            self.init()
        );
        Err(Operation::plain("MPI_Cancel").error(ErrorClass::Request, reason))
    }

    /// Whether `MPI_Request_free` may free it now: a message in parts only if it is not under way (4.2.1), since its parts
    /// would have nobody to say that they are ready, or to ask for them.
    ///
    /// # Errors
    /// When it may not.
    pub fn may_be_freed(&self) -> Result<()> {
        if !matches!(self.starts, Starts::Partitioned(_)) || !self.started.is_active() {
            return Ok(());
        }
        let reason = format!(
            "the request of {} is active: wait for it first",
            self.init()
        );
        Err(Operation::plain("MPI_Request_free").error(ErrorClass::Request, reason))
    }

    /// Its message, if that is in parts.
    #[must_use]
    pub fn in_parts(&self) -> Option<InParts> {
        match &self.starts {
            Starts::Partitioned(partitioned) => Some(InParts(partitioned.clone())),
            _ => None,
        }
    }

    /// What the last start began: inactive before that, and when it has been waited for.
    pub fn started(&mut self) -> &mut Request {
        &mut self.started
    }
}

/// `MPI_Startall`. Those before one that cannot be started are.
///
/// # Errors
/// As [`Persistent::start`].
#[track_caller]
pub fn startall(requests: &mut [Persistent]) -> Result<()> {
    let Some(first) = requests.first() else {
        return Ok(());
    };
    let process = first.comm().process().clone();
    let site = Site::here();
    process.recorded(Primitive::Startall, Manner::Asks, |begun| {
        requests
            .iter_mut()
            .try_for_each(|request| request.begin(begun, site))
    })
}
