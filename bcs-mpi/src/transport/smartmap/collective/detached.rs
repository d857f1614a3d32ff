//! Collectives that advance without the endpoint's lock.
//!
//! A collective of long data, or one that calls functions of the program, is a [deferred
//! copy](crate::transport::smartmap::deferred_copy). Its communicator is detached with the thread
//! that runs it, which has the queue for itself. Collectives that are posted meanwhile wait here.
//! The thread polls the other members a few times, and *listens* the last time, as every call does
//! that will not poll again by itself. The collective is due again when there are events.

use super::direction::LastDirection;
use super::environment::CollectiveEnvironment;
use super::group::GroupId;
use super::machine::CollectiveResult;
use super::queue::CollectiveQueue;
use super::spare::SpareBuffers;
use crate::transport::smartmap::messages::copier::Copier;
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::job::NodeRanks;
use std::sync::atomic::Ordering;

/// A detached communicator, with the thread that advances its collectives.
#[derive(Debug)]
pub(crate) struct DetachedCommunicator {
    pub(in crate::transport::smartmap) group: GroupId,
    pub(in crate::transport::smartmap) queue: CollectiveQueue,
    pub(in crate::transport::smartmap) spare: SpareBuffers,
    pub(in crate::transport::smartmap) last_direction: LastDirection,
    pub(in crate::transport::smartmap) copier: Copier,
    /// The ranks of this node.
    pub(in crate::transport::smartmap) ranks: NodeRanks,
    /// How often it polls.
    pub(in crate::transport::smartmap) looks: u32,
    pub(in crate::transport::smartmap) listens: bool,
    pub(in crate::transport::smartmap) ended: Vec<(LocalRequestId, CollectiveResult)>,
}

impl DetachedCommunicator {
    /// Returns the request that it belongs to.
    pub(crate) fn first(&self) -> Option<LocalRequestId> {
        self.queue.requests().next()
    }

    /// Advances as far as possible. The caller holds no lock.
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
            ranks: self.ranks,
        };
        let ended = &mut self.ended;
        for look in 1..=self.looks {
            let listens = self.listens && look == self.looks;
            // Read before the poll: a later event makes it due again.
            let news = node.event_count(*place).load(Ordering::Acquire);
            let done = |request, what| ended.push((request, what));
            self.queue
                .advance(around, &mut self.spare, (listens, true), done);
            self.queue.listened = listens.then_some(news);
            if !ended.is_empty() {
                // The next collective has not listened.
                self.queue.listened = None;
                return;
            }
        }
    }
}
