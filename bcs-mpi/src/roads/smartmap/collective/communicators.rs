//! The communicators of a rank, and what their collectives share.

use super::communicator::Communicator;
use super::direction::LastDirection;
use super::order::Order;
use super::queue::Queue;
use super::spare::Spare;
use std::collections::VecDeque;

/// The communicators with members on this node.
#[derive(Debug, Default)]
pub(in crate::roads::smartmap) struct Communicators {
    pub(in crate::roads::smartmap) groups: Vec<Option<Communicator>>,
    /// Those with collectives that are not over.
    pub(in crate::roads::smartmap) busy: Vec<usize>,
    /// What this rank's NIC is to do.
    pub(in crate::roads::smartmap) orders: VecDeque<Order>,
    pub(in crate::roads::smartmap) spare: Spare,
    pub(in crate::roads::smartmap) last_direction: LastDirection,
    /// The root folds long reductions alone.
    pub(in crate::roads::smartmap) serial: bool,
}

impl Communicators {
    pub(in crate::roads::smartmap) fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    pub(in crate::roads::smartmap) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// The first collective of a communicator, if it is a long one.
    pub(in crate::roads::smartmap) fn long(&self, group: usize) -> Option<&Queue> {
        let queue = self.groups[group].as_ref()?.here()?;
        queue.takes_long().then_some(queue)
    }

    /// Long collectives that have to look again, unless they have listened and heard nothing since.
    pub(in crate::roads::smartmap) fn due(
        &self,
        news: u64,
    ) -> impl Iterator<Item = (usize, &Queue)> {
        let long = self
            .busy
            .iter()
            .filter_map(|&group| Some((group, self.long(group)?)));
        long.filter(move |(_, queue)| queue.listened != Some(news))
    }
}
