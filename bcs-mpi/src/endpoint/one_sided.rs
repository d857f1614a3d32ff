//! One-sided operations, and waits for words of this rank that others change by them.

use super::endpoint::Endpoint;
use super::long_fetch::LongFetch;
use super::request::Request;
use super::wait_target::WaitTarget;
use super::waiting::Watch;
use crate::transport::one_sided::{OneSided, OneSidedRefusal};
use crate::transport::{DirectAccess, TransportHandle};
use bcs_core::wait_state::WaitReason;
use std::sync::atomic::Ordering;

impl Endpoint {
    /// Returns the access to memory that this rank reaches by itself.
    pub(crate) fn direct_access(&self) -> DirectAccess {
        self.lock().mux.direct_access()
    }

    /// Posts a one-sided operation. It is complete when it was applied at the target and its result
    /// is in place. An operation on memory that this rank reaches by itself ends at once, without
    /// the endpoint's lock.
    ///
    /// # Errors
    /// When it was refused. Nothing has happened then.
    #[inline]
    pub(crate) fn bcs_one_sided(
        &self,
        direct: &DirectAccess,
        operation: &OneSided,
    ) -> Result<Request, OneSidedRefusal> {
        match direct.execute(operation) {
            Some(done) => done.map(|()| Request::on(TransportHandle::Complete(operation.len))),
            None => self.post_one_sided(operation),
        }
    }

    #[cold]
    fn post_one_sided(&self, operation: &OneSided) -> Result<Request, OneSidedRefusal> {
        if let Some(long) = LongFetch::of(operation) {
            let is_posted = long.posted_flag();
            let request = self.undertake(Box::new(long));
            self.wait_for_word(WaitReason::Nic, || {
                is_posted.load(Ordering::Acquire).then_some(())
            });
            return Ok(request);
        }
        let mut state = self.lock();
        let posted = state.mux.one_sided(operation);
        self.progress(&mut state);
        self.leave(state);
        posted.map(Request::on)
    }

    /// Waits until `look` finds something in words of this rank. The rank that changes them rings
    /// this rank's bell.
    pub(crate) fn wait_for_word<T>(
        &self,
        reason: WaitReason,
        mut look: impl FnMut() -> Option<T>,
    ) -> T {
        if let Some(found) = look() {
            return found;
        }
        let what = WaitTarget::Wait(reason);
        self.wait_for(Watch::Completions, what, |_| look())
    }

    /// Makes progress, for a caller that polls a word by itself.
    pub(crate) fn poll_once(&self) {
        let mut state = self.lock();
        self.progress(&mut state);
        self.leave(state);
    }
}
