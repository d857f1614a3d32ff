//! Undertakings: what a rank does step by step for one request.
//!
//! An undertaking posts, waits for what it has posted, and posts more. As schedules do, it moves on in every call of the
//! rank, whatever that call is for (law 5): who waits for its next step never waits until the program asks about it. A
//! schedule knows all its messages when it is posted; what an undertaking does next may depend on what has come.

#![expect(unsafe_code, reason = "a context names its members by address")]

use super::request::{AsyncOperationId, Request};
use crate::transport::{Mux, RequestOutcome, TooManyRequests, TransportHandle};
use bcs_core::request::RequestFailure;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

/// Something that a rank does step by step.
///
/// Its methods are called under the endpoint's lock: they must not drop a communicator, or call the program.
pub(crate) trait AsyncOperation: Debug + Send {
    /// Goes as far as what has completed allows, and says whether it has `posted` anything. What it came to, when it is
    /// over.
    fn advance(
        &mut self,
        at: &mut dyn OperationContext,
        posted: &mut bool,
    ) -> Option<RequestOutcome>;

    /// What it waits for; nothing if that is the program.
    fn awaits(&self) -> Vec<TransportHandle>;
}

/// What an undertaking may use of its rank.
pub(crate) trait OperationContext {
    fn mux(&mut self) -> &mut Mux;

    /// Takes what a request came to, if it is done.
    fn take(&mut self, request: Request) -> Option<RequestOutcome>;

    fn is_done(&mut self, request: Request) -> bool;

    /// Makes a context known to this rank's NIC.
    ///
    /// # Safety
    /// The list of members stays until the request is done.
    unsafe fn open(&mut self, context: u32, members: &[u32]) -> Result<Request, TooManyRequests>;

    /// A context is open, so many of whose members are on this node.
    fn opened(&mut self, context: u32, members: &[u32], local: u32);

    /// This rank uses a context no more.
    fn close(&mut self, context: u32) -> Result<Request, TooManyRequests>;
}

/// The undertakings of a rank.
#[derive(Debug, Default)]
pub(crate) struct AsyncOperations {
    /// In the order in which they began.
    under_way: BTreeMap<AsyncOperationId, Box<dyn AsyncOperation>>,
    /// Those that are over and not yet asked for.
    ended: HashMap<AsyncOperationId, RequestOutcome>,
    begun: u64,
    ended_so_far: u64,
    /// The count of completions when they were last moved on.
    looked_at: u64,
    /// Something else was done since then.
    looks_again: bool,
}

impl AsyncOperations {
    pub(crate) fn insert(&mut self, undertaking: Box<dyn AsyncOperation>) -> AsyncOperationId {
        self.begun += 1;
        self.under_way.insert(self.begun, undertaking);
        self.looks_again = true;
        self.begun
    }

    /// Those that are to be moved on, if anything has been completed since they were, so much in all.
    pub(crate) fn due(
        &mut self,
        completions: u64,
    ) -> Option<BTreeMap<AsyncOperationId, Box<dyn AsyncOperation>>> {
        if self.under_way.is_empty() || (self.looked_at == completions && !self.looks_again) {
            return None;
        }
        self.looked_at = completions;
        self.looks_again = false;
        Some(std::mem::take(&mut self.under_way))
    }

    /// Those that go on.
    pub(crate) fn go_on(&mut self, under_way: BTreeMap<AsyncOperationId, Box<dyn AsyncOperation>>) {
        self.under_way = under_way;
    }

    /// One is over.
    pub(crate) fn ended(&mut self, id: AsyncOperationId, outcome: RequestOutcome) {
        self.ended.insert(id, outcome);
        self.ended_so_far += 1;
    }

    /// How many have come to their end.
    pub(crate) fn ended_so_far(&self) -> u64 {
        self.ended_so_far
    }

    /// Something may have been done that no completion tells of.
    pub(crate) fn look_again(&mut self) {
        self.looks_again = true;
    }

    pub(crate) fn is_done(&self, id: AsyncOperationId) -> bool {
        self.ended.contains_key(&id)
    }

    /// How many nobody has asked for.
    pub(crate) fn left(&self) -> usize {
        self.under_way.len() + self.ended.len()
    }

    /// What one waits for.
    pub(crate) fn awaited_by(&self, id: AsyncOperationId) -> Vec<TransportHandle> {
        let undertaking = self.under_way.get(&id);
        undertaking.map_or_else(Vec::new, |undertaking| undertaking.awaits())
    }

    /// Spends one that is over.
    ///
    /// # Panics
    /// If it is spent: the caller kept a copy of its request.
    pub(crate) fn take(&mut self, id: AsyncOperationId) -> Option<RequestOutcome> {
        let outcome = self.ended.remove(&id);
        assert!(
            outcome.is_some() || self.under_way.contains_key(&id),
            "undertaking {id} is spent"
        );
        outcome
    }
}

/// The outcome of what was posted, as a result.
pub(crate) fn succeeded(outcome: &RequestOutcome) -> Result<(), RequestFailure> {
    match outcome.failure {
        RequestFailure::None => Ok(()),
        failure => Err(failure),
    }
}
