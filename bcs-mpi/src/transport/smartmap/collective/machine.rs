//! What all collectives are: step machines.

use super::awaited::AwaitedMember;
use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::nic_order::NicOrder;
use super::phase::Phase;
use super::spare::SpareBuffers;
use crate::transport::RequestOutcome;
use bcs_core::request::RequestFailure;
use std::fmt::Debug;

/// What a collective has come to. Failures are rare, and a word is moved in no time.
pub(in crate::transport::smartmap) type CollectiveResult = Result<(), Box<RequestOutcome>>;

/// It has failed, and this is what else there is to say.
#[cold]
pub(super) fn failed(failure: RequestFailure, said: u64) -> CollectiveResult {
    Err(Box::new(RequestOutcome {
        failure,
        len: said,
        ..RequestOutcome::default()
    }))
}

/// The same for who asks about its request.
pub(in crate::transport::smartmap) fn outcome(ended: CollectiveResult) -> RequestOutcome {
    ended
        .err()
        .map_or_else(RequestOutcome::default, |failure| *failure)
}

/// A collective under way, as its queue sees it.
pub(in crate::transport::smartmap) trait CollectiveMachine:
    Debug + Send
{
    /// Goes on as far as it can; says what it came to when it is over.
    fn advance(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult>;

    /// Whether that takes long, so that it is not done under the endpoint's lock.
    fn takes_long(&self) -> bool;

    /// What it is told of if its rank listens; nothing if that waits for its NIC, which rings.
    fn listens_for(&self) -> Option<Phase>;

    /// What a rank that has gone as far as it can waits for.
    fn awaited(&self, group: &LocalGroup, first: u32) -> Option<AwaitedMember>;

    /// What this rank's NIC is to do for it, once.
    fn take_order(&mut self) -> Option<NicOrder> {
        None
    }

    /// What became of that.
    fn answered(&mut self, _: RequestOutcome) {
        unreachable!("it has no order for a NIC");
    }
}
