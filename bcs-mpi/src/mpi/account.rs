//! The account of buffered sends (MPI 5.0, 3.6): how much of the attached buffer is in use, and by
//! which sends.

use super::error::{Error, Result};
use crate::bcs;
use bcs_core::lockstep;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// The attached buffer of a process, a communicator, or a session. A message takes space from the
/// buffer of its communicator, else of the session in which that was made, else of the process.
#[derive(Clone, Debug, Default)]
pub struct AttachedBuffer(pub(super) Arc<Account>);

impl PartialEq for AttachedBuffer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AttachedBuffer {}

impl AttachedBuffer {
    /// Returns the bytes that buffered sends use.
    pub(super) fn used(&self) -> usize {
        self.0.lock().used
    }
}

/// The buffered sends from one buffer.
#[derive(Debug, Default)]
pub(super) struct Account(Mutex<AccountState>);

#[derive(Debug, Default)]
pub(in crate::mpi) struct AccountState {
    /// Bytes of the attached buffer; `None` if there is none.
    pub(in crate::mpi) attached: Option<usize>,
    /// Bytes of the copies below.
    pub(in crate::mpi) used: usize,
    pub(in crate::mpi) under_way: Vec<Box<dyn BufferedSend>>,
    /// The first failure of a send whose caller did not wait. Finalize reports it.
    lost: Option<Box<Error>>,
}

/// A send and the copy it sends. The copy is freed when the send is complete and not before.
pub(in crate::mpi) trait BufferedSend: fmt::Debug + Send {
    /// Returns how many bytes were copied.
    fn len(&self) -> usize;

    /// Returns the outcome of the send; `None` if it is not complete.
    fn test(&mut self) -> Option<Result<()>>;

    /// Waits until the send is complete, and returns its outcome.
    fn wait(&mut self) -> Result<()>;

    /// Returns the handle of the send's request, if it has one.
    fn posted(&self) -> Option<bcs::Request>;
}

impl AccountState {
    /// Drops the copies of sends that are complete.
    pub(in crate::mpi) fn reap(&mut self) {
        let Self { used, lost, .. } = self;
        self.under_way.retain_mut(|copied| {
            let Some(outcome) = copied.test() else {
                return true;
            };
            *used -= copied.len();
            *lost = lost.take().or(outcome.err());
            false
        });
    }
}

impl Account {
    pub(in crate::mpi) fn lock(&self) -> MutexGuard<'_, AccountState> {
        lockstep::lock(&self.0)
    }

    /// Returns the first failure of a send whose caller did not wait. Each failure is reported
    /// once.
    pub(in crate::mpi) fn lost(&self) -> Result<()> {
        self.lock().lost.take().map_or(Ok(()), Err)
    }

    /// Waits until every copy was sent.
    pub(in crate::mpi) fn flush(&self) {
        let under_way = std::mem::take(&mut self.lock().under_way);
        self.finish(under_way);
    }

    /// Waits until these copies were sent.
    pub(in crate::mpi) fn finish(&self, copies: Vec<Box<dyn BufferedSend>>) {
        // The lock is not held here: another thread may have to receive or send meanwhile.
        for mut copied in copies {
            let failed = copied.wait().err();
            let mut state = self.lock();
            state.used -= copied.len();
            state.lost = state.lost.take().or(failed);
        }
    }
}
