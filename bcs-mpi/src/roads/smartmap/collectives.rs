//! Collectives of ranks that are all here, and the part of a node in those of others: posting them, and going on.

use super::collective::{
    Awaited, Communicator, Communicators, Ended, Exchange, Exchanging, Group, GroupId,
    Hierarchical, Machine, Number, Order, Phased, Queue, Short, Spare, Surroundings, outcome,
};
use super::requests::{Id, State};
use super::state::SmartMap;
use crate::data::LONG_BYTES;
use crate::roads::{Blocking, Outcome, Posted, TooManyRequests};
use crate::steps::Part;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use bcs_core::wake::MachinePage;
use bcs_core::whereabouts::Entered;

/// How often a rank looks at a collective before it does anything else. Where cores are short the others may
/// need this one first.
pub(super) fn looks(page: &MachinePage) -> u32 {
    if page.cores_suffice() { 200 } else { 1 }
}

impl SmartMap {
    /// Posts this rank's part of a collective whose data fit the records. The caller has it looked at.
    pub(crate) fn in_records(
        &mut self,
        group: GroupId,
        part: Part,
        entered: Entered,
        blocking: Blocking,
    ) -> Result<Posted, TooManyRequests> {
        let first = self.first;
        self.post_collective(group, entered, blocking, move |group| {
            Short::new(part, group, first)
        })
    }

    /// The same, of one whose data stay in the members' memory.
    pub(crate) fn in_memory(
        &mut self,
        group: GroupId,
        part: Part,
        entered: Entered,
        blocking: Blocking,
    ) -> Result<Posted, TooManyRequests> {
        self.post_collective(group, entered, blocking, move |_| Phased::new(part))
    }

    /// Posts this rank's part of an exchange. The caller has it looked at.
    pub(crate) fn exchange(
        &mut self,
        group: GroupId,
        exchange: Exchange,
        entered: Entered,
        blocking: Blocking,
    ) -> Result<Posted, TooManyRequests> {
        let first = self.first;
        self.post_collective(group, entered, blocking, move |group| {
            Exchanging::new(exchange, group, first)
        })
    }

    #[inline]
    fn post_collective<M: Machine + 'static>(
        &mut self,
        group: GroupId,
        entered: Entered,
        blocking: Blocking,
        make: impl FnOnce(&Group) -> M + Send + 'static,
    ) -> Result<Posted, TooManyRequests> {
        let Communicators {
            groups,
            busy,
            spare,
            last_direction,
            ..
        } = &mut self.communicators;
        let communicator = groups[group.0].as_mut();
        let communicator = communicator.expect("a communicator is used until it is freed");
        let Some(queue) = communicator.here_mut() else {
            let request = self.requests.open(State::Collective(entered))?;
            self.post(group, request, move |group, _, _| Box::new(make(group)));
            return Ok(Posted::Request(request));
        };
        // When this rank has entered, it looks at once whether the others have: until its stamp is out, that
        // only takes their lines away from them.
        queue.group.prepare(1);
        let mut collective = make(&queue.group);
        if blocking == Blocking::Yes && queue.is_empty() && !collective.takes_long() {
            let around = Surroundings {
                node: &self.node,
                page: &self.page,
                peer_memory: &self.peer_memory,
                last_direction,
                first: self.first,
            };
            for _ in 0..looks(&self.page) {
                if let Some(ended) = queue.advance_unposted(&mut collective, around, spare) {
                    return self.over_at_once(ended);
                }
            }
        }
        let request = self.requests.open(State::Collective(entered))?;
        if queue.is_empty() {
            busy.push(group.0);
        }
        queue.post(request, Box::new(collective));
        Ok(Posted::Request(request))
    }

    /// A collective is over before it was posted.
    #[inline(always)]
    fn over_at_once(&mut self, ended: Ended) -> Result<Posted, TooManyRequests> {
        let Err(failure) = ended else {
            return Ok(Posted::Complete);
        };
        let request = self.requests.open(State::Done(*failure))?;
        Ok(Posted::Request(request))
    }

    /// The same of a collective of several nodes, of which this group is a part. The caller has
    /// [orders](Self::take_order) posted, too.
    pub(crate) fn hierarchical(
        &mut self,
        group: GroupId,
        part: Part,
        entered: Entered,
        sequence: u64,
    ) -> Result<Id, TooManyRequests> {
        let request = self.requests.open(State::Collective(entered))?;
        let number = Number {
            group,
            context: entered.context,
            sequence,
        };
        self.post(group, request, move |group, first, spare| {
            let room = &mut spare.room;
            Box::new(Hierarchical::new((part, number), group, first, room))
        });
        Ok(request)
    }

    fn post(
        &mut self,
        group: GroupId,
        request: Id,
        new: impl FnOnce(&Group, u32, &mut Spare) -> Box<dyn Machine> + Send + 'static,
    ) {
        let Communicators {
            groups,
            busy,
            spare,
            ..
        } = &mut self.communicators;
        let communicator = groups[group.0].as_mut();
        let communicator = communicator.expect("a communicator is used until it is freed");
        if communicator.here().is_some_and(Queue::is_empty) {
            busy.push(group.0);
        }
        communicator.post(request, self.first, spare, new);
    }

    /// What this rank's NIC is to do next.
    pub(crate) fn take_order(&mut self) -> Option<Order> {
        self.communicators.orders.pop_front()
    }

    /// It cannot be posted now.
    pub(crate) fn put_back(&mut self, order: Order) {
        self.communicators.orders.push_front(order);
    }

    /// What became of what this rank's NIC had to do for a group, which [is here](Self::is_here).
    pub(crate) fn answered(&mut self, group: GroupId, outcome: Outcome) {
        let communicator = self.communicators.groups[group.0].as_mut();
        let queue = communicator.and_then(Communicator::here_mut);
        queue
            .expect("a communicator is used until it is freed, and it is here")
            .answered(outcome);
    }

    /// Goes as far as it can with the collectives that are under way. A rank that does not look again by
    /// itself `listens`.
    pub(super) fn advance_collectives(&mut self, listens: bool) {
        if self.communicators.busy.is_empty() {
            return;
        }
        let Communicators {
            groups,
            busy,
            spare,
            orders,
            last_direction,
            ..
        } = &mut self.communicators;
        let around = Surroundings {
            node: &self.node,
            page: &self.page,
            peer_memory: &self.peer_memory,
            last_direction,
            first: self.first,
        };
        let requests = &mut self.requests;
        let mut suspect = None;
        busy.retain(|&group| {
            let communicator = groups[group].as_mut().expect("it is busy");
            let Some(queue) = communicator.here_mut() else {
                return true;
            };
            queue.advance(around, spare, (listens, false), |request, ended| {
                requests.set(request, State::Done(outcome(ended)));
            });
            orders.extend(queue.take_order());
            suspect = suspect.or(queue.group.suspect());
            !queue.is_empty()
        });
        if let Some(place) = suspect {
            self.rubbish(place, "is in a collective that there is not");
        }
    }

    /// Looks at a collective some times, without delay: mostly the others come at about the same time. Returns
    /// whether it is over.
    pub(crate) fn attend(&mut self, request: Id) -> bool {
        for _ in 0..looks(&self.page) {
            self.advance_collectives(false);
            if matches!(self.requests.state(request), Some(State::Done(_))) {
                return true;
            }
            if !self.communicators.orders.is_empty() {
                break; // that is for the caller to do
            }
        }
        false
    }

    /// What has to happen before a communicator's collectives go on.
    pub(crate) fn awaited(&self, group: GroupId) -> Option<Awaited> {
        let communicator = self.communicators.groups[group.0].as_ref();
        communicator?.here()?.awaited(self.first)
    }

    /// Whether nobody waits for this rank to go on with a message.
    pub(crate) fn owes_nothing(&self) -> bool {
        !self.holds() && !self.requests.waiting()
    }

    /// What this rank has entered by a request.
    pub(crate) fn entered_by(&mut self, request: Id) -> Option<Entered> {
        match self.requests.state(request) {
            Some(State::Collective(entered)) => Some(*entered),
            _ => None,
        }
    }

    /// The collectives that this rank has entered and not left.
    pub(crate) fn entered(&mut self) -> Vec<Entered> {
        let Communicators { groups, busy, .. } = &self.communicators;
        let busy = busy.iter().filter_map(|&group| groups[group].as_ref());
        let posted: Vec<Id> = busy.flat_map(Communicator::requests).collect();
        posted
            .into_iter()
            .filter_map(|request| self.entered_by(request))
            .collect()
    }
}

// What is found in the records is never long.
const _: () = assert!(PAYLOAD_BYTES <= LONG_BYTES);
