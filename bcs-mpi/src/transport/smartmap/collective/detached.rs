//! Collectives that go on without the endpoint's lock.
//!
//! One that goes over long data, or calls functions of the program's, is an [`errand`](crate::roads::smartmap::errand).
//! Its communicator goes away with the thread that runs it, which has the queue for itself; what is posted
//! meanwhile waits here. Whoever runs it looks for the others of the communicator some times, and *listens* the
//! last time, as every call does that will not look again by itself: then it is due again when there are news.

use super::direction::LastDirection;
use super::environment::CollectiveEnvironment;
use super::group::GroupId;
use super::machine::CollectiveResult;
use super::queue::CollectiveQueue;
use super::spare::SpareBuffers;
use crate::transport::smartmap::messages::copier::Copier;
use crate::transport::smartmap::requests::LocalRequestId;
use std::sync::atomic::Ordering;

/// A communicator that is away, with the thread that goes on with its collectives.
#[derive(Debug)]
pub(crate) struct DetachedCommunicator {
    pub(in crate::transport::smartmap) group: GroupId,
    pub(in crate::transport::smartmap) queue: CollectiveQueue,
    pub(in crate::transport::smartmap) spare: SpareBuffers,
    pub(in crate::transport::smartmap) last_direction: LastDirection,
    pub(in crate::transport::smartmap) copier: Copier,
    /// The world rank at place 0.
    pub(in crate::transport::smartmap) first: u32,
    /// How often it looks.
    pub(in crate::transport::smartmap) looks: u32,
    pub(in crate::transport::smartmap) listens: bool,
    pub(in crate::transport::smartmap) ended: Vec<(LocalRequestId, CollectiveResult)>,
}

impl DetachedCommunicator {
    /// To what it belongs.
    pub(crate) fn first(&self) -> Option<LocalRequestId> {
        self.queue.requests().next()
    }

    /// Goes on as far as it can. No lock is held.
    pub(crate) fn run(&mut self) {
        let Copier {
            node,
            page,
            peer_memory,
            place,
        } = &self.copier;
        let around = CollectiveEnvironment {
            node,
            page,
            peer_memory,
            last_direction: &self.last_direction,
            first: self.first,
        };
        let ended = &mut self.ended;
        for look in 1..=self.looks {
            let listens = self.listens && look == self.looks;
            // Before the look: what comes later makes it due again.
            let news = node.event_count(*place).load(Ordering::Acquire);
            let done = |request, what| ended.push((request, what));
            self.queue
                .advance(around, &mut self.spare, (listens, true), done);
            self.queue.listened = listens.then_some(news);
            if !ended.is_empty() {
                // Whatever comes next has not listened.
                self.queue.listened = None;
                return;
            }
        }
    }
}
