//! What all collectives are: step machines.

use super::group::Group;
use super::spare::Spare;
use super::surroundings::Surroundings;
use crate::roads::Outcome;

/// What a collective has come to. Failures are rare, and a word is moved in no time.
pub(in crate::roads::smartmap) type Ended = Result<(), Box<Outcome>>;

/// A collective under way, as its queue sees it.
pub(in crate::roads::smartmap) trait Machine {
    /// Goes on as far as it can; says what it came to when it is over.
    fn advance(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Option<Ended>;

    /// Whether that takes long, so that it is not done under the endpoint's lock.
    fn is_long(&self) -> bool;
}
