//! Contexts: which communicators this rank knows, and who of them is on its node.
//!
//! If all members of a context are on this rank's node, and its messages go from memory to memory, NICs
//! never hear of it: no receive of it looks elsewhere, and no collective of it has a number.
#![expect(
    unsafe_code,
    reason = "the list of members is named by address, as the NIC needs it"
)]

use crate::endpoint::{Endpoint, Request, State};
use crate::roads::smartmap::GroupId;
use crate::roads::{Handle, TooManyRequests};
use crate::schedules::Context;
use crate::steps::Part;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::Collectives;
use bcs_core::limits::ARRIVAL_HINTS_PER_CONTEXT;
use bcs_core::whereabouts;

impl State {
    /// Whether these members are all on this node, and do everything without NICs. As for
    /// [`open_groups`](Self::open_groups), a rank alone has no collectives.
    fn does_without_nic(&self, members: &[u32]) -> bool {
        let near = self.roads.near.as_ref().filter(|_| members.len() > 1);
        near.is_some_and(|near| members.iter().all(|&member| near.is_near(member)))
    }

    /// Opens the group of all members of a context, if they are on this node; or of those that are, if these
    /// do their part of collectives.
    fn open_groups(
        &mut self,
        context: u32,
        members: impl ExactSizeIterator<Item = u32> + Clone,
        (fresh, collectives): (bool, Collectives),
    ) -> (Option<GroupId>, Option<GroupId>) {
        let Some(near) = self.roads.near.as_mut().filter(|_| members.len() > 1) else {
            return (None, None);
        };
        let all = near.open_group(context, members.clone(), fresh);
        if all.is_some() || collectives == Collectives::Nic {
            return (all, None);
        }
        (None, near.open_part(context, members, fresh))
    }
}

impl Endpoint {
    pub(crate) fn know_world(&self) {
        // The page was made for this job, so its counters started from 0: they are not looked up,
        // since other ranks may have arrived at the first collective before this one came to be.
        let (base, place) = ([0; ARRIVAL_HINTS_PER_CONTEXT], self.place);
        let world = Context {
            sequence: 0,
            local: place.local_ranks,
            size: place.ranks,
            base,
            schedules: 0,
            entered: 0,
            group: 0,
            near: None,
            here: None,
        };
        let mut state = self.lock();
        // Its records are as fresh as the page.
        let (near, here) = state.open_groups(0, 0..place.ranks, (true, self.settings.collectives));
        state.contexts.insert(
            0,
            Context {
                near,
                here,
                ..world
            },
        );
    }

    /// Makes a context known to this rank's NIC, unless all members are on this rank's node and do without.
    ///
    /// The request has to be waited for, then [`opened`](Self::bcs_opened) called, and then all
    /// members have to have done so, before anybody uses the context.
    ///
    /// # Safety
    /// `members`, the world ranks in the order of the communicator, stays until the request is
    /// done.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub unsafe fn bcs_open(
        &self,
        context: u32,
        members: &[u32],
    ) -> Result<Request, TooManyRequests> {
        // The list is little-endian, as this machine is (asserted where addresses are used).
        let part = Part {
            kind: CollectiveKind::OpenContext,
            bytes: size_of_val(members),
            input: Some(members.as_ptr().expose_provenance() as u64),
            output: 0,
        };
        let mut state = self.lock();
        if state.does_without_nic(members) {
            return Ok(Request::on(Handle::Complete(0)));
        }
        // SAFETY: the caller's promise.
        unsafe { self.post_at_once(&mut state, context, 0, part) }
    }

    /// The context of these members is open at this rank's NIC, or does without it; `local` of them are on
    /// this node.
    /// Nobody may have used it yet.
    pub fn bcs_opened(&self, context: u32, members: &[u32], local: u32) {
        let base =
            std::array::from_fn(|lane| self.page.arrivals(self.place.node, context, lane as u64));
        let mut state = self.lock();
        let (near, here) = state.open_groups(
            context,
            members.iter().copied(),
            (false, self.settings.collectives),
        );
        state.contexts.insert(
            context,
            Context {
                sequence: 0,
                local,
                size: u32::try_from(members.len()).expect("MAX_RANKS fits u32"),
                base,
                schedules: 0,
                entered: 0,
                group: whereabouts::fingerprint(members),
                near,
                here,
            },
        );
    }

    /// This rank uses the context no more. The id is free when all members' requests are done.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_close(&self, context: u32) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        let closed = state.contexts.remove(context);
        let groups = closed.as_ref().map(|closed| [closed.near, closed.here]);
        if let Some((near, groups)) = state.roads.near.as_mut().zip(groups) {
            groups
                .into_iter()
                .flatten()
                .for_each(|group| near.close_group(group));
        }
        if closed.as_ref().and_then(Context::near).is_some() {
            return Ok(Request::on(Handle::Complete(0))); // No NIC has heard of it.
        }
        // What was done without the NIC it has not counted.
        let sequence = closed.map_or(0, |closed| closed.sequence);
        let part = Part {
            kind: CollectiveKind::CloseContext,
            bytes: 0,
            input: None,
            output: 0,
        };
        // SAFETY: there is no memory to promise.
        unsafe { self.post_at_once(&mut state, context, sequence, part) }
    }
}
