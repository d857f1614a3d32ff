//! Non-blocking probes, and BR's answers to them.

use crate::transport::RequestOutcome;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;
use std::collections::HashMap;

/// Non-blocking probes by their patterns.
pub(super) type Probes = HashMap<Pattern, ProbeState>;

/// The state of a non-blocking probe.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProbeState {
    /// BR has been asked.
    Asked(RequestId),
    /// BR found this message.
    Found(RequestOutcome),
}

/// Returns whether there can be a message for both patterns.
pub(super) fn meet(one: Pattern, other: Pattern) -> bool {
    fn open<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
        one.is_none() || other.is_none() || one == other
    }
    one.context == other.context && open(one.source, other.source) && open(one.tag, other.tag)
}
