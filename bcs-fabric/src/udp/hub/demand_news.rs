//! What was said of the beat: see [`super::strobes`].

use std::collections::HashSet;

#[derive(Debug, Default)]
pub(super) struct DemandNews {
    /// What was last passed on: the slice, and whether it was demanded.
    pub(super) told: Option<(u64, bool)>,
    /// Whether some rank here was last said to be blocked, and when one was last seen.
    pub(super) told_hungry: bool,
    pub(super) hungry_ns: u64,
    /// The parties where some rank is blocked, as they last said.
    pub(super) hungry: HashSet<usize>,
}
