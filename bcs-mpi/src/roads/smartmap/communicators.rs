//! The communicators with members on this node.

use super::collective::{Communicator, Group, GroupId, Queue};
use super::state::SmartMap;
use bcs_core::job::Folding;

impl SmartMap {
    /// Opens a context, of which the members are these world ranks, if all are on this node. A `fresh`
    /// one has been used by nobody, and others may have used it already; otherwise no member may use it
    /// before all have opened it.
    pub(crate) fn open_group(
        &mut self,
        context: u32,
        members: impl Iterator<Item = u32>,
        fresh: bool,
    ) -> Option<GroupId> {
        let places: Option<Vec<usize>> = members.map(|rank| self.place_of(rank)).collect();
        self.open_places(context, places?, fresh)
    }

    /// The same with those of them that are on this node, if there are others beside this rank.
    pub(crate) fn open_part(
        &mut self,
        context: u32,
        members: impl Iterator<Item = u32>,
        fresh: bool,
    ) -> Option<GroupId> {
        let places: Vec<usize> = members.filter_map(|rank| self.place_of(rank)).collect();
        if places.len() < 2 {
            return None;
        }
        self.open_places(context, places, fresh)
    }

    fn open_places(&mut self, context: u32, places: Vec<usize>, fresh: bool) -> Option<GroupId> {
        let mut group = Group::open(&self.node, context, places, self.place, fresh)?;
        group.serial = self.communicators.serial;
        let groups = &mut self.communicators.groups;
        let free = groups.iter().position(Option::is_none);
        let index = free.unwrap_or(groups.len());
        if index == groups.len() {
            groups.push(None);
        }
        groups[index] = Some(Communicator::Here(Queue::new(group)));
        Some(GroupId(index))
    }

    /// Who folds long reductions on the communicators that are opened from now on: the same at all ranks.
    pub(crate) fn fold_by(&mut self, folding: Folding) {
        self.communicators.serial = folding == Folding::Serial;
    }

    /// This rank uses the communicator no more.
    pub(crate) fn close_group(&mut self, group: GroupId) {
        let communicator = &mut self.communicators.groups[group.0];
        if let Some(Communicator::Away(away)) = communicator {
            return away.close();
        }
        *communicator = None;
        self.communicators.busy.retain(|&busy| busy != group.0);
    }

    /// Which member of a communicator a world rank is, which is one.
    pub(crate) fn member(&self, group: GroupId, rank: u32) -> usize {
        let communicator = self.communicators.groups[group.0].as_ref();
        let communicator = communicator.expect("a communicator is used until it is freed");
        if let Some(queue) = communicator.here() {
            return queue.group.place_of(rank, self.first);
        }
        let place = self.place_of(rank);
        let mut members = communicator.members().iter();
        let member = members.position(|member| Some(member.place) == place);
        member.expect("it is a member")
    }

    /// How many members a communicator has.
    pub(crate) fn members(&self, group: GroupId) -> usize {
        let communicator = self.communicators.groups[group.0].as_ref();
        communicator.map_or(0, |it| it.members().len())
    }

    /// Whether a communicator is not away.
    pub(crate) fn is_here(&self, group: GroupId) -> bool {
        let communicator = self.communicators.groups[group.0].as_ref();
        communicator.is_some_and(|it| it.here().is_some())
    }
}
