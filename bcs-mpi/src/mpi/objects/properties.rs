//! The properties that a program keeps with an object, `O`: name, attributes, error handler, info.

use super::error_handler::ErrorHandler;
use super::keyval::Attributes;
use crate::mpi::account::AttachedBuffer;
use crate::mpi::info::Info;
use bcs_core::lockstep;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// All properties of an object. The world and a rank's own communicator are made anew for each use,
/// so the process keeps their properties. The handles of other communicators keep theirs.
#[derive(Debug)]
pub(in crate::mpi) struct ObjectProperties<O> {
    pub(in crate::mpi) attributes: Attributes<O>,
    error_handler: Mutex<ErrorHandler<O>>,
    info: Mutex<Info>,
    name: Mutex<String>,
    pub(in crate::mpi) buffer: AttachedBuffer,
    /// The buffer of the session in which it was made, if it was made in one.
    pub(in crate::mpi) session_buffer: OnceLock<AttachedBuffer>,
}

impl<O> ObjectProperties<O> {
    pub(in crate::mpi) fn named(name: &str) -> Self {
        Self {
            attributes: Attributes::none(),
            error_handler: Mutex::default(),
            info: Mutex::default(),
            name: Mutex::new(name.to_owned()),
            buffer: AttachedBuffer::default(),
            session_buffer: OnceLock::new(),
        }
    }

    /// Returns the properties of a communicator that is made of this one (MPI 5.0, 9.3).
    pub(in crate::mpi) fn inherited(&self) -> Self {
        let mut kept = Self::named("");
        *kept.error_handler() = self.error_handler().clone();
        kept.session_buffer.clone_from(&self.session_buffer);
        kept
    }

    pub(in crate::mpi) fn error_handler(&self) -> MutexGuard<'_, ErrorHandler<O>> {
        lockstep::lock(&self.error_handler)
    }

    pub(in crate::mpi) fn info(&self) -> MutexGuard<'_, Info> {
        lockstep::lock(&self.info)
    }

    pub(in crate::mpi) fn name(&self) -> MutexGuard<'_, String> {
        lockstep::lock(&self.name)
    }
}
