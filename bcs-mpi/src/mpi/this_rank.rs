//! The rank that this process is: every error names it.

use std::sync::OnceLock;

static WORLD_RANK: OnceLock<u32> = OnceLock::new();

/// This process is a rank from now on. Of ranks that are threads of one process only the first is said.
pub(super) fn set_world_rank(world_rank: u32) {
    let _first_one = WORLD_RANK.set(world_rank);
}

/// The rank in the world that this process is, if it has begun.
#[must_use]
pub fn world_rank() -> Option<u32> {
    WORLD_RANK.get().copied()
}
