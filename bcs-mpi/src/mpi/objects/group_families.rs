//! The families of context ids of groups that agree on their own.

use super::context_ids::{CommFamily, HeldContextIds};
use bcs_core::lockstep;
use std::sync::{Arc, Mutex};

/// The number of families of groups that are kept with a communicator. When a family is dropped,
/// its given-back ids pass to the communicator's own family. They are free after the next
/// communicator that all of its members make.
const MAX_GROUP_FAMILIES: usize = 32;

/// The families of the groups that most recently made a communicator, the latest at the end.
#[derive(Debug, Default)]
pub(in crate::mpi) struct GroupFamilies(Mutex<Vec<(Vec<u32>, Arc<CommFamily>)>>);

impl GroupFamilies {
    pub(in crate::mpi) fn of(
        &self,
        members: &[u32],
        held: &Arc<HeldContextIds>,
        parent: &Arc<CommFamily>,
    ) -> Arc<CommFamily> {
        let mut kept = lockstep::lock(&self.0);
        let place = kept.iter().position(|(group, _)| group == members);
        let entry = place.map(|place| kept.remove(place)).unwrap_or_else(|| {
            let family = CommFamily::new(held.clone(), members.len(), Some(parent.clone()));
            (members.to_vec(), family)
        });
        let family = entry.1.clone();
        kept.push(entry);
        if kept.len() > MAX_GROUP_FAMILIES {
            kept.remove(0);
        }
        family
    }
}
