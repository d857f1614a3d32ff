//! The communicators with members on this node.

use super::collective::{CollectiveQueue, GroupId, LocalCommunicator, LocalGroup};
use super::state::SmartMap;
use bcs_core::job::FoldingMode;

impl SmartMap {
    /// Opens a context for those of its members, given as world ranks, that are on this node. A
    /// `fresh` one is unused. Otherwise others may have used it already, and no member may use it
    /// before all have opened it. Returns `None` if this rank is not a member.
    pub(crate) fn open_group(
        &mut self,
        context: u32,
        members: impl Iterator<Item = u32>,
        fresh: bool,
    ) -> Option<GroupId> {
        let places = members.filter_map(|rank| self.place_of(rank)).collect();
        let mut group = LocalGroup::open(&self.node, context, places, self.place, fresh)?;
        group.serial = self.communicators.serial;
        let starting = self.ranks.starting() as usize;
        group.divide(starting * self.page.nodes() <= self.page.cores_at_start());
        let groups = &mut self.communicators.groups;
        let free = groups.iter().position(Option::is_none);
        let index = free.unwrap_or(groups.len());
        if index == groups.len() {
            groups.push(None);
        }
        groups[index] = Some(LocalCommunicator::Attached(CollectiveQueue::new(group)));
        Some(GroupId(index))
    }

    /// Sets which members fold long reductions on the communicators that are opened from now on. It
    /// is the same at all ranks.
    pub(crate) fn fold_by(&mut self, folding: FoldingMode) {
        self.communicators.serial = folding == FoldingMode::Serial;
    }

    /// Closes the communicator for this rank.
    pub(crate) fn close_group(&mut self, group: GroupId) {
        let communicator = &mut self.communicators.groups[group.0];
        if let Some(LocalCommunicator::Detached(away)) = communicator {
            return away.close();
        }
        *communicator = None;
        self.communicators.busy.retain(|&busy| busy != group.0);
    }

    /// Returns whether a communicator is not detached.
    pub(crate) fn is_here(&self, group: GroupId) -> bool {
        let communicator = self.communicators.groups[group.0].as_ref();
        communicator.is_some_and(|it| it.here().is_some())
    }
}
