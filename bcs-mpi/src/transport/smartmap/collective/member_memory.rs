//! Reading the memory of other members.

use super::direction::Direction;
use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use crate::data::{DataView, own_memory};
use bcs_core::layout::Location;

impl LocalGroup {
    /// Copies from the memory of a member.
    ///
    /// # Errors
    /// The world rank whose memory is not mapped: that member, or this rank.
    pub(super) fn fetch(
        &self,
        around: CollectiveEnvironment<'_>,
        member: usize,
        from: u64,
        into: &DataView,
    ) -> Result<(), u32> {
        let place = self.members[member].place;
        let location = Location::contiguous(from);
        let fetched = around
            .peer_memory
            .fetch(around.node, place, location, into, 0..into.len());
        fetched.map_err(|_| {
            let takes = own_memory::is_writable(into, into.len());
            self.rank_of(if takes { member } else { self.me }, around.ranks)
        })
    }

    /// Does the same for long data.
    pub(super) fn fetch_along(
        &self,
        around: CollectiveEnvironment<'_>,
        direction: Direction,
        (member, from): (usize, u64),
        into: &DataView,
    ) -> Result<(), u32> {
        let Some(into) = into.plain() else {
            return self.fetch(around, member, from, into);
        };
        direction.stretches(into.len()).try_for_each(|stretch| {
            let from = from.wrapping_add(stretch.start as u64);
            self.fetch(around, member, from, &into.part(stretch).into())
        })
    }

    /// Returns whether the others can read memory of this rank in place.
    pub(super) fn is_in_slot(
        &self,
        around: CollectiveEnvironment<'_>,
        address: u64,
        len: usize,
    ) -> bool {
        let place = self.members[self.me].place;
        around.peer_memory.resolve(place, address, len).is_some()
    }
}
