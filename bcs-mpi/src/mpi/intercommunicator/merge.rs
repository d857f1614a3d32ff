//! `MPI_Intercomm_merge` (MPI 5.0, 7.6.2): two groups become one.

use crate::call_site;
use crate::mpi::create::Child;
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::objects::members::Members;
use crate::mpi::{Comm, Result};
use crate::recording::{CallTiming, Primitive, Site};

/// Returns a group's answer, with a bit for each possible one; those of the second group are above.
fn said(first: bool, high: bool) -> u64 {
    let of_group = if high { 0b10 } else { 0b01 };
    if first { of_group } else { of_group << 2 }
}

impl Comm {
    /// `MPI_Intercomm_merge`: an intracommunicator of both groups. The group that passes `high`
    /// comes after the other. If both pass the same, the group with the lowest rank of the world
    /// comes first (in a communicator that was made of an intercommunicator, the order is as it was
    /// there). Keys and attributes are not copied.
    ///
    /// # Errors
    /// When this is not an intercommunicator, the ranks of a group do not pass the same (all get
    /// the error), and as [`dup`](Self::dup).
    #[track_caller]
    pub fn intercomm_merge(&self, high: bool) -> Result<Self> {
        let site = Site::here();
        let operation = Operation::plain("MPI_Intercomm_merge");
        let remote = self.remote(operation)?;
        let merge = |_| {
            let mut words = [said(remote.local_is_first, high)];
            self.allreduce_or(&mut words, operation)?;
            let [all] = words;
            for (group, first) in [(all & 0b11, 0), (all >> 2, remote.first_len())] {
                if group == 0b11 {
                    let member = remote.all[first];
                    let reason = format!(
                        "the ranks of one group do not all say the same: that of rank {member} of \
                         the world"
                    );
                    return Err(operation.error(ErrorClass::NotSame, reason));
                }
            }
            let mut places: Vec<usize> = (0..remote.all.len()).collect();
            if all == said(true, true) | said(false, false) {
                places.rotate_left(remote.first_len());
            }
            let child = |_: &[u64]| {
                let members = places.clone();
                vec![Child { members }]
            };
            let (_, ids) = self.agree(&[], operation, child)?;
            let own = self.place_among_all();
            let me = places.iter().position(|&place| place == own);
            let members = places.iter().map(|&place| remote.all[place]).collect();
            let group = Members::new(members, me.expect("this rank is in one of the groups"));
            let id = ids.into_iter().next().flatten();
            let comm = self.child((group, None), id, None, operation);
            let made = self.keep_if_all_succeeded(comm, id, operation, |words| {
                self.allreduce_or(words, operation)
            })?;
            made.is_made_by(operation.call, self, site);
            Ok(made)
        };
        let _at = call_site::enter(site);
        self.record_call(
            (Primitive::IntercommMerge, CallTiming::Waits),
            &operation,
            merge,
        )
    }
}
