//! Receives that a message by either road may satisfy.
//!
//! All messages between two ranks take the same road, so each road by itself keeps the order that the
//! standard asks for. A receive or probe whose source is named takes the road of that rank. One
//! from any source, of a communicator with members both here and elsewhere, is posted on both, and a
//! message has to be *claimed* for it before it is matched ([`NicMemory::claim`]): by this rank when it
//! finds one in its queues, by its NIC when it has one. Whoever comes second leaves it alone, and so
//! goes on to the next receive that matches.
//!
//! [`NicMemory::claim`]: bcs_core::memory::NicMemory::claim
#![expect(unsafe_code, reason = "messages are named by address")]

use super::nic::Nic;
use super::smartmap::SmartMap;
use super::{Outcome, TooManyRequests};
use crate::data::Piece;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

/// Where a receive was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// At the NIC, and within the node as well.
    Nic(RequestId),
    /// Within the node, where its message was: no NIC has heard of it.
    Near(RequestId),
}

/// Posts a receive on both roads.
///
/// # Safety
/// `into` may be written, and nobody else uses it until the request is done.
pub(crate) unsafe fn receive(
    (nic, near): (&mut Nic, &mut SmartMap),
    pattern: Pattern,
    into: Piece,
) -> Result<Posted, TooManyRequests> {
    let request = nic.open_shared(pattern, &into)?;
    // SAFETY: the caller's promise; whoever claims the receive is the only one who writes.
    let posted = unsafe { near.receive(pattern, into.clone(), Some(request)) };
    let twin = posted.inspect_err(|_| nic.close_shared(request))?;
    // If a message was there, the NIC need not know of it; it never had the request.
    if nic.is_claimed_by_rank(request) {
        nic.close_shared(request);
        return Ok(Posted::Near(twin));
    }
    // SAFETY: as above.
    unsafe { nic.post_shared((request, twin), pattern, &into) };
    Ok(Posted::Nic(request))
}

/// Takes what a request of the NIC came to, on either road, if it is done.
pub(crate) fn take(
    (nic, near): (&mut Nic, Option<&mut SmartMap>),
    request: RequestId,
) -> Option<Outcome> {
    let Some((twin, near)) = nic.twin(request).zip(near) else {
        return nic.take(request);
    };
    if nic.is_claimed_by_rank(request) {
        let outcome = near.take(twin)?;
        nic.withdraw_shared(request);
        return Some(outcome);
    }
    if nic.is_completed(request) {
        if !nic.is_done(request) {
            return None;
        }
        // The NIC's, or nobody's: it was cancelled, or the peer is gone.
        near.cancel(twin);
        let _cancelled = near.take(twin);
        return nic.take(request);
    }
    None
}

/// Cancels a receive of the NIC, on both roads if it is on both, unless somebody has claimed it.
pub(crate) fn cancel((nic, near): (&mut Nic, Option<&mut SmartMap>), request: RequestId) {
    let Some((twin, near)) = nic.twin(request).zip(near) else {
        return nic.cancel(request);
    };
    if nic.claim_for_rank(request) {
        near.cancel(twin);
    }
}

/// Whether a request of the NIC is done, on either road.
pub(crate) fn is_done((nic, near): (&mut Nic, Option<&mut SmartMap>), request: RequestId) -> bool {
    if nic.is_completed(request) {
        return nic.is_done(request);
    }
    let Some((twin, near)) = nic.twin(request).zip(near) else {
        return false;
    };
    nic.is_claimed_by_rank(request) && near.is_done(twin)
}
