//! The posted collectives of this rank on a communicator. They take place in this order, one at a
//! time.

use super::awaited::AwaitedMember;
use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::machine::{CollectiveMachine, CollectiveResult};
use super::nic_order::NicOrder;
use super::spare::SpareBuffers;
use crate::transport::RequestOutcome;
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::job::NodeRanks;
use std::collections::VecDeque;

/// The collectives of a communicator that are not over.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct CollectiveQueue {
    pub(in crate::transport::smartmap) group: LocalGroup,
    posted: VecDeque<(LocalRequestId, Box<dyn CollectiveMachine>)>,
    /// The event count of this rank when the first of them, a long one, listened.
    pub(in crate::transport::smartmap) listened: Option<u64>,
}

impl CollectiveQueue {
    pub(in crate::transport::smartmap) fn new(group: LocalGroup) -> Self {
        Self {
            group,
            posted: VecDeque::new(),
            listened: None,
        }
    }

    pub(in crate::transport::smartmap) fn post(
        &mut self,
        request: LocalRequestId,
        collective: Box<dyn CollectiveMachine>,
    ) {
        self.posted.push_back((request, collective));
    }

    /// Advances a collective before it is posted, if no other one is. Returns its result if it is
    /// over. Otherwise it has to be posted.
    #[inline]
    pub(in crate::transport::smartmap) fn advance_unposted(
        &mut self,
        collective: &mut impl CollectiveMachine,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        debug_assert!(self.is_empty(), "collectives take place in order");
        let ended = collective.advance(&mut self.group, around, spare)?;
        Some(self.group.with_objection(ended))
    }

    /// Takes the order of the first of them for this rank's NIC, once.
    pub(in crate::transport::smartmap) fn take_order(&mut self) -> Option<NicOrder> {
        self.posted.front_mut()?.1.take_order()
    }

    /// Passes on the outcome of the order.
    pub(in crate::transport::smartmap) fn answered(&mut self, outcome: RequestOutcome) {
        self.listened = None;
        let first = self.posted.front_mut();
        let (_, collective) = first.expect("it waits for its NIC");
        collective.answered(outcome);
    }

    pub(in crate::transport::smartmap) fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    /// Returns whether the first of them is long.
    pub(super) fn takes_long(&self) -> bool {
        let first = self.posted.front();
        first.is_some_and(|(_, collective)| collective.takes_long())
    }

    pub(in crate::transport::smartmap) fn requests(&self) -> impl Iterator<Item = LocalRequestId> {
        self.posted.iter().map(|(request, _)| *request)
    }

    /// Returns what the first of them waits for.
    pub(in crate::transport::smartmap) fn awaited(
        &self,
        ranks: NodeRanks,
    ) -> Option<AwaitedMember> {
        self.posted.front()?.1.awaited(&self.group, ranks)
    }

    /// Advances as far as possible, up to a long one, unless that is wanted. A rank that does not
    /// poll again by itself `listens`.
    pub(in crate::transport::smartmap) fn advance(
        &mut self,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
        (listens, long): (bool, bool),
        mut done: impl FnMut(LocalRequestId, CollectiveResult),
    ) {
        let group = &mut self.group;
        while let Some((request, collective)) = self.posted.front_mut() {
            if !long && collective.takes_long() {
                return;
            }
            let mut ended = collective.advance(group, around, spare);
            let heard =
                |collective: &dyn CollectiveMachine| collective.listens_for().filter(|_| listens);
            while ended.is_none() && heard(&**collective).is_some_and(|phase| group.listen(phase)) {
                // LISTEN: once more. It may be in its next phase after that.
                ended = collective.advance(group, around, spare);
            }
            let Some(ended) = ended else {
                return;
            };
            group.stop_listening();
            done(*request, group.with_objection(ended));
            self.posted.pop_front();
        }
    }
}
