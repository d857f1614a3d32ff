//! What a program keeps with a communicator: name, attributes, error handler, info.

use super::attributes::Attributes;
use super::error_handler::ErrorHandler;
use super::info::Info;
use bcs_core::lockstep;
use std::sync::{Mutex, MutexGuard};

/// All of it. The world and a rank's own communicator are made anew whenever somebody asks for
/// them, so what is kept with them is the process's; with others it is that of their handles.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) attributes: Attributes,
    error_handler: Mutex<ErrorHandler>,
    info: Mutex<Info>,
    name: Mutex<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    lockstep::lock(mutex)
}

impl Kept {
    pub(super) fn named(name: &str) -> Self {
        let kept = Self::default();
        name.clone_into(&mut kept.name());
        kept
    }

    /// What is kept with a communicator that was made of this one (MPI 5.0, 9.3).
    pub(super) fn inherited(&self) -> Self {
        let kept = Self::default();
        *kept.error_handler() = self.error_handler().clone();
        kept
    }

    pub(super) fn error_handler(&self) -> MutexGuard<'_, ErrorHandler> {
        locked(&self.error_handler)
    }

    pub(super) fn info(&self) -> MutexGuard<'_, Info> {
        locked(&self.info)
    }

    pub(super) fn name(&self) -> MutexGuard<'_, String> {
        locked(&self.name)
    }
}
