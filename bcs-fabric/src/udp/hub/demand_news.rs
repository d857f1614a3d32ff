//! The last messages about demands: see [`super::demand_relay`].

use std::collections::HashSet;

#[derive(Debug, Default)]
pub(super) struct DemandNews {
    /// The slice that was sent last, and whether it was demanded.
    pub(super) told: Option<(u64, bool)>,
    /// Whether the last message reported a blocked rank here, and when one was last seen.
    pub(super) told_hungry: bool,
    pub(super) hungry_ns: u64,
    /// The parties where some rank is blocked, as they last reported.
    pub(super) hungry: HashSet<usize>,
}
