//! Collectives of local ranks, and the part of a node in the others: posting and advancing them.

use super::collective::{
    AwaitedMember, CollectiveEnvironment, CollectiveMachine, CollectiveNumber, CollectiveQueue,
    CollectiveResult, ExchangeMachine, GroupId, HierarchicalCollective, LocalCommunicator,
    LocalCommunicators, LocalExchange, LocalGroup, NicOrder, PhasedCollective, ShortCollective,
    SpareBuffers, outcome,
};
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use crate::data::LONG_BYTES;
use crate::steps::CollectiveArguments;
use crate::transport::{Blocking, PostedSend, RequestOutcome, TooManyRequests};
use bcs_core::job::NodeRanks;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use bcs_core::wait_state::EnteredCollective;
use bcs_core::wake::MachinePage;

/// Returns how often a rank polls a collective before it does anything else. If cores are short the
/// others may need this one first.
pub(super) fn looks(page: &MachinePage) -> u32 {
    if page.cores_suffice() { 200 } else { 1 }
}

impl SmartMap {
    /// Posts this rank's part of a collective whose data fit the records. The caller polls it.
    pub(crate) fn in_records(
        &mut self,
        group: GroupId,
        part: CollectiveArguments,
        entered: EnteredCollective,
        blocking: Blocking,
    ) -> Result<PostedSend, TooManyRequests> {
        let ranks = self.ranks;
        self.post_collective(group, entered, blocking, move |group| {
            ShortCollective::new(part, group, ranks)
        })
    }

    /// Posts this rank's part of a collective whose data stay in the members' memory.
    pub(crate) fn in_memory(
        &mut self,
        group: GroupId,
        part: CollectiveArguments,
        entered: EnteredCollective,
        blocking: Blocking,
    ) -> Result<PostedSend, TooManyRequests> {
        self.post_collective(group, entered, blocking, move |_| {
            PhasedCollective::new(part)
        })
    }

    /// Posts this rank's part of an exchange. The caller polls it.
    pub(crate) fn exchange(
        &mut self,
        group: GroupId,
        exchange: LocalExchange,
        entered: EnteredCollective,
        blocking: Blocking,
    ) -> Result<PostedSend, TooManyRequests> {
        let ranks = self.ranks;
        self.post_collective(group, entered, blocking, move |group| {
            ExchangeMachine::new(exchange, group, ranks)
        })
    }

    #[inline]
    fn post_collective<M: CollectiveMachine + 'static>(
        &mut self,
        group: GroupId,
        entered: EnteredCollective,
        blocking: Blocking,
        make: impl FnOnce(&LocalGroup) -> M + Send + 'static,
    ) -> Result<PostedSend, TooManyRequests> {
        let LocalCommunicators {
            groups,
            busy,
            spare,
            last_direction,
            ..
        } = &mut self.communicators;
        let communicator = groups[group.0].as_mut();
        let communicator = communicator.expect("a communicator is used until it is freed");
        let Some(queue) = communicator.here_mut() else {
            let request = self.requests.open(LocalRequestState::Collective(entered))?;
            self.post(group, request, move |group, _, _| Box::new(make(group)));
            return Ok(PostedSend::Request(request));
        };
        // After its entry, this rank polls the others at once. Until its own stamp is visible, that
        // only takes their lines away from them.
        queue.group.prepare(1);
        let mut collective = make(&queue.group);
        if blocking == Blocking::Yes && queue.is_empty() && !collective.takes_long() {
            let around = CollectiveEnvironment {
                node: &self.node,
                page: &self.page,
                peer_memory: &self.peer_memory,
                last_direction,
                ranks: self.ranks,
            };
            for _ in 0..looks(&self.page) {
                if let Some(ended) = queue.advance_unposted(&mut collective, around, spare) {
                    return self.over_at_once(ended);
                }
            }
        }
        let request = self.requests.open(LocalRequestState::Collective(entered))?;
        if queue.is_empty() {
            busy.push(group.0);
        }
        queue.post(request, Box::new(collective));
        Ok(PostedSend::Request(request))
    }

    /// Returns a collective that is over before it was posted.
    #[inline(always)]
    fn over_at_once(&mut self, ended: CollectiveResult) -> Result<PostedSend, TooManyRequests> {
        let Err(failure) = ended else {
            return Ok(PostedSend::Complete);
        };
        let request = self.requests.open(LocalRequestState::Done(*failure))?;
        Ok(PostedSend::Request(request))
    }

    /// Posts this rank's part of a collective of several nodes, of which this group is a part. The
    /// caller posts its [orders](Self::take_order), too.
    pub(crate) fn hierarchical(
        &mut self,
        group: GroupId,
        part: CollectiveArguments,
        entered: EnteredCollective,
        sequence: u64,
    ) -> Result<LocalRequestId, TooManyRequests> {
        let request = self.requests.open(LocalRequestState::Collective(entered))?;
        let number = CollectiveNumber {
            group,
            context: entered.context,
            sequence,
        };
        self.post(group, request, move |group, ranks, spare| {
            let room = &mut spare.room;
            Box::new(HierarchicalCollective::new(
                (part, number),
                group,
                ranks,
                room,
            ))
        });
        Ok(request)
    }

    fn post(
        &mut self,
        group: GroupId,
        request: LocalRequestId,
        new: impl FnOnce(&LocalGroup, NodeRanks, &mut SpareBuffers) -> Box<dyn CollectiveMachine>
        + Send
        + 'static,
    ) {
        let LocalCommunicators {
            groups,
            busy,
            spare,
            ..
        } = &mut self.communicators;
        let communicator = groups[group.0].as_mut();
        let communicator = communicator.expect("a communicator is used until it is freed");
        if communicator.here().is_some_and(CollectiveQueue::is_empty) {
            busy.push(group.0);
        }
        communicator.post(request, self.ranks, spare, new);
    }

    /// Takes the next order for this rank's NIC.
    pub(crate) fn take_order(&mut self) -> Option<NicOrder> {
        self.communicators.orders.pop_front()
    }

    /// Puts back an order that cannot be posted now.
    pub(crate) fn put_back(&mut self, order: NicOrder) {
        self.communicators.orders.push_front(order);
    }

    /// Passes on the outcome of an order for this rank's NIC. The group [is here](Self::is_here).
    pub(crate) fn answered(&mut self, group: GroupId, outcome: RequestOutcome) {
        let communicator = self.communicators.groups[group.0].as_mut();
        let queue = communicator.and_then(LocalCommunicator::here_mut);
        queue
            .expect("a communicator is used until it is freed, and it is here")
            .answered(outcome);
    }

    /// Advances the collectives that are under way as far as possible. A rank that does not poll
    /// again by itself `listens`.
    pub(super) fn advance_collectives(&mut self, listens: bool) {
        if self.communicators.busy.is_empty() {
            return;
        }
        let LocalCommunicators {
            groups,
            busy,
            spare,
            orders,
            last_direction,
            ..
        } = &mut self.communicators;
        let around = CollectiveEnvironment {
            node: &self.node,
            page: &self.page,
            peer_memory: &self.peer_memory,
            last_direction,
            ranks: self.ranks,
        };
        let requests = &mut self.requests;
        let mut suspect = None;
        busy.retain(|&group| {
            let communicator = groups[group].as_mut().expect("it is busy");
            let Some(queue) = communicator.here_mut() else {
                return true;
            };
            queue.advance(around, spare, (listens, false), |request, ended| {
                requests.set(request, LocalRequestState::Done(outcome(ended)));
            });
            orders.extend(queue.take_order());
            suspect = suspect.or(queue.group.suspect());
            !queue.is_empty()
        });
        if let Some(place) = suspect {
            self.abort_on_corruption(place, "is in a collective that there is not");
        }
    }

    /// Polls a collective a few times without delay: mostly the others arrive at about the same
    /// time. Returns whether it is over.
    pub(crate) fn poll_collective(&mut self, request: LocalRequestId) -> bool {
        for _ in 0..looks(&self.page) {
            self.advance_collectives(false);
            if matches!(
                self.requests.state(request),
                Some(LocalRequestState::Done(_))
            ) {
                return true;
            }
            if !self.communicators.orders.is_empty() {
                break; // the caller does that
            }
        }
        false
    }

    /// Returns what has to happen before a communicator's collectives go on.
    pub(crate) fn awaited(&self, group: GroupId) -> Option<AwaitedMember> {
        let communicator = self.communicators.groups[group.0].as_ref();
        communicator?.here()?.awaited(self.ranks)
    }

    /// Returns whether no peer waits for this rank to go on with a message.
    pub(crate) fn owes_nothing(&self) -> bool {
        !self.holds() && !self.requests.waiting()
    }

    /// Returns the collective that this rank has entered by a request.
    pub(crate) fn entered_by(&mut self, request: LocalRequestId) -> Option<EnteredCollective> {
        match self.requests.state(request) {
            Some(LocalRequestState::Collective(entered)) => Some(*entered),
            _ => None,
        }
    }

    /// Returns the collectives that this rank has entered and not left.
    pub(crate) fn entered(&mut self) -> Vec<EnteredCollective> {
        let LocalCommunicators { groups, busy, .. } = &self.communicators;
        let busy = busy.iter().filter_map(|&group| groups[group].as_ref());
        let posted: Vec<LocalRequestId> = busy.flat_map(LocalCommunicator::requests).collect();
        posted
            .into_iter()
            .filter_map(|request| self.entered_by(request))
            .collect()
    }
}

// Data in the records are never long.
const _: () = assert!(PAYLOAD_BYTES <= LONG_BYTES);
