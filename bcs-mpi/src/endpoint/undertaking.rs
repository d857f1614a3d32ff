//! Undertakings: what a rank does step by step for one request.
//!
//! An undertaking posts, waits for what it has posted, and posts more. As schedules do, it moves on in every call of the
//! rank, whatever that call is for (law 5): who waits for its next step never waits until the program asks about it. A
//! schedule knows all its messages when it is posted; what an undertaking does next may depend on what has come.

use super::endpoint::Endpoint;
use super::request::{Kind, Request};
use super::state::State;
use crate::roads::{Handle, Outcome};
use bcs_core::request::Failure;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

/// Something that a rank does step by step.
///
/// Its methods are called under the endpoint's lock: they must not drop a communicator, or call the program.
pub(crate) trait Undertaking: Debug + Send {
    /// Goes as far as what has completed allows, and says whether it has `posted` anything. What it came to, when it is
    /// over.
    fn advance(
        &mut self,
        endpoint: &Endpoint,
        state: &mut State,
        posted: &mut bool,
    ) -> Option<Outcome>;

    /// What it waits for; nothing if that is the program.
    fn awaits(&self) -> Vec<Handle>;
}

/// An undertaking, for its request.
pub(crate) type UndertakingId = u64;

/// The undertakings of a rank.
#[derive(Debug, Default)]
pub(crate) struct Undertakings {
    /// In the order in which they began.
    under_way: BTreeMap<UndertakingId, Box<dyn Undertaking>>,
    /// Those that are over and not yet asked for.
    ended: HashMap<UndertakingId, Outcome>,
    begun: u64,
    ended_so_far: u64,
    /// The count of completions when they were last moved on.
    looked_at: u64,
    /// Something else was done since then.
    looks_again: bool,
}

impl Undertakings {
    fn insert(&mut self, undertaking: Box<dyn Undertaking>) -> UndertakingId {
        self.begun += 1;
        self.under_way.insert(self.begun, undertaking);
        self.looks_again = true;
        self.begun
    }

    /// How many have come to their end.
    pub(crate) fn ended_so_far(&self) -> u64 {
        self.ended_so_far
    }

    /// Something may have been done that no completion tells of.
    pub(crate) fn look_again(&mut self) {
        self.looks_again = true;
    }

    pub(crate) fn is_done(&self, id: UndertakingId) -> bool {
        self.ended.contains_key(&id)
    }

    /// How many nobody has asked for.
    pub(crate) fn left(&self) -> usize {
        self.under_way.len() + self.ended.len()
    }

    /// What one waits for.
    pub(crate) fn awaited_by(&self, id: UndertakingId) -> Vec<Handle> {
        let undertaking = self.under_way.get(&id);
        undertaking.map_or_else(Vec::new, |undertaking| undertaking.awaits())
    }

    /// Spends one that is over.
    ///
    /// # Panics
    /// If it is spent: the caller kept a copy of its request.
    pub(crate) fn take(&mut self, id: UndertakingId) -> Option<Outcome> {
        let outcome = self.ended.remove(&id);
        assert!(
            outcome.is_some() || self.under_way.contains_key(&id),
            "undertaking {id} is spent"
        );
        outcome
    }
}

impl Endpoint {
    /// Begins something.
    pub(crate) fn undertake(&self, undertaking: Box<dyn Undertaking>) -> Request {
        let mut state = self.lock();
        let id = state.undertakings.insert(undertaking);
        self.progress(&mut state);
        self.leave(state);
        Request(Kind::Undertaking(id))
    }

    /// The program has done something that an undertaking may wait for.
    pub(crate) fn nudge(&self) {
        let mut state = self.lock();
        state.undertakings.look_again();
        self.progress(&mut state);
        self.leave(state);
    }

    /// Moves all undertakings on, if anything has been completed since they were last moved on, so much in all. Returns
    /// whether anything was posted, or is over.
    pub(crate) fn advance_undertakings(&self, state: &mut State, completions: u64) -> bool {
        let known = &mut state.undertakings;
        if known.under_way.is_empty() || (known.looked_at == completions && !known.looks_again) {
            return false;
        }
        known.looked_at = completions;
        known.looks_again = false;
        let (mut under_way, mut any) = (std::mem::take(&mut known.under_way), false);
        under_way.retain(|&id, undertaking| {
            let Some(outcome) = undertaking.advance(self, state, &mut any) else {
                return true;
            };
            state.undertakings.ended.insert(id, outcome);
            state.undertakings.ended_so_far += 1;
            any = true;
            false
        });
        state.undertakings.under_way = under_way;
        any
    }
}

/// The outcome of what was posted, as a result.
pub(crate) fn succeeded(outcome: &Outcome) -> Result<(), Failure> {
    match outcome.failure {
        Failure::None => Ok(()),
        failure => Err(failure),
    }
}
