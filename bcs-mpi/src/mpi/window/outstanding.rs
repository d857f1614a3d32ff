//! Operations of a window that were posted and are not known to be complete.
//!
//! Only operations that a NIC carries out are here: the others are complete when they are posted.

use super::posted_operations::{MOST_PER_TARGET, Posted, PostedOperation};
use super::state::Window;
use crate::bcs::{self, Blocking};
use crate::mpi::error::{Operation, Result};
use bcs_core::lockstep;
use bcs_core::wait_state::WaitReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

impl Window {
    /// Keeps a posted operation until it is complete.
    ///
    /// # Errors
    /// The error of an older operation at this target.
    pub(super) fn keep(
        &self,
        target: usize,
        request: bcs::Request,
        operation: Operation,
    ) -> Result<()> {
        let what = PostedOperation::Request(request);
        match self.0.outstanding.push(target, Posted { what, operation }) > MOST_PER_TARGET {
            true => self.complete_oldest(target).map(|_| ()),
            false => Ok(()),
        }
    }

    /// Keeps an operation that has a request of the program, until the flag says that it is over.
    pub(super) fn keep_of_program(
        &self,
        target: usize,
        over: Arc<AtomicBool>,
        operation: Operation,
    ) {
        let what = PostedOperation::OfProgram(over);
        self.0.outstanding.push(target, Posted { what, operation });
    }

    /// Waits for the oldest operation at a target. Returns whether there was one.
    pub(super) fn complete_oldest(&self, target: usize) -> Result<bool> {
        let _turn = lockstep::lock(&self.0.outstanding.completing);
        self.complete_next(target)
    }

    fn complete_next(&self, target: usize) -> Result<bool> {
        let outstanding = &self.0.outstanding;
        let Some(Posted { what, operation }) = outstanding.pop(target) else {
            return Ok(false);
        };
        let endpoint = self.process().endpoint();
        let ended = match what {
            PostedOperation::Request(request) => {
                let outcome = endpoint.bcs_test(Blocking::Yes, request);
                let outcome = outcome.expect("it was waited for");
                self.check_outcome(&outcome, target, operation)
            }
            PostedOperation::OfProgram(over) => {
                endpoint.wait_for_word(WaitReason::Request, || {
                    over.load(Ordering::Acquire).then_some(())
                });
                Ok(())
            }
        };
        outstanding.ended();
        ended.map(|()| true)
    }

    /// Waits for all operations at a target. All are complete then, even after an error.
    ///
    /// # Errors
    /// The first error of an operation.
    pub(crate) fn complete_at(&self, target: usize) -> Result<()> {
        let mut first = Ok(());
        if let Some(races) = &self.0.races {
            races.complete(Some(target));
            first = races.settle(Some(target));
        }
        if self.0.outstanding.is_empty() {
            return first;
        }
        let _turn = lockstep::lock(&self.0.outstanding.completing);
        loop {
            match self.complete_next(target) {
                Ok(true) => {}
                Ok(false) => return first,
                Err(error) => first = first.and(Err(error)),
            }
        }
    }

    /// Waits for all operations of this rank.
    ///
    /// # Errors
    /// The first error of an operation.
    pub(crate) fn complete_all(&self) -> Result<()> {
        let mut first = Ok(());
        if let Some(races) = &self.0.races {
            races.complete(None);
            first = races.settle(None);
        }
        while let Some(target) = self.0.outstanding.any_target() {
            let ended = self.complete_at(target);
            first = first.and(ended);
        }
        first
    }
}
