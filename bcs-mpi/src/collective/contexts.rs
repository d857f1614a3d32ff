//! Contexts: the communicators that this rank knows, and their members on its node.
//!
//! If all members of a context are on this rank's node, and its messages go from memory to memory,
//! NICs do not know the context. No receive of it uses the NIC, and no collective of it has a
//! number.
#![expect(
    unsafe_code,
    reason = "the list of members is named by address, as the NIC needs it"
)]

use super::algorithm;
use crate::data::ByteRange;
use crate::endpoint::{Endpoint, EndpointState, Request};
use crate::schedules::{Context, Locality};
use crate::steps::CollectiveArguments;
use crate::transport::smartmap::SmartMap;
use crate::transport::{TooManyRequests, TransportHandle};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::wait_state::{self, CommunicatorLabel, MemberRange};

impl Endpoint {
    /// Returns which of these members do collectives in each other's memory. `open` opens their
    /// group.
    fn locality<G>(
        &self,
        state: &mut EndpointState,
        members: impl ExactSizeIterator<Item = u32>,
        open: impl FnOnce(&mut SmartMap) -> Option<G>,
    ) -> Locality<G> {
        let Some(near) = state.mux.local.as_mut() else {
            return Locality::Apart;
        };
        let (size, collectives) = (members.len(), self.settings.collectives);
        let here = members.filter(|&member| near.is_local(member)).count();
        algorithm::locality(size, here, collectives, || open(near))
    }

    /// Makes a context of these members known to this rank. A `fresh` one is unused; otherwise
    /// others may have used it already.
    fn know(
        &self,
        state: &mut EndpointState,
        id: u32,
        members: impl ExactSizeIterator<Item = u32> + Clone,
        fresh: bool,
        context: Context,
    ) {
        let known = MemberRange::of(members.clone());
        let all = members.clone();
        let open = |near: &mut SmartMap| near.open_group(id, all, fresh);
        let locality = self.locality(state, members, open);
        let context = Context {
            size: known.size,
            members: known,
            locality,
            ..context
        };
        state.contexts.insert(id, context);
    }

    pub(crate) fn know_world(&self) {
        // The page was made for this job, so its counters started from 0. They are not read, since
        // other ranks may have arrived at the first collective before this endpoint existed. The
        // records are fresh, too.
        if self.location.rank >= self.location.ranks {
            return; // A rank that was spawned is not in it.
        }
        let world = Context {
            local: self.location.local.starting(),
            ..Context::default()
        };
        self.know(&mut self.lock(), 0, 0..self.location.ranks, true, world);
    }

    /// Makes a context known to this rank's NIC, unless all members are on this rank's node and
    /// need no NIC.
    ///
    /// The caller has to wait for the request and then call [`opened`](Self::bcs_opened). No member
    /// may use the context before all members have done so.
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
        // SAFETY: the caller's promise.
        unsafe { self.open_in(&mut self.lock(), context, members) }
    }

    /// Does the same for a caller that has the lock.
    ///
    /// # Safety
    /// As for [`bcs_open`](Self::bcs_open).
    pub(crate) unsafe fn open_in(
        &self,
        state: &mut EndpointState,
        context: u32,
        members: &[u32],
    ) -> Result<Request, TooManyRequests> {
        // The list is little-endian, as this machine is (asserted where addresses are used).
        let (address, bytes) = (members.as_ptr(), size_of_val(members));
        // SAFETY: the caller's promise.
        let list = unsafe { ByteRange::new(address.expose_provenance() as u64, bytes) };
        let part = CollectiveArguments {
            bytes,
            input: Some(list),
            ..CollectiveArguments::without_data(CollectiveKind::OpenContext)
        };
        let locality = self.locality(state, members.iter().copied(), |_| Some(()));
        if matches!(locality, Locality::OneNode(())) {
            return Ok(Request::on(TransportHandle::Complete(0)));
        }
        self.post_at_once(state, context, 0, part)
    }

    /// Records that the context of these members is open at this rank's NIC, or needs none; `local`
    /// of them are on this node. No member may have used it yet.
    pub fn bcs_opened(&self, context: u32, members: &[u32], local: u32) {
        self.opened_in(&mut self.lock(), context, members, local);
    }

    /// Does the same for a caller that has the lock.
    pub(crate) fn opened_in(
        &self,
        state: &mut EndpointState,
        context: u32,
        members: &[u32],
        local: u32,
    ) {
        let base = std::array::from_fn(|lane| {
            self.page.arrivals(self.location.node, context, lane as u64)
        });
        let opened = Context {
            local,
            base,
            group: wait_state::group_fingerprint(members),
            ..Context::default()
        };
        self.know(state, context, members.iter().copied(), false, opened);
    }

    /// Returns how many collectives this rank has entered on a context.
    #[must_use]
    pub fn bcs_entered(&self, context: u32) -> u32 {
        let state = self.lock();
        state.contexts.get(context).map_or(0, |known| known.entered)
    }

    /// Gives a communicator the name that users know. One of a single rank has no name, because no
    /// rank waits in it for others.
    pub fn bcs_entitle(&self, title: CommunicatorLabel) {
        if let Some(context) = self.lock().contexts.get_mut(title.context) {
            context.title = Some(title);
        }
    }

    /// Records that the library keeps a context to the end, so that it is no leak of the program.
    pub(crate) fn bcs_keeps(&self, context: u32) {
        if let Some(known) = self.lock().contexts.get_mut(context) {
            known.stays = true;
        }
    }

    /// Closes the context for this rank. The id is free when all members' requests are done.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_close(&self, context: u32) -> Result<Request, TooManyRequests> {
        self.close_in(&mut self.lock(), context)
    }

    /// Does the same for a caller that has the lock.
    pub(crate) fn close_in(
        &self,
        state: &mut EndpointState,
        context: u32,
    ) -> Result<Request, TooManyRequests> {
        let closed = state.contexts.remove(context).unwrap_or_default();
        if let Some((near, group)) = state.mux.local.as_mut().zip(closed.locality.group()) {
            near.close_group(group);
        }
        if matches!(closed.locality, Locality::OneNode(_)) {
            return Ok(Request::on(TransportHandle::Complete(0))); // No NIC knows it.
        }
        let part = CollectiveArguments::without_data(CollectiveKind::CloseContext);
        // The NIC has not counted what was done without it.
        self.post_at_once(state, context, closed.sequence, part)
    }
}
