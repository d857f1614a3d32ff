//! The communicators of a rank, and the memory that their collectives share.

use super::communicator::LocalCommunicator;
use super::direction::LastDirection;
use super::nic_order::NicOrder;
use super::queue::CollectiveQueue;
use super::spare::SpareBuffers;
use std::collections::VecDeque;

/// The communicators with members on this node.
#[derive(Debug, Default)]
pub(in crate::transport::smartmap) struct LocalCommunicators {
    pub(in crate::transport::smartmap) groups: Vec<Option<LocalCommunicator>>,
    /// Those with collectives that are not over.
    pub(in crate::transport::smartmap) busy: Vec<usize>,
    /// Orders for this rank's NIC.
    pub(in crate::transport::smartmap) orders: VecDeque<NicOrder>,
    pub(in crate::transport::smartmap) spare: SpareBuffers,
    pub(in crate::transport::smartmap) last_direction: LastDirection,
    /// Whether the root folds long reductions alone.
    pub(in crate::transport::smartmap) serial: bool,
}

impl LocalCommunicators {
    pub(in crate::transport::smartmap) fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    pub(in crate::transport::smartmap) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// Returns the first collective of a communicator, if it is a long one.
    pub(in crate::transport::smartmap) fn long(&self, group: usize) -> Option<&CollectiveQueue> {
        let queue = self.groups[group].as_ref()?.here()?;
        queue.takes_long().then_some(queue)
    }

    /// Returns long collectives that have to poll again, unless they have listened and had no event
    /// since.
    pub(in crate::transport::smartmap) fn due(
        &self,
        news: u64,
    ) -> impl Iterator<Item = (usize, &CollectiveQueue)> {
        let long = self
            .busy
            .iter()
            .filter_map(|&group| Some((group, self.long(group)?)));
        long.filter(move |(_, queue)| queue.listened != Some(news))
    }
}
