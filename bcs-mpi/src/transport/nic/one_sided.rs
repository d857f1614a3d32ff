//! One-sided operations between nodes.

use super::state::NicTransport;
use crate::transport::TooManyRequests;
use crate::transport::one_sided::OneSided;
use bcs_core::request::RequestId;

impl NicTransport {
    /// Posts a one-sided operation. This is a stub: no NIC does them yet.
    pub(crate) fn one_sided(&mut self, _operation: &OneSided) -> Result<RequestId, TooManyRequests> {
        Err(TooManyRequests)
    }
}
