//! Collectives that advance without the endpoint's lock ([`DetachedCommunicator`]): they are handed
//! out with their communicators, and returned.

use super::collective::{
    CollectiveQueue, DetachedCommunicator, DetachedState, GroupId, LocalCommunicator,
    LocalCommunicators, outcome,
};
use super::collectives::looks;
use super::deferred_copy::LocalDeferredCopy;
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use std::sync::atomic::Ordering;

impl SmartMap {
    #[inline]
    pub(super) fn has_due_collectives(&self) -> bool {
        !self.communicators.busy.is_empty() && {
            let news = self.node.event_count(self.place).load(Ordering::Acquire);
            self.communicators.due(news).next().is_some()
        }
    }

    /// Takes a long collective that has to poll again, if its request `is_mine`. A rank that does
    /// not poll again by itself `listens`.
    pub(super) fn take_due_collective(
        &mut self,
        is_mine: impl Fn(LocalRequestId) -> bool,
        listens: bool,
    ) -> Option<DetachedCommunicator> {
        let news = self.node.event_count(self.place).load(Ordering::Acquire);
        let mine = |queue: &CollectiveQueue| queue.requests().next().is_none_or(&is_mine);
        let mut due = self.communicators.due(news);
        let (group, _) = due.find(|(_, queue)| mine(queue))?;
        drop(due);
        self.take_away(group, (1, listens))
    }

    /// Takes the first collective of a communicator, if it is a long one, to poll it a few times.
    pub(crate) fn take_long(&mut self, group: GroupId) -> Option<LocalDeferredCopy> {
        self.communicators.long(group.0)?;
        let looks = looks(&self.page);
        let absent = self.take_away(group.0, (looks, false))?;
        Some(LocalDeferredCopy::Collective(Box::new(absent)))
    }

    fn take_away(
        &mut self,
        group: usize,
        (looks, listens): (u32, bool),
    ) -> Option<DetachedCommunicator> {
        let copier = self.copier();
        let LocalCommunicators {
            groups,
            spare,
            last_direction,
            ..
        } = &mut self.communicators;
        let communicator = groups[group].as_mut()?;
        let queue = communicator.here()?;
        let away = LocalCommunicator::Detached(DetachedState {
            requests: queue.requests().collect(),
            posted: Vec::new(),
            closed: false,
        });
        let LocalCommunicator::Attached(queue) = std::mem::replace(communicator, away) else {
            unreachable!("it is here");
        };
        Some(DetachedCommunicator {
            group: GroupId(group),
            queue,
            spare: std::mem::take(spare),
            last_direction: last_direction.clone(),
            copier,
            ranks: self.ranks,
            looks,
            listens,
            ended: Vec::new(),
        })
    }

    /// Takes back a communicator.
    pub(super) fn returned(&mut self, absent: DetachedCommunicator) {
        let DetachedCommunicator {
            group,
            mut queue,
            spare,
            last_direction,
            ended,
            ..
        } = absent;
        self.communicators.spare.join(spare);
        self.communicators.last_direction = last_direction;
        let Some(LocalCommunicator::Detached(away)) = self.communicators.groups[group.0].take()
        else {
            unreachable!("its place is kept");
        };
        for (request, make) in away.posted {
            let posted = make(&queue.group, self.ranks, &mut self.communicators.spare);
            queue.post(request, posted);
        }
        for (request, ended) in ended {
            self.requests
                .set(request, LocalRequestState::Done(outcome(ended)));
        }
        self.communicators.orders.extend(queue.take_order());
        if let Some(place) = queue.group.suspect() {
            self.abort_on_corruption(place, "is in a collective that there is not");
        }
        if queue.is_empty() || away.closed {
            self.communicators.busy.retain(|&busy| busy != group.0);
        }
        if !away.closed {
            self.communicators.groups[group.0] = Some(LocalCommunicator::Attached(queue));
        }
    }
}
