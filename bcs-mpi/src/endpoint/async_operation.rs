//! Async operations: what a rank does step by step for one request.
//!
//! An async operation posts, waits for what it has posted, and posts more. Like schedules, it
//! advances in every call of the rank, whatever that call is for (law 5). So a peer that waits for
//! its next step need not wait until the program tests the request. A schedule knows all its
//! messages when it is posted. The next step of an async operation may depend on what has come.

#![expect(unsafe_code, reason = "a context names its members by address")]

use super::request::{AsyncOperationId, Request};
use crate::transport::{Mux, RequestOutcome, TooManyRequests, TransportHandle};
use bcs_core::request::RequestFailure;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

/// An operation that a rank does step by step.
///
/// Its methods are called under the endpoint's lock: they must not drop a communicator, or call the
/// program.
pub(crate) trait AsyncOperation: Debug + Send {
    /// Goes as far as the completions allow, and sets `posted` if it has posted anything. Returns
    /// the outcome when the operation is over.
    fn advance(
        &mut self,
        at: &mut dyn OperationContext,
        posted: &mut bool,
    ) -> Option<RequestOutcome>;

    /// Returns what it waits for; nothing if it waits for the program.
    fn awaits(&self) -> Vec<TransportHandle>;
}

/// The services of its rank that an async operation may use.
pub(crate) trait OperationContext {
    fn mux(&mut self) -> &mut Mux;

    /// Takes the outcome of a request, if it is done.
    fn take(&mut self, request: Request) -> Option<RequestOutcome>;

    fn is_done(&mut self, request: Request) -> bool;

    /// Makes a context known to this rank's NIC.
    ///
    /// # Safety
    /// The list of members stays until the request is done.
    unsafe fn open(&mut self, context: u32, members: &[u32]) -> Result<Request, TooManyRequests>;

    /// Records that a context is open. `local` is the number of its members on this node.
    fn opened(&mut self, context: u32, members: &[u32], local: u32);

    /// Closes a context for this rank.
    fn close(&mut self, context: u32) -> Result<Request, TooManyRequests>;
}

/// The async operations of a rank.
#[derive(Debug, Default)]
pub(crate) struct AsyncOperations {
    /// In the order in which they began.
    under_way: BTreeMap<AsyncOperationId, Box<dyn AsyncOperation>>,
    /// Outcomes that no call has taken yet.
    ended: HashMap<AsyncOperationId, RequestOutcome>,
    begun: u64,
    ended_so_far: u64,
    /// The count of completions when they last advanced.
    looked_at: u64,
    /// Something else has changed since then.
    looks_again: bool,
    /// They advance at this moment, and are elsewhere.
    are_advancing: bool,
}

impl AsyncOperations {
    pub(crate) fn insert(&mut self, undertaking: Box<dyn AsyncOperation>) -> AsyncOperationId {
        self.begun += 1;
        self.under_way.insert(self.begun, undertaking);
        self.looks_again = true;
        self.begun
    }

    /// Returns the operations that should advance, if there were completions since they last did.
    /// `completions` is the count so far.
    pub(crate) fn due(
        &mut self,
        completions: u64,
    ) -> Option<BTreeMap<AsyncOperationId, Box<dyn AsyncOperation>>> {
        if self.under_way.is_empty() || (self.looked_at == completions && !self.looks_again) {
            return None;
        }
        self.looked_at = completions;
        self.looks_again = false;
        self.are_advancing = true;
        Some(std::mem::take(&mut self.under_way))
    }

    /// Puts back the operations that go on.
    pub(crate) fn go_on(&mut self, under_way: BTreeMap<AsyncOperationId, Box<dyn AsyncOperation>>) {
        self.under_way = under_way;
        self.are_advancing = false;
    }

    /// Records the outcome of an operation that is over.
    pub(crate) fn ended(&mut self, id: AsyncOperationId, outcome: RequestOutcome) {
        self.ended.insert(id, outcome);
        self.ended_so_far += 1;
    }

    /// Returns how many have ended.
    pub(crate) fn ended_so_far(&self) -> u64 {
        self.ended_so_far
    }

    /// Makes the operations advance again, after a change that no completion reports.
    pub(crate) fn look_again(&mut self) {
        self.looks_again = true;
    }

    pub(crate) fn is_done(&self, id: AsyncOperationId) -> bool {
        self.ended.contains_key(&id)
    }

    /// Returns how many are under way or not yet taken.
    pub(crate) fn left(&self) -> usize {
        self.under_way.len() + self.ended.len()
    }

    /// Returns what one operation waits for.
    pub(crate) fn awaited_by(&self, id: AsyncOperationId) -> Vec<TransportHandle> {
        let undertaking = self.under_way.get(&id);
        undertaking.map_or_else(Vec::new, |undertaking| undertaking.awaits())
    }

    /// Takes the outcome of an operation that is over. An operation may wait for another one that
    /// began before it.
    ///
    /// # Panics
    /// If it is spent: the caller kept a copy of its request.
    pub(crate) fn take(&mut self, id: AsyncOperationId) -> Option<RequestOutcome> {
        let outcome = self.ended.remove(&id);
        assert!(
            outcome.is_some() || self.are_advancing || self.under_way.contains_key(&id),
            "undertaking {id} is spent"
        );
        outcome
    }
}

/// Converts the outcome of a posted operation to a result.
pub(crate) fn succeeded(outcome: &RequestOutcome) -> Result<(), RequestFailure> {
    match outcome.failure {
        RequestFailure::None => Ok(()),
        failure => Err(failure),
    }
}
