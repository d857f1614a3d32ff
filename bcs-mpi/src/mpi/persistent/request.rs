//! A persistent request, and the calls that start it.

use super::collective::CollectiveTemplate;
use super::message::MessageTemplate;
use super::partitioned::{Partitioned, PartitionedMessage};
use crate::call_site;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::live_objects::LiveObject;
use crate::mpi::{Comm, Request};
use crate::recording::{CallStart, CallTiming, Primitive, Site};
use bcs_core::wait_state::LeakedObject;
use std::sync::Arc;

/// A persistent request.
///
/// Dropping it does not stop the operation that it has started: the buffer must stay until that is
/// complete, or the process ends.
#[derive(Debug)]
pub struct Persistent {
    pub(super) starts: StartAction,
    started: Request,
    _alive: LiveObject,
}

/// The operation that a start begins.
#[derive(Debug)]
pub(super) enum StartAction {
    Message(MessageTemplate),
    Collective(CollectiveTemplate),
    Partitioned(Arc<Partitioned>),
}

impl Persistent {
    pub(super) fn of(starts: StartAction) -> Self {
        Self {
            starts,
            started: Request::inactive(),
            _alive: LiveObject::new(LeakedObject::Persistent),
        }
    }

    /// Returns the name of the call that made it.
    pub(super) fn init(&self) -> &'static str {
        match &self.starts {
            StartAction::Message(message) => message.init(),
            StartAction::Collective(collective) => collective.init,
            StartAction::Partitioned(partitioned) => partitioned.init(),
        }
    }

    fn comm(&self) -> &Comm {
        match &self.starts {
            StartAction::Message(message) => message.comm(),
            StartAction::Collective(collective) => &collective.comm,
            StartAction::Partitioned(partitioned) => partitioned.comm(),
        }
    }

    /// `MPI_Start`: begins the operation.
    ///
    /// # Errors
    /// When it was started before and has not been waited for, and as the non-blocking call.
    #[track_caller]
    pub fn start(&mut self) -> Result<()> {
        let process = self.comm().process().clone();
        let site = Site::here();
        process.recorded(Primitive::Start, CallTiming::Asks, |begun| {
            self.begin(begun, site)
        })
    }

    fn begin(&mut self, begun: CallStart, site: Site) -> Result<()> {
        if self.started.is_active() {
            let (operation, call) = (Operation::plain("MPI_Start"), self.init());
            let reason = format!("the request of {call} is active: wait for it first");
            return Err(operation.error(ErrorClass::Request, reason));
        }
        let is_checked = self.comm().process().is_checked();
        let _at = is_checked.then(|| call_site::enter(site));
        self.started = match &self.starts {
            StartAction::Message(message) => message.post(begun, site)?,
            StartAction::Collective(collective) => collective.post(begun)?,
            StartAction::Partitioned(partitioned) => partitioned.post(begun, site)?,
        };
        Ok(())
    }

    /// `MPI_Cancel`: cancels the message that the last start began, if it is still in progress.
    ///
    /// # Errors
    /// When it starts a collective, or a message in parts.
    pub fn cancel(&mut self) -> Result<()> {
        let what = match &self.starts {
            StartAction::Message(_) => {
                self.started.cancel();
                return Ok(());
            }
            StartAction::Collective(_) => "a collective",
            StartAction::Partitioned(_) => "a message in partitions",
        };
        let reason = format!(
            "the request is of {}: {what} cannot be cancelled",
            self.init()
        );
        Err(Operation::plain("MPI_Cancel").error(ErrorClass::Request, reason))
    }

    /// Checks whether `MPI_Request_free` may free it now. A partitioned message must not be in
    /// progress (4.2.1), since its parts could no longer be marked as ready or tested.
    ///
    /// # Errors
    /// When it may not be freed.
    pub fn may_be_freed(&self) -> Result<()> {
        if !matches!(self.starts, StartAction::Partitioned(_)) || !self.started.is_active() {
            return Ok(());
        }
        let reason = format!(
            "the request of {} is active: wait for it first",
            self.init()
        );
        Err(Operation::plain("MPI_Request_free").error(ErrorClass::Request, reason))
    }

    /// Returns its message, if that is partitioned.
    #[must_use]
    pub fn partitioned(&self) -> Option<PartitionedMessage> {
        match &self.starts {
            StartAction::Partitioned(partitioned) => Some(PartitionedMessage(partitioned.clone())),
            _ => None,
        }
    }

    /// Returns the request that the last start began. It is inactive before the first start, and
    /// after a wait.
    pub fn started(&mut self) -> &mut Request {
        &mut self.started
    }
}

/// `MPI_Startall`: starts all requests up to the first that cannot be started.
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
    process.recorded(Primitive::Startall, CallTiming::Asks, |begun| {
        requests
            .iter_mut()
            .try_for_each(|request| request.begin(begun, site))
    })
}
