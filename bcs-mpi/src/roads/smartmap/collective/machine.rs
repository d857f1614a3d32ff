//! What all collectives are: step machines.

use super::awaited::Awaited;
use super::group::Group;
use super::order::Order;
use super::phase::Phase;
use super::spare::Spare;
use super::surroundings::Surroundings;
use crate::roads::Outcome;
use bcs_core::request::Failure;
use std::fmt::Debug;

/// What a collective has come to. Failures are rare, and a word is moved in no time.
pub(in crate::roads::smartmap) type Ended = Result<(), Box<Outcome>>;

/// It has failed, and this is what else there is to say.
#[cold]
pub(super) fn failed(failure: Failure, said: u64) -> Ended {
    Err(Box::new(Outcome {
        failure,
        len: said,
        ..Outcome::default()
    }))
}

/// The same for who asks about its request.
pub(in crate::roads::smartmap) fn outcome(ended: Ended) -> Outcome {
    ended
        .err()
        .map_or_else(Outcome::default, |failure| *failure)
}

/// A collective under way, as its queue sees it.
pub(in crate::roads::smartmap) trait Machine: Debug + Send {
    /// Goes on as far as it can; says what it came to when it is over.
    fn advance(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Option<Ended>;

    /// Whether that takes long, so that it is not done under the endpoint's lock.
    fn takes_long(&self) -> bool;

    /// What it is told of if its rank listens; nothing if that waits for its NIC, which rings.
    fn listens_for(&self) -> Option<Phase>;

    /// What a rank that has gone as far as it can waits for.
    fn awaited(&self, group: &Group, first: u32) -> Option<Awaited>;

    /// What this rank's NIC is to do for it, once.
    fn take_order(&mut self) -> Option<Order> {
        None
    }

    /// What became of that.
    fn answered(&mut self, _: Outcome) {
        unreachable!("it has no order for a NIC");
    }
}
