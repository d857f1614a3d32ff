//! The trait of all collectives: they are step machines.

use super::awaited::AwaitedMember;
use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::nic_order::NicOrder;
use super::phase::Phase;
use super::spare::SpareBuffers;
use crate::transport::RequestOutcome;
use bcs_core::job::NodeRanks;
use bcs_core::request::RequestFailure;
use std::fmt::Debug;

/// The result of a collective. Failures are rare, and one word is cheap to move.
pub(in crate::transport::smartmap) type CollectiveResult = Result<(), Box<RequestOutcome>>;

/// Makes a failure with further information.
#[cold]
pub(super) fn failed(failure: RequestFailure, said: u64) -> CollectiveResult {
    Err(Box::new(RequestOutcome {
        failure,
        len: said,
        ..RequestOutcome::default()
    }))
}

/// Converts it to the outcome of a request.
pub(in crate::transport::smartmap) fn outcome(ended: CollectiveResult) -> RequestOutcome {
    ended
        .err()
        .map_or_else(RequestOutcome::default, |failure| *failure)
}

/// A collective under way, as its queue sees it.
pub(in crate::transport::smartmap) trait CollectiveMachine:
    Debug + Send
{
    /// Advances as far as possible. Returns the result when it is over.
    fn advance(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult>;

    /// Returns whether it is long, and therefore does not run under the endpoint's lock.
    fn takes_long(&self) -> bool;

    /// Returns the phase for which its rank listens; nothing if the rank waits for its NIC, which
    /// rings.
    fn listens_for(&self) -> Option<Phase>;

    /// Returns what a rank waits for that has gone as far as possible.
    fn awaited(&self, group: &LocalGroup, ranks: NodeRanks) -> Option<AwaitedMember>;

    /// Takes the order for this rank's NIC, once.
    fn take_order(&mut self) -> Option<NicOrder> {
        None
    }

    /// Passes on the outcome of the order.
    fn answered(&mut self, _: RequestOutcome) {
        unreachable!("it has no order for a NIC");
    }
}
