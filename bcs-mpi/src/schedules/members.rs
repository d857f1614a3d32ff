//! The communicator of a collective.

use crate::data::DataView;

/// The communicator of a collective.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    /// The id of its context.
    pub context: u32,
    /// World ranks in its order.
    pub world: &'a [u32],
    /// This rank's place among them.
    pub me: usize,
}

impl Members<'_> {
    /// Returns all other members, with their blocks. The member after this rank comes first, so
    /// that not all ranks send to the same one first.
    pub(crate) fn others(&self, blocks: impl Fn(usize) -> DataView) -> Vec<(u32, DataView)> {
        let size = self.world.len();
        (1..size)
            .map(|step| (self.me + step) % size)
            .map(|place| (self.world[place], blocks(place)))
            .collect()
    }
}
